#!/usr/bin/env python3
"""How far off simpler models of time are, on the rows by which Plimsoll's is judged.

usage: time_baselines.py PLIMSOLL TIME.jsonl ONNX_FOLDER

One constant: time in proportion to the FLOPs. Three: FLOPs over a rate, bytes over a bandwidth, and so much per kernel.
Both are fitted to the very rows (least squares of relative errors, coefficients not negative), which flatters them:
Plimsoll's estimates have seen none. Kernels, FLOPs and bytes are those of Plimsoll's own lowering.
"""
import json
import os
import statistics
import subprocess
import sys

import numpy

LANGUAGE = ("bert_base", "distilbert", "gpt2", "llama_300m")


def model_file(folder, model, training):
    for kind in ("train", "dynamo", "script") if training else ("eager", "dynamo", "script"):
        path = os.path.join(folder, f"{model}.{kind}.onnx")
        if os.path.exists(path):
            return path
    return None


def estimate(plimsoll, path, row, training):
    precision = "fp32" if training else {"float32": "fp32", "bfloat16": "bf16"}[row["dtype"]]
    command = [plimsoll, "estimate", path, "--device", "h200", "--mode", "train" if training else "infer"]
    command += ["--batch", str(row["bs"]), "--precision", precision, "--layers", "--json"]
    if training:
        command += ["--optimizer", "momentum", "--loss", "mean-square" if row["model"] in LANGUAGE else "cross-entropy"]
    answer = json.loads(subprocess.run(command, capture_output=True, text=True, check=False).stdout)
    kernels = sum(layer["kernels"] for layer in answer["layers"])
    return precision, answer["time"]["seconds"], answer["time"]["flops"], answer["time"]["bytes"], kernels


def fitted(columns, measured):
    """Coefficients of the columns with the least relative squares; those that would be negative are left out."""
    kept = list(range(columns.shape[1]))
    while True:
        scaled = columns[:, kept] / measured[:, None]
        found, *_ = numpy.linalg.lstsq(scaled, numpy.ones(len(measured)), rcond=None)
        if (found >= 0).all():
            return columns[:, kept] @ found
        kept.pop(int(found.argmin()))


def main():
    plimsoll, truth, folder = sys.argv[1:]
    groups = {}
    for line in open(truth, encoding="utf-8"):
        row = json.loads(line)
        if row["mode"] not in ("time", "traingraph") or "graph_ms" not in row:
            continue
        training = row["mode"] != "time"
        path = model_file(folder, row["model"], training)
        precision, *figures = estimate(plimsoll, path, row, training)
        groups.setdefault(f"{'train' if training else 'infer'} {precision}", []).append((row["graph_ms"] / 1e3, *figures))
    print(f"{'mean error of':22s} {'rows':>5s} {'one constant':>13s} {'three':>8s} {'Plimsoll':>9s}")
    every = []
    for name, rows in groups.items():
        measured, ours, flops, moved, kernels = (numpy.array(column) for column in zip(*rows))
        one = fitted(flops[:, None], measured)
        three = fitted(numpy.stack([flops, moved, kernels], 1), measured)
        errors = [numpy.abs(guess / measured - 1) for guess in (one, three, ours)]
        every.append(errors)
        print(f"{name:22s} {len(rows):5d} " + " ".join(f"{100 * e.mean():{w}.1f} %" for e, w in zip(errors, (11, 6, 7))))
    means = [100 * statistics.mean(float(x) for group in every for x in group[i]) for i in range(3)]
    print(f"{'all':22s} {'':5s} " + " ".join(f"{m:{w}.1f} %" for m, w in zip(means, (11, 6, 7))))


main()
