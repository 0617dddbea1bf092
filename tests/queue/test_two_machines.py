"""Two daemons on two stand-in machines, each with its home, its runtime directory, its GPUs and its name, and one PostgreSQL."""
import json
import os
import pathlib
import signal
import subprocess
import tempfile

import pytest
from conftest import BINARY, Queue, is_alive, wait_for
from postgres_server import Postgres, pg_programs

LEASE = 20  # seconds; a busy machine renews it, too


@pytest.fixture
def postgres():
    if pg_programs() is None:
        pytest.skip("no PostgreSQL here")
    with tempfile.TemporaryDirectory(prefix="pl") as folder:
        server = Postgres(pathlib.Path(folder))
        try:
            yield server
        finally:
            server.go_on()
            server.stop()


class Member(Queue):
    """One of the machines. What it does is written into the folder that all share, as on a file system of a cluster."""

    def __init__(self, folder, name, postgres, gpus=1):
        super().__init__(folder, gpus, store=postgres.url)
        self.name = name
        self.environment["PLIMSOLL_ARTIFACTS"] = str(folder / "artifacts")

    def start_daemon(self, lease=LEASE, wait=True):
        with open(self.folder / "daemon.log", "a") as log:
            self.daemons.append(subprocess.Popen(
                [BINARY, "queue", "start", "--foreground", "--host", self.name, "--sharing", "exclusive", "--lease", f"{lease}s"],
                env=self.environment, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log))
        if wait:
            self.wait_until_open()

    def attempts(self):
        return [folder / "began" for folder in (self.home / "attempts").glob("*") if (folder / "began").exists()]

    def die(self):
        """All of it at once."""
        self.kill_daemon()
        runs = []
        for began in self.attempts():
            told = json.loads(began.read_text())
            runs.append(f"PLIMSOLL_RUN_ID={told['run']}".encode())
            os.kill(int(told["supervisor"].split()[0]), signal.SIGKILL)
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                if set(runs) & set(pathlib.Path("/proc", pid, "environ").read_bytes().split(b"\0")):
                    os.kill(int(pid), signal.SIGKILL)
            except OSError:
                pass  # it has gone


@pytest.fixture
def machines(tmp_path, postgres):
    made = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        made.append(Member(tmp_path / name, name, postgres))
        made[-1].start_daemon()
    yield made
    postgres.go_on()
    for machine in made:
        machine.remove()


def words(machine, name):
    return [entry[0] for entry in machine.log(name)]


def kinds(machine, number):
    return [(decision["host"], decision["kind"]) for decision in machine.decisions(number)]


def test_work_is_shared(machines):
    a, b = machines
    numbers = {f"job{i}": a.submit_one("--", *a.training(f"job{i}")) for i in range(2)}
    for name in numbers:
        a.begun(name)
    assert {b.job(number)["host"] for number in numbers.values()} == {"a", "b"}
    more = [a.submit_one("--", *a.training(f"more{i}", 2)) for i in range(10)]
    a.let_go(*numbers)
    for number in [*numbers.values(), *more]:
        assert b.wait_ended(number)["attempt"] == 1
    for i in range(10):
        assert words(a, f"more{i}") == ["begin", "end"]


def test_one_machine_dies(machines):
    """The other takes what waits at once, and what ran there when its lease is over."""
    a, b = machines
    b.kill_daemon(signal.SIGTERM)
    again = a.submit_one("--rerun", "--", *a.training("again"))
    a.begun("again")
    waiting = a.submit_one("--", *a.training("waiting", 2))
    b.start_daemon()
    a.wait_ended(waiting)  # b has room
    b.kill_daemon(signal.SIGTERM)
    waiting = a.submit_one("--", *a.training("orphan", 2))
    a.die()
    b.start_daemon()
    assert b.wait_ended(waiting)["attempt"] == 1
    a.begun("again", 2)
    a.let_go("again")
    ended = b.wait_ended(again)
    assert (ended["attempt"], ended["host"]) == (2, "b")
    decisions = b.decisions(again)
    assert any("machine a is gone" in decision["reason"] for decision in decisions)
    # What waited was not held up until then.
    orphan = next(decision["at"] for decision in b.decisions(waiting) if decision["kind"] == "end")
    assert orphan < next(decision["at"] for decision in decisions if "machine a is gone" in decision["reason"])
    assert words(a, "again") == ["begin", "begin", "end"] and words(a, "orphan") == ["begin", "end"]


def test_what_may_not_run_again_does_not(machines):
    a, b = machines
    b.kill_daemon(signal.SIGTERM)
    number = a.submit_one("--", *a.training("never"))
    a.begun("never")
    a.die()
    b.start_daemon()
    ended = b.wait_ended(number, "unknown")
    assert "machine a is gone" in ended["reason"] and words(a, "never") == ["begin"]


def test_a_daemon_that_is_gone_and_comes_back(machines):
    """Its supervisors end what they run before the other machine runs it; what it knew is out of date then."""
    a, b = machines
    b.kill_daemon(signal.SIGTERM)
    number = a.submit_one("--rerun", "--", *a.training("job"))
    pid = a.begun("job")
    a.daemon.send_signal(signal.SIGSTOP)
    b.start_daemon()
    a.begun("job", 2)
    assert not is_alive(pid)
    a.daemon.send_signal(signal.SIGCONT)
    # It renews nothing of what is another's now, and takes what is new.
    more = b.submit_one("--", *b.training("more", 2))
    b.wait_ended(more)
    a.let_go("job")
    assert (b.wait_ended(number)["attempt"], b.job(number)["host"]) == (2, "b")
    assert words(a, "job") == ["begin", "begin", "end"]
    wait_for(lambda: not a.attempts())


def test_a_job_is_cancelled_from_the_other_machine(machines):
    a, b = machines
    numbers = [a.submit_one("--", *a.training(f"job{i}")) for i in range(2)]
    commands = [a.begun(f"job{i}") for i in range(2)]
    for number in numbers:
        assert b.plimsoll("cancel", number).code == 0
    for number, pid in zip(numbers, commands):
        a.wait_ended(number, "cancelled")
        assert not is_alive(pid)


def test_the_store_is_away_for_less_than_the_lease(tmp_path, postgres):
    (tmp_path / "a").mkdir()
    a = Member(tmp_path / "a", "a", postgres)
    try:
        a.start_daemon(lease=3600)
        number = a.submit_one("--", *a.training("job"))
        pid = a.begun("job")
        postgres.hang()
        a.let_go("job")
        wait_for(lambda: words(a, "job") == ["begin", "end"])
        postgres.go_on()
        assert a.wait_ended(number)["attempt"] == 1
        assert not is_alive(pid) and words(a, "job") == ["begin", "end"]
    finally:
        postgres.go_on()
        a.remove()


def test_the_store_is_away_for_longer(tmp_path, postgres):
    """The supervisor ends its job before another may start it; who said that it may run on runs on, and nobody else starts it."""
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    a, b = Member(tmp_path / "a", "a", postgres, gpus=3), Member(tmp_path / "b", "b", postgres, gpus=3)
    try:
        a.start_daemon()
        again = a.submit_one("--rerun", "--", *a.training("again"))
        never = a.submit_one("--", *a.training("never"))
        on = a.submit_one("--run-on", "--rerun", "--", *a.training("on"))
        first, second, third = a.begun("again"), a.begun("never"), a.begun("on")
        postgres.hang()
        wait_for(lambda: not is_alive(first) and not is_alive(second))
        assert is_alive(third)
        postgres.go_on()
        b.start_daemon()
        a.begun("again", 2)
        b.wait_ended(never, "unknown")
        a.let_go("again", "on")
        assert b.wait_ended(again)["attempt"] == 2
        assert b.wait_ended(on)["attempt"] == 1
        assert words(a, "on") == ["begin", "end"] and words(a, "again") == ["begin", "begin", "end"]
        assert words(a, "never") == ["begin"]
    finally:
        postgres.go_on()
        a.remove()
        b.remove()


def psql_words(postgres):
    psql = os.path.join(os.path.dirname(os.path.realpath(postgres.control)), "psql")
    return [psql, "-At", "-h", str(postgres.socket), "-U", "plimsoll", "postgres"]


def told_by(postgres, sql):
    done = subprocess.run([*psql_words(postgres), "-c", sql], env=postgres.environment, capture_output=True, text=True, check=True,
                          cwd="/")
    return done.stdout.split("\n")[0]


def test_another_keeps_the_queue_locked_for_longer_than_the_lease(tmp_path, postgres):
    """As one who submits very many jobs does: what is to be changed waits for it in vain, one after the other, and no lease runs
    out by that."""
    (tmp_path / "a").mkdir()
    a = Member(tmp_path / "a", "a", postgres)
    until = "SELECT until FROM claim WHERE name = 'queue/a'"
    locker = None
    try:
        a.start_daemon()
        number = a.submit_one("--", *a.training("job"))
        held = a.submit("--hold", "--array", 5, "--", "true")
        pid = a.begun("job")
        a.wait_state(number, "running")
        locker = subprocess.Popen(psql_words(postgres), env=postgres.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  text=True, cwd="/")
        locker.stdin.write("BEGIN;\nSELECT 'locked' FROM queue_counter FOR UPDATE;\n")
        locker.stdin.flush()
        while "locked" not in locker.stdout.readline():
            pass
        cancels = a.start("cancel", *held)
        first = int(told_by(postgres, until))
        wait_for(lambda: int(told_by(postgres, until)) > first + 2 * LEASE * 1_000_000 or not is_alive(pid))
        assert is_alive(pid)
        locker.stdin.write("COMMIT;\n")
        locker.stdin.close()
        locker.wait(timeout=300)
        cancels.communicate(timeout=300)
        a.let_go("job")
        assert a.wait_ended(number)["attempt"] == 1
        more = a.submit_one("--", *a.training("more", 2))
        a.wait_ended(more)
    finally:
        if locker:
            locker.kill()
            locker.wait()
        a.remove()


def test_the_stores_clock_jumps(machines, postgres):
    """Forth by a day: all leases look as if they had run out. Nobody takes what another still runs."""
    a, b = machines
    numbers = [a.submit_one("--rerun", "--", *a.training(f"job{i}")) for i in range(2)]
    for i in range(2):
        a.begun(f"job{i}")

    def ask(sql):
        return told_by(postgres, sql)

    for _ in range(3):
        ask("UPDATE claim SET until = until - 86400000000")
        # Until each has renewed its own.
        wait_for(lambda: ask("SELECT count(*) FROM claim WHERE until > (SELECT max(until) FROM claim) - 600000000") == "2" and
                 ask("SELECT min(until) > extract(epoch FROM now()) * 1000000 FROM claim") == "t")
    a.let_go("job0", "job1")
    for i, number in enumerate(numbers):
        assert b.wait_ended(number)["attempt"] == 1
        assert words(a, f"job{i}") == ["begin", "end"]
