#!/usr/bin/env python3
"""The Profile's activity against what an H200 showed while workloads ran alone: SM activity, occupancy and DRAM activity, averaged
over the step that Plimsoll predicts, gaps included. usage: profile_truth.py PLIMSOLL [--bars]

--bars: exits with 1 where a mean absolute difference is over its bar (0.08, 0.06, 0.05); with 77 where the measurements are not there."""
import json
import os
import subprocess
import sys

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../shared/data")
NAMES, BARS = ("sm", "occupancy", "dram"), (0.08, 0.06, 0.05)
MEASURED = ("smact", "occupancy", "dram")


def graph(row):
    kind = "train" if row["mode"] == "train" else "eager"
    files = [os.path.join(DATA, "onnx", f"{row['model']}.{k}.onnx") for k in (kind, "dynamo")]
    return next(file for file in files if os.path.exists(file))


def predicted(plimsoll, row):
    command = [plimsoll, "estimate", graph(row), "--device", "h200", "--mode", row["mode"], "--batch", str(row["batch"]),
               "--precision", {"amp": "amp-bf16"}.get(row["precision"], row["precision"]), "--kernels", "--json"]
    if row["mode"] == "train":
        command += ["--optimizer", "momentum"]
    if row["model"] in ("bert_base", "gpt2"):
        command += ["--seq", "128" if row["model"] == "bert_base" else "512"]
    answer = json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
    captured = bool(row.get("captured"))
    return answer["activity"]["captured" if captured else "eager"], answer["time"]["seconds" if captured else "eager_seconds"]


def main():
    file = os.path.join(DATA, "h200/beside.jsonl")
    if not os.path.exists(file):
        print("skipped: there are no measurements beside this project")
        return 77
    rows = [json.loads(line) for line in open(file)]
    rows = [r for r in rows if r["kind"] == "alone" and r["sharing"] == "exclusive" and r["cap"] is None and r["steady"]]
    sums = [0.0] * len(NAMES)
    print(f"{'workload':32s} {'step':>6s}" + "".join(f" {name:>16s}" for name in NAMES))
    for row in rows:
        activity, seconds = predicted(sys.argv[1], row)
        apart = [activity[name] - row[measured] for name, measured in zip(NAMES, MEASURED)]
        sums = [s + abs(a) for s, a in zip(sums, apart)]
        print(f"{row['workload']:32s} {seconds * row['steps_per_second']:6.2f}" +
              "".join(f"     {activity[name]:.3f} {a:+.3f}" for name, a in zip(NAMES, apart)))
    means = [s / len(rows) for s in sums]
    print(f"{'mean absolute difference':39s}" + "".join(f" {mean:16.3f}" for mean in means))
    print(f"{'bar':39s}" + "".join(f" {bar:16.2f}" for bar in BARS))
    return int("--bars" in sys.argv and any(mean > bar for mean, bar in zip(means, BARS)))


if __name__ == "__main__":
    sys.exit(main())
