#!/usr/bin/env python3
"""What liars cost the others: jobs that are slow, fork and exit, ignore SIGTERM, print without end, run out of memory or crash MPS,
against honest jobs in their places.

usage: PLIMSOLL_BINARY=… PLIMSOLL_FAKE_NVML_LIBRARY=… bench/queue_liars.py     as bench/queue_rate.py

GPUs and MPS are made up: jobs sleep for their steps, so that the table tells what the queue adds (restarts, time alone, waiting for
who ends late), not what jobs take of each other on a GPU. Of each liar: when the last of the honest jobs had ended, against the same
with an honest job in its place, in one run, one after the other; restarts of honest ones; the seconds of work that they lost by
those. The bound is 1.10 times plus what was lost; nothing is hidden in a tolerance.
"""
import pathlib
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "queue"))
from conftest import Queue  # noqa: E402

FAULT = "CUDA error: an illegal memory access was encountered"
OUT_OF_MEMORY = "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."
SECONDS = 20  # of work, of each honest job
HONEST = f"""
import os, sys, time
server = os.environ.get("CUDA_MPS_PIPE_DIRECTORY")  # whose clients fall together; none: it is alone
def faults(): return os.path.getsize(server + "/faults") if server and os.path.exists(server + "/faults") else 0
before, begin = faults(), time.monotonic()
log = lambda word: open("log", "a").write(f"{{word}} {{sys.argv[1]}} {{time.monotonic() - begin:.3f}}\\n")
log("begin")
while time.monotonic() < begin + {SECONDS}:
    if faults() > before:
        log("lost"); sys.exit("{FAULT}")
    time.sleep(0.05)
log("end")
"""
LIARS = {
    "honest": f"import time; time.sleep({SECONDS})",
    "slow": "import time\nfor step in range(1000): time.sleep(5); print(f'plimsoll: metric loss 1 step {step}', flush=True)",
    "forks and exits": "import os, time\nif os.fork() == 0: os.setsid(); time.sleep(1000)",
    "ignores SIGTERM": "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(1000)",
    "prints a gigabyte": "import os\nfor _ in range(1 << 14): os.write(1, b'nonsense' * 8191 + b'\\n')",
    "memory too low": f"import sys, time; time.sleep(2); sys.exit('{OUT_OF_MEMORY}')",
    "artifacts without end": "import itertools\nfor i in itertools.count(): open(f'part{i % 20}', 'wb').write(b'x' * (1 << 20))",
    "crashes MPS": "import os, sys, time; time.sleep(5); server = os.environ.get('CUDA_MPS_PIPE_DIRECTORY')\n"
                   f"if server: open(server + '/faults', 'a').write('x')\nsys.exit('{FAULT}')",
}
COUNT = 4


def measure(liar):
    """Seconds until the last honest one had ended; restarts; seconds of work that were lost."""
    with tempfile.TemporaryDirectory(prefix="plb") as folder:
        queue = Queue(pathlib.Path(folder), gpus=2)
        try:
            queue.start_daemon("--policy", "naive", "--sharing", "mps")
            begin = time.monotonic()
            bad = queue.submit_one("--time-limit", f"{2 * SECONDS}s", "--need", "1GiB", "--", *queue.script(LIARS[liar], "liar.py"))
            numbers = [queue.submit_one("--need", "1GiB", "--", *queue.script(HONEST, "honest.py"), str(i)) for i in range(COUNT)]
            for number in numbers:
                queue.wait_ended(number)
            seconds = time.monotonic() - begin
            queue.plimsoll("cancel", bad)
            lines = [line.split() for line in (queue.folder / "log").read_text().splitlines()]
            lost = [float(line[2]) for line in lines if line[0] == "lost"]
            return seconds, len(lost), sum(lost)
        finally:
            queue.remove()


def main():
    honest, _, _ = measure("honest")
    print(f"{COUNT} honest jobs of {SECONDS} s on 2 GPUs, all at once under MPS; with an honest one more: {honest:.1f} s")
    print(f"{'beside one that':<26}{'seconds':>9}{'ratio':>8}{'restarts':>10}{'lost, s':>9}")
    for liar in list(LIARS)[1:]:
        seconds, restarts, lost = measure(liar)
        print(f"{liar:<26}{seconds:>9.1f}{seconds / honest:>8.2f}{restarts:>10}{lost:>9.1f}", flush=True)


if __name__ == "__main__":
    main()
