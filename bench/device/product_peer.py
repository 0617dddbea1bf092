#!/usr/bin/env python3
"""Products of square bf16 matrices: what PyTorch reaches beside what `plimsoll probe` found on the same machine.

usage: product_peer.py DEVICE_FILE.json|PROBE.json
"""
import json
import math
import statistics
import sys

import torch


def products(document):
    rows = document["calibration"]["ceilings"] if "calibration" in document else document["ceilings"]
    found = [(row.get("at") or row.get("at_bytes"), row["value"]) for row in rows if row["name"] == "product-bf16"]
    return [(at, rate) for at, rate in found if at]


def torch_rate(n):
    a, b = (torch.rand(n, n, device="cuda", dtype=torch.bfloat16) * 2 - 1 for _ in range(2))
    out = torch.empty(n, n, device="cuda", dtype=torch.bfloat16)
    for _ in range(10):
        torch.mm(a, b, out=out)
    rates = []
    for _ in range(9):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(10):
            torch.mm(a, b, out=out)
        end.record()
        torch.cuda.synchronize()
        rates.append(10 * 2 * n**3 / (begin.elapsed_time(end) / 1e3))
    return statistics.median(rates)


with open(sys.argv[1]) as file:
    found = products(json.load(file))
print(f"PyTorch {torch.__version__}, {torch.cuda.get_device_name()}")
for at, rate in found:
    n = round(math.sqrt(at / 6))  # three matrices of two bytes
    if abs(6 * n * n - at) > 0.01 * at:
        continue
    theirs = torch_rate(n)
    print(f"{n}: plimsoll {rate / 1e12:.0f} TFLOP/s, PyTorch {theirs / 1e12:.0f} TFLOP/s, ratio {rate / theirs:.3f}")
