#!/usr/bin/env python3
"""Chooses the rule by which src/program/convolution_workspace.cpp says how much workspace a convolution takes,
and prints how far it is off.

usage: fit_workspace.py DIRECTORY [--table convolution_workspace_table.cpp] [--drawn-only]
DIRECTORY: convolution_workspace*.jsonl.xz (of convolution_workspace.py) and MODEL.jsonl.xz (of allocations.py).
--drawn-only: fits to no network's layers, only to convolutions drawn at random; the table with which tests show what the
estimates are worth for networks that were never seen.

A plan's workspace is made of few things: copies of the operands in another layout, and partial sums. FORMULAS lists the
sums of these that occur; a decision tree over the geometry, one per number type and pass, says which. Trees are grown by
entropy over the formula that fits a row, each leaf takes the formula whose error (relative to the bytes of input, output
and weights together) is least over its rows, and a split that does not save LEAF_PENALTY is taken back. The errors are
those of rows that the tree was not fitted to: three folds, each leaving out a third of the networks and a third of the
random convolutions. The table that is written out is fitted to all rows. Needs numpy and scikit-learn."""

import collections
import glob
import json
import lzma
import math
import os
import sys
import textwrap

import numpy
from sklearn.tree import DecisionTreeClassifier

PASSES = ("forward", "input_gradient", "weight_gradient")
FOLDS = 3
MAXIMUM_DEPTH = 12
SHOWN_DEPTH = 4
LEAF_PENALTY = 3.0  # error, in weighted rows, that a further leaf must save
SMALLEST_LEAF = 3  # rows
NETWORK_WEIGHT, RANDOM_WEIGHT = 4.0, 0.6  # of a network's layer and of a random convolution
NEGLIGIBLE = 0.02  # errors up to this are as good as none when rows are labelled
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
        self.kinds = {"": self.copies, "unpadded": self.plain}
        self.kinds["widened"] = operands(widened(a), widened(b))
        weights = groups * inputs * outputs * taps * 4
        tiles = groups * -(-outputs // 128) * -(-inputs * taps // 128)
        result = ("h", "w") if e["pass"] == "input_gradient" else ("oh", "ow")
        corners = math.prod(-(-e[r] // 4) for r in result)
        self.unit = {"nothing": 0, "mebibytes": MIB, "sums": weights, "sums_per_image": e["n"] * weights, "inputs": self.plain["input"],
                     "outputs": self.plain["output"], "wave": tiles * max(1, 132 // tiles) * 65536,
                     "winograd": 36 * 4 * (e["n"] * corners * (e["c"] + e["k"]) + e["c"] * e["k"])}

    def of(self, formula):
        copies, kind, extra, times = formula
        return sum(self.kinds[kind][c] for c in copies) + times * self.unit[extra]


# (operands copied, with which padding of channels, what else, how often); those that name a row first come first.
MAPS, ALL = ("input", "output"), ("input", "output", "weights")
FORMULAS = [((), "", "nothing", 0), (ALL, "", "nothing", 0), (MAPS, "", "nothing", 0), (("input", "weights"), "", "nothing", 0),
            ((), "", "sums_per_image", 1), (ALL, "widened", "nothing", 0), (ALL, "unpadded", "nothing", 0)]
PREFERRED = len(FORMULAS)
FORMULAS += [(c, "", "nothing", 0) for c in (("input",), ("output",), ("output", "weights"))]
FORMULAS += [((), "", "winograd", 1), (ALL, "", "wave", 1)]
FORMULAS += [(ALL, "", "mebibytes", m) for m in (1, 2, 4, 8, 15)]
FORMULAS += [(ALL, "", "sums", m) for m in (1, 2, 3, 5, 8, 13, 26, 54, 75, 120)]
FORMULAS += [((), "", unit, m) for unit in ("sums", "inputs", "outputs") for m in (1, 2, 4, 8, 16)]


def name_of(formula):
    copies, kind, extra, times = formula
    parts = [f"{kind} " * bool(kind) + " + ".join(copies)] if copies else []
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
    ("positions_per_output", lambda e: e["n"] * e["oh"] * e["ow"] // (e["k"] // e["groups"])),
    ("smaller_channels", lambda e: min(e["c"], e["k"]) // e["groups"]),
    ("output_area_alignment", lambda e: alignment(e["oh"] * e["ow"])),
    ("output_tiles", lambda e: e["groups"] * -(-e["n"] * e["oh"] * e["ow"] // 128) * -(-(e["k"] // e["groups"]) // 128)),
    ("weight_tiles", lambda e: e["groups"] * -(-(e["k"] // e["groups"]) // 128) * -(-(e["c"] // e["groups"] * e["r"] * e["s"]) // 128)),
    ("products", lambda e: e["n"] * e["oh"] * e["ow"] * e["k"] * (e["c"] // e["groups"]) * e["r"] * e["s"]),
]


INPUT_AREA = [name for name, _ in FEATURES].index("input_area")


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
    """Where sizes were taken from the allocator's blocks they may be too high by `slack`."""
    exact = "exact" in os.path.basename(path)
    for line in lzma.open(path, "rt") if path.endswith("xz") else open(path):
        p = json.loads(line)
        if "error" in p:
            continue
        out = [(p[a] + 2 * p["padding"][i] - p["dilation"] * (p[b] - 1) - 1) // p["stride"] + 1 for i, (a, b) in enumerate(("hr", "ws"))]
        for which in PASSES:
            if p.get(which) is not None:
                row = {k: p[k] for k in ("n", "c", "h", "w", "k", "r", "s", "groups", "stride", "dilation")}
                yield row | {"pass": which, "bits": 16 if p["type"] == "bf16" else 32, "oh": out[0], "ow": out[1],
                             "bytes": p[which], "slack": 0 if exact else 512 if p[which] < 10 * MIB else 2 * MIB}


def read(directory):
    """Each distinct convolution once, with the networks that have it. Without depthwise ones, which take nothing, and
    without the networks' patch merging (stride as the kernel, beyond the image): it follows a normalization over channels
    last, and operands that lie so need no copies."""
    rows, random = {}, []
    for path in sorted(glob.glob(os.path.join(directory, "*.jsonl*"))):
        if os.path.basename(path).startswith("convolution_workspace"):
            random += random_rows(path)
            continue
        for e in network_rows(path):
            if e["r"] == e["stride"] > 1 and e["c"] > 3:
                continue
            key = tuple(e[k] for k in ("pass", "bits", "n", "c", "h", "w", "k", "r", "s", "groups", "oh", "ow"))
            known = rows.setdefault(key, e | {"models": set(), "seen": collections.Counter()})
            known["models"].add(e["model"])
            known["seen"][e["bytes"]] += 1
    for e in rows.values():
        e["bytes"] = e["seen"].most_common(1)[0][0]
    result = list(rows.values()) + [e | {"models": set(), "fold": i // len(PASSES) % FOLDS} for i, e in enumerate(random)]
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
        self.network = numpy.array([bool(e["models"]) for e in rows])
        self.weight = numpy.where(self.network, NETWORK_WEIGHT, RANDOM_WEIGHT) * numpy.clip(numpy.sqrt(self.operands / (16 * MIB)), 0.1, 1.5)
        # Beyond 1 an error still counts: a workspace of many times the operands must not come by mistake.
        self.cost = numpy.clip(self.error - 0.003, 0, 8) * self.weight[:, None]
        least = self.error.min(1)
        self.label = self.error.argmin(1)
        for f in reversed(range(PREFERRED)):
            self.label = numpy.where(self.error[:, f] <= numpy.maximum(least, NEGLIGIBLE), f, self.label)


def fitted(table, rows):
    """A tree: (formula,) or (feature, threshold, up to it, above it)."""
    rows = rows[table.features[rows, INPUT_AREA] > 1]
    grown = DecisionTreeClassifier(criterion="entropy", max_depth=MAXIMUM_DEPTH, min_samples_leaf=SMALLEST_LEAF, random_state=0)
    grown = grown.fit(table.features[rows], table.label[rows], sample_weight=table.weight[rows]).tree_

    def pruned(node, rows):
        total = table.cost[rows].sum(0)
        formula = int(total.argmin())
        leaf = (total[formula] + LEAF_PENALTY, (formula,))
        if grown.children_left[node] < 0:
            return leaf
        feature, threshold = int(grown.feature[node]), math.floor(grown.threshold[node])
        low = table.features[rows, feature] <= threshold
        a, b = pruned(grown.children_left[node], rows[low]), pruned(grown.children_right[node], rows[~low])
        return min(leaf, (a[0] + b[0], (feature, threshold, a[1], b[1])), key=lambda t: t[0])

    return pruned(0, rows)[1]


def formula_of(tree, features):
    if features[INPUT_AREA] == 1:  # a product of matrices: nothing, or little
        return 0
    while len(tree) > 1:
        tree = tree[2] if features[tree[0]] <= tree[1] else tree[3]
    return tree[0]


def leaves(tree):
    return 1 if len(tree) == 1 else leaves(tree[2]) + leaves(tree[3])


def described(tree, indent, depth):
    if len(tree) == 1:
        return [indent + name_of(FORMULAS[tree[0]])]
    f, t, a, b = tree
    if depth == 0:
        return [f"{indent}({leaves(tree)} leaves)"]
    return ([f"{indent}{FEATURES[f][0]} <= {t}:"] + described(a, indent + "  ", depth - 1) + [f"{indent}else:"]
            + described(b, indent + "  ", depth - 1))


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
                tree = fitted(table, everything[~held])
                for i in everything[held]:
                    error = table.error[i, formula_of(tree, table.features[i])]
                    if not table.rows[i]["models"]:
                        groups["held out: random"].append(error)
                        continue
                    groups["held out: networks"].append(error)
                    groups["  if none were assumed"].append(table.error[i, 0])
                    for limit in (1, 16):
                        if table.operands[i] > limit * MIB:
                            groups[f"  operands above {limit} MiB"].append(error)
            drawn = numpy.array([not e["models"] for e in table.rows])
            trees[bits, which] = fitted(table, everything[drawn] if "--drawn-only" in sys.argv else everything)
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
    print("\nThe upper levels of the rule, fitted to all rows. Depthwise convolutions and maps of one position, which take nothing, are\n"
          "told apart before it. The whole of it is in src/program/convolution_workspace_table.cpp.")
    for (bits, which), tree in trees.items():
        print(f"\n{bits} bits, {which}\n" + "\n".join(described(tree, "  ", SHOWN_DEPTH)))
    if "--table" in sys.argv:
        write_table(sys.argv[sys.argv.index("--table") + 1], trees)


def write_table(path, trees):
    """The trees as one array of nodes: the side up to the threshold follows a node at once, the other stands at `above`."""
    nodes, roots = [], []

    def emit(tree):
        if len(tree) == 1:
            nodes.append(f"{{leaf, {tree[0]}, 0}}")
            return
        at = len(nodes)
        nodes.append(None)
        emit(tree[2])
        nodes[at] = f"{{{FEATURES[tree[0]][0]}, {tree[1]}, {len(nodes)}}}"
        emit(tree[3])

    lines = []
    for (bits, which), tree in trees.items():
        roots.append(len(nodes))
        emit(tree)
        lines.append(f"    // {bits} bits, {which.replace('_', ' ')}")
        lines += textwrap.wrap(" ".join(n.replace(" ", "~") + "," for n in nodes[roots[-1]:]), 110, initial_indent="    ", subsequent_indent="    ")
    terms = []
    for i, (copies, kind, extra, times) in enumerate(FORMULAS):
        mask = " | ".join("copy_" + c for c in copies + ((kind,) if kind else ())) or "0"
        terms.append(f"    {{{mask}, WorkspaceExtra::{extra}, {times}}},  // {i}")
    with open(path, "w") as out:
        out.write(HEAD + "// clang-format off\nconstexpr WorkspaceTerms kTerms[] = {\n" + "\n".join(terms) + "\n};\n\n"
                  "constexpr WorkspaceNode kNodes[] = {\n" + "\n".join(lines).replace("~", " ") + "\n};\n\n"
                  f"constexpr std::uint16_t kRoots[] = {{{', '.join(map(str, roots))}}};\n// clang-format on\n" + TAIL)


HEAD = """// Written by bench/device/fit_workspace.py from measurements on an H200; not to be edited by hand.
#include "program/convolution_workspace_table.hpp"

namespace plimsoll::program {
namespace {

using enum WorkspaceFeature;

"""
TAIL = """
}  // namespace

WorkspaceTable workspace_table() { return {kTerms, kNodes, kRoots}; }

}  // namespace plimsoll::program
"""

if __name__ == "__main__":
    main()
