"""What hangs holds up nothing else: stand-ins wait until the test lets them go, and what is checked is the order of events."""
import os
import pathlib
import signal
import sys
import tempfile

import pytest
from conftest import is_alive, wait_for

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "fixtures"))
from postgres_server import Postgres, pg_programs  # noqa: E402

# A program that says that it has begun and then waits to be let go.
WAITS = """#!/bin/sh
echo $$ >>"{folder}/{name}.begun"
until [ -e "{folder}/{name}.go" ]; do sleep 0.05; done
exec {real} "$@"
"""


def stand_in(machine, name, real="true"):
    path = machine.folder / "bin" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(WAITS.format(folder=machine.folder, name=name, real=real))
    path.chmod(0o755)
    machine.environment["PATH"] = f"{path.parent}:{machine.environment['PATH']}"
    return path


def begun(machine, name):
    return wait_for(lambda: (machine.folder / f"{name}.begun").exists())


def let_go(machine, name):
    (machine.folder / f"{name}.go").touch()


def test_while_git_hangs_the_command_runs_and_is_recorded(machine):
    stand_in(machine, "git", "false")
    process = machine.start("run", "--", "sh", "-c", "echo here; read line; echo $line", stdin=-1)
    begun(machine, "git")
    assert process.stdout.readline() == "here\n", "the command runs although git has not answered"
    assert not (machine.folder / "git.go").exists()
    process.stdin.write("there\n")
    process.stdin.close()
    assert process.stdout.readline() == "there\n"
    let_go(machine, "git")
    assert process.wait(timeout=300) == 0
    assert machine.last()["status"] == "FINISHED"


def test_while_git_hangs_limits_and_signals_are_served(machine):
    stand_in(machine, "git", "false")
    limited = machine.start("run", "-q", "--time-limit", "0.2s", "--grace", "1000s", "--", "sh", "-c",
                            "trap 'echo limit; touch ended; exit 0' TERM; while :; do sleep 0.05; done")
    begun(machine, "git")
    assert limited.stdout.readline() == "limit\n"
    process = machine.start("run", "-q", "--", "sh", "-c", "trap 'echo interrupted; exit 0' INT; echo here; while :; do sleep 0.05; done")
    assert process.stdout.readline() == "here\n"
    process.send_signal(signal.SIGINT)
    assert process.stdout.readline() == "interrupted\n"
    assert not (machine.folder / "git.go").exists()
    let_go(machine, "git")
    assert limited.wait(timeout=300) == 124
    assert process.wait(timeout=300) == 0


def test_while_pip_hangs_output_and_signals_are_served(machine):
    # The command's Python is asked for its packages while it runs.
    python = machine.folder / "bin" / "python3"
    python.parent.mkdir()
    python.write_text(f"""#!/bin/sh
case "$*" in
  *freeze*|*platform*) echo $$ >>"{machine.folder}/packages.begun"; until [ -e "{machine.folder}/packages.go" ]; do sleep 0.05; done; exit 1 ;;
esac
exec {sys.executable} "$@"
""")
    python.chmod(0o755)
    process = machine.start("run", "-q", "--", str(python), "-c",
                            "import os, signal, time\n"
                            "def stop(*_): print('interrupted', flush=True); raise SystemExit(0)\n"
                            "signal.signal(signal.SIGINT, stop)\n"
                            f"while not os.path.exists({str(machine.folder / 'packages.begun')!r}): time.sleep(0.02)\n"
                            "print('asked', flush=True)\n"
                            "while True: time.sleep(0.02)")
    assert process.stdout.readline() == "asked\n"
    process.send_signal(signal.SIGINT)
    assert process.stdout.readline() == "interrupted\n"
    assert not (machine.folder / "packages.go").exists()
    let_go(machine, "packages")
    assert process.wait(timeout=300) == 0
    assert machine.last()["tags"]["plimsoll.outcome"] in ("finished", "interrupted")


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


CLIENT = """
import os, socket, sys
s = socket.socket(socket.AF_UNIX); s.connect(os.environ["PLIMSOLL_SOCKET"])
answers = s.makefile()
def send(first, last):
    s.sendall(b"".join(b"metric loss 1 step %d\\n" % i for i in range(first, last)))
send(0, 100)
while int(answers.readline().split()[1]) < 100: pass
print("kept 100", flush=True)
sys.stdin.readline()          # the store hangs from here on
send(100, 200)
print("sent", flush=True)
sys.stdin.readline()          # and answers again
while int(answers.readline().split()[1]) < 200: pass
print("kept 200", flush=True)
"""


def test_a_store_that_hangs_holds_up_nothing_and_loses_nothing(machine, postgres):
    machine.environment["PLIMSOLL_STORE"] = postgres.url
    machine.environment["PLIMSOLL_ARTIFACTS"] = str(machine.folder / "artifacts")
    process = machine.start("run", "-q", "--no-mlflow", "--", *machine.script(CLIENT), stdin=-1)
    assert process.stdout.readline() == "kept 100\n"
    postgres.hang()
    process.stdin.write("hangs\n"); process.stdin.flush()
    assert process.stdout.readline() == "sent\n", "output passes while the store hangs"
    postgres.go_on()
    process.stdin.write("answers\n"); process.stdin.flush()
    assert process.stdout.readline() == "kept 200\n"
    process.stdin.close()
    assert process.wait(timeout=300) == 0
    run = machine.last()
    assert run["metrics"]["loss"]["points"] == 200 and run["status"] == "FINISHED"


def test_while_the_store_hangs_a_signal_ends_the_command_and_the_wait(machine, postgres):
    machine.environment["PLIMSOLL_STORE"] = postgres.url
    machine.environment["PLIMSOLL_ARTIFACTS"] = str(machine.folder / "artifacts")
    process = machine.start("run", "--no-mlflow", "--", "sh", "-c",
                            "trap 'echo interrupted; exit 7' INT; echo here; while :; do sleep 0.05; done")
    assert process.stdout.readline() == "here\n"
    postgres.hang()
    process.send_signal(signal.SIGINT)
    assert process.stdout.readline() == "interrupted\n"
    # The command has ended; what is left is the record, for which nobody need wait.
    while "still waiting" not in (line := process.stderr.readline()):
        assert line, "it did not say so"
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 7 and "does not answer" in err
    postgres.go_on()
    assert machine.run("--no-mlflow", "--", "true").code == 0
    ended = [run for run in machine.runs() if run["tags"].get("plimsoll.outcome") in ("interrupted", "failed", "lost")]
    assert len(ended) == 1, "the record has its end, from this or from the next start"
    wait_for(lambda: not machine.leftovers())


def test_while_the_mps_daemon_does_not_answer_a_signal_is_served(machine):
    machine.environment.update(PLIMSOLL_NVML_LIBRARY=os.environ["PLIMSOLL_FAKE_NVML_LIBRARY"],
                               PLIMSOLL_FAKE_NVML=str(pathlib.Path(__file__).parent.parent / "fixtures" / "two_gpus.txt"))
    stand_in(machine, "nvidia-cuda-mps-control", "false")
    process = machine.start("run", "--device", "0", "--mode", "mps", "--", "touch", "begun")
    begun(machine, "nvidia-cuda-mps-control")
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=300) == 130
    assert not (machine.folder / "begun").exists() and not (machine.folder / "nvidia-cuda-mps-control.go").exists()
    let_go(machine, "nvidia-cuda-mps-control")
    wait_for(lambda: not machine.leftovers())
    for line in (machine.folder / "nvidia-cuda-mps-control.begun").read_text().split():
        wait_for(lambda: not is_alive(int(line)))


def test_while_an_estimate_hangs_a_signal_is_served(machine):
    machine.environment.update(PLIMSOLL_NVML_LIBRARY=os.environ["PLIMSOLL_FAKE_NVML_LIBRARY"],
                               PLIMSOLL_FAKE_NVML=str(pathlib.Path(__file__).parent.parent / "fixtures" / "two_gpus.txt"),
                               PLIMSOLL_PYTHON=str(stand_in(machine, "reader", "false")))
    (machine.folder / "model.py").write_text("")
    process = machine.start("run", "--device", "0", "--estimate", "model.py:net --device h200", "--", "touch", "begun")
    begun(machine, "reader")  # what reads the model for the estimate
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=300) == 130
    assert not (machine.folder / "begun").exists() and not (machine.folder / "reader.go").exists()
    let_go(machine, "reader")
    wait_for(lambda: not machine.leftovers())
