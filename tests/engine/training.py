"""plimsoll-engine trains: its gradients are PyTorch's, it learns Fashion-MNIST, and the same seed gives the same losses."""
import gzip
import json
import os
import subprocess

import numpy
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("onnx")
from arrays import read_safetensors, write_safetensors

PLIMSOLL, ENGINE = os.environ["PLIMSOLL_BINARY"], os.environ["PLIMSOLL_ENGINE_BINARY"]
FASHION = "/usr/share/datasets/fashion-mnist"


def engine(folder, model, changes, *options):
    """Runs a job made of the model; its answers by type."""
    job = os.path.join(folder, "job.json")
    subprocess.run([PLIMSOLL, "engine-job", model, "-o", job, "--train", *options], check=True)
    with open(job) as file:
        text = json.load(file)
    for key, value in changes.items():
        if isinstance(value, dict) and isinstance(text.get(key), dict):
            text[key].update(value)
        else:
            text[key] = value
    with open(job, "w") as file:
        json.dump(text, file)
    done = subprocess.run([ENGINE, job], capture_output=True, text=True, timeout=3000)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    return answers


def lenet():
    return torch.nn.Sequential(
        torch.nn.Conv2d(1, 6, 5, padding=2), torch.nn.ReLU(), torch.nn.MaxPool2d(2), torch.nn.Conv2d(6, 16, 5),
        torch.nn.ReLU(), torch.nn.MaxPool2d(2), torch.nn.Flatten(), torch.nn.Linear(400, 120), torch.nn.ReLU(),
        torch.nn.Linear(120, 84), torch.nn.ReLU(), torch.nn.Linear(84, 10))


def export(module, example, path):
    torch.onnx.export(module, example, path, opset_version=15, do_constant_folding=False, input_names=["input"],
                      training=torch.onnx.TrainingMode.TRAINING, keep_initializers_as_inputs=False)


class Small(torch.nn.Module):
    """One of everything that has a gradient of its own in images."""

    def __init__(self):
        super().__init__()
        self.first, self.norm = torch.nn.Conv2d(3, 8, 3, stride=2, padding=1, bias=False), torch.nn.BatchNorm2d(8)
        self.second, self.depth = torch.nn.Conv2d(8, 8, 1), torch.nn.Conv2d(8, 8, 3, padding=1, groups=8)
        self.layer_norm, self.last = torch.nn.LayerNorm(8), torch.nn.Linear(8, 5)

    def forward(self, x):
        x = torch.relu(self.norm(self.first(x)))
        x = x + torch.nn.functional.silu(self.depth(self.second(x)))
        x = torch.nn.functional.max_pool2d(x, 2).mean((2, 3))
        return self.last(torch.nn.functional.gelu(self.layer_norm(x)))


@pytest.mark.parametrize("checkpoints", [[], ["/second", "/layer_norm"]])
def test_gradients_are_pytorchs(tmp_path, checkpoints):
    torch.manual_seed(0)
    module, images = Small().train(), torch.randn(6, 3, 20, 20)
    labels = torch.randint(0, 5, (6,))
    state = {k: v.clone() for k, v in module.state_dict().items()}
    export(module, images, str(tmp_path / "small.onnx"))
    module.load_state_dict(state)  # exporting runs the module, which moves BatchNorm's statistics
    loss = torch.nn.functional.cross_entropy(module(images), labels)
    loss.backward()
    write_safetensors(tmp_path / "in", {"input": images, "labels": labels})
    engine(tmp_path, str(tmp_path / "small.onnx"),
           {"task": "compute", "inputs_file": str(tmp_path / "in"), "outputs_file": str(tmp_path / "out"),
            "setting": {"checkpoints": checkpoints}})
    found = read_safetensors(tmp_path / "out")
    assert abs(float(found["loss"]) - loss.item()) < 1e-4 * abs(loss.item())
    for name, parameter in module.named_parameters():
        wanted, got = parameter.grad, found[f"gradient/{name}"]
        assert (got - wanted).abs().max() <= 1e-4 * wanted.abs().max(), name


def images_of(name):
    with gzip.open(f"{FASHION}/{name}-images-idx3-ubyte.gz") as file:
        return torch.from_numpy(numpy.frombuffer(file.read(), numpy.uint8, offset=16).copy()).reshape(-1, 1, 28, 28)


def labels_of(name):
    with gzip.open(f"{FASHION}/{name}-labels-idx1-ubyte.gz") as file:
        return torch.from_numpy(numpy.frombuffer(file.read(), numpy.uint8, offset=8).astype(numpy.int64))


@pytest.mark.skipif(not os.path.isdir(FASHION), reason="the package dataset-fashion-mnist is not installed")
def test_lenet_learns_fashion_mnist_and_repeats_itself(tmp_path):
    torch.manual_seed(0)
    export(lenet().train(), torch.randn(100, 1, 28, 28), str(tmp_path / "lenet.onnx"))
    write_safetensors(tmp_path / "data", {"inputs": images_of("train"), "labels": labels_of("train"),
                                     "test_inputs": images_of("t10k"), "test_labels": labels_of("t10k")})

    def learn(epochs):
        data = {"file": str(tmp_path / "data"), "inputs": "inputs", "labels": "labels", "test_inputs": "test_inputs",
                "test_labels": "test_labels", "epochs": epochs, "shuffle": True}
        answers = engine(tmp_path, str(tmp_path / "lenet.onnx"),
                         {"task": "train", "data": data,
                          "setting": {"optimizer": "adam"},
                          # One thread: several wait for each other where the machine is busy.
                          "execution": {"learning_rate": 0.002, "seed": 7, "threads": 1}})
        return [a for a in answers if a["type"] == "epoch"]

    epochs = learn(5)
    accuracies = [e["accuracy"] for e in epochs]
    print("accuracy by epoch:", accuracies, "seconds:", [round(e["seconds"], 1) for e in epochs])
    assert max(accuracies) >= 0.88
    again = learn(1)
    assert again[0]["losses"] == epochs[0]["losses"]
