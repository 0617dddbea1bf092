"""Everything that can be killed is killed, the machine starts anew, clocks jump: no job is lost, none runs twice at once, what has
ended stays so."""
import json
import os
import shutil
import signal
import sqlite3
import subprocess

import pytest
from conftest import BINARY, is_alive, wait_for

FAULT = "CUDA error: an illegal memory access was encountered"


def supervisor_of(queue, number, attempt=1):
    """The process that watches the job, by what stands in the attempt's folder."""
    began = queue.home / "attempts" / f"{number}.{attempt}" / "began"
    return int(json.loads(wait_for(lambda: began.exists() and began.read_text()))["supervisor"].split()[0])


def kill(pid):
    if not is_alive(pid):
        return
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: not is_alive(pid))


def words(queue, name):
    return [entry[0] for entry in queue.log(name)]


def test_a_killed_daemon_ends_no_job(queue):
    first = queue.submit_one("--need", "1GiB", "--", *queue.training("first"))
    second = queue.submit_one("--need", "1GiB", "--", *queue.training("second"))
    queue.begun("first"), queue.begun("second")
    queue.kill_daemon()
    queue.let_go("first")
    wait_for(lambda: words(queue, "first") == ["begin", "end"])  # while nobody looks
    queue.start_daemon()
    queue.let_go("second")
    for number, name in ((first, "first"), (second, "second")):
        assert queue.wait_ended(number)["attempt"] == 1
        assert words(queue, name) == ["begin", "end"]
    wait_for(lambda: not list((queue.home / "attempts").iterdir()))


@pytest.mark.parametrize("may", ["rerun", "never", "saved"])
def test_a_killed_supervisor(queue, may):
    """Its command ignores what the kernel tells it then: it is ended before it may run again."""
    options = {"rerun": ["--rerun"], "never": [], "saved": ["--save", "SIGUSR1"]}[may]
    queue.environment["TRAINING_IGNORES"] = "TERM"
    number = queue.submit_one(*options, "--", *queue.training("job"))
    pid = queue.begun("job")
    if may == "saved":
        saved = queue.home / "attempts" / f"{number}.1" / "saved"
        os.kill(pid, signal.SIGUSR1)
        wait_for(saved.exists)
    kill(supervisor_of(queue, number))
    if may == "never":
        assert "nobody saw its end" in queue.wait_ended(number, "unknown")["reason"]
        assert words(queue, "job") == ["begin"]
    else:
        queue.begun("job", 2)
        queue.let_go("job")
        assert queue.wait_ended(number)["attempt"] == 2
        assert words(queue, "job") == ["begin", "begin", "end"]
        assert (queue.log("job")[1][2] > 0) == (may == "saved")
    assert not is_alive(pid)


def test_a_daemon_and_a_supervisor_killed_together(queue):
    number = queue.submit_one("--rerun", "--", *queue.training("job"))
    pid = queue.begun("job")
    watcher = supervisor_of(queue, number)
    queue.kill_daemon()
    kill(watcher)
    queue.start_daemon()
    queue.begun("job", 2)
    assert not is_alive(pid)
    queue.let_go("job")
    assert queue.wait_ended(number)["attempt"] == 2
    assert words(queue, "job") == ["begin", "begin", "end"]


def test_cancelled_before_the_daemon_was_killed(queue):
    """What was said of a job is done by the next daemon."""
    number = queue.submit_one("--", *queue.training("job"))
    pid = queue.begun("job")
    watcher = supervisor_of(queue, number)
    os.kill(watcher, signal.SIGSTOP)  # it cannot hear of it
    assert queue.plimsoll("cancel", number).code == 0
    queue.kill_daemon()
    os.kill(watcher, signal.SIGCONT)
    queue.start_daemon()
    queue.wait_ended(number, "cancelled")
    assert not is_alive(pid) and "twice" not in words(queue, "job")


def mps_of(queue):
    """The MPS control processes that were started so far, and their servers."""
    path = queue.folder / "mps_pids"
    return [[int(word) for word in line.split()] for line in path.read_text().splitlines()] if path.exists() else []


def test_killed_mps(make_queue):
    """Those on the GPU may go on; others come when a new one runs."""
    queue = make_queue(gpus=1)
    queue.start_daemon("--sharing", "mps")
    first = queue.submit_one("--need", "1GiB", "--", *queue.training("first"))
    queue.begun("first")
    for pid in mps_of(queue)[0]:
        kill(pid)
    wait_for(lambda: "has ended" in queue.said())
    second = queue.submit_one("--need", "1GiB", "--", *queue.training("second"))
    queue.wait_job(second, lambda job: job.get("waits_because"))
    assert words(queue, "second") == [] and words(queue, "first") == ["begin"]
    queue.let_go("first", "second")
    assert queue.wait_ended(first)["attempt"] == 1
    assert queue.wait_ended(second)["attempt"] == 1
    assert len(mps_of(queue)) == 2


FALLS = f"""
import os, sys, time
open(sys.argv[1] + ".began", "a").write("x")
while not os.path.exists("fall") and not os.path.exists(sys.argv[1] + ".go"): time.sleep(0.02)
if not os.path.exists(sys.argv[1] + ".go"): sys.exit("{FAULT}")
"""


def test_killed_mps_takes_its_clients_with_it(make_queue):
    """Nobody's fault: each runs again, and none is held for the cause."""
    queue = make_queue(gpus=1)
    queue.start_daemon("--policy", "naive", "--sharing", "mps")
    numbers = {}
    for name in ("first", "second"):
        numbers[name] = queue.submit_one("--need", "1GiB", "--seconds", "600", "--", *queue.script(FALLS), name)
        wait_for((queue.folder / f"{name}.began").exists)
    for pid in mps_of(queue)[0]:
        kill(pid)
    wait_for(lambda: "has ended" in queue.said())
    (queue.folder / "fall").touch()
    for name in numbers:
        queue.wait_job(numbers[name], lambda job: job["attempt"] == 1 and job["state"] == "waiting" or job["attempt"] == 2)
    queue.let_go(*numbers)
    (queue.folder / "fall").unlink()
    for name, number in numbers.items():
        assert queue.wait_ended(number)["attempt"] >= 2
        assert not any("alone" in decision["reason"] and decision["kind"] == "again" for decision in queue.decisions(number))


def test_who_finds_out_late_that_it_has_fallen(make_queue):
    """Each client of an MPS server that has faulted is told when it next asks the GPU, which may be long after the others."""
    queue = make_queue(gpus=1)
    queue.start_daemon("--policy", "naive", "--sharing", "mps")
    script = queue.script(f"""
import os, sys, time
open(sys.argv[1] + ".began", "a").write("x")
while not os.path.exists(sys.argv[1] + ".fall"): time.sleep(0.02)
if len(open(sys.argv[1] + ".began").read()) == 1: sys.exit("{FAULT}")
""", "late.py")
    numbers = {}
    for name in ("innocent", "guilty"):
        numbers[name] = queue.submit_one("--need", "1GiB", "--", *script, name)
        wait_for((queue.folder / f"{name}.began").exists)
        queue.wait_state(numbers[name], "running")
    (queue.folder / "guilty.fall").touch()
    # Longer than those take that fall at once; however long, the innocent runs again.
    with pytest.raises(AssertionError):
        wait_for(lambda: queue.job(numbers["guilty"])["state"] == "ended", 8)
    (queue.folder / "innocent.fall").touch()
    assert queue.wait_ended(numbers["innocent"])["attempt"] == 2
    queue.wait_ended(numbers["guilty"])


def start_after_a_reboot(queue):
    """The kernel gives each start of a machine a new boot id. Where this test may not put another in its place, all else of a
    reboot is there."""
    boot = queue.folder / "boot_id"
    boot.write_text("01234567-89ab-4cde-8f01-23456789abcd\n")
    inside = ["unshare", "-m", "--propagation", "private", "sh", "-c",
              'mount --bind "$0" /proc/sys/kernel/random/boot_id && exec "$@"', str(boot)]
    may = shutil.which("unshare") and subprocess.run([*inside, "true"], capture_output=True).returncode == 0
    with open(queue.folder / "daemon.log", "a") as log:
        daemon = subprocess.Popen([*(inside if may else []), BINARY, "queue", "start", "--foreground", "--host", "here"],
                                  env=queue.environment, cwd=queue.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    queue.daemons.append(daemon)
    queue.wait_until_open()


def test_a_reboot(queue):
    again = queue.submit_one("--rerun", "--alone", "--", *queue.training("again"))
    never = queue.submit_one("--alone", "--", *queue.training("never"))
    for name in ("again", "never"):
        queue.begun(name)
    waiting = queue.submit_one("--alone", "--", *queue.training("waiting"))
    later = queue.submit_one("--after", str(never), "--", *queue.training("later"))
    watchers = [supervisor_of(queue, number) for number in (again, never)]
    commands = [queue.begun(name) for name in ("again", "never")]
    queue.kill_daemon()
    for pid in [*watchers, *commands, *(pid for pids in mps_of(queue) for pid in pids)]:
        kill(pid)
    # What lies in memory is gone: sockets, pipes of MPS, directories of runs.
    shutil.rmtree(queue.home / "mps", ignore_errors=True)
    (queue.home / "queue.sock").unlink()
    shutil.rmtree(queue.runtime / "plimsoll")
    start_after_a_reboot(queue)
    queue.wait_ended(never, "unknown")
    queue.let_go("again", "waiting", "later")
    assert queue.wait_ended(again)["attempt"] == 2
    assert queue.wait_ended(waiting)["attempt"] == 1
    queue.wait_ended(later)
    assert words(queue, "again") == ["begin", "begin", "end"] and words(queue, "never") == ["begin"]


def test_clocks_jump(queue):
    """An hour forth, and a day back, as the store's times tell: jobs start and end as ever."""
    running = queue.submit_one("--alone", "--", *queue.training("running"))
    queue.begun("running")
    store = queue.environment["PLIMSOLL_STORE"]
    for seconds in (3600, -86400):
        held = queue.submit_one("--hold", "--", *queue.training(f"after{seconds}", 1))
        with sqlite3.connect(store, timeout=300) as database:
            database.execute("UPDATE claim SET until = until + ?", (seconds * 1_000_000,))
            database.execute("UPDATE queue_job SET submitted = submitted + ?, started = started + ?", (seconds * 1_000_000,) * 2)
        database.close()
        # Where the lease looks as if it had run out, it is renewed first.
        wait_for(lambda: queue.plimsoll("release", held).code == 0)
        queue.wait_ended(held)
    queue.let_go("running")
    assert queue.wait_ended(running)["attempt"] == 1
    assert words(queue, "running") == ["begin", "end"]


def test_a_machine_that_lacks_something_ends_no_job(queue):
    """No folder can be made for a while, as on a full disk: jobs wait, and run when that is over."""
    (queue.home / "attempts").write_text("in the way")
    numbers = [queue.submit_one("--", *queue.training(f"job{i}", 1)) for i in range(3)]
    wait_for(lambda: "cannot be started" in queue.said())
    (queue.home / "attempts").unlink()
    for number in numbers:
        queue.wait_ended(number)


def test_a_refusal_is_no_end_until_it_is_one_for_good(queue):
    """A supervisor that cannot open the job's own store starts nothing; it is tried again, some times."""
    broken = queue.folder / "broken.db"
    broken.write_text("this is no database, and long enough to be looked at as one" * 100)
    queue.environment["PLIMSOLL_STORE"] = str(broken)
    number = queue.submit_one("--", *queue.training("job", 1))
    ended = queue.wait_ended(number, "refused")
    assert ended["attempt"] == 5 and ended["reason"] and words(queue, "job") == []


def test_no_two_daemons_of_one_home(queue):
    done = subprocess.run([BINARY, "queue", "start", "--foreground"], env=queue.environment, capture_output=True, text=True, timeout=300)
    assert done.returncode != 0 and "already" in done.stderr


def test_a_daemon_with_another_home_leaves_what_runs_alone(queue, make_queue):
    """The same store from another home: it knows of no end that it did not see, and starts nothing anew."""
    number = queue.submit_one("--", *queue.training("job"))
    queue.begun("job")
    queue.kill_daemon(signal.SIGTERM)
    other = make_queue(gpus=2, store=queue.environment["PLIMSOLL_STORE"])
    with sqlite3.connect(queue.environment["PLIMSOLL_STORE"], timeout=300) as database:
        database.execute("UPDATE claim SET until = 1")  # as if the lease of the first had long run out
    database.close()
    other.start_daemon()
    other.wait_job(number, lambda job: job["state"] == "running" and job.get("run"))
    queue.let_go("job")
    assert other.wait_ended(number)["attempt"] == 1
    assert words(queue, "job") == ["begin", "end"]

