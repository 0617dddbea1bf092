#!/usr/bin/env python3
"""plimsoll-engine against PyTorch's own eager mode on the CPU, in one run: each takes a pass in turn, the ratio of a pair
is what counts. Both run the same LibTorch; the engine runs the graph that PyTorch exported of the same module.

usage: /usr/bin/python3 bench/engine_cpu.py PLIMSOLL ENGINE [PAIRS] [CASE…]

Prints, per case, both medians and the median of the ratios with its 95 % interval (order statistics). A ratio above the
limit of 1.02 is marked. Cases: MODEL/BATCH, train/MODEL/BATCH.
"""
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time

os.environ["OMP_WAIT_POLICY"] = "passive"  # threads that wait for work must not take the other's processor
import torch
import torchvision

from engine_process import PacedEngine

LIMIT = 1.02
CASES = ["resnet50/1", "resnet50/8", "mobilenet_v2/1", "mobilenet_v2/8", "vit_b_16/1", "vit_b_16/8", "bert/1", "bert/8",
         "train/resnet18/8"]


class Bert(torch.nn.Module):
    """BERT-base as its reference implementation computes it, without a library that Debian does not have."""

    class Layer(torch.nn.Module):
        def __init__(self, width=768, heads=12, inner=3072):
            super().__init__()
            self.heads = heads
            self.query, self.key, self.value, self.output = (torch.nn.Linear(width, width) for _ in range(4))
            self.norm1, self.norm2 = torch.nn.LayerNorm(width, eps=1e-12), torch.nn.LayerNorm(width, eps=1e-12)
            self.up, self.down = torch.nn.Linear(width, inner), torch.nn.Linear(inner, width)

        def forward(self, x):
            def split(t):
                return t.view(t.shape[0], t.shape[1], self.heads, -1).permute(0, 2, 1, 3)
            q, k, v = split(self.query(x)), split(self.key(x)), split(self.value(x))
            scores = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(q.shape[-1])
            mixed = torch.matmul(torch.softmax(scores, -1), v).permute(0, 2, 1, 3).flatten(2)
            x = self.norm1(self.output(mixed) + x)
            return self.norm2(self.down(torch.nn.functional.gelu(self.up(x))) + x)

    def __init__(self, layers=12):
        super().__init__()
        self.words, self.places = torch.nn.Embedding(30522, 768), torch.nn.Embedding(512, 768)
        self.norm = torch.nn.LayerNorm(768, eps=1e-12)
        self.layers = torch.nn.ModuleList(self.Layer() for _ in range(layers))

    def forward(self, tokens):
        x = self.norm(self.words(tokens) + self.places.weight[: tokens.shape[1]])
        for layer in self.layers:
            x = layer(x)
        return x


def module_and_input(name, batch):
    torch.manual_seed(0)
    if name == "bert":
        return Bert(), torch.randint(0, 30522, (batch, 128))
    return getattr(torchvision.models, name)(weights=None), torch.randn(batch, 3, 224, 224)


def started(plimsoll, engine, folder, module, example, training):
    """The engine with what PyTorch exports of the module."""
    model, job = os.path.join(folder, "model.onnx"), os.path.join(folder, "job.json")
    mode = torch.onnx.TrainingMode.TRAINING if training else torch.onnx.TrainingMode.EVAL
    torch.onnx.export(module, example, model, opset_version=16, do_constant_folding=False, training=mode)
    subprocess.run([plimsoll, "engine-job", model, "-o", job] + (["--train"] if training else []), check=True)
    with open(job) as file:
        text = json.load(file)
    text["setting"].update(optimizer="momentum")
    text["execution"].update(threads=torch.get_num_threads(), learning_rate=1e-3)
    text["protocol"]["paced"] = True
    with open(job, "w") as file:
        json.dump(text, file)
    return PacedEngine(engine, job)


def torch_pass(module, example, training):
    if not training:
        def forward():
            with torch.no_grad():
                module(example)
        return forward
    optimizer = torch.optim.SGD(module.parameters(), 1e-3, 0.9)
    labels = torch.randint(0, 1000, (example.shape[0],))

    def step():
        optimizer.zero_grad(set_to_none=True)
        torch.nn.functional.cross_entropy(module(example), labels).backward()
        optimizer.step()
    return step


def timed(work):
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def interval(values, confidence=0.95):
    """Ranks of the median's interval from the binomial distribution."""
    values, n = sorted(values), len(values)
    below, low = 0.0, 0
    for k in range(n):
        below += math.comb(n, k) / 2**n
        if below > (1 - confidence) / 2:
            low = k
            break
    return values[max(low - 1, 0)], values[min(n - low, n - 1)]


def compare(case, plimsoll, engine, pairs):
    parts = case.split("/")
    training, name, batch = parts[0] == "train", parts[-2], int(parts[-1])
    module, example = module_and_input(name, batch)
    module.train(training)
    with tempfile.TemporaryDirectory() as folder:
        peer = started(plimsoll, engine, folder, module, example, training)
        work = torch_pass(module, example, training)
        for _ in range(3):
            work(), peer.sample()
        ours, theirs = [], []
        for i in range(pairs):
            first = i % 2 == 0
            if first:
                theirs.append(timed(work))
            ours.append(peer.sample())
            if not first:
                theirs.append(timed(work))
        peer.close()
    ratios = [o / t for o, t in zip(ours, theirs)]
    low, high = interval(ratios)
    ratio = statistics.median(ratios)
    print(f"{case:18} {statistics.median(ours) * 1e3:9.1f} ms {statistics.median(theirs) * 1e3:9.1f} ms"
          f" {ratio:7.3f}  {low:.3f} to {high:.3f}{'' if ratio <= LIMIT else '  ABOVE THE LIMIT'}", flush=True)


def main():
    plimsoll, engine = sys.argv[1:3]
    pairs = int(sys.argv[3]) if len(sys.argv) > 3 else 25
    torch.set_num_threads(os.cpu_count())
    print(f"PyTorch {torch.__version__}, {torch.get_num_threads()} threads, {pairs} pairs; limit of the ratio {LIMIT}")
    print(f"{'case':18} {'engine':>12} {'PyTorch':>12} {'ratio':>7}  95 % interval")
    for case in sys.argv[4:] or CASES:
        compare(case, plimsoll, engine, pairs)


main()
