"""Jobs that say one thing and do another, beside honest ones: those end, none is lost, and all that ran is accounted for. How much
time it costs the others is bench/queue_liars.py's."""
import pytest
from conftest import GIB, is_alive, wait_for

FAULT = "CUDA error: an illegal memory access was encountered"
OUT_OF_MEMORY = "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."

# Goes on until NAME.go exists. A fault of somebody's under MPS ends it, as it ends all clients of a server; who is none lives on.
HONEST = f"""
import os, sys, time
name = sys.argv[1]
is_client = "CUDA_MPS_PIPE_DIRECTORY" in os.environ
def faults(): return os.path.getsize("faults") if is_client and os.path.exists("faults") else 0
before = faults()
open(name + ".log", "a").write(f"begin {{os.getpid()}}\\n")
step = 0
while not os.path.exists(name + ".go"):
    if faults() > before: sys.exit("{FAULT}")
    time.sleep(0.02); step += 1
    print(f"plimsoll: metric loss 1 step {{step}}", flush=True)
open(name + ".log", "a").write(f"end {{os.getpid()}}\\n")
"""
BEGINS = 'import os, sys, time; open("liar.log", "a").write(f"begin {os.getpid()}\\n")\n'
WAITS = 'while not os.path.exists("liar.go"): time.sleep(0.02)\n'


@pytest.fixture
def shared(make_queue):
    """One GPU, which all share at once by MPS."""
    queue = make_queue(gpus=1)
    queue.start_daemon("--policy", "naive", "--sharing", "mps")
    queue.script(HONEST, "honest.py")
    return queue


def honest(queue, count=3):
    return {f"honest{i}": queue.submit_one("--need", "1GiB", "--", *queue.script(HONEST, "honest.py"), f"honest{i}")
            for i in range(count)}


def liar(queue, text, *options):
    need = [] if "--need" in options else ["--need", "1GiB"]
    return queue.submit_one(*need, *options, "--", *queue.script(BEGINS + text, "liar.py"))


def let_all_end(queue, numbers, most_attempts=1):
    """The honest ones come to their end, and each has ended once."""
    queue.let_go(*numbers)
    for name, number in numbers.items():
        assert queue.wait_ended(number)["attempt"] <= most_attempts
        assert [entry[0] for entry in queue.log(name)].count("end") == 1
    accounted(queue, numbers.values())


def accounted(queue, numbers):
    """Each attempt has a record of its own, with its end."""
    runs = [queue.show(run["id"]) for run in queue.runs()]
    for number in numbers:
        job = queue.job(number)
        mine = [run for run in runs if run["tags"].get("plimsoll.queue.job") == str(number)]
        assert 0 < job["started"] <= job["ended"]
        assert len(mine) == job["attempt"], (job, mine)
        assert all(run["status"] != "RUNNING" for run in mine)


def test_needs_twice_what_it_said(shared):
    """It runs out of memory by that, and runs again with more."""
    others = honest(shared)
    for name in others:
        shared.begun(name)
    number = liar(shared, f'if open("liar.log").read().count("begin") == 1:\n    {WAITS}    sys.exit("{OUT_OF_MEMORY}")\n',
                  "--need", "2GiB")
    shared.gpus.hold(0, shared.begun("liar"), 4 * GIB)
    shared.wait_job(number, lambda job: job.get("gpu_bytes", 0) == 4 * GIB)
    shared.let_go("liar")
    assert shared.wait_ended(number)["attempt"] == 2
    again = next(decision for decision in shared.decisions(number) if decision["kind"] == "again")
    assert "4.00 GiB" in again["reason"] and "6.00 GiB" in again["reason"]
    let_all_end(shared, others)
    accounted(shared, [number])


def test_memory_that_grows(shared):
    """Twice it runs again, the second time alone; then that was its end."""
    others = honest(shared)
    number = liar(shared, f'sys.exit("{OUT_OF_MEMORY}")\n', "--need", "2GiB")
    wait_for(lambda: shared.job(number).get("out_of_memory") == 2)
    let_all_end(shared, others)  # it is alone after them
    assert shared.wait_ended(number, "cuda-out-of-memory")["attempt"] == 3
    accounted(shared, [number])


def test_forks_and_exits(shared):
    others = honest(shared)
    number = liar(shared, """
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        open("left", "w").write(str(os.getpid()))
        time.sleep(100000)
    os._exit(0)
os._exit(0)
""")
    left = int(wait_for(lambda: (shared.folder / "left").exists() and (shared.folder / "left").read_text()))
    let_all_end(shared, others)
    # What it left behind is part of it still, and is ended with it.
    assert is_alive(left) and shared.job(number)["state"] == "running"
    assert shared.plimsoll("cancel", number).code == 0
    shared.wait_ended(number, "cancelled")
    assert not is_alive(left)


def test_ignores_sigterm(shared):
    others = honest(shared)
    number = liar(shared, "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\nopen('ready', 'w')\n" + WAITS)
    wait_for((shared.folder / "ready").exists)
    assert shared.plimsoll("cancel", number).code == 0
    shared.wait_ended(number, "cancelled")
    assert not is_alive(shared.begun("liar"))
    let_all_end(shared, others)
    accounted(shared, [number])


def test_prints_a_gigabyte(shared):
    others = honest(shared)
    number = liar(shared, 'line = b"nonsense " * 7000 + b"\\n"\nfor _ in range((1 << 30) // len(line)): os.write(1, line)\n')
    assert shared.wait_ended(number)["attempt"] == 1
    kept = sum(file.stat().st_size for file in shared.folder.rglob("output.log*"))
    assert kept < 200 << 20  # bytes
    let_all_end(shared, others)


def test_writes_artifacts_without_end(shared):
    others = honest(shared)
    number = liar(shared, """
folder = os.environ["PLIMSOLL_ARTIFACTS"] if "PLIMSOLL_ARTIFACTS" in os.environ else "."
for i in range(1 << 40):
    with open(os.path.join(folder, f"part{i % 20}"), "wb") as out: out.write(b"x" * (1 << 20))
""", "--artifact", ".")
    shared.begun("liar")
    let_all_end(shared, others)
    assert shared.plimsoll("cancel", number).code == 0
    shared.wait_ended(number, "cancelled")


CRASHES = f"""
while not os.path.exists("crash"): time.sleep(0.02)
open("faults", "a").write("x")
sys.exit("{FAULT}")
"""


def test_crashes_mps(shared):
    """All its neighbours fall with it, once: then nobody of them is a client of MPS, and it falls by itself."""
    number = liar(shared, CRASHES)
    shared.begun("liar")
    others = honest(shared, 5)
    for name in others:
        shared.begun(name)
    (shared.folder / "crash").touch()
    for other in others.values():
        shared.wait_job(other, lambda job: job["attempt"] == 2 and job["state"] == "running")  # all of them at once
    ended = shared.wait_ended(number, "failed")
    assert ended["attempt"] == 2 and "illegal memory access" in ended["reason"]
    late = shared.submit_one("--need", "1GiB", "--", *shared.script(HONEST, "honest.py"), "late")
    shared.begun("late")  # a client still comes beside them
    let_all_end(shared, {**others, "late": late}, most_attempts=2)
    accounted(shared, [number])


def test_crashes_mps_where_a_gpu_takes_one_process(make_queue):
    """Who may not be MPS's client any more has the GPU to itself there."""
    queue = make_queue(gpus=1)
    queue.gpus.for_one_process(0)
    queue.start_daemon("--policy", "naive", "--sharing", "mps")
    queue.script(HONEST, "honest.py")
    number = liar(queue, CRASHES)
    queue.begun("liar")
    others = honest(queue, 2)
    for name in others:
        queue.begun(name)
    (queue.folder / "crash").touch()
    for other in others.values():  # before they may end
        queue.wait_job(other, lambda job: job["attempt"] == 2 or job["state"] == "waiting")
    queue.let_go(*others)
    queue.wait_ended(number, "failed")
    ended = [queue.wait_ended(other) for other in others.values()]
    assert all(job["attempt"] == 2 for job in ended)
    spans = sorted((job["started"], job["ended"]) for job in ended)
    assert spans[0][1] <= spans[1][0]


def test_all_of_them_at_once(shared):
    """Slow ones, too; nobody waits for ever, nobody is lost."""
    bad = [liar(shared, f'sys.exit("{OUT_OF_MEMORY}")\n'), ]
    bad.append(shared.submit_one("--time-limit", "5s", "--", *shared.script(
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN)\nwhile True: time.sleep(1)", "deaf.py")))
    bad.append(shared.submit_one("--time-limit", "5s", "--", *shared.script(
        "import time\nstep = 0\nwhile True: time.sleep(5); step += 1; print(f'plimsoll: metric loss 1 step {step}', flush=True)", "slow.py")))
    bad.append(shared.submit_one("--", "/bin/sh", "-c", "yes nonsense | head -c 100000000"))
    bad.append(shared.submit_one("--", "/bin/sh", "-c", "kill -9 $$"))
    bad.append(shared.submit_one("--", "/nonexistent/program"))
    others = honest(shared, 6)
    let_all_end(shared, others)
    ends = [shared.wait_state(number, "ended")["outcome"] for number in bad]
    assert ends == ["cuda-out-of-memory", "time-limit", "time-limit", "finished", "failed", "failed"]
    accounted(shared, bad)
