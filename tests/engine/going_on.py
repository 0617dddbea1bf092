"""A training that is killed goes on from its last save, and nobody can tell: losses, accuracies and weights are the
same bits as of one that was left alone."""
import fcntl
import json
import os
import signal
import subprocess

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("onnx")
from arrays import write_safetensors

PLIMSOLL, ENGINE = os.environ["PLIMSOLL_BINARY"], os.environ["PLIMSOLL_ENGINE_BINARY"]
BATCH, EXAMPLES, EPOCHS = 16, 256, 4
STEPS = EPOCHS * EXAMPLES // BATCH
# What a pipe of one page holds of a step's answers is far less than from the last of these to the end, so that an engine
# that nobody reads waits, and is killed where it waits.
KILLED_AFTER = [1, 7, 16, 30, 33]


class Small(torch.nn.Module):
    """All that has a state of its own: statistics of a normalisation, numbers drawn by Dropout."""

    def __init__(self):
        super().__init__()
        self.first, self.norm = torch.nn.Conv2d(1, 8, 3, padding=1), torch.nn.BatchNorm2d(8)
        self.drop, self.last = torch.nn.Dropout(0.3), torch.nn.Linear(8 * 16, 4)

    def forward(self, x):
        x = torch.nn.functional.max_pool2d(torch.relu(self.norm(self.first(x))), 2)
        return self.last(self.drop(x.flatten(1)))


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    folder = tmp_path_factory.mktemp("going_on")
    torch.manual_seed(0)
    torch.onnx.export(Small().train(), torch.randn(BATCH, 1, 8, 8), str(folder / "small.onnx"), opset_version=15,
                      do_constant_folding=False, input_names=["input"], training=torch.onnx.TrainingMode.TRAINING)
    labels = torch.randint(0, 4, (EXAMPLES,))
    images = (torch.rand(EXAMPLES, 1, 8, 8) * 100 + labels.reshape(-1, 1, 1, 1) * 40).to(torch.uint8)
    write_safetensors(folder / "data", {"inputs": images, "labels": labels, "test_inputs": images[:50], "test_labels": labels[:50]})
    subprocess.run([PLIMSOLL, "engine-job", str(folder / "small.onnx"), "-o", str(folder / "job.json"), "--train"], check=True)
    return folder


def job_file(prepared, folder, optimizer, threads, go_on):
    with open(prepared / "job.json") as file:
        job = json.load(file)
    job["task"] = "train"
    job["data"] = {"file": str(prepared / "data"), "inputs": "inputs", "labels": "labels", "test_inputs": "test_inputs",
                   "test_labels": "test_labels", "epochs": EPOCHS, "shuffle": True}
    job["setting"]["optimizer"] = optimizer
    job["execution"].update({"learning_rate": 0.01, "seed": 5, "threads": threads})
    job["learning"] = {"schedule": {"decline": "cosine", "warm_up_epochs": 0.5, "step_epochs": 1, "step_factor": 1},
                       "augmentation": {"crop": 1, "flip": True, "mean": [0.5], "deviation": [0.25]},
                       "framework_weights": False, "folder": str(folder), "save_every": 1, "go_on": go_on}
    path = folder / "job.json"
    path.write_text(json.dumps(job))
    return path


def whole(path):
    done = subprocess.run([ENGINE, str(path)], capture_output=True, text=True, timeout=1800)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


def killed_after(path, step):
    """The answers up to the save of a step; then the engine is killed, wherever it is."""
    engine = subprocess.Popen([ENGINE, str(path)], stdout=subprocess.PIPE, bufsize=0)
    fcntl.fcntl(engine.stdout, fcntl.F_SETPIPE_SZ, 4096)
    answers, line = [], b""
    while True:
        read = os.read(engine.stdout.fileno(), 1)
        assert read, f"the engine ended before step {step}: {answers[-1:]}"
        line += read
        if read != b"\n":
            continue
        answers.append(json.loads(line))
        line = b""
        if answers[-1]["type"] == "saved" and answers[-1]["step"] >= step:
            break
    engine.send_signal(signal.SIGKILL)
    engine.wait()
    engine.stdout.close()
    return answers


def losses_of(answers):
    """By step."""
    out = {}
    for answer in answers:
        if answer["type"] == "learned":
            out.update({answer["first_step"] + i: loss for i, loss in enumerate(answer["losses"])})
    return out


def epochs_of(answers):
    return {a["epoch"]: (a["accuracy"], a["loss"], a["test_loss"]) for a in answers if a["type"] == "epoch"}


@pytest.mark.parametrize("optimizer,threads", [("adamw", 1), ("momentum", 2)])
def test_killed_trainings_go_on_bit_by_bit(prepared, tmp_path, optimizer, threads):
    alone, broken = tmp_path / "alone", tmp_path / "broken"
    alone.mkdir()
    broken.mkdir()
    wanted = whole(job_file(prepared, alone, optimizer, threads, False))
    losses = losses_of(wanted)
    assert sorted(losses) == list(range(STEPS))
    told, last = {}, 0
    for step in KILLED_AFTER:
        answers = killed_after(job_file(prepared, broken, optimizer, threads, True), step)
        went_on = [a["step"] for a in answers if a["type"] == "went-on"]
        assert went_on == [] if step == KILLED_AFTER[0] else went_on[0] >= last
        assert (broken / "save.safetensors").exists() and not (broken / "model.safetensors").exists()
        (broken / "save.safetensors.part").write_bytes(b"half a save")  # as a kill in the middle of one leaves it
        told.update(losses_of(answers))
        last = max(a["step"] for a in answers if a["type"] == "saved")
    answers = whole(job_file(prepared, broken, optimizer, threads, True))
    assert answers[[a["type"] for a in answers].index("went-on")]["step"] >= last
    told.update(losses_of(answers))
    # The steps between a save's answer and the kill were told to nobody the first time, and again by who went on.
    assert {step: loss for step, loss in told.items() if losses[step] != loss} == {}
    assert max(told) == STEPS - 1
    assert epochs_of(answers) == epochs_of(wanted)
    assert (broken / "model.safetensors").read_bytes() == (alone / "model.safetensors").read_bytes()
    # One that has ended has nothing more to do, and says what it came to.
    again = whole(job_file(prepared, broken, optimizer, threads, True))
    assert losses_of(again) == {} and epochs_of(again) == epochs_of(wanted)


def test_another_training_does_not_go_on_from_it(prepared, tmp_path):
    killed_after(job_file(prepared, tmp_path, "sgd", 1, True), 3)
    done = subprocess.run([ENGINE, str(job_file(prepared, tmp_path, "adam", 1, True))], capture_output=True, text=True, timeout=600)
    last = json.loads(done.stdout.splitlines()[-1])
    assert done.returncode == 2 and last["type"] == "error"
    assert "the save is of another training: its optimizer is sgd, here it is adam" in last["message"]
    (tmp_path / "save.safetensors").write_bytes(b"no save")
    done = subprocess.run([ENGINE, str(job_file(prepared, tmp_path, "adam", 1, True))], capture_output=True, text=True, timeout=600)
    assert done.returncode == 2 and "save.safetensors" in json.loads(done.stdout.splitlines()[-1])["where"]
