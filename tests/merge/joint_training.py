"""Models that `plimsoll merge --data` trains together: each keeps what is asked of it, what is shared is in the file once, and a
merge that is killed goes on and ends with the same bytes."""
import json
import os
import pathlib
import signal
import subprocess

import pytest

torch = pytest.importorskip("torch")
onnx = pytest.importorskip("onnx")
numpy = pytest.importorskip("numpy")

PLIMSOLL, ENGINE = os.environ["PLIMSOLL_BINARY"], os.environ["PLIMSOLL_ENGINE_BINARY"]
BATCH, EXAMPLES, CLASSES = 16, 256, 4
OPTIONS = {"--target": "0.8", "--epochs": "4", "--batch": str(BATCH), "--lr": "0.02", "--optimizer": "momentum", "--threads": "1"}


class Small(torch.nn.Module):
    def __init__(self, depth):
        super().__init__()
        self.first, self.norm = torch.nn.Conv2d(1, 8, 3, padding=1), torch.nn.BatchNorm2d(8)
        self.more = torch.nn.ModuleList([torch.nn.Conv2d(8, 8, 3, padding=1) for _ in range(depth)])
        self.middle, self.last = torch.nn.Linear(8 * 16, 32), torch.nn.Linear(32, CLASSES)

    def forward(self, x):
        x = torch.nn.functional.max_pool2d(torch.relu(self.norm(self.first(x))), 2)
        for layer in self.more:
            x = torch.relu(layer(x))
        return self.last(torch.relu(self.middle(x.flatten(1))))


def examples(seed, turned):
    """Bright corners; the second task sees them turned."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(0, CLASSES, (EXAMPLES,), generator=generator)
    images = torch.rand(EXAMPLES, 1, 8, 8, generator=generator) * 0.6
    for i, label in enumerate(labels.tolist()):
        row, column = divmod(label, 2)
        images[i, 0, 4 * row:4 * row + 4, 4 * column:4 * column + 4] += 0.4
    images = (images * 255).to(torch.uint8)
    return (images.flip(3) if turned else images), labels


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    folder = tmp_path_factory.mktemp("joint")
    tasks = ""
    for name, seed, depth, turned in (("a", 0, 1, False), ("b", 1, 2, True)):
        torch.manual_seed(seed)
        network = Small(depth).train()
        images, labels = examples(seed, turned)
        optimizer = torch.optim.Adam(network.parameters(), lr=0.005)
        for _ in range(12):
            for at in range(0, EXAMPLES, BATCH):
                optimizer.zero_grad()
                torch.nn.functional.cross_entropy(network(images[at:at + BATCH].float() / 255), labels[at:at + BATCH]).backward()
                optimizer.step()
        state = {key: value.clone() for key, value in network.state_dict().items()}
        torch.onnx.export(network, torch.rand(BATCH, 1, 8, 8), str(folder / f"{name}.onnx"), opset_version=15, do_constant_folding=False,
                          input_names=["input"], dynamic_axes={"input": {0: "batch"}}, training=torch.onnx.TrainingMode.TRAINING)
        network.load_state_dict(state)
        numpy.save(folder / f"{name}-x.npy", images.numpy())
        numpy.save(folder / f"{name}-y.npy", labels.numpy())
        tasks += f'[[task]]\nmodel = "{folder / name}.onnx"\ndata = "{name}-x.npy"\nlabels = "{name}-y.npy"\nhold-out = 0.25\n'
    (folder / "tasks.toml").write_text(tasks)
    return folder


def command(prepared, output, *more, method="greedy"):
    options = {**OPTIONS, **dict(zip(more[::2], more[1::2]))}
    return [PLIMSOLL, "merge", str(prepared / "a.onnx"), str(prepared / "b.onnx"), "--data", str(prepared / "tasks.toml"),
            "--method", method, "--output", str(output), "--json", *(word for pair in options.items() for word in pair)]


def environment():
    return {**os.environ, "PLIMSOLL_ENGINE": ENGINE, "COLUMNS": "100"}


def run(prepared, output, *more, code=0, method="greedy"):
    done = subprocess.run(command(prepared, output, *more, method=method), capture_output=True, text=True, timeout=1800, env=environment())
    assert done.returncode == code, done.stdout[-3000:] + done.stderr[-3000:]
    return json.loads(done.stdout) if code in (0, 1) else done.stderr


def contents(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_every_model_keeps_what_is_asked(prepared, tmp_path):
    told = run(prepared, tmp_path / "merged")
    training = told["training"]
    assert training["target"] == 0.8 and len(training["trials"]) >= 1
    for model in training["models"]:
        assert model["own_accuracy"] > 0.6, "the models learned nothing, so that nothing is tested"
        assert model["least_accuracy"] == pytest.approx(0.8 * model["own_accuracy"])
        assert model["accuracy"] >= model["least_accuracy"]
    assert training["epochs"] == sum(trial["epochs"] for trial in training["trials"])
    held = [trial for trial in training["trials"] if trial["holds"]]
    assert held and held[-1]["wanted"] == training["sharing"]
    assert 0 < training["saved_bytes"] <= told["plan"]["saved_bytes"]
    # What is shared lies in the file once, and loads.
    manifest = json.loads((tmp_path / "merged" / "manifest.json").read_text())
    assert manifest["trained"] and manifest["shared"]
    models = [onnx.load(str(tmp_path / "merged" / model["file"])) for model in manifest["models"]]
    for shared in manifest["shared"]:
        found = [{t.name: t for t in models[t["model"]].graph.initializer}[t["name"]].raw_data for t in shared["tensors"]]
        assert len(found) >= 2 and all(bytes_ == found[0] for bytes_ in found)
    names = {t["name"] for shared in manifest["shared"] for t in shared["tensors"]}
    assert "middle.weight" in names and not any(name.startswith("last.") for name in names)


def test_a_merge_that_is_killed_goes_on(prepared, tmp_path):
    run(prepared, tmp_path / "whole")
    progress = tmp_path / "progress"
    kept = 0
    for _ in range(50):
        process = subprocess.Popen(command(prepared, tmp_path / "broken", "--progress", str(progress)), stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, text=True, env=environment())
        # Killed in the trial after the next that is kept; its line says that it is.
        more = 0
        for line in process.stderr:
            more += "saved:" in line and "known" not in line
            if more == 1 and kept == 0:
                process.send_signal(signal.SIGKILL)
                break
        process.wait()
        process.stderr.close()
        if process.returncode != -signal.SIGKILL:
            break
        kept = len(json.loads((progress / "trials.json").read_text())["trials"])
        assert kept >= 1
        assert not (tmp_path / "broken").exists()
    assert process.returncode == 0 and kept >= 1
    assert contents(tmp_path / "whole") == contents(tmp_path / "broken")


def test_what_nobody_can_keep_is_not_shared(prepared, tmp_path):
    # A rate that destroys what the models know.
    told = run(prepared, tmp_path / "merged", "--target", "1", "--lr", "1000", "--epochs", "1", code=1, method="all-at-once")
    assert told["training"]["sharing"] == [0] * len(told["training"]["sharing"])
    for model in told["training"]["models"]:
        assert model["accuracy"] == model["own_accuracy"]
    manifest = json.loads((tmp_path / "merged" / "manifest.json").read_text())
    assert manifest["shared"] == []


def test_another_merge_in_the_same_folder_is_refused(prepared, tmp_path):
    run(prepared, tmp_path / "one", "--progress", str(tmp_path / "progress"))
    refused = run(prepared, tmp_path / "two", "--progress", str(tmp_path / "progress"), "--lr", "0.03", code=2)
    assert "holds another merge" in refused


def test_all_that_is_wrong_with_the_tasks_is_told(prepared, tmp_path):
    tasks = tmp_path / "tasks.toml"
    tasks.write_text('[[task]]\nmodel = "nobody.onnx"\ndata = "x"\nflop = true\n')
    done = subprocess.run([PLIMSOLL, "merge", str(prepared / "a.onnx"), str(prepared / "b.onnx"), "--data", str(tasks), "--output",
                           str(tmp_path / "merged")], capture_output=True, text=True, env=environment())
    assert done.returncode == 2 and "there is no key 'flop'" in done.stderr and "task 1" in done.stderr
    assert not pathlib.Path(tmp_path / "merged").exists()
