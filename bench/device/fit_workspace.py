#!/usr/bin/env python3
"""Chooses the rule by which src/estimate/memory/convolution_workspace.cpp says how much workspace a convolution takes,
and prints how far it is off.

usage: fit_workspace.py DIRECTORY [--table convolution_workspace_table.cpp]
DIRECTORY: convolution_workspace.jsonl (of convolution_workspace.py; or .jsonl.xz) and MODEL.jsonl.xz (of allocations.py).

A plan's workspace is made of few things: copies of the operands in another layout, and partial sums. FORMULAS lists the
sums of these that occur; a tree over the geometry, one per number type and pass, says which. A tree is grown greedily so
that the error, relative to the bytes of input, output and weights together, is least. The errors are those of rows that
the tree was not fitted to: three folds, each leaving out a third of the networks and a third of the random convolutions.
The table that is written out is fitted to all rows. Needs numpy."""

import collections
import glob
import json
import lzma
import math
import os
import sys

import numpy

PASSES = ("forward", "input_gradient", "weight_gradient")
FOLDS = 3
MAXIMUM_DEPTH = 8
LEAF_PENALTY = 1.0  # error, in weighted rows, that a further leaf must save
SMALLEST_LEAF = 2.0  # weighted rows
RANDOM_WEIGHT = 0.3  # of a random convolution, against 1 of a network's layer
MIB = 1 << 20


def rounded(value, multiple):
    return -(-value // multiple) * multiple


def widened(channels):
    """Channels of a group as grouped kernels pad them."""
    return rounded(channels, 32) if channels > 16 else 1 << (channels - 1).bit_length()


class Sizes:
    """Bytes that the formulas are made of."""

    def __init__(self, e):
        size, groups, taps = e["bits"] // 8, e["groups"], e["r"] * e["s"]
        inputs, outputs = e["c"] // groups, e["k"] // groups
        inside, outside = e["n"] * e["h"] * e["w"], e["n"] * e["oh"] * e["ow"]

        def operands(a, b):
            return {"input": inside * groups * a * size, "output": outside * groups * b * size, "weights": groups * a * b * taps * size}

        self.plain = operands(inputs, outputs)
        a, b = (rounded(v, 16 // size) for v in (inputs, outputs))
        self.copies = operands(a, b)
        self.wide = operands(widened(a), widened(b))
        weights = groups * inputs * outputs * taps * 4
        tiles = groups * -(-outputs // 128) * -(-inputs * taps // 128)
        corners = -(-e["oh"] // 4) * -(-e["ow"] // 4)
        self.unit = {"nothing": 0, "mebibytes": MIB, "sums": weights, "sums_per_image": e["n"] * weights, "inputs": self.plain["input"],
                     "outputs": self.plain["output"], "wave": tiles * max(1, 132 // tiles) * 65536,
                     "winograd": 36 * 4 * (e["n"] * corners * (e["c"] + e["k"]) + e["c"] * e["k"])}

    def of(self, formula):
        copies, wide, extra, times = formula
        return sum((self.wide if wide else self.copies)[c] for c in copies) + times * self.unit[extra]


# (operands copied, with groups widened, what else, how often)
MAPS, ALL = ("input", "output"), ("input", "output", "weights")
FORMULAS = [((), False, "nothing", 0)]
FORMULAS += [(c, False, "nothing", 0) for c in (("input",), ("output",), MAPS, ("input", "weights"), ("output", "weights"), ALL)]
FORMULAS += [(ALL, True, "nothing", 0), ((), False, "sums_per_image", 1), ((), False, "winograd", 1), (ALL, False, "wave", 1)]
FORMULAS += [(ALL, False, "mebibytes", m) for m in (1, 2, 4, 8)]
FORMULAS += [(ALL, False, "sums", m) for m in (1, 2, 3, 5, 8, 13, 26, 54, 75, 120)]
FORMULAS += [((), False, unit, m) for unit in ("sums", "inputs", "outputs") for m in (1, 2, 4, 8, 16)]


def name_of(formula):
    copies, wide, extra, times = formula
    parts = [("widened " if wide else "") + " + ".join(copies)] if copies else []
    parts += [f"{times} x {extra}" if times > 1 else extra] if times else []
    return " + ".join(parts) or "nothing"


def alignment(value):
    """The largest power of two, up to 64, that divides it."""
    return math.gcd(value, 64)


# As features() in convolution_workspace.cpp.
FEATURES = [
    ("batch", lambda e: e["n"]),
    ("inputs_per_group", lambda e: e["c"] // e["groups"]),
    ("outputs_per_group", lambda e: e["k"] // e["groups"]),
    ("groups", lambda e: e["groups"]),
    ("input_area", lambda e: e["h"] * e["w"]),
    ("output_area", lambda e: e["oh"] * e["ow"]),
    ("taps", lambda e: e["r"] * e["s"]),
    ("last_taps", lambda e: e["s"]),
    ("stride", lambda e: e["stride"]),
    ("dilation", lambda e: e["dilation"]),
    ("input_alignment", lambda e: alignment(e["c"] // e["groups"])),
    ("output_alignment", lambda e: alignment(e["k"] // e["groups"])),
    ("area_alignment", lambda e: alignment(e["h"] * e["w"])),
    ("output_positions", lambda e: e["n"] * e["oh"] * e["ow"]),
    ("products_per_output", lambda e: e["c"] // e["groups"] * e["r"] * e["s"]),
    ("weights", lambda e: e["c"] // e["groups"] * e["r"] * e["s"] * e["k"]),
    ("inputs", lambda e: e["n"] * e["c"] * e["h"] * e["w"]),
    ("outputs", lambda e: e["n"] * e["k"] * e["oh"] * e["ow"]),
    ("positions_per_output_channel", lambda e: e["n"] * e["oh"] * e["ow"] // max(1, e["k"] // e["groups"])),
]


# Reading


def network_rows(path):
    """Convolutions in a recorded training step or inference. A workspace is a block that the operator itself frees."""
    for line in lzma.open(path, "rt"):
        record = json.loads(line)
        if "error" in record:
            continue
        operators = record["operators"]
        requests = iter([e[2] for e in record["events"] if e[0] == "alloc"][-sum(o[0] > 0 for o in operators):])
        steps = [(o[0], o[1], o[2].rsplit(">", 1)[-1], o[2], o[3], next(requests) if o[0] > 0 else 0) for o in operators]
        steps += [(0, -1, "", "", [], 0)] * 3
        size = 2 if record["precision"] == "amp-bf16" else 4

        def scratch(i, name):
            a, b = steps[i], steps[i + 1]
            return a[5] if a[2] == name and a[0] > 0 and b[0] == -a[0] and b[1] == a[1] else None

        def row(which, x, w, out, bytes_):
            strides = [s for s in (1, 2, 3, 4, 8, 14, 16, 32) for p in range(w[2]) if (x[2] + 2 * p - w[2]) // s + 1 == out[0]]
            return {"model": record["model"], "pass": which, "bits": 8 * size, "n": x[0], "c": x[1], "h": x[2], "w": x[3],
                    "k": w[0], "r": w[2], "s": w[3], "groups": x[1] // w[1], "oh": out[0], "ow": out[1], "dilation": 1,
                    "stride": strides[0] if strides else 1, "bytes": bytes_, "slack": 0}

        shapes = first = None
        for i, (block, _, name, names, dims, request) in enumerate(steps):
            if block <= 0:
                continue
            if name == "aten::cudnn_convolution" and scratch(i, name) is None:
                x, w = dims[:2]
                side = math.isqrt(request // size // x[0] // w[0])
                if side * side * x[0] * w[0] * size == request:
                    first = first or ((x[0], w[0], side, side), x, w)
                    yield row("forward", x, w, (side, side), scratch(i + 1, name) or 0)
            elif name == "aten::convolution_backward" and scratch(i, name) is None:
                shapes = dims[:3]
                if request == math.prod(shapes[1]) * size:
                    yield row("input_gradient", *shapes[1:], shapes[0][2:], scratch(i + 1, name) or 0)
            elif names.endswith("aten::convolution_backward>aten::empty"):
                bytes_ = scratch(i + 1, "aten::convolution_backward")
                known = steps[i + 1][4][:3] if bytes_ is not None else shapes or first
                if known and request == math.prod(known[2]) * size:
                    yield row("weight_gradient", *known[1:], known[0][2:], bytes_ or 0)
                shapes = None


def random_rows(path):
    for line in lzma.open(path, "rt") if path.endswith("xz") else open(path):
        p = json.loads(line)
        if "error" in p:
            continue
        out = [(p[a] + 2 * p["padding"][i] - p["dilation"] * (p[b] - 1) - 1) // p["stride"] + 1 for i, (a, b) in enumerate(("hr", "ws"))]
        for which in PASSES:
            if p.get(which) is not None:
                row = {k: p[k] for k in ("n", "c", "h", "w", "k", "r", "s", "groups", "stride", "dilation")}
                yield row | {"pass": which, "bits": 16 if p["type"] == "bf16" else 32, "oh": out[0], "ow": out[1],
                             "bytes": p[which], "slack": 512 if p[which] < 10 * MIB else 2 * MIB}


def read(directory):
    """Each distinct convolution once, with the networks that have it; without depthwise ones, which take nothing."""
    rows = {}
    for path in sorted(glob.glob(os.path.join(directory, "*.jsonl.xz"))):
        if "convolution_workspace" in path:
            continue
        for e in network_rows(path):
            key = tuple(e[k] for k in ("pass", "bits", "n", "c", "h", "w", "k", "r", "s", "groups", "oh", "ow"))
            known = rows.setdefault(key, e | {"models": set(), "seen": collections.Counter()})
            known["models"].add(e["model"])
            known["seen"][e["bytes"]] += 1
    for e in rows.values():
        e["bytes"] = e["seen"].most_common(1)[0][0]
    result = list(rows.values())
    random = glob.glob(os.path.join(directory, "convolution_workspace.jsonl*"))[0]
    result += [e | {"models": set(), "fold": i // len(PASSES) % FOLDS} for i, e in enumerate(random_rows(random))]
    return [e for e in result if e["groups"] == 1 or e["groups"] != e["c"]]


# Fitting


class Table:
    """Rows of one number type and pass: their features, and the error of every formula."""

    def __init__(self, rows):
        self.rows = rows
        self.features = numpy.array([[f(e) for _, f in FEATURES] for e in rows], dtype=numpy.int64)
        sizes = [Sizes(e) for e in rows]
        self.operands = numpy.array([float(sum(s.plain.values())) for s in sizes])
        predicted = numpy.array([[float(s.of(f)) for f in FORMULAS] for s in sizes])
        measured = numpy.array([float(e["bytes"]) for e in rows])[:, None]
        slack = numpy.array([float(e["slack"]) for e in rows])[:, None]
        off = predicted - measured
        off = numpy.where(off < 0, numpy.minimum(off + slack, 0), off)
        self.error = numpy.abs(off) / self.operands[:, None]
        self.weight = numpy.array([1.0 if e["models"] else RANDOM_WEIGHT for e in rows]) * numpy.clip(self.operands / MIB, 0.1, 1.0)
        self.cost = numpy.clip(self.error - 0.003, 0, 1.5) * self.weight[:, None]


def grow(table, rows, depth):
    """Cost with penalties, and a tree: (formula,) or (feature, threshold, up to it, above it)."""
    cost, weights = table.cost[rows], table.weight[rows]
    total = cost.sum(0)
    formula = int(total.argmin())
    best = (total[formula] + LEAF_PENALTY, (formula,))
    if depth == 0 or total[formula] <= LEAF_PENALTY:
        return best
    split = (numpy.inf, 0, 0)
    for f in range(len(FEATURES)):
        values = table.features[rows, f]
        order = numpy.argsort(values, kind="stable")
        v = values[order]
        cuts = numpy.flatnonzero(v[1:] != v[:-1])
        if not len(cuts):
            continue
        below = numpy.cumsum(cost[order], 0)[cuts]
        mass = numpy.cumsum(weights[order])[cuts]
        both = below.min(1) + (total - below).min(1)
        both[(mass < SMALLEST_LEAF) | (weights.sum() - mass < SMALLEST_LEAF)] = numpy.inf
        i = int(both.argmin())
        split = min(split, (both[i], f, int(v[cuts[i]])))
    if numpy.isfinite(split[0]):
        _, f, threshold = split
        low = table.features[rows, f] <= threshold
        a, b = grow(table, rows[low], depth - 1), grow(table, rows[~low], depth - 1)
        if a[0] + b[0] < best[0]:
            best = (a[0] + b[0], (f, threshold, a[1], b[1]))
    return best


def formula_of(tree, features):
    while len(tree) > 1:
        tree = tree[2] if features[tree[0]] <= tree[1] else tree[3]
    return tree[0]


def leaves(tree):
    return 1 if len(tree) == 1 else leaves(tree[2]) + leaves(tree[3])


def described(tree, indent):
    if len(tree) == 1:
        return [indent + name_of(FORMULAS[tree[0]])]
    f, t, a, b = tree
    return [f"{indent}{FEATURES[f][0]} <= {t}:"] + described(a, indent + "  ") + [f"{indent}else:"] + described(b, indent + "  ")


def summary(errors):
    e = numpy.array(errors)
    return (f"{len(e):5d} rows   median {100 * numpy.median(e):5.2f} %   p90 {100 * numpy.quantile(e, 0.9):6.1f} %   "
            f"within 5 %: {100 * (e <= 0.05).mean():5.1f} %   mean {100 * e.mean():5.1f} %")


def main():
    rows = read(sys.argv[1])
    models = sorted(set().union(*(e["models"] for e in rows)))
    print(f"{len(rows)} distinct convolutions and passes, {sum(bool(e['models']) for e in rows)} of them in {len(models)} networks\n")
    print("Errors: |predicted - measured| / (input + output + weights)\n")
    trees, pooled = {}, collections.defaultdict(list)
    for bits in (32, 16):
        for which in PASSES:
            table = Table([e for e in rows if e["bits"] == bits and e["pass"] == which])
            everything = numpy.arange(len(table.rows))
            groups = collections.defaultdict(list)
            for fold in range(FOLDS):
                out = {m for i, m in enumerate(models) if i % FOLDS == fold}
                held = numpy.array([bool(e["models"]) and e["models"] <= out or e.get("fold") == fold for e in table.rows])
                tree = grow(table, everything[~held], MAXIMUM_DEPTH)[1]
                for i in everything[held]:
                    error = table.error[i, formula_of(tree, table.features[i])]
                    if not table.rows[i]["models"]:
                        groups["held out: random"].append(error)
                        continue
                    groups["held out: networks"].append(error)
                    if table.operands[i] > 16 * MIB:
                        groups["... above 16 MiB"].append(error)
                    groups["... if none was taken"].append(table.error[i, 0])
            trees[bits, which] = grow(table, everything, MAXIMUM_DEPTH)[1]
            for i in everything:
                if table.rows[i]["models"]:
                    groups["fitted to all: networks"].append(table.error[i, formula_of(trees[bits, which], table.features[i])])
                    groups["best formula: networks"].append(table.error[i].min())
            print(f"{bits} bits, {which}: {leaves(trees[bits, which])} leaves")
            for name, errors in groups.items():
                print(f"  {name:26s}{summary(errors)}")
                pooled[name] += errors
    print("\nAll types and passes")
    for name, errors in pooled.items():
        print(f"  {name:26s}{summary(errors)}")
    print("\nThe rule, fitted to all rows (depthwise convolutions, which take nothing, are told apart before it)")
    for (bits, which), tree in trees.items():
        print(f"\n{bits} bits, {which}\n" + "\n".join(described(tree, "  ")))
    if "--table" in sys.argv:
        write_table(sys.argv[sys.argv.index("--table") + 1], trees)


def write_table(path, trees):
    """The trees as one array of nodes: the side up to the threshold follows a node at once, the other stands at `above`."""
    nodes, roots = [], []

    def emit(tree):
        if len(tree) == 1:
            copies, wide, extra, times = FORMULAS[tree[0]]
            mask = " | ".join("kCopy" + c.capitalize() for c in copies + (("widened",) if wide else ())) or "0"
            nodes.append(f"leaf({mask}, Extra::{extra}, {times})")
            return
        at = len(nodes)
        nodes.append(None)
        emit(tree[2])
        nodes[at] = f"node(Feature::{FEATURES[tree[0]][0]}, {tree[1]}, {len(nodes)})"
        emit(tree[3])

    for tree in trees.values():
        roots.append(len(nodes))
        emit(tree)
    lines = [f"    {n},  // {' '.join(map(str, list(trees)[roots.index(i)]))} bits".replace(" bits", "") if i in roots else f"    {n}," for i, n in enumerate(nodes)]
    with open(path, "w") as out:
        out.write(HEAD + "constexpr WorkspaceNode kNodes[] = {\n" + "\n".join(lines) + "\n};\n\n"
                  f"constexpr std::uint16_t kRoots[] = {{{', '.join(map(str, roots))}}};\n" + TAIL)


HEAD = """// Written by bench/device/fit_workspace.py from measurements on an H200; do not edit.
#include "estimate/memory/convolution_workspace_table.hpp"

namespace plimsoll::estimate {
namespace {

using Extra = WorkspaceExtra;
using Feature = WorkspaceFeature;

constexpr WorkspaceNode leaf(int copies, Extra extra, int times) {
  return {.copies = static_cast<std::uint8_t>(copies), .extra = extra, .times = static_cast<std::uint8_t>(times)};
}

constexpr WorkspaceNode node(Feature feature, std::int64_t threshold, int above) {
  return {.threshold = threshold, .above = static_cast<std::uint16_t>(above), .feature = feature};
}

"""
TAIL = """
}  // namespace

std::span<const WorkspaceNode> workspace_nodes() { return kNodes; }

std::span<const std::uint16_t> workspace_roots() { return kRoots; }

}  // namespace plimsoll::estimate
"""

if __name__ == "__main__":
    main()
