#!/usr/bin/env python3
"""Measures, on a machine with a GPU, the workspace that PyTorch's convolutions take: forward, and the two parts of
the backward pass, over convolutions drawn at random from the ranges that networks use.

usage: convolution_workspace.py OUT.jsonl [COUNT] [SEED] [--exact]
--exact: bytes as they were asked for, not as the allocator's blocks hold them, and convolutions drawn as networks have
them: the smaller the map the more channels.
Each line: n, c, h, w, k (output channels), r, s (kernel), stride, padding, dilation, groups, type, and `forward`, `input_gradient`,
`weight_gradient`: bytes above the operands and results."""

import json
import random
import sys

import torch


def drawn(rng):
    r = rng.choice([1, 1, 1, 3, 3, 3, 5, 7])
    h = rng.choice([7, 8, 14, 16, 17, 28, 32, 35, 38, 56, 64, 75, 112, 128, 224, 256, 300])
    c = rng.choice([3, 8, 12, 16, 24, 32, 40, 48, 64, 80, 96, 112, 128, 160, 192, 240, 256, 288, 320, 384, 480, 512, 672, 768, 960, 1024, 1280, 2048])
    k = rng.choice([8, 16, 24, 32, 40, 48, 64, 80, 96, 112, 128, 160, 192, 255, 256, 320, 384, 480, 512, 672, 768, 960, 1000, 1024, 1280, 2048])
    stride = rng.choice([1, 1, 1, 2, 2, 4 if r > 5 else 1])
    s = rng.choice([r, r, r, r, 1 if r > 1 else 1, r])
    padding = [r // 2, s // 2] if rng.random() < 0.85 else [0, 0]
    groups = 1
    if rng.random() < 0.15:
        groups = rng.choice([2, 8, 16, 32, 64])
        c = k = groups * rng.choice([1, 2, 4, 8, 16, 32])
    elif rng.random() < 0.08:
        groups = c
        k = c
    dilation = 2 if r == 3 and rng.random() < 0.08 else 1
    n = rng.choice([1, 1, 2, 4, 8, 16, 32, 64, 128, 256])
    return dict(n=n, c=c, h=h, w=h, k=k, r=r, s=s, stride=stride, padding=padding, dilation=dilation, groups=groups,
                type=rng.choice(["fp32", "fp32", "bf16"]))


def drawn_as_in_networks(rng):
    r, s = rng.choice([(1, 1)] * 8 + [(3, 3)] * 9 + [(5, 5), (7, 7), (1, 7), (7, 1), (1, 3), (3, 1), (2, 2)])
    h = rng.choice([7, 8, 10, 12, 13, 14, 16, 17, 19, 20, 24, 27, 28, 32, 35, 40, 48, 56, 64, 71, 80, 96, 112, 128, 149, 160, 192, 224, 256, 320])
    c = min(2048, max(8, int(3600 / h * 2 ** rng.uniform(-2.5, 2.5)) // 8 * 8))
    k = min(2048, max(8, int(c * rng.choice([.125, .25, .5, 1, 1, 1, 1.5, 2, 2, 4, 6, 2 ** rng.uniform(-2, 2)])) // 8 * 8))
    stride, groups, kind = 2 if (r, s) == (2, 2) else rng.choice([1, 1, 1, 2]), 1, rng.random()
    if kind < 0.1:
        width = rng.choice([4, 8, 16, 24, 32, 48, 64])
        groups = max(2, c // width)
        c = k = groups * width
    elif kind < 0.15:
        c, h = 3, rng.choice([h, 160, 192, 224, 256, 299, 320])
    n = rng.choice([1, 2, 4, 8, 16, 16, 24, 32, 32, 48, 64, 64, 96, 128, 128, 256])
    padding = [r // 2, s // 2] if rng.random() < 0.85 and r != 2 else [0, 0]
    return dict(n=n, c=c, h=h, w=h, k=k, r=r, s=s, stride=stride, padding=padding, dilation=1, groups=groups,
                type=rng.choice(["fp32", "bf16"]))


def requested(call):
    torch.cuda.reset_peak_memory_stats()
    result = call()
    stats = torch.cuda.memory_stats()
    del result
    return stats["requested_bytes.all.peak"] - stats["requested_bytes.all.current"]


def extra(call):
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    result = call()
    torch.cuda.synchronize()
    peak, after = torch.cuda.max_memory_allocated(), torch.cuda.memory_allocated()
    del result
    return peak - after if after >= before else None


def main():
    exact = "--exact" in sys.argv
    arguments = [a for a in sys.argv[1:] if a != "--exact"]
    count = int(arguments[1]) if len(arguments) > 1 else 1500
    rng = random.Random(int(arguments[2]) if len(arguments) > 2 else 1)
    measured = requested if exact else extra
    written = 0
    with open(arguments[0], "w") as out:
        while written < count:
            p = drawn_as_in_networks(rng) if exact else drawn(rng)
            oh = (p["h"] + 2 * p["padding"][0] - p["dilation"] * (p["r"] - 1) - 1) // p["stride"] + 1
            ow = (p["w"] + 2 * p["padding"][1] - p["dilation"] * (p["s"] - 1) - 1) // p["stride"] + 1
            flops = 2 * p["n"] * p["k"] * oh * ow * p["c"] // p["groups"] * p["r"] * p["s"]
            size = 4 * p["n"] * (p["c"] * p["h"] * p["w"] + p["k"] * oh * ow)
            if oh < 1 or ow < 1 or flops > (1e12 if exact else 3e12) or size > 6e9 or size < 1e5:
                continue
            dtype = {"fp32": torch.float32, "bf16": torch.bfloat16}[p["type"]]
            x = torch.zeros(p["n"], p["c"], p["h"], p["w"], device="cuda", dtype=dtype)
            weight = torch.zeros(p["k"], p["c"] // p["groups"], p["r"], p["s"], device="cuda", dtype=dtype)
            shape = ([p["stride"]] * 2, p["padding"], [p["dilation"]] * 2)
            gradient = torch.zeros(p["n"], p["k"], oh, ow, device="cuda", dtype=dtype)
            backward = lambda mask: torch.ops.aten.convolution_backward(gradient, x, weight, None, *shape, False, [0, 0], p["groups"], mask)
            try:
                p["forward"] = measured(lambda: torch.ops.aten.convolution(x, weight, None, *shape, False, [0, 0], p["groups"]))
                p["input_gradient"] = measured(lambda: backward([True, False, False]))
                p["weight_gradient"] = measured(lambda: backward([False, True, False]))
            except RuntimeError as error:
                p["error"] = str(error).splitlines()[0]
            del x, weight, gradient
            if not exact or torch.cuda.memory_reserved() > 6e9:
                torch.cuda.empty_cache()
            out.write(json.dumps(p) + "\n")
            written += 1
            if written % 100 == 0:
                out.flush(); print(written, flush=True)


main()
