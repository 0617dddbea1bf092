#!/usr/bin/env python3
"""ResNet-50 and BERT in fp32, bf16 and fp16 through plimsoll-engine on a GPU, in turn, and int8, which it must refuse.

usage: bench/device/precision_gpu.py PROGRAMS [--device cuda:0] [--rounds 5] [--seconds 3] [--eight-bit FILE] [-o ROWS.jsonl]

PROGRAMS holds plimsoll and plimsoll-engine, built against a LibTorch with CUDA. Random weights: time does not depend on them. A row is a network at a batch in
a format: the median over the rounds of a CUDA-graph replay, its ratio to fp32 round by round, and what `plimsoll estimate` says of the same. The last row is an 8-bit
network on the GPU: the engine must say that there are no kernels for it.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

CASES = [("resnet50", []), ("bert_base", ["--seq", "128"])]
FORMATS, BATCHES = ["fp32", "bf16", "fp16"], [1, 16, 64]


def run(programs, *words):
    environment = dict(os.environ, PLIMSOLL_ENGINE=str(programs / "plimsoll-engine"))
    return subprocess.run([programs / "plimsoll", *map(str, words)], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def small_quantised(path):
    """One 8-bit convolution, as ONNX writes it."""
    import numpy
    import onnx
    from onnx import helper, numpy_helper
    scalar = lambda name, value: numpy_helper.from_array(numpy.array(value), name)
    stored = [scalar("s", numpy.float32(0.1)), scalar("z", numpy.uint8(0)), scalar("ws", numpy.float32(0.01)),
              numpy_helper.from_array(numpy.ones((8, 3, 3, 3), numpy.int8), "w")]
    nodes = [helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]), helper.make_node("DequantizeLinear", ["q", "s", "z"], ["d"]),
             helper.make_node("DequantizeLinear", ["w", "ws"], ["wd"]), helper.make_node("Conv", ["d", "wd"], ["c"]),
             helper.make_node("QuantizeLinear", ["c", "s", "z"], ["cq"]), helper.make_node("DequantizeLinear", ["cq", "s", "z"], ["y"])]
    value = lambda name, dims: helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, dims)
    graph = helper.make_graph(nodes, "small", [value("x", ["batch", 3, 32, 32])], [value("y", ["batch", 8, 30, 30])], stored)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=7), path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("programs", type=pathlib.Path)
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", default="3", help="of passes, of each row")
    parser.add_argument("--model-device", default="this", help="as estimate knows the device")
    parser.add_argument("--eight-bit", type=pathlib.Path, help="an 8-bit network, where Python has no onnx to write one")
    parser.add_argument("--write-eight-bit", type=pathlib.Path, help="write it and do nothing else")
    parser.add_argument("-o", "--output")
    options = parser.parse_args()
    if options.write_eight_bit:
        return small_quantised(str(options.write_eight_bit))
    rows = []
    for model, more in CASES:
        seconds = {(name, batch): [] for name in FORMATS for batch in BATCHES}
        for _ in range(options.rounds):
            for name in FORMATS:  # a start of the engine for all batches of a format
                done = run(options.programs, "measure", model, *more, "--batch", ",".join(map(str, BATCHES)), "--device", options.device, "--precision", name,
                           *(["--capture"] if options.device.startswith("cuda") else []), "--time-limit", options.seconds, "--energy", 0, "--json")
                if done.returncode != 0:
                    sys.exit(done.stderr)
                for row in json.loads(done.stdout)["rows"]:
                    seconds[name, row["batch"]].append(row["seconds"]["median"])
        for batch in BATCHES:
            for name in FORMATS:
                estimate = run(options.programs, "estimate", model, *more, "--batch", batch, "--device", options.model_device, "--precision", name, "--json")
                told = json.loads(estimate.stdout)["time"]["seconds"] if estimate.returncode in (0, 1) else None
                own = seconds[name, batch]
                ratios = [whole / one for whole, one in zip(seconds["fp32", batch], own)]
                rows.append({"model": model, "batch": batch, "format": name, "seconds": statistics.median(own), "samples": own,
                             "speed": statistics.median(ratios), "estimate_seconds": told})
                print(json.dumps(rows[-1]), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        path = options.eight_bit or pathlib.Path(folder) / "int8.onnx"
        if not options.eight_bit:
            small_quantised(str(path))
        done = run(options.programs, "measure", path, "--device", options.device, "--time-limit", 1)
        rows.append({"model": "one 8-bit convolution", "format": "int8", "supported": done.returncode == 0, "said": done.stderr.strip()})
        print(json.dumps(rows[-1]))
    if options.output:
        pathlib.Path(options.output).write_text("".join(json.dumps(row) + "\n" for row in rows))
    return 0 if "eight-bit kernels" in rows[-1]["said"] else 1


if __name__ == "__main__":
    sys.exit(main())
