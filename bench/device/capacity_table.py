#!/usr/bin/env python3
"""Prints the table of docs/figures/capacity_limits.txt from what capacity_limits.py wrote.

usage: capacity_table.py LIMITS.jsonl"""

import json
import sys

FACTORS, STEPS = (0.90, 0.97, 1.03, 1.10), 6
rows = [json.loads(line) for line in open(sys.argv[1])]
print(f"""Trainings of {STEPS} steps on an H200 under an allocator capacity of FACTOR x minimum_reserved_bytes (bench/device/capacity_limits.py).
Predicted: it runs from a factor of 1 on. + ran all steps, digits: steps before it ran out of memory, '!': called wrong.

{'network':18s}{'batch':>6s} {'precision':10s}{'optimizer':10s}{'minimum':>12s}   0.90  0.97  1.03  1.10""")
cases = {}
for row in rows:
    key = (row["model"], row["batch"], row["precision"], row["optimizer"], row["minimum_reserved_bytes"])
    cases.setdefault(key, {})[row["factor"]] = row["steps"]
right, wrong = 0, []
for (model, batch, precision, optimizer, minimum), steps in cases.items():
    cells = []
    for factor in FACTORS:
        ran = steps[factor] == STEPS
        right += ran == (factor > 1)
        if ran != (factor > 1):
            wrong.append(f"{model} at {factor} {'ran' if ran else f'ran out of memory after {steps[factor]} of {STEPS} steps'}")
        cells.append(f"{'+' if ran else steps[factor]}{'' if ran == (factor > 1) else ' !'}")
    print(f"{model:18s}{batch:6d} {precision:10s}{optimizer:10s}{minimum / 2**30:8.2f} GiB  " + "  ".join(f"{cell:>4s}" for cell in cells))
total = len(FACTORS) * len(cases)
print(f"\n{right} of {total} called right ({100 * right / total:.1f} %). Wrong: " + ("; ".join(wrong) or "none") + ".")
