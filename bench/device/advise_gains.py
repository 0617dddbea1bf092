#!/usr/bin/env python3
"""On a machine with a GPU: what `plimsoll advise` says of trainings that are slow for different causes, and of such that are well set up; and what
following it brings.

usage: bench/device/advise_gains.py PLIMSOLL OUT [--seconds 40] [--only NAME,…]

Each slow training is run, advised, and the first advice that its program can be told of is tried by `plimsoll advise --try`; the run with it is
advised in turn, until nothing that can be told is left or a step brings less than 5 %. Rows go to OUT/advise_gains.jsonl as they come, and what is
there already is not run again. Exit code 1 where a slow one gains less than twice, a step's gain was reckoned more than 25 % off, or a good one
is told of a gain.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys

TRAINING = pathlib.Path(__file__).resolve().parent / "advised_training.py"
SLOW = {
    "slow loader": "--network resnet18 --side 224 --batch 128 --workers 1 --costly-input --precision bf16 --layout channels-last",
    "small batch, launches": "--network resnet18 --side 32 --batch 16 --resident --precision bf16",
    "fp32, contiguous": "--network resnet50 --side 224 --batch 128 --resident",
}
GOOD = {
    "bf16, channels last, large batch": "--network resnet50 --side 224 --batch 256 --resident --precision bf16 --layout channels-last --fused",
    "captured graph": "--network resnet50 --side 160 --batch 256 --resident --precision bf16 --layout channels-last --captured",
    "ViT in bf16": "--network vit_b_16 --side 224 --batch 128 --resident --precision bf16 --fused",
}
# How the program is told; what is not here cannot be set.
WAYS = {"loader-workers": "loader-workers=--workers", "pinned-memory": "pinned-memory=--pinned", "batch": "batch=--batch=256",
        "captured-graph": "captured-graph=--captured", "fused-optimizer": "fused-optimizer=--fused",
        "mixed-precision": "mixed-precision=--precision=bf16", "channels-last": "channels-last=--layout=channels-last"}
ENOUGH, WORTH, CLOSE, MOST_STEPS = 2.0, 1.05, 0.25, 6


def ask(options, *words):
    environment = {**os.environ, "PLIMSOLL_STORE": str(options.out / "advise_gains.db")}
    done = subprocess.run([options.plimsoll, *words], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(words)}\n{done.stderr}")
    return json.loads(done.stdout)


def first_run(options, name, words):
    command = [sys.executable, str(TRAINING), *words.split(), "--seconds", str(options.seconds)]
    return ask(options, "run", "--json", "--name", name, "--", *command)["runs"][0]["run"]


def follow(options, name, run):
    """Steps that were taken: what, reckoned, measured. The gain of all is their product."""
    steps, tried = [], set()
    while len(steps) < MOST_STEPS:
        advice = ask(options, "advise", run, "--json")["advice"]
        next_one = next((a for a in advice if a["of"] == "run" and a["id"] in WAYS and a["id"] not in tried), None)
        if next_one is None:
            break
        tried.add(next_one["id"])
        trial = ask(options, "advise", run, "--try", "--set", WAYS[next_one["id"]], "--json")["trials"][0]
        steps.append({"advice": next_one["id"], "change": trial["change"], "predicted": trial["predicted"], "measured": trial["measured"],
                      "run": trial["run"], "problem": trial["problem"]})
        print(f"  {name}: {steps[-1]}", file=sys.stderr, flush=True)
        if trial["measured"] and trial["measured"] >= WORTH:
            run = trial["run"]  # the next step is taken from here
    return steps


def judged(options):
    path = options.out / "advise_gains.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    wanted = [(name, words, True) for name, words in SLOW.items()] + [(name, words, False) for name, words in GOOD.items()]
    for name, words, slow in wanted:
        if (options.only and name not in options.only.split(",")) or any(row["training"] == name for row in rows):
            continue
        run = first_run(options, name, words)
        row = {"training": name, "slow": slow, "run": run, "told": ask(options, "advise", run, "--json")["advice"]}
        if slow:
            row["steps"] = follow(options, name, run)
        rows.append(row)
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("plimsoll")
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--seconds", type=float, default=40)
    parser.add_argument("--only")
    options = parser.parse_args()
    options.plimsoll = str(pathlib.Path(options.plimsoll).resolve())
    options.out.mkdir(parents=True, exist_ok=True)
    wrong = []
    print(f"{'training':<34} {'step':<16} {'reckoned':>8} {'measured':>8} {'off':>6}")
    for row in judged(options):
        name, gain = row["training"], 1.0
        for step in row.get("steps", []):
            off = step["predicted"] / step["measured"] - 1 if step["predicted"] and step["measured"] else None
            if step["measured"] and step["measured"] >= WORTH:
                gain *= step["measured"]
            if off is not None and abs(off) > CLOSE:
                wrong.append(f"{name}: {step['advice']} is {off:+.0%} off")
            figures = [f"{value:.2f}" if value else "-" for value in (step["predicted"], step["measured"])]
            print(f"{name:<34} {step['advice']:<16} {figures[0]:>8} {figures[1]:>8} {'-' if off is None else f'{off:+.0%}':>6}")
        if row["slow"]:
            print(f"{name:<34} {'all':<16} {'':>8} {gain:>8.2f}")
            if gain < ENOUGH:
                wrong.append(f"{name} gains {gain:.2f} times")
        else:
            gains = [one["id"] for one in row["told"] if one["of"] == "run" and one["gain"]]
            print(f"{name:<34} {'well set up' if not gains else 'told of ' + ', '.join(gains)}")
            if gains:
                wrong.append(f"{name} is told of {', '.join(gains)}")
    print("\n".join(wrong) or "all hold")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
