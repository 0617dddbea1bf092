"""fashion_training.py [--network mlp] [--optimizer adam] [--learning-rate 0.001] [--batch 64] [--steps 2000] [--every 20]
[--seed 0] [--images 60000]: trains a small network on Fashion-MNIST on one core of the CPU and tells `plimsoll run` its accuracy and loss
on test images, with the seconds that evaluation took so far: `plimsoll tta -- python3 bench/fashion_training.py …`."""
import argparse
import gzip
import math
import time

import numpy
import torch
from torch import nn

FOLDER = "/usr/share/datasets/fashion-mnist/"  # Debian's dataset-fashion-mnist
NETWORKS = {
    "linear": lambda: nn.Sequential(nn.Flatten(), nn.Linear(784, 10)),
    "mlp": lambda: nn.Sequential(nn.Flatten(), nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10)),
    "deep-mlp": lambda: nn.Sequential(nn.Flatten(), nn.Linear(784, 96), nn.ReLU(), nn.Linear(96, 96), nn.ReLU(),
                                      nn.Linear(96, 64), nn.ReLU(), nn.Linear(64, 10)),
    "convolutions": lambda: nn.Sequential(nn.Conv2d(1, 8, 5, 2, 2), nn.ReLU(), nn.Conv2d(8, 16, 3, 2, 1), nn.ReLU(), nn.Flatten(),
                                          nn.Linear(784, 64), nn.ReLU(), nn.Linear(64, 10)),
    "normalised": lambda: nn.Sequential(nn.Conv2d(1, 8, 3, 2, 1, bias=False), nn.BatchNorm2d(8), nn.ReLU(),
                                        nn.Conv2d(8, 16, 3, 2, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU(), nn.Flatten(),
                                        nn.Linear(784, 10)),
    "wide-convolutions": lambda: nn.Sequential(nn.Conv2d(1, 16, 5, 2, 2), nn.ReLU(), nn.Conv2d(16, 32, 3, 2, 1), nn.ReLU(), nn.Flatten(),
                                               nn.Linear(1568, 128), nn.ReLU(), nn.Linear(128, 10)),
    "wide-normalised": lambda: nn.Sequential(nn.Conv2d(1, 16, 3, 2, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU(),
                                             nn.Conv2d(16, 32, 3, 2, 1, bias=False), nn.BatchNorm2d(32), nn.ReLU(), nn.Flatten(),
                                             nn.Linear(1568, 64), nn.ReLU(), nn.Linear(64, 10)),
}
OPTIMIZERS = {
    "sgd": lambda weights, rate: torch.optim.SGD(weights, rate),
    "momentum": lambda weights, rate: torch.optim.SGD(weights, rate, momentum=0.9),
    "adam": lambda weights, rate: torch.optim.Adam(weights, rate),
    "adamw": lambda weights, rate: torch.optim.AdamW(weights, rate, weight_decay=0.01),
}


def read(part, images):
    with gzip.open(f"{FOLDER}{part}-images-idx3-ubyte.gz") as file:
        pixels = numpy.frombuffer(file.read(), numpy.uint8, offset=16).reshape(-1, 1, 28, 28)[:images]
    with gzip.open(f"{FOLDER}{part}-labels-idx1-ubyte.gz") as file:
        labels = numpy.frombuffer(file.read(), numpy.uint8, offset=8)[:images]
    return (torch.from_numpy(pixels.astype(numpy.float32)) / 255 - 0.286) / 0.353, torch.from_numpy(labels.astype(numpy.int64))


def train(setup, seed, data, tell):
    """Calls tell(step, training seconds, evaluation seconds, accuracy, loss) at each evaluation."""
    (images, labels), (test_images, test_labels) = data
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    network = NETWORKS[setup["network"]]()
    optimizer = OPTIMIZERS[setup["optimizer"]](network.parameters(), setup["learning_rate"])
    judge = nn.CrossEntropyLoss()
    training = evaluating = 0.0
    begun = time.perf_counter()
    step = 0
    while step < setup["steps"]:
        order = torch.randperm(len(images))
        for at in range(0, len(images) - setup["batch"] + 1, setup["batch"]):
            if setup.get("schedule") == "cosine":
                optimizer.param_groups[0]["lr"] = setup["learning_rate"] * 0.5 * (1 + math.cos(math.pi * step / setup["steps"]))
            chosen = order[at:at + setup["batch"]]
            optimizer.zero_grad()
            judge(network(images[chosen]), labels[chosen]).backward()
            optimizer.step()
            step += 1
            if step % setup["every"] == 0:
                now = time.perf_counter()
                training += now - begun
                network.eval()
                with torch.no_grad():
                    answers = network(test_images)
                network.train()
                accuracy = (answers.argmax(1) == test_labels).float().mean().item()
                loss = judge(answers, test_labels).item()
                begun = time.perf_counter()
                evaluating += begun - now
                tell(step, training, evaluating, accuracy, loss)
            if step == setup["steps"]:
                break


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--network", choices=NETWORKS, default="mlp")
    parser.add_argument("--optimizer", choices=OPTIMIZERS, default="adam")
    parser.add_argument("--learning-rate", type=float, default=0.001)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--every", type=int, default=20, help="steps between two evaluations")
    parser.add_argument("--schedule", choices=("constant", "cosine"), default="constant")
    parser.add_argument("--seed", type=int, default=None, help="default: drawn anew")
    parser.add_argument("--images", type=int, default=60000)
    parser.add_argument("--test-images", type=int, default=10000)
    setup = vars(parser.parse_args())
    seed = setup["seed"] if setup["seed"] is not None else int.from_bytes(__import__("os").urandom(4), "little")
    print(f"plimsoll: param seed {seed}")
    print(f"plimsoll: param network {setup['network']}", flush=True)

    def tell(step, _, evaluating, accuracy, loss):
        epoch = step * setup["batch"] / setup["images"]
        for name, value in {"epoch": epoch, "samples": step * setup["batch"], "evaluation_seconds": evaluating, "loss": loss,
                            "accuracy": accuracy}.items():
            print(f"plimsoll: metric {name} {value:.6f} step {step}", flush=True)

    train(setup, seed, (read("train", setup["images"]), read("t10k", setup["test_images"])), tell)


if __name__ == "__main__":
    main()
