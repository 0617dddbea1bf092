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
# Sized so that all six trainings of a network take about ten minutes of one core: a quarter of ResNet-18's width, a part of the images.
NETWORKS = {
    "lenet": (peer.lenet, {"epochs": 5, "batch": 128, "rate": 0.002, "most": 60_000}),
    "resnet18": (lambda: peer.ResNet18(width=16), {"epochs": 4, "batch": 128, "rate": 0.002, "most": 12_000}),
    "vit": (lambda: peer.VisionTransformer(width=64, depth=4, heads=4), {"epochs": 4, "batch": 128, "rate": 0.002, "most": 20_000}),
}


def module_of(name, seed):
    torch.manual_seed(seed)
    return NETWORKS[name][0]()


def by_pytorch(row, data):
    how = NETWORKS[row["network"]][1]
    begin = time.monotonic()
    losses, accuracies = peer.learn(module_of(row["network"], row["seed"]), *data, epochs=how["epochs"], batch=how["batch"], rate=how["rate"],
                                    seed=row["seed"], most=how["most"])
    row.update(pytorch_accuracy=accuracies[-1], pytorch_loss=statistics.mean(losses[-(len(losses) // how["epochs"]):]),
               pytorch_seconds=time.monotonic() - begin, torch=torch.__version__)


def by_plimsoll(row, programs, folder):
    how, seed = NETWORKS[row["network"]][1], row["seed"]
    module = module_of(row["network"], seed)
    model = pathlib.Path(folder) / f"{row['network']}{seed}.onnx"
    peer.export(module, model, how["batch"])
    words = [f"{programs}/plimsoll", "train", str(model), "--data", peer.FASHION, "--normalize", "--optimizer", "adamw",
             "--schedule", "cosine", "--lr", str(how["rate"]), "--epochs", str(how["epochs"]), "--batch", str(how["batch"]),
             "--examples", str(how["most"]), "--seed", str(seed), "--threads", str(row["threads"]), "--device", "cpu",
             "--no-track", "--json"]
    answer = json.loads(subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True).stdout)
    row.update(parameters=sum(p.numel() for p in module.parameters()), accuracy=answer["accuracy"], loss=answer["epochs"][-1]["loss"],
               seconds=answer["seconds"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--programs", default=str(ROOT / "build" / "release" / "apps"))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--networks", default=",".join(NETWORKS))
    parser.add_argument("-o", "--output", help="rows as lines of JSON; what it holds already is not run again")
    parser.add_argument("--peer-only", action="store_true", help="run PyTorch alone, for the rows of a later call")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    data = peer.fashion("train"), peer.fashion("t10k")
    rows = read_rows(options.output)
    wanted = [(name, seed) for name in options.networks.split(",") for seed in range(options.seeds)]
    with tempfile.TemporaryDirectory() as folder:
        for name, seed in wanted:
            row = rows.setdefault((name, seed), {"network": name, "seed": seed, **NETWORKS[name][1], "threads": options.threads})
            if "pytorch_accuracy" not in row:
                by_pytorch(row, data)
            if "accuracy" not in row and not options.peer_only:
                by_plimsoll(row, options.programs, folder)
            print(json.dumps(row), file=sys.stderr, flush=True)
            if options.output:
                pathlib.Path(options.output).write_text("".join(json.dumps(row) + "\n" for row in rows.values()))
    if options.peer_only:
        return 0
    return 1 if print_table([rows[key] for key in wanted]) else 0


def read_rows(path):
    """Rows of an earlier call, by network and seed; of another size or number of threads they are refused."""
    rows = {}
    if path and pathlib.Path(path).exists():
        for line in pathlib.Path(path).read_text().splitlines():
            row = json.loads(line)
            if any(row[key] != value for key, value in NETWORKS[row["network"]][1].items()):
                sys.exit(f"{path}: its {row['network']} was trained otherwise; name another file")
            rows[row["network"], row["seed"]] = row
    return rows


def print_table(rows):
    """True where the means of a network are too far apart."""
    apart = False
    print("| Network | parameters | images, epochs | plimsoll train, % | PyTorch, % | apart, points | furthest seed | s, PyTorch's s |")
    print("|---|---|---|---|---|---|---|---|")
    for name in dict.fromkeys(row["network"] for row in rows):
        of = [row for row in rows if row["network"] == name]
        mean = lambda key: statistics.mean(row[key] for row in of)
        difference = mean("accuracy") - mean("pytorch_accuracy")
        furthest = max((row["accuracy"] - row["pytorch_accuracy"] for row in of), key=abs)
        apart = apart or abs(difference) > LIMIT
        print(f"| {name} | {of[0]['parameters']:,} | {of[0]['most']:,}, {of[0]['epochs']} | {100 * mean('accuracy'):.2f} "
              f"| {100 * mean('pytorch_accuracy'):.2f} | {100 * difference:+.2f} | {100 * furthest:+.2f} "
              f"| {mean('seconds'):.0f}, {mean('pytorch_seconds'):.0f} |")
    return apart


if __name__ == "__main__":
    sys.exit(main())
