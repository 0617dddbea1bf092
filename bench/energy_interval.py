#!/usr/bin/env python3
"""How often the interval of the estimated joules holds what was measured on an H200, and how wide it is.

usage: energy_interval.py PLIMSOLL [--data FOLDER] [--calibration FILE|none] [--rows] [--bars]

FOLDER has h200/time.jsonl and onnx/ ($PLIMSOLL_SHARED/data, else ../shared/data beside the project). Half-widths are shares of the estimate,
errors estimated over measured, less one. `power` is the error that is left where the time is taken as measured (joules grow with
about 0.7 of the time's error, as what takes longer draws less): its root mean square is what energy.cpp calls the power's error.
Joules of training steps were measured eagerly, those of passes by replaying a captured graph.
--bars: exits with 1 where the interval holds fewer than 85 % of the rows, or its median half-width is above 30 %.
Exits with 77 where there are no measurements.
"""
import argparse
import json
import math
import os
import statistics
import subprocess
import sys

LEAST_HELD, MOST_WIDE = 0.85, 0.30
OF_TIME = 0.7
LANGUAGE = ("bert_base", "gpt2")


def model_file(folder, model, training):
    for kind in ("train", "dynamo", "script") if training else ("eager", "dynamo", "script"):
        path = os.path.join(folder, f"{model}.{kind}.onnx")
        if os.path.exists(path):
            return path
    sys.exit(f"{folder}: no graph of {model}")


def compared(arguments, row, graph_seconds):
    training = row["mode"] == "trainstep"
    precision = "fp32" if training else {"float32": "fp32", "bfloat16": "bf16"}[row["dtype"]]
    command = [arguments.plimsoll, "estimate", model_file(os.path.join(arguments.data, "onnx"), row["model"], training), "--device", "h200"]
    command += ["--mode", "train" if training else "infer", "--batch", str(row["bs"]), "--precision", precision, "--json"]
    if training:
        command += ["--optimizer", "momentum", "--loss", "mean-square" if row["model"] in LANGUAGE else "cross-entropy"]
    if arguments.calibration:
        command += ["--calibration", arguments.calibration]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        sys.exit(f"{' '.join(command)}: {done.stderr}")
    answer = json.loads(done.stdout)
    energy, joules = answer["energy"], row["joules"]
    power = math.log(energy["joules"] / joules)
    if graph_seconds:
        power -= OF_TIME * math.log(answer["time"]["seconds"] / graph_seconds)
    return {"group": f"{'train' if training else 'infer'} {precision}", "name": f"{row['model']}, batch {row['bs']}",
            "error": energy["joules"] / joules - 1, "power": power if graph_seconds else None,
            "held": energy["low_joules"] <= joules <= energy["high_joules"],
            "width": (energy["high_joules"] - energy["low_joules"]) / 2 / energy["joules"]}


def line(name, rows):
    power = [row["power"] for row in rows if row["power"] is not None]
    print(f"{name:<14}{len(rows):>6}{statistics.median(abs(r['error']) for r in rows):>9.1%}{statistics.mean(r['error'] for r in rows):>+9.1%}"
          f"{math.sqrt(statistics.mean(p * p for p in power)):>9.1%}{statistics.mean(r['held'] for r in rows):>9.1%}"
          f"{statistics.median(r['width'] for r in rows):>12.1%}")


def main():
    project = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    shared = os.environ.get("PLIMSOLL_SHARED") or os.path.join(project, "../shared")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("plimsoll")
    parser.add_argument("--data", default=os.path.join(shared, "data"))
    parser.add_argument("--calibration")
    parser.add_argument("--rows", action="store_true")
    parser.add_argument("--bars", action="store_true")
    arguments = parser.parse_args()
    path = os.path.join(arguments.data, "h200/time.jsonl")
    if not os.path.exists(path):
        print(f"skipped: no {path}; PLIMSOLL_SHARED names the folder")
        sys.exit(77)
    with open(path, encoding="utf-8") as file:
        measured = [json.loads(text) for text in file]
    graphs = {(r["model"], r["bs"]): r["graph_ms"] / 1e3 for r in measured if r["mode"] == "traingraph"}
    rows = []
    for row in measured:
        if row["mode"] not in ("time", "trainstep") or not row.get("joules"):
            continue
        seconds = row["graph_ms"] / 1e3 if row["mode"] == "time" else graphs.get((row["model"], row["bs"]))
        rows.append(compared(arguments, row, seconds))
        if arguments.rows:
            last = rows[-1]
            print(f"{last['group']:<14}{last['name']:<30}{last['error']:>+8.1%}  ±{last['width']:.1%}  {'held' if last['held'] else 'missed'}")
    print(f"{'joules':<14}{'rows':>6}{'median':>9}{'bias':>9}{'power':>9}{'held':>9}{'half-width':>12}")
    for group in sorted({row["group"] for row in rows}):
        line(group, [row for row in rows if row["group"] == group])
    line("all", rows)
    held, width = statistics.mean(row["held"] for row in rows), statistics.median(row["width"] for row in rows)
    if arguments.bars and (held < LEAST_HELD or width > MOST_WIDE):
        sys.exit(f"bars: at least {LEAST_HELD:.0%} held, half-width at most {MOST_WIDE:.0%}")


if __name__ == "__main__":
    main()
