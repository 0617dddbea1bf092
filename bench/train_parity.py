#!/usr/bin/env python3
"""plimsoll train against the same training in PyTorch, on Fashion-MNIST: accuracy after the last epoch, and time.

usage: bench/train_parity.py [--programs build/release/apps] [--seeds 3] [--threads 1] [--networks lenet,resnet18,vit] [-o ROWS.jsonl]

Both begin with the same weights (PyTorch's, by the seed), take the same examples in the same order and the same steps
(AdamW, a cosine), so that they differ by rounding alone. Accuracies are of the 10,000 test images. Exit code 1 where the
means over the seeds are more than half a point apart.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "engine"))
import torch

import peer_training as peer

LIMIT = 0.005
# Small enough for two cores: a quarter of ResNet-18's width, a twentieth to a tenth of the images.
NETWORKS = {
    "lenet": (peer.lenet, {"epochs": 4, "batch": 128, "rate": 0.002, "most": 6_000}),
    "resnet18": (lambda: peer.ResNet18(width=16), {"epochs": 3, "batch": 128, "rate": 0.002, "most": 3_000}),
    "vit": (lambda: peer.VisionTransformer(width=64, depth=4, heads=4), {"epochs": 4, "batch": 128, "rate": 0.002, "most": 6_000}),
}


def row_of(name, seed, options, data, folder):
    make, how = NETWORKS[name]
    torch.manual_seed(seed)
    module = make()
    model = pathlib.Path(folder) / f"{name}{seed}.onnx"
    peer.export(module, model, how["batch"])
    begin = time.monotonic()
    losses, accuracies = peer.learn(module, *data, epochs=how["epochs"], batch=how["batch"], rate=how["rate"], seed=seed, most=how["most"])
    peer_seconds = time.monotonic() - begin
    words = [f"{options.programs}/plimsoll", "train", str(model), "--data", peer.FASHION, "--normalize", "--optimizer", "adamw",
             "--schedule", "cosine", "--lr", str(how["rate"]), "--epochs", str(how["epochs"]), "--batch", str(how["batch"]),
             "--examples", str(how["most"]), "--seed", str(seed), "--threads", str(options.threads), "--device", "cpu",
             "--no-track", "--json"]
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True)
    answer = json.loads(done.stdout)
    return {"network": name, "seed": seed, **how, "parameters": sum(p.numel() for p in module.parameters()),
            "threads": options.threads, "accuracy": answer["accuracy"], "pytorch_accuracy": accuracies[-1],
            "loss": answer["epochs"][-1]["loss"], "pytorch_loss": statistics.mean(losses[-(len(losses) // how["epochs"]):]),
            "seconds": answer["seconds"], "pytorch_seconds": peer_seconds, "torch": torch.__version__}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--programs", default=str(ROOT / "build" / "release" / "apps"))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--networks", default=",".join(NETWORKS))
    parser.add_argument("-o", "--output", help="rows as lines of JSON")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    data = peer.fashion("train"), peer.fashion("t10k")
    rows, apart = [], False
    with tempfile.TemporaryDirectory() as folder:
        for name in options.networks.split(","):
            for seed in range(options.seeds):
                rows.append(row_of(name, seed, options, data, folder))
                print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
                if options.output:
                    pathlib.Path(options.output).write_text("".join(json.dumps(row) + "\n" for row in rows))
    print("| Network | parameters | images, epochs | plimsoll train, % | PyTorch, % | apart, points | s, PyTorch's s |")
    print("|---|---|---|---|---|---|---|")
    for name in options.networks.split(","):
        of = [row for row in rows if row["network"] == name]
        mean = lambda key: statistics.mean(row[key] for row in of)
        difference = mean("accuracy") - mean("pytorch_accuracy")
        apart = apart or abs(difference) > LIMIT
        print(f"| {name} | {of[0]['parameters']:,} | {of[0]['most']:,}, {of[0]['epochs']} | {100 * mean('accuracy'):.2f} "
              f"| {100 * mean('pytorch_accuracy'):.2f} | {100 * difference:+.2f} | {mean('seconds'):.0f}, {mean('pytorch_seconds'):.0f} |")
    return 1 if apart else 0


if __name__ == "__main__":
    sys.exit(main())
