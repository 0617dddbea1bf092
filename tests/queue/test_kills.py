"""Very many small jobs, and daemons and supervisors killed at random among them: none is lost, never two copies live at once, no
final end runs again. The whole of it is asked for by PLIMSOLL_TEST_QUEUE_JOBS=10000 PLIMSOLL_TEST_QUEUE_KILLS=50."""
import collections
import json
import os
import random
import signal
import socket
import threading

from conftest import is_alive, wait_for

JOBS = int(os.environ.get("PLIMSOLL_TEST_QUEUE_JOBS", 600))
KILLS = int(os.environ.get("PLIMSOLL_TEST_QUEUE_KILLS", 12))
PATIENCE = 300 + JOBS  # seconds; a job takes a small part of one

# Each holds its own lock while it lives, and what it has started does, too.
JOB = """
exec 9>"locks/$1"
flock -n 9 || { echo "twice $1" >> log; exit 9; }
echo "begin $1" >> log
[ $(($1 % 10)) -eq 0 ] && sleep 0.5
echo "end $1" >> log
"""


def submit(queue, message):
    """Until it is taken: who lost the answer asks again, and the token says that it is the same."""
    def taken():
        try:
            answer = queue.ask(message)
        except (OSError, json.JSONDecodeError):
            return False
        assert answer["type"] == "submitted" or answer["error"]["kind"] == "unavailable", answer
        return answer["type"] == "submitted" and answer["numbers"]
    return wait_for(taken, PATIENCE)


class Flood(threading.Thread):
    """Submits all jobs, some at a time."""

    def __init__(self, queue, draws):
        super().__init__()
        self.queue = queue
        self.draws = draws
        self.numbers = {}

    def run(self):
        todo = list(range(JOBS))
        while todo:
            count = self.draws.randint(1, 40)
            part, todo = todo[:count], todo[count:]
            jobs = [{"request": {"job": {"command": ["/bin/sh", "job.sh", str(i)], "directory": str(self.queue.folder)},
                                 "rerun": i % 2 == 0, "umask": 0o22}} for i in part]
            message = {"type": "submit", "token": f"jobs from {part[0]}", "jobs": jobs,
                       "environment": [[name, value] for name, value in self.queue.environment.items()]}
            self.numbers.update(zip(part, submit(self.queue, message)))


def supervisors(queue):
    out = []
    for folder in (queue.home / "attempts").glob("*"):
        try:
            out.append(int(json.loads((folder / "began").read_text())["supervisor"].split()[0]))
        except (OSError, ValueError):
            pass  # not begun, or over already
    return [pid for pid in out if is_alive(pid)]


def begins(queue):
    path = queue.folder / "log"
    return path.read_text().count("begin") if path.exists() else 0


def test_random_kills(make_queue):
    draws = random.Random(20261119)
    queue = make_queue(gpus=8)
    (queue.folder / "locks").mkdir()
    (queue.folder / "job.sh").write_text(JOB)
    options = ("--sharing", "exclusive")
    queue.start_daemon(*options)
    flood = Flood(queue, random.Random(1))
    flood.start()
    moments = sorted(draws.randrange(JOBS) for _ in range(KILLS))
    killed_supervisors = 0
    for moment in moments:
        wait_for(lambda: begins(queue) > moment, PATIENCE)
        living = supervisors(queue)
        if draws.random() < 0.5 and living:
            killed_supervisors += 1
            try:
                os.kill(draws.choice(living), signal.SIGKILL)
            except ProcessLookupError:
                pass  # it has ended meanwhile
            continue
        queue.kill_daemon()
        queue.start_daemon(*options, wait=False)
    flood.join()
    assert sorted(flood.numbers) == list(range(JOBS)) and len(set(flood.numbers.values())) == JOBS
    wait_for(lambda: all_ended(queue), PATIENCE)
    check(queue, flood.numbers, killed_supervisors)
    # A later daemon finds nothing to do.
    before = (queue.folder / "log").read_text()
    queue.kill_daemon()
    queue.start_daemon(*options)
    more = queue.submit_one("--", "/bin/sh", "job.sh", str(JOBS + 1))
    queue.wait_ended(more)
    assert (queue.folder / "log").read_text() == before + f"begin {JOBS + 1}\nend {JOBS + 1}\n"


def all_ended(queue):
    try:
        return not queue.jobs(all=False)
    except (OSError, json.JSONDecodeError, AssertionError, socket.timeout):
        return False


def check(queue, numbers, killed_supervisors):
    log = collections.Counter((queue.folder / "log").read_text().splitlines())
    assert not [line for line in log if line.startswith("twice")]
    told = {}
    every = sorted(numbers.values())
    for at in range(0, len(every), 100):
        told.update(queue.jobs(*every[at:at + 100]))
    assert sorted(told) == every, "lost"
    outcomes = collections.Counter(job["outcome"] for job in told.values())
    unseen = [i for i in numbers if told[numbers[i]]["outcome"] == "unknown"]
    assert set(outcomes) <= {"finished", "unknown"}, outcomes
    # Whose supervisor was killed, and who may not run again.
    assert len(unseen) <= killed_supervisors and all(i % 2 == 1 for i in unseen), outcomes
    for i, number in numbers.items():
        attempts = told[number]["attempt"]
        assert log[f"begin {i}"] <= (attempts if i % 2 == 0 else 1), (i, told[number])
        if i not in unseen:
            assert log[f"end {i}"] >= 1, told[number]
    # More often than once only who lost a supervisor.
    assert sum(log[f"begin {i}"] > 1 for i in numbers) <= killed_supervisors
