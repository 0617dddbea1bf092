#!/usr/bin/env python3
"""A quantised ONNX file in plimsoll-engine and in ONNX Runtime, on the same examples.

usage: beside_onnxruntime.py PLIMSOLL ENGINE MODEL.onnx EXAMPLES.safetensors [--examples N] [--normalize] [--kernels LIBRARY]

EXAMPLES is a prepared data set (~/.cache/plimsoll/data) or any safetensors file with `test_inputs` and `test_labels`. Prints one JSON
document: the share of outputs that are within one quantisation step, with the engine's 8-bit kernels and with every operator by itself
(`literal`), and the accuracy of each.
"""
import argparse
import json
import pathlib
import subprocess
import tempfile

import numpy
import onnx
import onnxruntime
from onnx import numpy_helper

from arrays import read_arrays, write_arrays

BATCH = 500  # of one run of the engine


def output_step(model):
    """Of the levels that the graph's output is read from."""
    stored = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    makers = {name: node for node in model.graph.node for name in node.output}
    last = makers[model.graph.output[0].name]
    while last.op_type in ("Flatten", "Reshape"):
        last = makers[last.input[0]]
    if last.op_type != "DequantizeLinear":
        raise SystemExit(f"the output is made by {last.op_type}: it has no quantisation step")
    return float(stored[last.input[1]])


def engine_outputs(options, images, batch, literal):
    """In batches of one size, by jobs of the task compute."""
    outputs = []
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        subprocess.run([options.plimsoll, "engine-job", options.model, "-o", folder / "job.json", "--batch", str(batch)], check=True)
        job = json.loads((folder / "job.json").read_text())
        job["task"], job["inputs_file"], job["outputs_file"] = "compute", str(folder / "in"), str(folder / "out")
        job["setting"]["literal"] = literal
        job["execution"]["quantized_by"] = options.kernels
        session = onnx.load(options.model).graph
        for at in range(0, len(images), batch):
            write_arrays(folder / "in", {session.input[0].name: images[at:at + batch]})
            (folder / "job.json").write_text(json.dumps(job))
            answer = subprocess.run([options.engine, folder / "job.json"], stdout=subprocess.PIPE, text=True)
            if answer.returncode != 0:
                raise SystemExit(answer.stdout)
            outputs.append(read_arrays(folder / "out")[session.output[0].name])
    return numpy.concatenate(outputs)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for name in ("plimsoll", "engine", "model", "data"):
        parser.add_argument(name)
    parser.add_argument("--examples", type=int, default=10_000)
    parser.add_argument("--normalize", action="store_true")
    parser.add_argument("--kernels", default="")
    options = parser.parse_args()
    arrays = read_arrays(options.data)
    count = min(options.examples, len(arrays["test_inputs"]))
    batch = min(count, BATCH)
    count = count // batch * batch
    images, labels = arrays["test_inputs"][:count].astype(numpy.float32), arrays["test_labels"][:count]
    if arrays["test_inputs"].dtype == numpy.uint8:
        images /= 255
    if options.normalize:
        shape = (1, -1, 1, 1)
        images = (images - arrays["channel_mean"].reshape(shape)) / arrays["channel_deviation"].reshape(shape)
    images = numpy.ascontiguousarray(images, numpy.float32)
    settings = onnxruntime.SessionOptions()
    settings.log_severity_level = 3
    session = onnxruntime.InferenceSession(options.model, settings, providers=["CPUExecutionProvider"])
    theirs = numpy.concatenate([session.run(None, {session.get_inputs()[0].name: images[at:at + batch]})[0]
                                for at in range(0, count, batch)])
    step = output_step(onnx.load(options.model))
    report = {"model": options.model, "examples": count, "onnxruntime": onnxruntime.__version__, "step": step,
              "onnxruntime_accuracy": float((theirs.argmax(1) == labels).mean())}
    for kind, literal in (("kernels", False), ("literal", True)):
        ours = engine_outputs(options, images, batch, literal)
        apart = numpy.abs(ours - theirs)
        report[kind] = {"accuracy": float((ours.argmax(1) == labels).mean()), "largest_steps": float(apart.max() / step),
                        "within_one_step": float((apart <= step * 1.001).mean()), "equal": float((apart <= step * 0.001).mean())}
    print(json.dumps(report))


if __name__ == "__main__":
    main()
