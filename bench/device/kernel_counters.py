#!/usr/bin/env python3
"""Runs single kernels, or a step of a whole network, with PyTorch so that Nsight Compute (ncu) counts what they ask of
the GPU, and makes small tables of what ncu printed.

usage: kernel_counters.py cases CASES.txt [SECONDS]            on the GPU, under ncu: see kernel_counters.sh
       kernel_counters.py networks SECONDS NAME:train|infer:PRECISION:BATCH...    resnet50:train:fp32:128
       kernel_counters.py table RAW.csv CASES.txt              one row per case
       kernel_counters.py list TABLE.csv                       its cases, to count them again
       kernel_counters.py kernels RAW.csv NAME:…:BATCH...      one row per kernel of the networks

CASES.txt has a case per line, as docs/calibration.md names them: "convolution forward tf32 32,64,56,56,64,3,3,1,1". Each is
run as src/engine/calibration runs it, with cudnn.benchmark on. Before the call that is counted the caches are emptied and
what the kernel before would have written (activations, gradients) is written again: weights are cold. Between cases an
erfinv over doubles marks the border; no network has one.
"""

import csv
import math
import sys
import time

MARK = "erfinv"
CONVOLUTIONS = ("convolution", "grouped", "depthwise", "depthwise-channels-last")


# ---- Cases: each gives what to call and the tensors that the kernel before has just written

def builders():
    import torch
    import torch.nn.functional as F
    aten = torch.ops.aten

    def values(dtype, *dims, last=False):
        made = torch.empty(dims, dtype=dtype, device="cuda").normal_(0, 0.5)
        return made.to(memory_format=torch.channels_last) if last else made

    def convolution(direction, dtype, e, last):
        n, c, h, w, k, r, s, stride, groups = e[:9]
        padding = [r // 2, s // 2]
        x = values(dtype, n, c, h, w, last=last)
        weight = values(dtype, k, c // groups, r, s, last=last)
        if direction == "forward":
            return lambda: aten.convolution(x, weight, None, [stride] * 2, padding, [1, 1], False, [0, 0], groups), [x]
        out = aten.convolution(x, weight, None, [stride] * 2, padding, [1, 1], False, [0, 0], groups)
        gradient = values(dtype, *out.shape, last=last)
        wanted = [direction == "backward-input", direction == "backward-weight", False]
        return lambda: aten.convolution_backward(gradient, x, weight, None, [stride] * 2, padding, [1, 1], False,
                                                 [0, 0], groups, wanted), [gradient]

    def matrix(direction, dtype, e):
        m, n, k, bias = e
        if direction == "forward":
            x, weight = values(dtype, m, k), values(dtype, n, k)
            b = values(dtype, n) if bias else None
            return lambda: F.linear(x, weight, b), [x]
        gradient = values(dtype, m, n)
        if direction == "backward-input":
            weight = values(dtype, n, k)
            return lambda: gradient.mm(weight), [gradient]
        x = values(dtype, m, k)
        return lambda: gradient.t().mm(x), [gradient]

    def differentiable(direction, inputs, compute):
        if direction == "forward":
            def run():
                with torch.no_grad():
                    return compute(*inputs)
            return run, [inputs[0]]
        inputs = [i.requires_grad_() for i in inputs]
        result = compute(*inputs)
        gradient = torch.empty_like(result).normal_(0, 0.5)
        return lambda: torch.autograd.grad([result], inputs, [gradient], retain_graph=True), [gradient]

    def attention(direction, dtype, e):
        batch, heads, queries, keys, width, mask = e
        inputs = [values(dtype, batch, heads, t, width) for t in (queries, keys, keys)]
        given = torch.ones(batch, 1, queries, keys, dtype=torch.bool, device="cuda") if mask == 2 else None
        run, _ = differentiable(direction, inputs, lambda q, k, v: F.scaled_dot_product_attention(
            q, k, v, given, 0.0, mask == 1))
        return run, inputs if direction == "forward" else []

    def batch_norm(direction, dtype, e, training):
        n, c, positions = e
        mean, variance = torch.zeros(c, device="cuda", dtype=dtype), torch.ones(c, device="cuda", dtype=dtype)
        return differentiable(direction, [values(dtype, n, c, positions, 1), values(dtype, c), values(dtype, c)],
                              lambda x, g, b: torch.batch_norm(x, g, b, mean, variance, training, 0.1, 1e-5, True))

    def group_norm(direction, dtype, e):
        n, c, positions, groups = e
        return differentiable(direction, [values(dtype, n, c, positions, 1), values(dtype, c), values(dtype, c)],
                              lambda x, g, b: F.group_norm(x, groups, g, b))

    def pool(direction, dtype, e, compute):
        n, c, h, w, kernel, stride = e[:6]
        return differentiable(direction, [values(dtype, n, c, h, w)],
                              lambda x: compute(x, kernel, stride, (kernel - 1) // 2))

    def embedding(direction, dtype, e):
        tokens, width, vocabulary = e
        table, indices = values(dtype, vocabulary, width), torch.randint(vocabulary, (tokens,), device="cuda")
        run, hot = differentiable(direction, [table], lambda t: F.embedding(indices, t))
        return run, hot if direction != "forward" else []

    def step(dtype, e, make):
        tensors, elements = e
        parameters = [values(dtype, max(elements // tensors, 1)).requires_grad_() for _ in range(tensors)]
        for p in parameters:
            p.grad = torch.empty_like(p).normal_(0, 0.5)
        return make(parameters).step, []

    def build(name, direction, dtype, e):
        if name in CONVOLUTIONS:
            return convolution(direction, dtype, e, name.endswith("last"))
        simple = {
            "matrix": lambda: matrix(direction, dtype, e),
            "batched": lambda: differentiable(direction, [values(dtype, e[0], e[1], e[3]),
                                                          values(dtype, e[0], e[3], e[2])], torch.bmm),
            "attention": lambda: attention(direction, dtype, e),
            "batch-norm": lambda: batch_norm(direction, dtype, e, False),
            "batch-norm-training": lambda: batch_norm(direction, dtype, e, True),
            "layer-norm": lambda: differentiable(direction, [values(dtype, *e), values(dtype, e[1]), values(dtype, e[1])],
                                                 lambda x, g, b: F.layer_norm(x, g.shape, g, b)),
            "group-norm": lambda: group_norm(direction, dtype, e),
            "softmax": lambda: differentiable(direction, [values(dtype, *e)], lambda x: torch.softmax(x, 1)),
            "max-pool": lambda: pool(direction, dtype, e, F.max_pool2d),
            "average-pool": lambda: pool(direction, dtype, e, F.avg_pool2d),
            "global-pool": lambda: differentiable(direction, [values(dtype, *e)], lambda x: x.mean(1)),
            "unary": lambda: differentiable(direction, [values(dtype, e[0])], torch.relu),
            "function": lambda: differentiable(direction, [values(dtype, e[0])], F.gelu),
            "binary": lambda: differentiable(direction, [values(dtype, e[0]), values(dtype, e[0])], torch.add),
            "broadcast": lambda: differentiable(direction, [values(dtype, *e), values(dtype, e[1], 1)], torch.mul),
            "row-sum": lambda: differentiable(direction, [values(dtype, *e)], lambda x: x.sum(1)),
            "column-sum": lambda: differentiable(direction, [values(dtype, *e)], lambda x: x.sum(0)),
            "embedding": lambda: embedding(direction, dtype, e),
            "copy": lambda: differentiable(direction, [values(dtype, e[0])], torch.clone),
            "transpose": lambda: differentiable(direction, [values(dtype, *e)], lambda x: x.transpose(1, 2).contiguous()),
            "optimizer-sgd": lambda: step(dtype, e, lambda p: torch.optim.SGD(p, lr=1e-3)),
            "optimizer-momentum": lambda: step(dtype, e, lambda p: torch.optim.SGD(p, lr=1e-3, momentum=0.9)),
            "optimizer-adam": lambda: step(dtype, e, lambda p: torch.optim.Adam(p, lr=1e-3)),
        }
        return simple[name]()

    return build


def run_cases(path, seconds):
    import torch
    build = builders()
    types = {"fp64": torch.double, "fp32": torch.float, "tf32": torch.float, "bf16": torch.bfloat16, "fp16": torch.half}
    torch.backends.cudnn.benchmark = True
    mark = torch.full((1,), 0.5, dtype=torch.double, device="cuda")
    flush = torch.empty(64 << 20, device="cuda")
    torch.erfinv(mark)
    cuda = torch.cuda.cudart()
    began, done = time.time(), 0
    for line in open(path):
        if time.time() - began > seconds:
            break
        name, direction, arithmetic, extents = line.split()[:4]
        torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = arithmetic == "tf32"
        try:
            call, hot = build(name, direction, types[arithmetic], [int(e) for e in extents.split(",")])
            for _ in range(2):
                call()
        except Exception as error:
            print("failed:", line.strip(), str(error).splitlines()[0][:100], flush=True)
            call, hot = (lambda: None), []
        with torch.no_grad():
            flush.zero_()
            for tensor in hot:
                tensor.mul_(1)
        torch.cuda.synchronize()
        cuda.cudaProfilerStart()
        torch.erfinv(mark)
        call()
        torch.cuda.synchronize()
        cuda.cudaProfilerStop()
        del call, hot
        done += 1
    print(f"{done} cases in {time.time() - began:.1f} s", flush=True)


def step_of(name, mode, precision, batch):
    import contextlib

    import torch
    import workloads
    module, shape = workloads.make(name)
    module = module.cuda()
    data, target = workloads.inputs(name, shape, batch)
    autocast = lambda: torch.autocast("cuda", torch.bfloat16) if precision == "amp" else contextlib.nullcontext()
    if mode == "train":
        module.train()
        optimizer = workloads.optimizer_of("momentum", module)

        def train():
            optimizer.zero_grad()
            with autocast():
                outputs = module(data)
                loss = workloads.loss_of(name, workloads.first(outputs) if name in workloads.LANGUAGE else outputs, target)
            loss.backward()
            optimizer.step()
        return train
    module.eval()
    if precision == "bf16":
        module = module.bfloat16()
        data = data if data.dtype == torch.long else data.bfloat16()

    def infer():
        with torch.no_grad(), autocast():
            module(data)
    return infer


def run_networks(seconds, networks):
    import torch
    torch.backends.cudnn.benchmark = True
    cuda = torch.cuda.cudart()
    mark = torch.full((1,), 0.5, dtype=torch.double, device="cuda")
    began = time.time()
    for network in networks:
        if time.time() - began > seconds:
            break
        name, mode, precision, batch = network.split(":")
        step = step_of(name, mode, precision, int(batch))
        for _ in range(3):
            step()
        torch.cuda.synchronize()
        warm = time.time()
        cuda.cudaProfilerStart()
        torch.erfinv(mark)
        step()
        torch.cuda.synchronize()
        cuda.cudaProfilerStop()
        del step
        torch.cuda.empty_cache()
        print(f"{network}: warm after {warm - began:.1f} s, counted after {time.time() - began:.1f} s", flush=True)


# ---- Tables

def raw_rows(path):
    """ncu's raw page: a line of names, one of units, then the kernels."""
    with open(path, newline="") as file:
        lines = [line for line in file if line.startswith('"')]
    reader = csv.DictReader(lines)
    for row in reader:
        if row["ID"]:
            yield row


def number(row, name):
    text = (row.get(name) or "").replace(",", "")
    try:
        return float(text)
    except ValueError:
        return 0.0


COLUMNS = "name seconds blocks threads blocks_per_sm sm_share occupancy read_bytes write_bytes tensor_share".split()


def kernel_of(row):
    limits = [number(row, "launch__occupancy_limit_" + what) for what in ("blocks", "registers", "shared_mem", "warps")]
    elapsed = number(row, "sm__cycles_elapsed.avg") or math.inf
    return dict(name=row["Kernel Name"], seconds=number(row, "gpu__time_duration.sum") * 1e-9,
                blocks=number(row, "launch__grid_size"), threads=number(row, "launch__block_size"),
                blocks_per_sm=min(l for l in limits if l > 0) if any(limits) else 0,
                sm_share=number(row, "sm__cycles_active.avg") / elapsed,
                occupancy=number(row, "sm__warps_active.avg.pct_of_peak_sustained_elapsed") / 100,
                read_bytes=number(row, "dram__bytes_read.sum"), write_bytes=number(row, "dram__bytes_write.sum"),
                tensor_share=max((number(row, key) for key in row if key and "pipe_tensor" in key), default=0) / 100)


def written(value):
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def print_kernels(path, networks):
    print("network," + ",".join(COLUMNS))
    at = -1
    for row in raw_rows(path):
        if MARK in row["Kernel Name"]:
            at += 1
            continue
        kernel = kernel_of(row)
        print(",".join([networks[at], *(written(kernel[c])[:56].replace(",", ";") for c in COLUMNS)]))


def print_table(path, cases):
    """Of the kernels of a case: their number, sums of seconds and bytes, shares weighted with the seconds, and the launch
    of the one that takes longest."""
    print("class,direction,arithmetic,extents,kernels," + ",".join(COLUMNS[1:]) + ",name")
    names, groups = [line.split()[:4] for line in open(cases)], []
    for row in raw_rows(path):
        if MARK in row["Kernel Name"]:
            groups.append([])
        else:
            groups[-1].append(kernel_of(row))
    for what, kernels in zip(names, groups):
        if not kernels:
            continue
        longest = max(kernels, key=lambda k: k["seconds"])
        seconds = sum(k["seconds"] for k in kernels)
        out = dict(longest, seconds=seconds, **{c: sum(k[c] for k in kernels) for c in ("read_bytes", "write_bytes")})
        for share in ("sm_share", "occupancy", "tensor_share"):
            out[share] = sum(k[share] * k["seconds"] for k in kernels) / seconds
        print(",".join([*what[:3], what[3].replace(",", " "), str(len(kernels)), *(written(out[c]) for c in COLUMNS[1:]),
                        out["name"].replace(",", ";")[:56]]))


def print_cases(path):
    for row in csv.DictReader(open(path)):
        print(row["class"], row["direction"], row["arithmetic"], row["extents"].replace(" ", ","))


def main(arguments):
    what, rest = arguments[0], arguments[1:]
    if what == "cases":
        run_cases(rest[0], float(rest[1]) if len(rest) > 1 else math.inf)
    elif what == "networks":
        run_networks(float(rest[0]), rest[1:])
    elif what == "table":
        print_table(*rest)
    elif what == "list":
        print_cases(*rest)
    elif what == "kernels":
        print_kernels(rest[0], rest[1:])
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:] or [""])
