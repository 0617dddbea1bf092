"""One command: what goes through it, what is recorded."""
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time

from conftest import is_alive, wait_for


def test_output_and_exit_code_pass_through(machine):
    done = machine.run("--", "sh", "-c", "printf out; printf err >&2; exit 3")
    assert done.code == 3
    assert done.out == "out"
    assert done.err.startswith("err")
    run = machine.last()
    assert run["status"] == "FAILED"
    assert run["tags"]["plimsoll.outcome"] == "failed"
    assert run["tags"]["plimsoll.exit_code"] == "3"


def test_quiet_adds_nothing(machine):
    done = machine.run("-q", "--", "sh", "-c", "echo out; echo err >&2")
    assert (done.code, done.out, done.err) == (0, "out\n", "err\n")


def test_words_of_the_command_are_its_own(machine):
    done = machine.run("-q", "printf", "%s|", "--rate", "--json", "a b", "*")
    assert done.out == "--rate|--json|a b|*|"


def test_input_passes_through_a_pipe(machine):
    process = machine.start("run", "-q", "--", "cat", stdin=subprocess.PIPE)
    out, _ = process.communicate("hello", timeout=300)
    assert out == "hello"


def test_metrics_of_the_output(machine):
    done = machine.run("--metric-pattern", r"acc=accuracy: ([0-9.]+)", "--", "sh", "-c",
                       "for i in 1 2 3; do echo \"plimsoll: metric loss 0.$i step $i\"; done; echo 'accuracy: 0.75';"
                       "echo 'plimsoll: param lr 0.1'; echo 'plimsoll: epoch 2'")
    assert done.code == 0
    run = machine.last()
    assert run["metrics"]["loss"]["points"] == 3
    assert run["metrics"]["loss"]["value"] == 0.3
    assert run["metrics"]["acc"]["value"] == 0.75
    assert run["metrics"]["epoch"]["value"] == 2
    assert run["params"]["lr"] == "0.1"


def test_a_metric_that_cannot_be_read_is_told(machine):
    done = machine.run("--", "sh", "-c", "echo 'plimsoll: metric loss 1e400 step 1'; echo 'plimsoll: metric loss 0,5';"
                       "echo 'plimsoll: metric accuracy 0.5'")
    assert done.code == 0
    assert "2 metrics that the command printed could not be read" in done.err
    assert "1e400" in done.err
    run = machine.last()
    assert "loss" not in run["metrics"]
    assert run["metrics"]["accuracy"]["value"] == 0.5
    assert run["tags"]["plimsoll.metrics_unreadable"] == "2"


def test_metrics_by_the_socket_are_acknowledged(machine):
    client = machine.script("""
import os, socket
s = socket.socket(socket.AF_UNIX); s.connect(os.environ["PLIMSOLL_SOCKET"])
s.sendall(b"metric loss 0.5 step 1\\nmetric loss 0.25 step 2\\nnonsense\\n")
answer = b""
while b"ok 2" not in answer: answer += s.recv(1000)
print(answer.decode(), end="")
""")
    done = machine.run("-q", "--", *client)
    assert done.code == 0, done.err
    assert "error 3: 'nonsense'" in done.out
    run = machine.last()
    assert run["metrics"]["loss"]["points"] == 2
    assert "socket" in run["metrics"]["loss"]["source"]


def test_processes_and_host_are_sampled(machine):
    # A second of the processor, and until it has been seen at work, however long the machine takes for both.
    burn = machine.script("import os, time\nwhile time.process_time() < 1 or not os.path.exists('seen'): pass\n")
    process = machine.start("run", "--", *burn)
    wait_for(lambda: machine.plimsoll("runs", "--json").code == 0 and machine.runs()
             and machine.last()["metrics"].get("system/run/cpu", {}).get("points", 0) >= 5)
    (machine.folder / "seen").touch()
    process.communicate(timeout=300)
    assert process.returncode == 0
    metrics = machine.last()["metrics"]
    assert metrics["system/run/cpu"]["points"] >= 5
    assert metrics["summary/cpu_seconds"]["value"] > 0.5
    assert metrics["summary/memory_peak"]["value"] > 1 << 20
    assert metrics["system/host/memory_used"]["value"] > 0
    assert not [name for name in metrics if "gpu" in name], "nothing is made up where there is no GPU"


def test_the_record_says_where_it_came_from_and_keeps_secrets(machine):
    machine.environment.update(OMP_NUM_THREADS="3", CUDA_API_TOKEN="hunter2", PRIVATE_THING="hunter2")
    (machine.folder / "model.pt").write_text("weights")
    done = machine.run("--artifact", "model.pt", "--param", "lr=0.1", "--", "sh", "-c", "true", "--password=hunter2")
    assert done.code == 0
    run = machine.last()
    files = {file["path"] for file in run["files"]}
    assert {"output.log", "environment.json", "files/model.pt"} <= files
    assert run["params"]["lr"] == "0.1"
    assert run["tags"]["plimsoll.host"]
    assert "hunter2" not in json.dumps(run)
    for folder, _, names in os.walk(machine.folder):
        for name in names:
            with open(os.path.join(folder, name), "rb") as file:
                assert b"hunter2" not in file.read(), name


def test_a_signal_to_plimsoll_reaches_the_command(machine):
    catch = machine.script("""
import signal, sys, time
def end(number, frame): print("caught", number, flush=True); sys.exit(7)
signal.signal(signal.SIGINT, end); signal.signal(signal.SIGUSR1, lambda n, f: print("usr1", flush=True))
print("ready", flush=True)
while True: time.sleep(0.05)
""")
    process = machine.start("run", "-q", "--", *catch)
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGUSR1)
    assert process.stdout.readline() == "usr1\n"
    process.send_signal(signal.SIGINT)
    assert process.stdout.readline() == "caught 2\n"
    assert process.wait(timeout=300) == 7
    assert machine.last()["tags"]["plimsoll.outcome"] == "interrupted"


def test_epoch_limit(machine):
    train = machine.script("import time\nfor e in range(1, 4): print('plimsoll: epoch', e, flush=True)\ntime.sleep(1000)\n")
    done = machine.run("--epoch-limit", 3, "--grace", "1s", "--", *train)
    assert done.code == 0
    run = machine.last()
    assert run["tags"]["plimsoll.outcome"] == "epoch-limit"
    assert run["metrics"]["epoch"]["value"] == 3


def test_json_is_one_document(machine):
    done = machine.run("--json", "--", "sh", "-c", "echo noise; exit 4")
    assert done.code == 4
    document = json.loads(done.out)
    assert document["runs"][0]["outcome"] == "failed"
    assert document["runs"][0]["exit_code"] == 4
    assert "noise" in done.err


def test_a_reader_that_leaves_ends_the_command_as_usual(machine):
    process = machine.start("run", "-q", "--", "yes")
    assert process.stdout.readline() == "y\n"
    process.stdout.close()
    assert process.wait(timeout=300) == 128 + signal.SIGPIPE


def test_out_of_gpu_memory_is_told_by_its_message(machine):
    done = machine.run("--", "sh", "-c", "echo 'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB' >&2;"
                       "exit 1")
    assert done.code == 1
    run = machine.last()
    assert run["tags"]["plimsoll.outcome"] == "cuda-out-of-memory"
    assert "20.00 MiB" in run["tags"]["plimsoll.reason"]


def test_python_logs_by_its_own_module(machine):
    machine.environment["PYTHONPATH"] = str(pathlib.Path(__file__).parents[2] / "python")
    client = machine.script("from plimsoll_torch import metrics\n"
                            "for i in range(500): metrics.log('loss', 1 / (i + 1), step=i, epoch=i // 100)\n"
                            "assert metrics.flush(300)\n")
    done = machine.run("-q", "--", *client)
    assert done.code == 0, done.err
    assert machine.last()["metrics"]["loss"]["points"] == 500
    machine.environment.pop("PLIMSOLL_SOCKET", None)
    alone = subprocess.run([*client[:1], "-c", "import plimsoll_torch; plimsoll_torch.log('a', 1)"], env=machine.environment)
    assert alone.returncode == 0, "outside of plimsoll run it does nothing"


def test_a_profiler_that_is_missing_is_told_before_anything_starts(machine):
    machine.environment["PATH"] = "/usr/bin:/bin"
    done = machine.run("--with", "nsys", "--", "touch", "started")
    if not any(os.access(f"{p}/nsys", os.X_OK) for p in ("/usr/bin", "/bin")):
        assert done.code == 3 and "nsys" in done.err
        assert not (machine.folder / "started").exists()
    assert machine.run("--with", "torch", "--", "./train").code == 2
