#!/usr/bin/env python3
"""The table of load and run memory and time by batch, as Markdown, from what `plimsoll measure … --json` printed.

usage: deployment_table.py FILE.json[.xz]
"""
import json
import lzma
import sys

opened = lzma.open if sys.argv[1].endswith(".xz") else open
with opened(sys.argv[1], "rt") as file:
    measurements = json.load(file)["measurements"]
batches = [row["batch"] for row in measurements[0]["rows"]]
print("| Model | load | " + " | ".join(f"batch {b}" for b in batches) + " | error of the estimated peak |")
print("|---" * (len(batches) + 3) + "|")


def size(count):
    return f"{count / 2**20:.0f} MiB"


def time(seconds):
    return f"{seconds['median'] * 1e3:.3g} ms"


for m in measurements:
    cells = [f"{size(row['peak_allocated_bytes'])} ({time(row['seconds'])})" if row["fits"] else "does not fit" for row in m["rows"]]
    errors = [row["estimate"]["peak_allocated_bytes"] / row["peak_allocated_bytes"] - 1 for row in m["rows"] if row.get("estimate")]
    print(f"| {m['model']} | {size(m['load']['bytes'])} ({m['load']['seconds'] * 1e3:.0f} ms) | " + " | ".join(cells) +
          f" | {min(errors):+.1%} to {max(errors):+.1%} |")
