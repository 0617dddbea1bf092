#!/usr/bin/env python3
"""How many jobs a second the queue's daemon takes: acknowledged, that is, kept in the store and flushed to its disk.

usage: PLIMSOLL_BINARY=build/release/apps/plimsoll PLIMSOLL_FAKE_NVML_LIBRARY=build/release/tests/fixtures/libfake_nvml.so \\
       bench/queue_rate.py [JOBS]      default: 10000, a tenth of them one at a time; needs pytest, whose fixtures it shares

Clients of its socket submit jobs, one at a time or all at once, while none may start (held), and while the daemon starts those that
it has. Each row is a new queue; three times, the median and all three are printed. Wanted: at least 500 jobs a second.
"""
import os
import pathlib
import statistics
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "queue"))
from conftest import Queue, wait_for  # noqa: E402

TIMES = 3


def request(folder, number, held):
    return {"request": {"job": {"command": ["/bin/true", str(number)], "directory": str(folder)}, "umask": 0o22}, "held": held}


def submit(queue, numbers, held, name):
    environment = [[key, value] for key, value in queue.environment.items()]
    answer = queue.ask({"type": "submit", "token": name, "environment": environment,
                        "jobs": [request(queue.folder, number, held) for number in numbers]})
    assert answer["type"] == "submitted" and len(answer["numbers"]) == len(numbers), answer


def kept(queue):
    told = queue.ask({"type": "list", "quick": True})
    return len(told["jobs"]) + told["left_out"]


def rate(jobs, clients, at_once, held):
    with tempfile.TemporaryDirectory(prefix="plb") as folder:
        queue = Queue(pathlib.Path(folder), gpus=8)
        try:
            queue.start_daemon("--sharing", "exclusive")

            def one(client):
                mine = list(range(client, jobs, clients))
                for at in range(0, len(mine), at_once):
                    submit(queue, mine[at:at + at_once], held, f"{client} {at}")

            threads = [threading.Thread(target=one, args=(client,)) for client in range(clients)]
            begin = time.monotonic()
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            seconds = time.monotonic() - begin
            if held:
                wait_for(lambda: kept(queue) == jobs)
            return jobs / seconds
        finally:
            if not held:  # what waits would start again and again while it is removed
                queue.plimsoll("cancel", f"1-{jobs}")
            queue.remove()


def main():
    jobs = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    few = max(1, jobs // 10)
    print(f"{os.cpu_count()} processors, load average {os.getloadavg()[0]:.0f}, SQLite; jobs a second: median of {TIMES} (all)")
    for name, count, clients, at_once, held in (("in one submission, held", jobs, 1, jobs, True),
                                                ("one at a time, 1 client, held", few, 1, 1, True),
                                                ("one at a time, 16 clients, held", few, 16, 1, True),
                                                ("one at a time, 16 clients, started meanwhile", few, 16, 1, False)):
        found = sorted(rate(count, clients, at_once, held) for _ in range(TIMES))
        told = ", ".join(f"{value:.0f}" for value in found)
        print(f"{count:>6} {name:<46}{statistics.median(found):>6.0f}   ({told})", flush=True)


if __name__ == "__main__":
    main()
