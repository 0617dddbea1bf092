"""Root's queue for all users: each job runs as who submitted it, and nobody sees another's."""
import fcntl
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest
from conftest import FIXTURES, Queue, wait_for

sys.path.insert(0, str(FIXTURES))
from other_user import OpenPlace, as_user, become, needs_two_users  # noqa: E402

OWNER, STRANGER = 1, 2  # daemon and bin: a job's user has an entry in passwd, and these are on every system

pytestmark = needs_two_users


def talk(path, message):
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(300)
        client.connect(path)
        client.sendall(json.dumps(message).encode() + b"\n")
        with client.makefile("rb") as lines:
            line = lines.readline()
    return json.loads(line) if line else None


class Everybodys:
    """A daemon of root's, and two users with a home each."""

    def __init__(self, folder):
        self.place = OpenPlace()
        self.queue = Queue(folder, 1, home=self.place.root / "queue", binary=self.place.binary)
        # A supervisor is the job's user's, and asks the driver, too: both must be where users can read.
        for name in ("PLIMSOLL_NVML_LIBRARY", "PLIMSOLL_FAKE_NVML"):
            shutil.copy(self.queue.environment[name], self.place.root)
        self.driver = {name: str(self.place.root / os.path.basename(self.queue.environment[name]))
                       for name in ("PLIMSOLL_NVML_LIBRARY", "PLIMSOLL_FAKE_NVML")}
        for path in self.driver.values():
            os.chmod(path, 0o755)
        self.homes = {}
        for user in (OWNER, STRANGER):
            home = self.place.root / f"home{user}"
            home.mkdir(mode=0o755)
            os.chown(home, user, user)
            (home / "run").mkdir(mode=0o700)
            os.chown(home / "run", user, user)
            self.homes[user] = home

    def call(self, user, *words, **more):
        """plimsoll as that user."""
        home = self.homes[user]
        environment = {"PATH": os.environ["PATH"], "HOME": str(home), "XDG_RUNTIME_DIR": str(home / "run"), "COLUMNS": "200",
                       "PLIMSOLL_QUEUE": str(self.queue.home), "PLIMSOLL_STORE": str(home / "store.db"), **self.driver, **more}
        return subprocess.run([self.place.binary, *map(str, words)], env=environment, cwd=home, text=True, timeout=300,
                              stdin=subprocess.DEVNULL, capture_output=True, **become(user))

    def submit(self, user, *words, **more):
        done = self.call(user, "submit", "--json", "--need", "1GiB", *words, **more)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["numbers"][0]


@pytest.fixture
def everybodys(tmp_path):
    made = Everybodys(tmp_path)
    yield made
    for home in made.homes.values():
        (home / "go").touch()
    made.queue.stop_jobs()
    made.queue.remove()
    made.place.remove()


SECRET = "hidden-from-others"
COMMAND = ("id -u > who; id -G >> who; echo private output; echo secret $SECRET > given; "
           "while [ ! -e go ]; do sleep 0.05; done")


def test_each_runs_as_its_user_and_sees_nothing_of_others(everybodys):
    queue = everybodys.queue
    queue.start_daemon("--all-users", "--sharing", "naive")
    number = everybodys.submit(OWNER, "--name", "shown", "--", "sh", "-c", COMMAND, SECRET=SECRET)
    owner, stranger = everybodys.homes[OWNER], everybodys.homes[STRANGER]
    wait_for(lambda: (owner / "given").exists())
    assert (owner / "who").read_text().split() == [str(OWNER), str(OWNER)]
    assert (owner / "given").read_text() == f"secret {SECRET}\n"
    assert (owner / "given").stat().st_uid == OWNER

    socket_path = str(queue.home / "queue.sock")
    def listed():
        return as_user(STRANGER, talk, socket_path, {"type": "list", "all": True, "numbers": [number]})
    # The command may be further than what the daemon has heard of it.
    wait_for(lambda: listed()["jobs"][0]["state"] == "running")
    text = json.dumps(listed())
    for hidden in (SECRET, "private", "sleep 0.05", str(owner), "command", "request", "directory", "\"run\""):
        assert hidden not in text, hidden
    assert as_user(STRANGER, talk, socket_path, {"type": "decisions", "numbers": [number]})["type"] == "failed"
    assert as_user(STRANGER, talk, socket_path, {"type": "decisions", "numbers": []})["type"] == "failed"
    for verb in ("cancel", "hold", "move", "priority"):
        answer = as_user(STRANGER, talk, socket_path, {"type": verb, "numbers": [number], "priority": 5})
        assert answer["refused"][0]["why"] == "it is another user's", answer
    assert as_user(STRANGER, talk, socket_path, {"type": "stop"})["type"] == "failed"
    output = everybodys.call(STRANGER, "queue", "output", number)
    assert output.returncode != 0 and "another user's" in output.stderr and "private" not in output.stdout

    # Nor by the files: an attempt's folder, the queue's store, a job's environment in /proc.
    for path in (queue.home / "attempts" / f"{number}.1", queue.folder / "store.db"):
        assert path.exists()
        assert not as_user(STRANGER, os.access, str(path), os.R_OK), path
    with pytest.raises(AssertionError):
        as_user(STRANGER, os.listdir, str(queue.home / "attempts" / f"{number}.1"))

    # The owner sees all of it.
    job = json.loads(everybodys.call(OWNER, "queue", "--json", number).stdout)["jobs"][0]
    assert job["command"][0] == "sh" and job["directory"] == str(owner)
    assert everybodys.call(OWNER, "queue", "output", number).stdout == "private output\n"
    (owner / "go").touch()
    queue.wait_ended(number)
    assert not (stranger / "who").exists()


def test_what_the_daemon_has_is_not_the_jobs(everybodys):
    everybodys.queue.environment["OF_ROOT"] = "secret"
    everybodys.queue.start_daemon("--all-users", "--sharing", "naive")
    number = everybodys.submit(OWNER, "--", "sh", "-c", "env > given; umask >> given")
    everybodys.queue.wait_ended(number)
    given = (everybodys.homes[OWNER] / "given").read_text()
    assert "OF_ROOT" not in given and f"HOME={everybodys.homes[OWNER]}" in given


def test_ones_own_queue_listens_to_nobody_else(everybodys):
    queue = everybodys.queue
    queue.start_daemon()
    os.chmod(queue.home, 0o755)
    os.chmod(queue.home / "queue.sock", 0o666)  # as careless as can be

    def knock():
        try:
            return talk(str(queue.home / "queue.sock"), {"type": "list"})
        except OSError:
            return None
    assert as_user(STRANGER, knock) is None
    assert queue.ask({"type": "list"})["type"] == "jobs"


def test_users_take_turns_and_mps_serves_one(everybodys):
    queue = everybodys.queue
    queue.start_daemon("--all-users", "--sharing", "mps")
    first = everybodys.submit(OWNER, "--seconds", 60, "--", "sh", "-c", "while [ ! -e go ]; do sleep 0.05; done")
    queue.wait_state(first, "running")
    second = everybodys.submit(STRANGER, "--seconds", 60, "--", "sh", "-c", "exit 0")
    queue.wait_job(second, lambda job: "another user's" in job.get("waits_because", ""))
    (everybodys.homes[OWNER] / "go").touch()
    queue.wait_ended(first)
    queue.wait_ended(second)


def take_the_place_of_its_supervisor(folder, began, ended, ready, enough):
    """As the job's user may: the files are his. Until `enough` is there."""
    told = json.loads((folder / "began").read_text())
    os.kill(int(told["supervisor"].split()[0]), signal.SIGKILL)
    lock = open(folder / "lock")
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError:
            time.sleep(0.005)
    (folder / "began").write_text(json.dumps({**told, **began}))
    if ended:
        (folder / "ended").write_text(json.dumps(ended))
    ready.touch()
    while not enough.exists():
        time.sleep(0.01)


def usurp(everybodys, number, began, ended=None):
    """Somebody of the owner's in his supervisor's place, until he is let go."""
    owner = everybodys.homes[OWNER]
    folder = everybodys.queue.home / "attempts" / f"{number}.1"
    wait_for((folder / "began").exists)
    thread = threading.Thread(target=as_user, args=(
        OWNER, take_the_place_of_its_supervisor, folder, began, ended, owner / "run" / "ready", owner / "run" / "enough"))
    everybodys.queue.daemon.send_signal(signal.SIGSTOP)  # or it would see that nobody is there for a moment
    thread.start()
    wait_for((owner / "run" / "ready").exists)
    everybodys.queue.daemon.send_signal(signal.SIGCONT)
    return thread


def test_root_asks_nobody_but_the_jobs_user(everybodys):
    """Who says that his supervisor listens at another's socket would have root speak to it: to another's supervisor, or to the queue."""
    queue = everybodys.queue
    queue.start_daemon("--all-users", "--sharing", "naive")
    number = everybodys.submit(OWNER, "--", "sh", "-c", "trap '' TERM; while [ ! -e go ]; do sleep 0.05; done")
    queue.wait_state(number, "running")
    with socket.socket(socket.AF_UNIX) as others:  # of root's, and everybody may knock
        path = everybodys.place.root / "others.sock"
        others.bind(str(path))
        path.chmod(0o666)
        others.listen()
        others.settimeout(300)
        thread = usurp(everybodys, number, {"socket": str(path)})
        try:
            assert everybodys.call(OWNER, "cancel", number).returncode == 0
            connection, _ = others.accept()
            with connection:
                connection.settimeout(300)
                assert connection.recv(100) == b"", "it is left without a word"
        finally:
            (everybodys.homes[OWNER] / "run" / "enough").touch()
            thread.join()
    queue.wait_ended(number, "cancelled")


def test_what_a_user_writes_of_his_jobs_end_holds_up_nobody(everybodys):
    """Longer than the store takes, numbers beyond any memory."""
    queue = everybodys.queue
    queue.start_daemon("--all-users", "--sharing", "naive")
    number = everybodys.submit(OWNER, "--", "sh", "-c", "while [ ! -e go ]; do sleep 0.05; done")
    queue.wait_state(number, "running")
    ended = {"version": 1, "type": "ended", "job": 0, "run": "r" * 400, "outcome": "failed", "reason": "why " * 50_000, "exit_code": 1,
             "signal": 0, "seconds": 1.0, "retried": False, "metrics_lost": 0, "peak_gpu_bytes": (1 << 63) - 1}
    thread = usurp(everybodys, number, {"run": "r" * 400}, ended)
    (everybodys.homes[OWNER] / "run" / "enough").touch()
    thread.join()
    queue.wait_ended(number, "failed")
    queue.wait_ended(everybodys.submit(STRANGER, "--", "true"))


def test_only_root_has_everybodys(everybodys):
    refused = everybodys.call(OWNER, "queue", "start", "--all-users", "--foreground")
    assert refused.returncode == 2 and "only root" in refused.stderr
