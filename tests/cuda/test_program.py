"""plimsoll-cuda as it is started: jobs in, lines of JSON out, exit codes as plimsoll's."""
import json
import os
import subprocess

import pytest

PROGRAM = os.environ["PLIMSOLL_CUDA_BINARY"]
if not os.path.exists(PROGRAM):
    pytest.skip("no plimsoll-cuda: make cuda builds it", allow_module_level=True)
HAS_GPU = os.path.exists("/dev/nvidiactl")


def run(*arguments, text=""):
    return subprocess.run([PROGRAM, *arguments], input=text, capture_output=True, text=True, timeout=120)


def job(**fields):
    return json.dumps({"version": 1, "device": 0, **fields})


def failure(done):
    lines = done.stdout.splitlines()
    assert len(lines) == 1
    answer = json.loads(lines[0])
    assert answer["type"] == "failure"
    return answer


def test_usage():
    assert run("--version").stdout.startswith("plimsoll-cuda ")
    assert run("--help").returncode == 0
    assert run().returncode == 2
    assert "usage" in run("one", "two").stderr


@pytest.mark.parametrize("text, word", [
    ("nonsense", "not JSON"), ("", "not JSON"), ("[1]", "object"), (job(task="dance"), "dance"), (job(task="vecadd"), "elements"),
    (job(task="vecadd", elements=[10**15]), "elements"), (job(task="matmul", sizes=[0]), "sizes"), ("[" * 10000, "deeper"),
    (job(task="load", load="idle", seconds=1e9), "600"), (" " * 70000, "larger"),
    (job(task="share", part="hoard", seconds=1, begin=0), "hoard"), (job(task="share", part="spin", seconds=1, begin=0), "kernels"),
    (job(task="share", part="watch", seconds=100, begin=0), "30")])
def test_bad_jobs_are_refused(text, word):
    done = run("-", text=text)
    assert done.returncode == 2
    answer = failure(done)
    assert answer["kind"] == "bad-input"
    assert word in answer["message"]


def test_a_job_may_be_a_file(tmp_path):
    file = tmp_path / "job.json"
    file.write_text(job(task="dance"))
    assert str(file) in failure(run(str(file)))["message"]
    assert run(str(tmp_path / "none.json")).returncode == 2


@pytest.mark.skipif(HAS_GPU, reason="there is a GPU")
def test_without_a_gpu_the_machine_lacks_it():
    done = run("-", text=job(task="ceilings"))
    assert done.returncode == 3
    assert failure(done)["kind"] == "machine-lacks"


@pytest.mark.skipif(not HAS_GPU, reason="there is no GPU")
def test_sizes_that_are_no_multiple_of_anything():
    done = run("-", text=job(task="vecadd", elements=[1, 1023, 1_000_003]))
    assert done.returncode == 0, done.stdout
    adds = [line for line in map(json.loads, done.stdout.splitlines()) if line["type"] == "vecadd"]
    assert len(adds) in (18, 27)  # without and with prefetching
    assert all(add["right"] for add in adds)
    done = run("-", text=job(task="matmul", sizes=[1, 31, 129, 500]))
    assert done.returncode == 0, done.stdout
    products = [line for line in map(json.loads, done.stdout.splitlines()) if line["type"] == "matmul"]
    assert len(products) == 12
    assert all(product["right"] for product in products)


@pytest.mark.skipif(not HAS_GPU, reason="there is no GPU")
@pytest.mark.parametrize("part, answer", [
    ({"part": "watch"}, "turns"),
    ({"part": "spin", "kernels": 10, "different": 3, "blocks": 2, "threads": 32, "kernel_seconds": 1e-5}, "rate"),
    ({"part": "stream", "kernels": 10, "blocks": 2, "threads": 32, "bytes": 12000}, "rate")])
def test_what_shares_a_gpu_may_be_alone_on_it(part, answer):
    done = run("-", text=job(task="share", seconds=0.1, begin=0, **part))
    assert done.returncode == 0, done.stdout
    assert [line["type"] for line in map(json.loads, done.stdout.splitlines())] == ["device", "progress", "window", answer, "done"]


@pytest.mark.skipif(not HAS_GPU, reason="there is no GPU")
def test_there_is_no_hundredth_gpu():
    done = run("-", text=json.dumps({"version": 1, "device": 100, "task": "ceilings"}))
    assert done.returncode == 3
    assert "no CUDA device 100" in failure(done)["message"]
