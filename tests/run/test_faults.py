"""What goes wrong: kill -9 of every part, a full disk, a locked database, commands that misbehave."""
import json
import os
import pathlib
import random
import resource
import signal
import sqlite3
import subprocess
import sys
import time

import pytest
from conftest import MILLION, is_alive, wait_for


def pid_in(path):
    return wait_for(lambda: path.exists() and path.read_text().strip() and int(path.read_text()))


def test_kill_9_of_the_command(machine):
    process = machine.start("run", "--", "sh", "-c", f"echo $$ >{machine.folder}/pid; exec sleep 1000")
    os.kill(pid_in(machine.folder / "pid"), signal.SIGKILL)
    assert process.wait(timeout=300) == 128 + signal.SIGKILL
    run = machine.last()
    assert run["tags"]["plimsoll.outcome"] == "failed"
    assert run["tags"]["plimsoll.signal"] == "9"
    assert not machine.leftovers()


def test_kill_9_of_a_member_of_its_group(machine):
    process = machine.start("run", "--", "sh", "-c",
                            f"sleep 1000 & echo $! >{machine.folder}/pid; wait $!; echo member $?; exit 0")
    os.kill(pid_in(machine.folder / "pid"), signal.SIGKILL)
    out, _ = process.communicate(timeout=300)
    assert process.returncode == 0
    assert "member 137" in out
    assert machine.last()["tags"]["plimsoll.outcome"] == "finished"


def test_kill_9_of_the_supervisor_is_cleaned_up_by_the_next_start(machine):
    stubborn = machine.script("""
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
open("pid", "w").write(str(os.getpid()))
while True:
    try: print("plimsoll: metric loss 1 step 1", flush=True)
    except BrokenPipeError: pass
    time.sleep(0.2)
""")
    process = machine.start("run", "--", *stubborn)
    pid = pid_in(machine.folder / "pid")
    lost = wait_for(lambda: [r for r in machine.runs() if "loss" in r["metrics"]])[0]["id"]
    bystander = subprocess.Popen(["sleep", "1000"])
    os.kill(machine.supervisor(), signal.SIGKILL)
    _, said = process.communicate(timeout=300)
    assert process.returncode == 128 + signal.SIGKILL and "supervisor of the command was killed" in said
    assert is_alive(pid) and len(machine.leftovers()) == 1
    done = machine.run("--", "true")
    assert done.code == 0
    assert "left behind" in done.err and "is lost" in done.err
    wait_for(lambda: not is_alive(pid))
    assert is_alive(bystander.pid)
    bystander.kill()
    bystander.wait()
    assert not machine.leftovers()
    run = machine.show(lost)
    assert run["tags"]["plimsoll.outcome"] == "lost"
    assert run["status"] == "FAILED"
    assert run["metrics"]["loss"]["points"] >= 1


def test_one_that_lives_is_left_alone(machine):
    process = machine.start("run", "--", "sh", "-c", f"echo $$ >{machine.folder}/pid; exec sleep 1000")
    pid = pid_in(machine.folder / "pid")
    assert machine.run("--", "true").code == 0
    assert is_alive(pid) and process.poll() is None
    process.terminate()
    assert process.wait(timeout=300) == 128 + signal.SIGTERM


def test_a_command_that_forks_and_exits_is_watched_to_its_end(machine):
    done = machine.run("--", "sh", "-c", "(sleep 1; echo 'plimsoll: metric late 1 step 1') & exit 5")
    assert done.code == 5
    assert machine.last()["metrics"]["late"]["points"] == 1
    # One that goes on until Plimsoll has said that it does.
    daemon = machine.start("run", "--", "sh", "-c", "setsid sh -c 'until [ -e told ]; do sleep 0.05; done; "
                           "echo \"plimsoll: metric later 1\"' & exit 0")
    while "runs on" not in (line := daemon.stderr.readline()):
        assert line, "it did not say so"
    (machine.folder / "told").touch()
    daemon.communicate(timeout=300)
    assert daemon.returncode == 0
    assert machine.last()["metrics"]["later"]["points"] == 1


def test_orphans_can_be_ended_or_left(machine):
    assert machine.run("--orphans", "end", "--grace", "1s", "--", "sh", "-c", "trap '' TERM; sleep 1000 & exit 0").code == 0
    left = machine.run("--orphans", "leave", "--", "sh", "-c", f"sleep 1000 >/dev/null 2>&1 & echo $! >{machine.folder}/pid")
    assert left.code == 0
    assert is_alive(pid_in(machine.folder / "pid"))
    os.kill(pid_in(machine.folder / "pid"), signal.SIGKILL)


def test_a_command_that_ignores_sigterm_is_ended_firmly(machine):
    # It ignores it from its first moment on: what is ignored when Plimsoll starts stays ignored.
    done = machine.run("--time-limit", "0.5s", "--grace", "0.5s", "--", "sh", "-c", "while :; do sleep 0.1; done",
                       preexec_fn=lambda: signal.signal(signal.SIGTERM, signal.SIG_IGN))
    assert done.code == 124
    run = machine.last()
    assert run["tags"]["plimsoll.outcome"] == "time-limit"
    assert run["tags"]["plimsoll.signal"] == "9"


def test_a_gigabyte_of_output(machine):
    # Bounded memory, bounded log, every byte passed on.
    process = machine.start("run", "-q", "--log-limit", "1MiB", "--", "sh", "-c",
                            "yes 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde | head -c 1073741824; "
                            "echo; echo 'plimsoll: metric last 1'", stdout=subprocess.PIPE)
    counter = subprocess.Popen(["wc", "-c"], stdin=process.stdout, stdout=subprocess.PIPE, text=True)
    process.stdout.close()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    assert int(counter.communicate()[0]) >= 1 << 30
    assert usage.ru_maxrss < 60 << 10 or MILLION < 1_000_000, f"{usage.ru_maxrss} KiB"  # a sanitizer's own memory is more
    run = machine.last()
    assert run["metrics"]["last"]["points"] == 1
    log = next(file for file in run["files"] if file["path"] == "output.log")
    assert log["bytes"] < 3 << 20


def test_a_line_without_end_is_no_trouble(machine):
    done = machine.run("-q", "--", "sh", "-c", "head -c 50000000 /dev/zero | tr '\\0' x; echo; echo 'plimsoll: metric m 1'")
    assert done.code == 0
    assert machine.last()["metrics"]["m"]["points"] == 1


def test_a_command_that_is_not_found(machine):
    done = machine.run("--", "no-such-program")
    assert done.code == 127
    assert "no-such-program is not in PATH" in done.err
    run = machine.last()
    assert run["tags"]["plimsoll.outcome"] == "failed"
    assert run["status"] == "FAILED"


def test_a_full_disk(machine):
    # Files of this process and its children end at 1 MiB; values that do not compress soon reach it. The command does
    # not notice, and the store is whole afterwards.
    machine.run("--", "true")

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))

    done = machine.run("--", sys.executable, "-c",
                       "import random\nfor i in range(300_000):\n print('plimsoll: metric loss', random.random(), 'step', i)\n"
                       "print('done')", preexec_fn=limit, timeout=300)
    assert done.code == 0, done.err
    assert "done" in done.out
    assert "the store takes nothing now" in done.err and "not kept" in done.err
    assert done.err.count("the store takes nothing now") == 1, "said once"
    assert machine.run("--", "true").code == 0
    runs = machine.runs()
    assert len(runs) == 3
    # The end is small: there is room for it where there is none for the metrics, or the next start writes it.
    kept = runs[1]["status"] == "FINISHED" and runs[1]["tags"]["plimsoll.outcome"] == "finished"
    assert kept or "could not write" in runs[1]["tags"]["plimsoll.reason"]


def test_a_locked_database(machine):
    machine.run("--", "true")
    process = machine.start("run", "--", sys.executable, "-c",
                            "import time\nfor i in range(30):\n print('plimsoll: metric loss', i, 'step', i, flush=True)\n"
                            " time.sleep(0.1)")
    wait_for(lambda: len(machine.runs()) == 2)
    other = sqlite3.connect(machine.environment["PLIMSOLL_STORE"], isolation_level=None, timeout=300)
    other.execute("BEGIN EXCLUSIVE")
    while "plimsoll: metric loss 29" not in process.stdout.readline():  # the command is not held up
        pass
    time.sleep(1)
    other.execute("ROLLBACK")
    assert process.wait(timeout=300) == 0
    assert machine.last()["metrics"]["loss"]["points"] == 30


@pytest.fixture
def little_memory():
    """A control group of 256 MiB, as it is in a container or on a machine whose memory is full; how to enter it."""
    first, second = pathlib.Path("/sys/fs/cgroup/memory"), pathlib.Path("/sys/fs/cgroup")
    old = (first / "memory.limit_in_bytes").exists()
    group = (first if old else second) / f"plimsoll-test-{os.getpid()}"
    try:
        group.mkdir()
        (group / ("memory.limit_in_bytes" if old else "memory.max")).write_text(str(256 << 20))
    except OSError as error:
        if group.exists():
            group.rmdir()
        pytest.skip(f"no control group can be made here: {error}")
    yield lambda: (group / "cgroup.procs").write_text(str(os.getpid()))
    wait_for(lambda: not (group / "cgroup.procs").read_text().strip())
    group.rmdir()


def test_a_memory_that_is_full_ends_the_command_and_nothing_else(machine, little_memory):
    done = machine.run("--no-mlflow", "--", sys.executable, "-c",
                       "print('plimsoll: metric before 1', flush=True)\n"
                       "kept = []\nwhile True: kept.append(bytearray(b'x' * (8 << 20)))", preexec_fn=little_memory)
    assert done.code == 128 + signal.SIGKILL, done.err
    run = machine.last()
    assert run["tags"]["plimsoll.outcome"] == "killed-for-memory" and run["status"] == "FAILED"
    assert run["metrics"]["before"]["points"] == 1
    assert not machine.leftovers()


CLIENT = """
import itertools, os, socket, threading
s = socket.socket(socket.AF_UNIX); s.connect(os.environ["PLIMSOLL_SOCKET"])
out = os.open("acknowledged", os.O_WRONLY | os.O_CREAT)
def read():
    rest = b""
    while True:
        got = s.recv(65536)
        if not got: return
        rest += got
        lines = rest.split(b"\\n"); rest = lines.pop()
        if lines: os.pwrite(out, lines[-1].split()[1].ljust(20), 0)
threading.Thread(target=read, daemon=True).start()
for start in itertools.count(0, 1000):
    s.sendall(b"".join(b"metric loss %d.5 step %d\\n" % (i % 7, i) for i in range(start, start + 1000)))
"""


def test_a_million_acknowledged_metrics_survive_kill_9(machine):
    process = machine.start("run", "-q", "--", *machine.script(CLIENT))
    path = machine.folder / "acknowledged"
    read = lambda: int(path.read_text().split()[0]) if path.exists() and path.read_text().strip() else 0
    wait_for(lambda: read() >= MILLION, 900)
    time.sleep(random.random() * 0.2)  # at any moment
    os.kill(machine.supervisor(), signal.SIGKILL)
    process.wait()
    acknowledged = wait_for(read)
    time.sleep(0.5)
    acknowledged = max(acknowledged, read())
    machine.run("--", "true")
    run = machine.show(machine.runs()[1]["id"])
    assert run["metrics"]["loss"]["points"] >= acknowledged >= MILLION
    assert run["tags"]["plimsoll.outcome"] == "lost"


def test_a_client_that_never_reads_its_answers_is_not_held_up(machine):
    client = machine.script("""
import os, socket
s = socket.socket(socket.AF_UNIX); s.connect(os.environ["PLIMSOLL_SOCKET"])
for i in range(60_000):
    s.sendall(b"metric loss 1 step %d\\n" % i)
    if i % 4 == 0: s.sendall(b"nonsense\\n")
""")
    assert machine.run("-q", "--time-limit", "250s", "--", *client).code == 0
    assert machine.last()["metrics"]["loss"]["points"] == 60_000


def test_messages_that_nobody_reads_end_nothing(machine):
    path = machine.folder / "jobs.csv"
    path.write_text("Workload,Command\na,sleep 1\nb,touch second\n")
    for target in ("/dev/full", "closed"):
        (machine.folder / "second").unlink(missing_ok=True)
        reader, writer = os.pipe()
        os.close(reader)
        with open("/dev/full", "w") if target == "/dev/full" else os.fdopen(writer, "w") as messages:
            assert machine.start("run", path, "--rerun", "all", stderr=messages).wait(timeout=300) == 0
        assert (machine.folder / "second").exists()


def test_what_was_to_be_ignored_stays_ignored(machine):
    def ignore():
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)

    process = machine.start("run", "-q", "--", "sh", "-c", f"echo $$ >{machine.folder}/pid; sleep 1; exit 6", preexec_fn=ignore)
    pid_in(machine.folder / "pid")
    process.send_signal(signal.SIGHUP)
    assert process.wait(timeout=300) == 6


def test_an_orphan_that_emptied_its_environment_is_waited_for(machine):
    done = machine.run("--", "sh", "-c", "env -i sh -c 'sleep 1; echo late' & exit 0")
    assert done.code == 0 and "late" in done.out


def test_a_param_said_twice_costs_nothing_else(machine):
    done = machine.run("--param", "lr=1", "--", "sh", "-c", "echo 'plimsoll: param lr 2'; echo 'plimsoll: param b 3'")
    assert done.code == 0 and "not kept" not in done.err
    run = machine.last()
    assert run["status"] == "FINISHED"
    assert run["params"] == {"lr": "1", "b": "3"}


def test_an_argument_that_looks_like_a_python_is_not_started(machine):
    trap = machine.folder / "python_trap"
    trap.write_text("#!/bin/sh\ntouch trapped\n")
    trap.chmod(0o755)
    assert machine.run("--", "sh", "-c", "sleep 2.5", "x", str(trap)).code == 0
    assert not (machine.folder / "trapped").exists()
