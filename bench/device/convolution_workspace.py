#!/usr/bin/env python3
"""Measures, on a machine with a GPU, the workspace that PyTorch's convolutions take: forward, and the two parts of
the backward pass, over convolutions drawn at random from the ranges that networks use.

usage: convolution_workspace.py OUT.jsonl [COUNT] [SEED]
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
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 1500
    rng = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    written = 0
    with open(sys.argv[1], "w") as out:
        while written < count:
            p = drawn(rng)
            oh = (p["h"] + 2 * p["padding"][0] - p["dilation"] * (p["r"] - 1) - 1) // p["stride"] + 1
            ow = (p["w"] + 2 * p["padding"][1] - p["dilation"] * (p["s"] - 1) - 1) // p["stride"] + 1
            flops = 2 * p["n"] * p["k"] * oh * ow * p["c"] // p["groups"] * p["r"] * p["s"]
            size = 4 * p["n"] * (p["c"] * p["h"] * p["w"] + p["k"] * oh * ow)
            if oh < 1 or ow < 1 or flops > 3e12 or size > 6e9 or size < 1e5:
                continue
            dtype = {"fp32": torch.float32, "bf16": torch.bfloat16}[p["type"]]
            x = torch.zeros(p["n"], p["c"], p["h"], p["w"], device="cuda", dtype=dtype)
            weight = torch.zeros(p["k"], p["c"] // p["groups"], p["r"], p["s"], device="cuda", dtype=dtype)
            shape = ([p["stride"]] * 2, p["padding"], [p["dilation"]] * 2)
            gradient = torch.zeros(p["n"], p["k"], oh, ow, device="cuda", dtype=dtype)
            backward = lambda mask: torch.ops.aten.convolution_backward(gradient, x, weight, None, *shape, False, [0, 0], p["groups"], mask)
            try:
                p["forward"] = extra(lambda: torch.ops.aten.convolution(x, weight, None, *shape, False, [0, 0], p["groups"]))
                p["input_gradient"] = extra(lambda: backward([True, False, False]))
                p["weight_gradient"] = extra(lambda: backward([False, True, False]))
            except RuntimeError as error:
                p["error"] = str(error).splitlines()[0]
            del x, weight, gradient
            torch.cuda.empty_cache()
            out.write(json.dumps(p) + "\n")
            written += 1
            if written % 100 == 0:
                out.flush(); print(written, flush=True)


main()
