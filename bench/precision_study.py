#!/usr/bin/env python3
"""What number formats and widths cost on Fashion-MNIST: MobileNet v1 at four widths, ResNet-18, a small vision transformer, on this CPU.

usage: /usr/bin/python3 bench/precision_study.py PROGRAMS OUT [--stage train,measure,promises,libraries,peer,outputs,table]
           [--images 12000] [--compared 2000] [--threads 1] [--peers build/merge/bin/python]

PROGRAMS holds plimsoll and plimsoll-engine. Trainings are kept in OUT and not done again. Each network is measured by `plimsoll precision`:
half of the 10,000 test images decide (ranges, layers that stay in fp32), the other half tells. `promises` asks for --loss 1, 0.5 and 0.1 of
every network. `libraries` times every library of 8-bit kernels against fp32, in turn in one run; `peer` does so in
ONNX Runtime. `outputs` holds the files against
ONNX Runtime (PEERS: a Python that has it). Raw answers go to OUT/results, tables to OUT/results/table.md. Needs python3's torch and onnx for the
transformer, and dataset-fashion-mnist.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FASHION = "/usr/share/datasets/fashion-mnist"
WIDTHS = ["1", "0.75", "0.5", "0.25"]
LIMITS = ["1", "0.5", "0.1"]
# What an epoch of 12,000 images took decided the number of epochs: all trainings together are about half an hour of one core.
TRAININGS = {
    "mobilenet_v1": {"model": "mobilenet_v1:input=1x32x32,classes=10", "epochs": 8, "rate": 0.002, "size": True},
    "resnet18": {"model": "resnet18:input=1x32x32,classes=10", "epochs": 5, "rate": 0.002, "size": True},
    "vit": {"model": "vit.onnx", "epochs": 5, "rate": 0.001, "size": False},
}


PEER = """
import json, sys, time, statistics
import numpy, onnxruntime
options = onnxruntime.SessionOptions()
options.intra_op_num_threads, options.log_severity_level = 1, 3
sessions = [onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"]) for path in sys.argv[2:]]
batch, rounds, seconds = int(sys.argv[1]), 7, 0.5
shape = [batch, *sessions[0].get_inputs()[0].shape[1:]]
image = numpy.random.default_rng(0).random(shape, numpy.float32)
medians = [[], []]
for _ in range(rounds):
    for session, found in zip(sessions, medians):
        feed = {session.get_inputs()[0].name: image}
        for _ in range(5):
            session.run(None, feed)
        samples, begin = [], time.perf_counter()
        while time.perf_counter() - begin < seconds:
            before = time.perf_counter()
            session.run(None, feed)
            samples.append(time.perf_counter() - before)
        found.append(statistics.median(samples))
ratios = sorted(whole / eight for whole, eight in zip(*medians))
print(json.dumps({"onnxruntime": onnxruntime.__version__, "batch": batch, "fp32_seconds": medians[0], "int8_seconds": medians[1], "ratios": ratios}))
"""


def data_options(name):
    return ["--data", FASHION, "--normalize"] + (["--image-size", "32"] if TRAININGS[name]["size"] else [])


class Study:
    def __init__(self, options):
        self.options, self.out = options, pathlib.Path(options.out).resolve()
        self.results = self.out / "results"
        self.results.mkdir(parents=True, exist_ok=True)
        self.programs = pathlib.Path(options.programs).resolve()

    def plimsoll(self, *words, check=True):
        command = [self.programs / "plimsoll", *map(str, words)]
        environment = dict(os.environ, PLIMSOLL_ENGINE=str(self.programs / "plimsoll-engine"))
        done = subprocess.run(command, cwd=self.out, env=environment, stdout=subprocess.PIPE, text=True)
        if check and done.returncode not in (0, 1):
            sys.exit(f"{' '.join(map(str, command))}: exit code {done.returncode}")
        return json.loads(done.stdout), done.returncode

    def train(self):
        if not (self.out / "vit.onnx").exists():
            self.export_transformer()
        for name, how in TRAININGS.items():
            for width in WIDTHS if name == "mobilenet_v1" else [None]:
                folder = f"{name}/depth-{width}" if width else name
                model = how["model"] + (f",alpha={width}" if width else "")
                answer, _ = self.plimsoll("train", model, *data_options(name), "--examples", self.options.images, "--epochs", how["epochs"],
                                          "--batch", 64, "--optimizer", "adamw", "--lr", how["rate"], "--schedule", "one-cycle", "--seed", 0,
                                          "--threads", self.options.threads, "--device", "cpu", "--no-track", "--save", folder, "--resume", "--json")
                answer.pop("files")
                answer["data"]["file"] = pathlib.Path(answer["data"]["file"]).name
                (self.results / f"training-{folder.replace('/', '-')}.json").write_text(json.dumps(answer) + "\n")

    def export_transformer(self):
        sys.path.insert(0, str(ROOT / "tests" / "engine"))
        import peer_training
        import torch
        torch.manual_seed(0)
        module = peer_training.VisionTransformer(width=192, depth=3, heads=6)
        torch.onnx.export(module.train(), torch.randn(2, 1, 28, 28), str(self.out / "vit.onnx"), opset_version=15, do_constant_folding=False,
                          input_names=["input"], output_names=["logits"], training=torch.onnx.TrainingMode.TRAINING,
                          dynamic_axes={"input": {0: "batch"}, "logits": {0: "batch"}})

    def subjects(self):
        """Name, model, options."""
        widths = ["--depth", ",".join(WIDTHS), "--keep", "mobilenet_v1", "--epochs", TRAININGS["mobilenet_v1"]["epochs"], "--examples",
                  self.options.images, "--lr", TRAININGS["mobilenet_v1"]["rate"]]
        yield "mobilenet_v1", TRAININGS["mobilenet_v1"]["model"], data_options("mobilenet_v1") + widths
        for name in ("resnet18", "vit"):
            yield name, f"{name}/model.onnx", data_options(name)

    def measure(self):
        for name, model, how in self.subjects():
            output = self.out / f"{name}-int8" if name == "mobilenet_v1" else self.out / f"{name}-int8.onnx"
            answer, _ = self.plimsoll("precision", model, *how, "--formats", "fp32,bf16,fp16,int8", "--rounds", 7, "--seconds", 1, "--threads",
                                      self.options.threads, "--output", output, "--html", self.results / f"{name}.html", "--json")
            self.keep(f"measured-{name}", answer)

    def promises(self):
        for name, model, how in reversed(list(self.subjects())):  # the quick ones first
            for limit in LIMITS:
                answer, code = self.plimsoll("precision", model, *how, "--formats", "fp32,int8", "--loss", limit, "--range", "largest",
                                             "--sensitivity", 200, "--no-time", "--threads", self.options.threads, "--json")
                answer["exit_code"] = code
                self.keep(f"promise-{name}-{limit}", answer)

    def libraries(self):
        for library in ("oneDNN", "XNNPACK", "QNNPACK"):
            for name in ("resnet18", "mobilenet_v1"):  # XNNPACK has no linear layers
                model = f"{name}/depth-1/model.onnx" if name == "mobilenet_v1" else f"{name}/model.onnx"
                for batch in (1, 8):
                    answer, _ = self.plimsoll("precision", model, *data_options(name), "--formats", "fp32,int8", "--range", "largest", "--no-layers",
                                              "--kernels", library, "--rounds", 7, "--seconds", 0.5, "--batch", batch, "--threads",
                                              self.options.threads, "--json")
                    self.keep(f"library-{library}-{name}-{batch}", answer)

    def peer(self):
        """ONNX Runtime's own fp32 against its own int8, in turn in one process: it packs the weights of both before it runs."""
        pairs = {"resnet18": ("resnet18/model.onnx", "resnet18-int8.onnx"), "vit": ("vit/model.onnx", "vit-int8.onnx"),
                 "mobilenet_v1": ("mobilenet_v1/depth-1/model.onnx", "mobilenet_v1-int8/depth-1-int8.onnx")}
        for name, files in pairs.items():
            for batch in (1, 8):
                done = subprocess.run([self.options.peers, "-c", PEER, str(batch), *(self.out / file for file in files)], stdout=subprocess.PIPE, text=True, check=True)
                self.keep(f"peer-{name}-{batch}", json.loads(done.stdout))

    def outputs(self):
        for name in TRAININGS:
            data = self.prepared(name)
            files = [self.out / f"{name}-int8" / f"depth-{w}-int8.onnx" for w in WIDTHS] if name == "mobilenet_v1" else [self.out / f"{name}-int8.onnx"]
            for file in files:
                done = subprocess.run([self.options.peers, ROOT / "tests/precision/beside_onnxruntime.py", self.programs / "plimsoll",
                                       self.programs / "plimsoll-engine", file, data, "--normalize", "--examples",
                                       self.options.compared], stdout=subprocess.PIPE, text=True, check=True)
                answer = json.loads(done.stdout)
                answer["model"] = str(file.relative_to(self.out))
                answer["bytes"] = file.stat().st_size
                self.keep("outputs-" + str(file.relative_to(self.out)).replace("/", "-").removesuffix(".onnx"), answer)

    def prepared(self, name):
        """The data set as `plimsoll train` prepared it."""
        model = "mobilenet_v1/depth-1/model.onnx" if name == "mobilenet_v1" else f"{name}/model.onnx"
        folder = name + "/depth-1" if name == "mobilenet_v1" else name
        text = (self.results / f"training-{folder.replace('/', '-')}.json").read_text()
        cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
        return cache / "plimsoll" / "data" / json.loads(text)["data"]["file"]

    def keep(self, name, answer):
        text = json.dumps(answer).replace(str(self.out) + "/", "")
        (self.results / f"{name}.json").write_text(text + "\n")
        print(name, file=sys.stderr, flush=True)

    def table(self):
        lines = tables(self.results)
        (self.results / "table.md").write_text("\n".join(lines) + "\n")
        print("\n".join(lines))


def read(folder, pattern):
    return {path.stem: json.loads(path.read_text()) for path in sorted(folder.glob(pattern))}


def points(lost):
    value, low, high = (-100 * lost[key] + 0.0 for key in ("value", "high", "low"))
    return f"{value:+.2f} ({low:+.2f} to {high:+.2f})"


def milliseconds(seconds):
    return "–" if seconds is None else f"{1000 * seconds['median']:.2f}"


def tables(folder):
    lines = ["| Network | width | format | size, KiB | against fp32 | ms | speed | accuracy | points against fp32 | unbeaten in |", "|---|---|---|---|---|---|---|---|---|---|"]
    for name, answer in read(folder, "measured-*.json").items():
        for form in answer["forms"]:
            whole = next(f for f in answer["forms"] if f["format"] == "fp32" and f["depth"] == form["depth"])
            if not form["supported"]:
                lines.append(f"| {name[9:]} | {form['depth'] or ''} | {form['format']} | {form['bytes'] / 1024:.0f} | {whole['bytes'] / form['bytes']:.2f}x | – | – | – | not computed here | |")
                continue
            front = ", ".join(key for key, value in form["front"].items() if value)
            lines.append(f"| {name[9:]} | {form['depth'] or ''} | {form['format']} | {form['bytes'] / 1024:.0f} | {whole['bytes'] / form['bytes']:.2f}x | {milliseconds(form['seconds'])} | "
                         f"{form['speed']['median']:.2f} | {100 * form['accuracy']['value']:.2f} % | {'' if form['format'] == 'fp32' else points(form['lost'])} | {front} |")
    lines += ["", "| Network | width | --loss | layers in 8 bits | points on 5,000 others | kept | exit code |", "|---|---|---|---|---|---|---|"]
    for name, answer in read(folder, "promise-*.json").items():
        for form in answer["forms"]:
            if form["format"] == "int8":
                lines.append(f"| {name.split('-')[1]} | {form['depth'] or ''} | {100 * answer['loss_limit']:g} | {form['layers']['int8']} of {form['layers']['all']} | "
                             f"{points(form['lost'])} | {'yes' if form['kept_promise'] else 'no'} | {answer['exit_code']} |")
    lines += ["", "| Library | network | batch | fp32, ms | int8, ms | speed (95 % interval) |", "|---|---|---|---|---|---|"]
    for name, answer in read(folder, "library-*.json").items():
        whole, eight = answer["forms"]
        low, high = (f"{eight['speed'][end]:.2f}" if eight["speed"][end] else "?" for end in ("low", "high"))
        lines.append(f"| {eight['library']} | {name.split('-')[2]} | {answer['batch']} | {milliseconds(whole['seconds'])} | {milliseconds(eight['seconds'])} | "
                     f"{eight['speed']['median']:.2f} ({low} to {high}) |")
    lines += ["", "| ONNX Runtime | batch | fp32, ms | int8, ms | speed (all rounds) |", "|---|---|---|---|---|"]
    for name, answer in read(folder, "peer-*.json").items():
        ratios = answer["ratios"]
        lines.append(f"| {name.split('-')[1]} | {answer['batch']} | {1000 * statistics.median(answer['fp32_seconds']):.2f} | "
                     f"{1000 * statistics.median(answer['int8_seconds']):.2f} | {statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f}) |")
    lines += ["", "| File | examples | within one step | equal | engine | ONNX Runtime | literal: within one step |", "|---|---|---|---|---|---|---|"]
    for name, answer in read(folder, "outputs-*.json").items():
        kernels, literal = answer["kernels"], answer["literal"]
        lines.append(f"| {answer['model']} | {answer['examples']} | {100 * kernels['within_one_step']:.3f} % | {100 * kernels['equal']:.2f} % | {100 * kernels['accuracy']:.2f} % | "
                     f"{100 * answer['onnxruntime_accuracy']:.2f} % | {100 * literal['within_one_step']:.3f} % |")
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("programs")
    parser.add_argument("out")
    parser.add_argument("--stage", default="train,measure,promises,libraries,peer,outputs,table")
    parser.add_argument("--images", default="12000")
    parser.add_argument("--compared", default="2000", help="images for `outputs`")
    parser.add_argument("--threads", default="1")
    parser.add_argument("--peers", default=str(ROOT / "build" / "merge" / "bin" / "python"))
    options = parser.parse_args()
    study = Study(options)
    for stage in options.stage.split(","):
        getattr(study, stage)()


if __name__ == "__main__":
    main()
