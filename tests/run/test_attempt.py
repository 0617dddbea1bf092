"""A supervisor as the queue's daemon starts it: what it leaves in the attempt's folder, its lease, whom it becomes, and
what it tells."""
import fcntl
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys

import pytest
from conftest import BINARY, is_alive, wait_for
from test_devices import describe, gpus  # noqa: F401

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "fixtures"))
from other_user import OWNER, OpenPlace, needs_two_users  # noqa: E402

LONG = 1e9  # seconds after the start of any machine


def boot():
    return pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def order(machine, folder, command, attempt, job, options):
    return {"type": "order", "version": 1, "mlflow_uri": "", "no_mlflow": True, "quiet": False,
            "jobs": [{"command": command, "directory": str(machine.folder), **job}],
            "options": {"store": machine.environment["PLIMSOLL_STORE"], "rate": 10, "grace_milliseconds": 10000,
                        "orphans": "wait", "if_killed": "end", "log_limit_bytes": 1 << 20, "retry_out_of_memory": False,
                        "wait": True, "show_output": False, "output_to_error": False, "inherit_input": False,
                        "profiler": "none", "recorded_variables": [], **options},
            "attempt": {"folder": str(folder), "leased": False, "lease_patience_seconds": 100000, "umask": 0o22,
                        "shared_as": "alone", **attempt}}


class Client:
    """One end of a supervisor's talk."""

    def __init__(self, connection):
        self.connection = connection
        self.lines = connection.makefile("rb")
        self.heard = []

    def await_message(self, kind, condition=lambda message: True):
        """The first of that type, of what has come or is still to come."""
        for message in self.heard:
            if message["type"] == kind and condition(message):
                return message
        for line in self.lines:
            message = json.loads(line)
            self.heard.append(message)
            if message["type"] == kind and condition(message):
                return message
        raise AssertionError(f"it ended without {kind}: {self.heard}")

    def say(self, message):
        self.connection.sendall(json.dumps(message).encode() + b"\n")

    def close(self):
        self.lines.close()
        self.connection.close()


class Attempt:
    def __init__(self, machine, folder):
        self.machine = machine
        self.folder = folder
        self.process = None
        self.client = None

    def start(self, command, job=None, options=None, leaked=(), **attempt):
        """`leaked`: descriptors that a careless daemon leaves open."""
        ours, theirs = socket.socketpair()
        ours.settimeout(300)
        theirs = socket.socket(fileno=fcntl.fcntl(theirs.detach(), fcntl.F_DUPFD, 50))
        self.process = subprocess.Popen(
            ["/bin/bash", "-c", f'exec "$0" supervise 3<&{theirs.fileno()} {theirs.fileno()}<&-',
             getattr(self.machine, "binary", BINARY)],
            env=self.machine.environment, cwd="/", pass_fds=[theirs.fileno(), *leaked], start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        theirs.close()
        self.client = Client(ours)
        self.client.say(order(self.machine, self.folder, command, attempt, job or {}, options or {}))
        return self

    def read(self, name):
        path = self.folder / name
        return json.loads(path.read_text()) if path.exists() else None

    def lease(self, seconds, of=None):
        (self.folder / "lease.fresh").write_text(f"{of or boot()} {seconds}\n")
        (self.folder / "lease.fresh").rename(self.folder / "lease")

    def is_locked(self):
        with open(self.folder / "lock") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
            return False

    def later_client(self):
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(300)
        connection.connect(self.read("began")["socket"])
        return Client(connection)

    def end(self):
        """How it ended, once the supervisor has gone."""
        ended = self.client.await_message("ended")
        assert self.process.wait(timeout=300) == 0
        return ended

    def remove(self):
        if self.client:
            self.client.close()
        if self.process and self.process.poll() is None:
            self.process.terminate()
            self.process.wait(timeout=300)


@pytest.fixture
def attempt(machine):
    folder = machine.folder / "7.1"
    folder.mkdir(mode=0o700)
    made = Attempt(machine, folder)
    yield made
    made.remove()


WAITS = """
import os, time
open("started", "w").write(str(os.getpid()))
while not os.path.exists("go"): time.sleep(0.02)
"""


def started(machine):
    return int(wait_for(lambda: (machine.folder / "started").exists() and (machine.folder / "started").read_text()))


def test_what_begins_and_ends_is_on_the_disk_first(machine, attempt):
    # The command itself looks whether its start was noted.
    attempt.start(machine.script(f"import sys; sys.exit(7 if open({str(attempt.folder / 'began')!r}).read() else 9)"))
    ended = attempt.client.await_message("ended")
    on_disk = attempt.read("ended")
    assert on_disk["version"] == 1 and {**on_disk, "version": 1} == {**ended, "version": 1}
    assert (ended["outcome"], ended["exit_code"]) == ("failed", 7)
    assert "stopped" not in ended and "gpu_fault" not in ended
    attempt.end()
    began = attempt.read("began")
    assert began["version"] == 1 and began["run"] == ended["run"]
    assert began["supervisor"].split()[0] == str(attempt.process.pid)
    assert not attempt.is_locked()
    assert machine.show(ended["run"])["tags"]["plimsoll.mode"] == "alone"


def test_a_good_end(machine, attempt):
    assert attempt.start(["true"], shared_as="mps").end()["outcome"] == "finished"
    assert attempt.read("ended")["outcome"] == "finished"
    assert machine.last()["tags"]["plimsoll.mode"] == "mps"


def test_a_command_that_cannot_be_started(attempt):
    ended = attempt.start(["/nonexistent/program"]).end()
    assert (ended["outcome"], ended["exit_code"]) == ("failed", 127)
    assert attempt.read("ended")["outcome"] == "failed"


def test_a_killed_supervisor_leaves_no_end(machine, attempt):
    attempt.start(machine.script(WAITS))
    command = started(machine)
    assert attempt.is_locked()
    assert attempt.read("began")
    attempt.process.kill()
    attempt.process.wait()
    assert attempt.read("ended") is None
    wait_for(lambda: not attempt.is_locked())
    wait_for(lambda: not is_alive(command))  # the kernel ends it


def test_no_attempt_is_begun_twice(machine, attempt):
    attempt.start(machine.script(WAITS))
    started(machine)
    second = Attempt(machine, attempt.folder).start(["true"])
    assert "another supervisor" in second.client.await_message("failed")["error"]["message"]
    second.remove()
    (machine.folder / "go").touch()
    attempt.end()
    third = Attempt(machine, attempt.folder).start(["true"])
    assert "begun once" in third.client.await_message("failed")["error"]["message"]
    third.remove()


def test_without_a_note_of_its_beginning_nothing_is_started(machine, attempt):
    (attempt.folder / ".began.new").mkdir()
    ended = attempt.start(machine.script(WAITS)).end()
    assert ended["outcome"] == "refused"
    assert not (machine.folder / "started").exists()
    assert machine.show(ended["run"])["status"] != "running"


def test_a_full_disk_stops_no_command(machine, attempt):
    for name in (".saved.new", ".ended.new"):
        (attempt.folder / name).mkdir()
    attempt.start(machine.script("print('plimsoll: saved step 1')"))
    assert attempt.end()["outcome"] == "finished"
    assert any("takes nothing" in message.get("text", "") for message in attempt.client.heard)
    assert attempt.read("ended") is None


def test_what_is_saved(machine, attempt):
    attempt.start(machine.script("""
import signal, sys, time
signal.signal(signal.SIGUSR1, lambda *_: print("plimsoll: saved step 400", flush=True))
print("not plimsoll: saved step 1"); print("plimsoll: savedstep 2"); print("plimsoll: metric x 1 step 3", flush=True)
while True: time.sleep(0.02)
"""))
    attempt.client.await_message("progress", lambda told: told.get("step") == 3)
    assert attempt.read("saved") is None
    attempt.client.say({"type": "signal", "number": int(signal.SIGUSR1)})
    told = attempt.client.await_message("saved")
    assert told["text"] == "step 400"
    saved = attempt.read("saved")
    assert saved["version"] == 1 and saved["text"] == "step 400" and saved["at"] == told["at"]
    assert 0 < saved["boottime"]
    attempt.client.say({"type": "stop", "run": told["run"]})
    ended = attempt.end()
    assert (ended["outcome"], ended["stopped"]) == ("interrupted", "interrupted")


def test_the_last_words_count(machine, attempt):
    attempt.start(machine.script("print('plimsoll: metric x 1 step 9'); print('plimsoll: saved at the end')"))
    attempt.end()
    assert attempt.read("saved")["text"] == "at the end"
    assert [m["step"] for m in attempt.client.heard if m["type"] == "progress"][-1] == 9


def test_saved_is_only_text_for_others(machine):
    done = machine.run("--", *machine.script("print('plimsoll: saved step 400')"))
    assert done.code == 0 and "plimsoll: saved step 400" in done.out


def test_the_daemon_goes_and_another_comes(machine, attempt):
    attempt.start(machine.script("""
import os, time
print("plimsoll: metric loss 1 step 5"); print("plimsoll: metric loss 1 step 4 epoch 2", flush=True)
open("started", "w").write(str(os.getpid()))
while not os.path.exists("more"): time.sleep(0.02)
print("plimsoll: metric loss 1 step 6", flush=True)
while not os.path.exists("go"): time.sleep(0.02)
"""))
    attempt.client.await_message("progress", lambda told: told.get("epoch") == 2 and told.get("step") == 5)
    attempt.client.close()
    (machine.folder / "more").touch()
    for _ in range(2):
        later = attempt.later_client()
        assert later.await_message("started")["run"] == attempt.read("began")["run"]
        told = later.await_message("progress", lambda told: told.get("step") == 6)
        assert told["epoch"] == 2 and told["at"] > 1e9
        later.close()
    # Of what was told before, the newest alone.
    later = attempt.later_client()
    later.await_message("progress")
    assert [m["step"] for m in later.heard if m["type"] == "progress"] == [6]
    (machine.folder / "go").touch()
    assert later.await_message("ended")["outcome"] == "finished"
    attempt.process.wait(timeout=300)
    later.close()
    attempt.client = None


def test_a_lease_that_runs_out_ends_it(machine, attempt):
    attempt.lease(LONG)
    attempt.start(machine.script(WAITS), options={"grace_milliseconds": 60000}, leased=True)
    command = started(machine)
    attempt.lease(1)
    ended = attempt.end()
    assert (ended["outcome"], ended["stopped"]) == ("interrupted", "lease")
    assert "lease" in ended["reason"]
    assert attempt.read("ended")["stopped"] == "lease"
    assert not is_alive(command)


def test_a_lease_spares_nobody_who_ignores_it(machine, attempt):
    attempt.lease(LONG)
    attempt.start(machine.script("import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + WAITS),
                  options={"grace_milliseconds": 10_000_000}, leased=True)
    started(machine)
    attempt.lease(1)  # nothing is left of the grace
    ended = attempt.end()
    assert (ended["stopped"], ended["signal"]) == ("lease", signal.SIGKILL)


def test_a_lease_that_is_renewed_keeps_it(machine):
    def now():
        return float(pathlib.Path("/proc/uptime").read_text().split()[0])

    # A machine that is too slow to renew it in time gets a longer one.
    for seconds in (6, 60, 600):
        folder = machine.folder / f"8.{seconds}"
        folder.mkdir(mode=0o700)
        attempt = Attempt(machine, folder)
        try:
            end = now() + seconds
            attempt.lease(end)
            attempt.start(machine.script(WAITS), options={"grace_milliseconds": 100}, leased=True)
            wait_for(lambda: (machine.folder / "started").exists() or attempt.read("ended"))
            attempt.lease(LONG)
            wait_for(lambda: now() > end + 2 or attempt.read("ended"), 700)
            if attempt.read("ended"):
                continue
            (machine.folder / "go").touch()
            assert attempt.end()["outcome"] == "finished"
            return
        finally:
            attempt.remove()
            (machine.folder / "started").unlink(missing_ok=True)
    raise AssertionError("it was ended although its lease went on")


@pytest.mark.parametrize("lease", [None, "nonsense", "another-boot 1e9"])
def test_what_is_no_lease_runs_out_after_the_patience(machine, attempt, lease):
    if lease:
        (attempt.folder / "lease").write_text(lease)
    ended = attempt.start(machine.script(WAITS), options={"grace_milliseconds": 100}, leased=True,
                          lease_patience_seconds=4).end()
    # On a slow machine it is over before the command could be started.
    assert ended["outcome"] == "refused" or ended["stopped"] == "lease"


def test_one_whose_lease_is_over_is_not_begun(machine, attempt):
    attempt.lease(1)
    ended = attempt.start(machine.script(WAITS), leased=True).end()
    assert ended["outcome"] == "refused" and "lease" in ended["reason"]
    assert attempt.read("began") is None
    assert attempt.read("ended")["outcome"] == "refused"


def test_a_fault_on_the_gpu_is_told(machine, attempt):
    attempt.start(machine.script("raise SystemExit('CUDA error: an illegal memory access was encountered')"))
    ended = attempt.end()
    assert (ended["outcome"], ended["gpu_fault"]) == ("failed", True)


def test_what_it_takes_of_its_gpu_is_told(gpus, attempt):  # noqa: F811
    """The queue has admitted it: it starts, although the GPU has not so much. Then it takes 5 GiB, and 3."""
    attempt.start(gpus.script(WAITS), job={"devices": ["1"], "need_bytes": 1 << 45}, shared_as="naive")
    command = started(gpus)
    promise, = wait_for(lambda: list(gpus.runtime.glob("plimsoll/*/promises/*.json")))
    assert json.loads(promise.read_text())["need_bytes"] == 1 << 45
    text = gpus.description.read_text()
    for size in (5 << 30, 3 << 30):
        describe(gpus, text + f"process {command} {size} 1.0\n")
        told = attempt.client.await_message("progress", lambda told: told.get("gpu_bytes") == size)
    assert told["gpu_watts"] > 0 and 0 <= told["gpu_sm_activity"] <= 1 and 0 <= told["gpu_dram_activity"] <= 1
    assert "step" not in told
    (gpus.folder / "go").touch()
    ended = attempt.end()
    assert ended["outcome"] == "finished" and ended["peak_gpu_bytes"] == 5 << 30
    assert attempt.read("ended")["peak_gpu_bytes"] == 5 << 30
    assert gpus.last()["tags"]["plimsoll.mode"] == "naive"


def test_the_environment_is_the_jobs_alone(machine, attempt):
    machine.environment["OF_THE_DAEMON"] = "secret"
    attempt.start(machine.script("import json, os; json.dump([dict(os.environ), os.getcwd()], open('given', 'w'))"),
                  job={"environment": [["CUDA_MPS_PIPE_DIRECTORY", "/pipes"]]},
                  environment=[["PATH", os.environ["PATH"]], ["XDG_RUNTIME_DIR", str(machine.runtime)], ["MINE", "a=b"],
                               ["PLIMSOLL_NVML_LIBRARY", "/nonexistent"]])
    assert attempt.end()["outcome"] == "finished"
    given, directory = json.loads((machine.folder / "given").read_text())
    assert given["MINE"] == "a=b" and given["CUDA_MPS_PIPE_DIRECTORY"] == "/pipes"
    assert "OF_THE_DAEMON" not in given and "HOME" not in given
    assert directory == str(machine.folder)


@pytest.mark.parametrize("place", ["missing", "linked", "open"])
def test_a_folder_that_is_not_the_jobs_alone_is_refused(machine, attempt, place):
    attempt.folder = machine.folder / place
    if place == "linked":
        attempt.folder.symlink_to(machine.folder / "7.1")
    if place == "open":
        attempt.folder.mkdir()
        attempt.folder.chmod(0o770)
    assert attempt.start(["true"]).client.await_message("failed")["error"]["message"]
    attempt.process.wait(timeout=300)


BECOMES = """
import json, os
facts = dict(line.split(":", 1) for line in open("/proc/self/status") if ":" in line)
supervisor = os.getppid()
def readable(path):
    try:
        return bool(open(path, "rb").read(1))
    except OSError:
        return False
descriptors = []
for name in os.listdir("/proc/self/fd"):
    try:
        descriptors.append(os.readlink("/proc/self/fd/" + name))
    except OSError:
        pass  # the list's own
json.dump({"ids": os.getresuid() + os.getresgid(), "groups": os.getgroups(), "umask": facts["Umask"].strip(),
           "capabilities": [facts[name].strip() for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")],
           "environment": dict(os.environ), "directory": os.getcwd(), "descriptors": descriptors,
           "reads_daemon": readable(f"/proc/{supervisor}/environ")}, open("given", "w"))
"""


@needs_two_users
def test_it_becomes_the_jobs_user():
    place = OpenPlace()
    try:
        place.folder = place.home
        place.environment = {"PATH": os.environ["PATH"], "OF_THE_DAEMON": "secret", "PLIMSOLL_STORE": ""}
        runtime = place.home / "runtime"
        runtime.mkdir(mode=0o700)
        os.chown(runtime, OWNER, OWNER)
        # A daemon's folders are closed to the user, but for the attempt's own.
        state = place.root / "state"
        state.mkdir(mode=0o700)
        folder = state / "7.1"
        folder.mkdir(mode=0o700)
        os.chown(folder, OWNER, OWNER)
        attempt = Attempt(place, folder)
        secret = os.open(place.root / "secret", os.O_RDWR | os.O_CREAT, 0o600)
        attempt.start([place.python, "-c", BECOMES], leaked=[secret], user={"user": OWNER, "group": OWNER, "groups": [OWNER, 64003]},
                      umask=0o27, environment=[["PATH", os.environ["PATH"]], ["HOME", str(place.home)],
                                               ["XDG_RUNTIME_DIR", str(runtime)],
                                               ["PLIMSOLL_NVML_LIBRARY", "/nonexistent"]])
        ended = attempt.client.await_message("ended")
        assert ended["outcome"] == "finished", ended
        attempt.process.wait(timeout=300)
        given = json.loads((place.home / "given").read_text())
        assert given["ids"] == [OWNER] * 6
        assert sorted(given["groups"]) == [OWNER, 64003]
        assert given["umask"] == "0027"
        assert {int(value, 16) for value in given["capabilities"]} == {0}
        assert "OF_THE_DAEMON" not in given["environment"] and given["environment"]["HOME"] == str(place.home)
        assert given["directory"] == str(place.home)
        assert given["reads_daemon"] is False
        assert "secret" not in " ".join(given["descriptors"])
        assert os.stat(place.home / "given").st_uid == OWNER
        # Its record is in that user's own store, its files are that user's.
        assert os.stat(place.home / ".local/share/plimsoll/plimsoll.db").st_uid == OWNER
        assert os.stat(runtime / "plimsoll").st_uid == OWNER
        assert {os.stat(folder / name).st_uid for name in ("lock", "began", "ended")} == {OWNER}
        attempt.remove()
    finally:
        place.remove()


@needs_two_users
def test_a_folder_of_another_user_is_refused(machine, attempt):
    attempt.start(["true"], user={"user": OWNER, "group": OWNER, "groups": []})
    assert "job's user alone" in attempt.client.await_message("failed")["error"]["message"]
    attempt.process.wait(timeout=300)
