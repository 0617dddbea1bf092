#!/usr/bin/env python3
"""Runs PyTorch trainings on a GPU under allocator capacities around the estimated minimum, and says which ran.

usage: capacity_limits.py CASES.json OUT.jsonl [PROCESSES]
       capacity_limits.py --one MODEL BATCH PRECISION OPTIMIZER CAPACITY_BYTES STEPS
CASES: [{"model", "batch", "precision", "optimizer", "minimum_reserved_bytes"}], as bench/device/capacity_cases.sh makes them.
Each case is run in a process of its own at every factor of FACTORS; a line of OUT has the steps that were done."""

import concurrent.futures
import json
import subprocess
import sys

FACTORS = (0.90, 0.97, 1.03, 1.10)
STEPS = 6


def one(model, batch, precision, optimizer, capacity, steps):
    import torch

    import workloads
    torch.cuda.set_per_process_memory_fraction(min(1.0, capacity / torch.cuda.get_device_properties(0).total_memory))
    done, message = 0, ""
    try:
        step = workloads.Training(model, batch, precision, optimizer)
        for _ in range(steps):
            step()
            torch.cuda.synchronize()
            done += 1
    except torch.OutOfMemoryError as error:
        message = str(error)
    print(json.dumps({"steps": done, "peak_allocated_bytes": torch.cuda.max_memory_allocated(),
                      "peak_reserved_bytes": torch.cuda.max_memory_reserved(), "message": message}))


def attempt(case, factor):
    capacity = int(case["minimum_reserved_bytes"] * factor)
    command = [sys.executable, __file__, "--one", case["model"], str(case["batch"]), case["precision"], case["optimizer"], str(capacity), str(STEPS)]
    row = dict(case, factor=factor, capacity_bytes=capacity)
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=200)
        row.update(json.loads(done.stdout.strip().splitlines()[-1]) if done.returncode == 0 else {"error": done.stderr[-300:]})
    except (subprocess.TimeoutExpired, ValueError, IndexError) as error:
        row["error"] = f"{type(error).__name__}: {error}"
    return row


def main():
    if sys.argv[1] == "--one":
        model, batch, precision, optimizer, capacity, steps = sys.argv[2:8]
        return one(model, int(batch), precision, optimizer, int(capacity), int(steps))
    cases = json.load(open(sys.argv[1]))
    processes = int(sys.argv[3]) if len(sys.argv) > 3 else 6
    with concurrent.futures.ThreadPoolExecutor(processes) as pool, open(sys.argv[2], "w") as out:
        for row in pool.map(lambda a: attempt(*a), [(c, f) for c in cases for f in FACTORS]):
            out.write(json.dumps(row) + "\n")
            out.flush()
            print(row["model"], row["batch"], row["precision"], row["factor"], row.get("steps", row.get("error")), flush=True)


main()
