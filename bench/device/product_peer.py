#!/usr/bin/env python3
"""Products of square bf16 matrices: what PyTorch reaches beside what `plimsoll probe` found on the same machine.

usage: product_peer.py DEVICE_FILE.json|PROBE.json

PyTorch is sampled as the probe samples: after 0.3 s of the same work, so that clocks have settled under the load,
the median of 11 samples of at least 5 ms each.
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

    def seconds(calls):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(calls):
            torch.mm(a, b, out=out)
        end.record()
        torch.cuda.synchronize()
        return begin.elapsed_time(end) / 1e3

    seconds(1)
    calls = max(1, math.ceil(5e-3 / seconds(2) * 2))
    warmed = 0.0
    while warmed < 0.3:
        warmed += seconds(calls)
    return statistics.median(calls * 2 * n**3 / seconds(calls) for _ in range(11))


with open(sys.argv[1]) as file:
    found = products(json.load(file))
print(f"PyTorch {torch.__version__}, {torch.cuda.get_device_name()}")
for at, rate in found:
    n = round(math.sqrt(at / 6))  # three matrices of two bytes
    if abs(6 * n * n - at) > 0.01 * at:
        continue
    theirs = torch_rate(n)
    print(f"{n}: plimsoll {rate / 1e12:.0f} TFLOP/s, PyTorch {theirs / 1e12:.0f} TFLOP/s, ratio {rate / theirs:.3f}")
