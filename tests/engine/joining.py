"""Networks that learn at once and hold weights in common: the same losses, weights and end as in PyTorch."""
import copy
import json
import os
import subprocess

import pytest

torch = pytest.importorskip("torch")
onnx = pytest.importorskip("onnx")
from onnx import numpy_helper
from arrays import read_safetensors, write_safetensors

PLIMSOLL, ENGINE = os.environ["PLIMSOLL_BINARY"], os.environ["PLIMSOLL_ENGINE_BINARY"]
BATCH, EPOCHS, RATE = 16, 3, 0.05
EXAMPLES = [128, 64]  # the second one's data comes round twice in a joint epoch
CLASSES = [4, 3]
SHARED = ["middle.weight", "middle.bias"]


class Small(torch.nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.first, self.norm = torch.nn.Conv2d(1, 6, 3, padding=1), torch.nn.BatchNorm2d(6)
        self.middle, self.last = torch.nn.Linear(6 * 16, 12), torch.nn.Linear(12, classes)

    def forward(self, x):
        x = torch.nn.functional.max_pool2d(torch.relu(self.norm(self.first(x))), 2)
        return self.last(torch.relu(self.middle(x.flatten(1))))


def run(*command):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=1800)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """Two networks with their data, and a job for each."""
    folder = tmp_path_factory.mktemp("joining")
    made = []
    for i, classes in enumerate(CLASSES):
        torch.manual_seed(i)
        network = Small(classes).train()
        labels = torch.randint(0, classes, (EXAMPLES[i],))
        images = (torch.rand(EXAMPLES[i], 1, 8, 8) * 150 + labels.reshape(-1, 1, 1, 1) * 30).to(torch.uint8)
        write_safetensors(folder / f"data{i}", {"inputs": images, "labels": labels, "test_inputs": images[:50], "test_labels": labels[:50]})
        torch.onnx.export(network, torch.randn(BATCH, 1, 8, 8), str(folder / f"{i}.onnx"), opset_version=15,
                          do_constant_folding=False, input_names=["input"], training=torch.onnx.TrainingMode.TRAINING)
        # Exporting ran it, and its statistics moved; what counts is what stands in the file.
        stored = {t.name: torch.from_numpy(numpy_helper.to_array(t).copy()) for t in onnx.load(str(folder / f"{i}.onnx")).graph.initializer}
        fresh = Small(classes).train()
        fresh.load_state_dict({**network.state_dict(), **{name: value for name, value in stored.items() if name in network.state_dict()}})
        job = folder / f"{i}.json"
        done = run(PLIMSOLL, "engine-job", folder / f"{i}.onnx", "-o", job, "--train")
        assert done.returncode == 0, done.stderr
        made.append((fresh, images.float().div(255), labels, json.loads(job.read_text())))
    return folder, made


def job_of(prepared, folder, floors, epochs=EPOCHS, averaged=True, ties=SHARED):
    where, made = prepared
    members = []
    for i, (_, _, _, job) in enumerate(made):
        job = copy.deepcopy(job)
        job["task"] = "train"
        job["data"] = {"file": str(where / f"data{i}"), "inputs": "inputs", "labels": "labels", "test_inputs": "test_inputs",
                       "test_labels": "test_labels", "epochs": 1, "shuffle": False}
        job["setting"]["optimizer"] = "momentum"
        job["execution"].update({"learning_rate": RATE, "seed": 5, "threads": 1})
        job["learning"] = {"schedule": {"decline": "none", "warm_up_epochs": 0, "step_epochs": 1, "step_factor": 1},
                           "augmentation": {"crop": 0, "flip": False, "mean": [], "deviation": []},
                           "framework_weights": False, "folder": "", "save_every": 0, "go_on": False}
        members.append(job)

    def tensor(member, name):
        return [t["name"] for t in members[member]["network"]["tensors"]].index(name)

    job = {"version": 1, "task": "join", "device": "cpu", "execution": members[0]["execution"], "members": members,
           "joining": {"ties": [{"weights": [{"member": m, "tensor": tensor(m, name)} for m in (0, 1)]} for name in ties],
                       "averaged": averaged, "floors": floors, "epochs": epochs, "folder": str(folder)}}
    path = folder / "job.json"
    path.write_text(json.dumps(job))
    return path


def answers_of(path):
    done = run(ENGINE, path)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


def joined(answers):
    return [a for a in answers if a["type"] == "joined"]


def in_pytorch(prepared, floors, epochs, averaged):
    """The same training: accuracies by epoch and member, mean losses, the networks."""
    networks = [copy.deepcopy(made[0]) for made in prepared[1]]
    middle = networks[0].middle
    if averaged:
        with torch.no_grad():
            for mine, other in zip(middle.parameters(), networks[1].middle.parameters()):
                mine.copy_((mine + other) / 2)
    networks[1].middle = middle
    parameters = list({id(p): p for n in networks for p in n.parameters()}.values())
    optimizer = torch.optim.SGD(parameters, lr=RATE, momentum=0.9)

    def test():
        accuracies = []
        for network, (_, images, labels, _) in zip(networks, prepared[1]):
            network.eval()
            with torch.no_grad():
                accuracies.append((network(images[:50]).argmax(1) == labels[:50]).double().mean().item())
            network.train()
        return accuracies

    accuracies, losses = [test()], []
    for _ in range(epochs):
        weights = [min(10.0, (floor / now) ** 0.75) if now > 0 else 10.0 for floor, now in zip(floors, accuracies[-1])]
        sums, steps = [0.0, 0.0], max(EXAMPLES) // BATCH
        for step in range(steps):
            optimizer.zero_grad(set_to_none=True)
            for i, (network, (_, images, labels, _)) in enumerate(zip(networks, prepared[1])):
                at = step * BATCH % EXAMPLES[i]
                loss = torch.nn.functional.cross_entropy(network(images[at:at + BATCH]), labels[at:at + BATCH])
                sums[i] += loss.item() / steps
                (weights[i] * loss).backward()
            optimizer.step()
        losses.append(sums)
        accuracies.append(test())
    return accuracies, losses, networks


@pytest.mark.parametrize("averaged", [True, False])
def test_joint_trainings_are_those_of_pytorch(prepared, tmp_path, averaged):
    floors = [1.01, 1.01]  # that nobody reaches, so that all epochs are run
    told = joined(answers_of(job_of(prepared, tmp_path, floors, averaged=averaged)))
    accuracies, losses, networks = in_pytorch(prepared, floors, EPOCHS, averaged)
    assert [a["epoch"] for a in told] == list(range(EPOCHS + 1)) and not any(a["held"] for a in told)
    assert told[0]["losses"] == [] and told[0]["accuracies"] == pytest.approx(accuracies[0], abs=1e-9)
    # A hard example more or less, where two classes are within rounding of each other.
    for answer, wanted in zip(told, accuracies):
        assert answer["accuracies"] == pytest.approx(wanted, abs=0.021)
    for answer, wanted in zip(told[1:], losses):
        assert answer["losses"] == pytest.approx(wanted, abs=2e-3)
    files = [read_safetensors(tmp_path / f"member-{i}.safetensors") for i in (0, 1)]
    for name in SHARED:
        assert torch.equal(files[0][name], files[1][name]), name
    assert not torch.equal(files[0]["first.weight"], files[1]["first.weight"])
    for file, network in zip(files, networks):
        for name, wanted in network.state_dict().items():
            if "num_batches" not in name:
                assert torch.allclose(file[name], wanted, atol=5e-3), name


def test_ends_once_all_keep_their_floors(prepared, tmp_path):
    everything = joined(answers_of(job_of(prepared, tmp_path, [1.01, 1.01])))
    floors = [min(0.99 * value for value in values[1:]) for values in zip(*(a["accuracies"] for a in everything))]
    told = joined(answers_of(job_of(prepared, tmp_path, floors)))
    # Weights of losses follow the floors, so that accuracies differ; what is held must be, and none before.
    for answer in told:
        assert answer["held"] == all(a >= f for a, f in zip(answer["accuracies"], floors))
    assert [a["held"] for a in told[:-1]] == [False] * (len(told) - 1)
    assert told[-1]["held"] or told[-1]["epoch"] == EPOCHS


def test_without_epochs_it_only_tests(prepared, tmp_path):
    told = joined(answers_of(job_of(prepared, tmp_path, [1.01, 1.01], epochs=0, ties=[])))
    assert [a["epoch"] for a in told] == [0]
    files = [read_safetensors(tmp_path / f"member-{i}.safetensors") for i in (0, 1)]
    for file, (network, _, _, _) in zip(files, prepared[1]):
        assert torch.equal(file["middle.weight"], network.state_dict()["middle.weight"])


def test_one_that_has_nothing_to_test_on_is_refused(prepared, tmp_path):
    path = job_of(prepared, tmp_path, [0.5, 0.5])
    job = json.loads(path.read_text())
    for member in job["members"]:
        member["data"].update({"test_inputs": "none", "test_labels": "none"})
    path.write_text(json.dumps(job))
    done = run(ENGINE, path)
    last = json.loads(done.stdout.splitlines()[-1])
    assert done.returncode == 2 and last["type"] == "error", done.stdout
    assert "no classes to test on" in last["message"]
    assert not (tmp_path / "member-0.safetensors").exists()
