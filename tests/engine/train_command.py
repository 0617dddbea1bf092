"""plimsoll train as a person uses it: it learns what PyTorch learns, is recorded, saved, goes on, and says what is wrong."""
import json
import os
import signal
import subprocess
import time

import numpy
import pytest

torch = pytest.importorskip("torch")
onnx = pytest.importorskip("onnx")
numpy_helper = pytest.importorskip("onnx.numpy_helper")
import peer_training as peer
from arrays import read_safetensors

PLIMSOLL = os.environ["PLIMSOLL_BINARY"]
needs_fashion = pytest.mark.skipif(not os.path.isdir(peer.FASHION), reason="the package dataset-fashion-mnist is not installed")


class Here:
    """A folder with a store, a cache and a home of its own."""

    def __init__(self, folder):
        self.folder = folder
        (folder / "run").mkdir(mode=0o700)
        self.environment = {**os.environ, "HOME": str(folder), "XDG_CACHE_HOME": str(folder / "cache"), "XDG_DATA_HOME": str(folder / "data"),
                            "XDG_RUNTIME_DIR": str(folder / "run"), "PLIMSOLL_ENGINE": os.environ["PLIMSOLL_ENGINE_BINARY"]}
        for name in ("PLIMSOLL_SOCKET", "PLIMSOLL_STORE", "PLIMSOLL_RUN_ID"):
            self.environment.pop(name, None)

    def run(self, *words):
        return subprocess.run([PLIMSOLL, *map(str, words)], cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=1800)

    def train(self, *words):
        return self.run("train", *words, "--device", "cpu", "--threads", 1)


@pytest.fixture
def here(tmp_path):
    return Here(tmp_path)


@pytest.fixture
def small(here):
    """Images whose class is how bright they are, in NumPy's form, and a network for them."""
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Conv2d(1, 4, 3, padding=1), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(4 * 36, 3))
    peer.export(module, here.folder / "model.onnx", 8, side=6)
    random = numpy.random.default_rng(1)
    labels = random.integers(0, 3, 240)
    images = (random.integers(0, 60, (240, 6, 6)) + labels[:, None, None] * 80).astype(numpy.uint8)
    numpy.save(here.folder / "x.npy", images)
    numpy.save(here.folder / "y.npy", labels)
    return here


SMALL = ["model.onnx", "--data", "x.npy", "--labels", "y.npy", "--hold-out", "0.25", "--batch", 8]


@needs_fashion
def test_it_learns_what_pytorch_learns(here):
    """The same first weights, examples, order and schedule: only rounding differs, which momentum hardly makes larger."""
    how = {"epochs": 2, "batch": 64, "rate": 0.02, "seed": 3, "most": 3200, "optimizer": "momentum"}
    torch.set_num_threads(1)
    torch.manual_seed(0)
    module = peer.lenet()
    peer.export(module, here.folder / "lenet.onnx", how["batch"])
    done = here.train("lenet.onnx", "--data", peer.FASHION, "--normalize", "--optimizer", "momentum", "--schedule", "cosine", "--lr", how["rate"],
                      "--epochs", 2, "--batch", 64, "--examples", how["most"], "--seed", 3, "--json")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert (answer["data"]["examples"], answer["data"]["test_examples"], answer["data"]["classes"]) == (3200, 10000, 10)
    losses, accuracies = peer.learn(module, peer.fashion("train"), peer.fashion("t10k"), **how)
    points = json.loads(here.run("runs", "export", answer["run"], "--metric", "loss", "--format", "json").stdout)["points"]
    recorded = [point["value"] for point in sorted(points, key=lambda point: point["step"])]
    assert len(losses) == answer["steps"] == len(recorded) == 100
    apart = [abs(a - b) for a, b in zip(recorded, losses)]
    print("furthest apart by ten steps:", [max(apart[i:i + 10]) for i in range(0, 100, 10)], [e["accuracy"] for e in answer["epochs"]], accuracies)
    assert max(apart[:10]) <= 1e-4
    for epoch, accuracy in zip(answer["epochs"], accuracies):
        assert abs(epoch["accuracy"] - accuracy) <= 0.005


def test_it_is_recorded_saved_and_written(small):
    done = small.train(*SMALL, "--epochs", 3, "--optimizer", "adam", "--lr", 0.01, "--target", "accuracy=0.99", "--save", "out", "--json")
    assert done.returncode in (0, 1), done.stderr
    answer = json.loads(done.stdout)
    assert (done.returncode == 0) == answer["target"]["reached"]
    assert answer["data"]["examples"] == 180 and answer["data"]["test_examples"] == 60
    assert answer["steps"] == 22 * len(answer["epochs"])
    shown = json.loads(small.run("runs", "show", answer["run"], "--json").stdout)
    text = json.dumps(shown)
    for word in ("loss", "accuracy", "test_loss", "examples_per_second", "lr", "epoch"):
        assert f'"{word}"' in text, word
    assert '"optimizer": "adam"' in text
    # The weights are PyTorch's to load, and the graph has them.
    weights = read_safetensors(small.folder / "out" / "model.safetensors")
    assert weights["3.weight"].shape == (3, 144)
    written = onnx.load(str(small.folder / "out" / "model.onnx"))
    stored = {i.name: numpy_helper.to_array(i) for i in written.graph.initializer}
    for name, tensor in weights.items():
        assert numpy.array_equal(stored[name], tensor.numpy()), name
    module = torch.nn.Sequential(torch.nn.Conv2d(1, 4, 3, padding=1), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(144, 3))
    module.load_state_dict(weights)
    images, labels = torch.from_numpy(numpy.load(small.folder / "x.npy")), torch.from_numpy(numpy.load(small.folder / "y.npy"))
    right = (module(images[:, None] / 255.0).argmax(1) == labels).float().mean().item()
    assert right > 0.8  # by PyTorch, on all of them, those held out among them

    again = small.train(*SMALL, "--epochs", 3, "--optimizer", "adam", "--lr", 0.01, "--save", "out")
    assert again.returncode == 2 and "holds a training already" in again.stderr and "--resume" in again.stderr


def test_a_target_out_of_reach_is_exit_code_1(small):
    done = small.train(*SMALL, "--epochs", 1, "--lr", 0, "--target", "accuracy=1", "--no-track")
    assert done.returncode == 1, done.stderr
    assert "accuracy 1 was not reached" in done.stdout


def test_within_a_run_it_is_that_run(small):
    done = small.run("run", "--json", "--", PLIMSOLL, "train", *map(str, SMALL), "--device", "cpu", "--threads", "1", "--epochs", "1")
    assert done.returncode == 0, done.stderr
    run = json.loads(done.stdout)["runs"][0]["run"]
    listed = json.loads(small.run("runs", "--json").stdout)
    assert '"accuracy"' in json.dumps(json.loads(small.run("runs", "show", run, "--json").stdout))
    assert json.dumps(listed).count(run) >= 1 and len(listed["runs"] if isinstance(listed, dict) else listed) == 1


def test_the_trained_network_is_tested_on_other_data(small):
    """As PyTorch tests the weights that were written: on fewer images than a batch holds."""
    random = numpy.random.default_rng(2)
    labels = random.integers(0, 3, 5)
    images = (random.integers(0, 90, (5, 6, 6)) + labels[:, None, None] * 60).astype(numpy.uint8)
    numpy.save(small.folder / "other.npy", images)
    numpy.save(small.folder / "other_labels.npy", labels)
    words = [*SMALL, "--epochs", 2, "--optimizer", "adam", "--lr", 0.01, "--normalize", "--other-data", "other.npy", "--other-labels", "other_labels.npy"]
    done = small.train(*words, "--save", "out", "--json")
    assert done.returncode == 0, done.stderr
    other = json.loads(done.stdout)["other"]
    x = torch.from_numpy(numpy.load(small.folder / "x.npy"))
    mean, deviation = (x / 255.0).double().mean().item(), (x / 255.0).double().std(unbiased=False).item()
    module = torch.nn.Sequential(torch.nn.Conv2d(1, 4, 3, padding=1), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(144, 3))
    module.load_state_dict(read_safetensors(small.folder / "out" / "model.safetensors"))
    with torch.no_grad():
        answers = module((torch.from_numpy(images)[:, None] / 255.0 - mean) / deviation)
    assert other["examples"] == 5 and other["accuracy"] == (answers.argmax(1) == torch.from_numpy(labels)).float().mean().item()
    assert abs(other["loss"] - torch.nn.functional.cross_entropy(answers, torch.from_numpy(labels)).item()) < 1e-4
    # One that has ended is tested again, and nothing else.
    again = small.train(*words, "--save", "out", "--resume", "--no-track", "--json")
    assert again.returncode == 0 and json.loads(again.stdout)["other"] == other, again.stderr
    assert "--other-data" in small.train(*SMALL, "--other-data", "nowhere").stderr
    assert "needs --other-data" in small.train(*SMALL, "--other-labels", "y.npy").stderr


def test_its_own_trainings_are_judged(small):
    """Those that end without their target took longer: they are in the answer. Its evaluation and its samples are known."""
    train = [PLIMSOLL, "train", *map(str, SMALL), "--device", "cpu", "--threads", "1", "--seed", "{run}"]
    done = small.run("tta", "--target", "accuracy>=0.9", "--runs", 2, "--clock", "samples", "--json", "--compare",
                     " ".join([*train, "--epochs", "2", "--lr", "0", "--target", "accuracy=1"]), "--", *train, "--epochs", "40", "--optimizer", "adam",
                     "--lr", "0.01", "--target", "accuracy=0.9", "--other-data", "x.npy", "--other-labels", "y.npy")
    assert done.returncode == 0, done.stderr
    learns, stays = json.loads(done.stdout)["setups"]
    assert learns["reached"] == 2 and all(run["time"] % 176 == 0 for run in learns["runs"]), learns  # 22 batches of 8 in an epoch
    assert stays["reached"] == 0 and [run["time"] for run in stays["runs"]] == [352, 352], done.stdout
    assert learns["generalisation"]["runs"] == 2 and learns["generalisation"]["mean"]["value"] > 0.8 and stays["generalisation"] is None
    both = small.run("tta", "--target", "accuracy=0.9", "--filter", "attributes.experiment_name = 'tta'", "--evaluation", "excluded", "--json")
    setup = json.loads(both.stdout)["setups"][0]
    assert setup["count"] == 4 and setup["reached"] == 2, both.stdout


def test_a_target_stands_in_the_report(small):
    done = small.train(*SMALL, "--epochs", 40, "--optimizer", "adam", "--lr", 0.01, "--target", "accuracy=0.9", "--json")
    assert done.returncode == 0, done.stderr
    assert "accuracy >= 0.9 after" in small.run("report", "last").stdout


def test_interrupted_it_goes_on(small):
    words = [PLIMSOLL, "train", *map(str, SMALL), "--device", "cpu", "--threads", "1", "--epochs", "20000", "--save", "out", "--save-every", "5", "--no-track"]
    process = subprocess.Popen(words, cwd=small.folder, env=small.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    until = time.monotonic() + 600
    while not (small.folder / "out" / "save.safetensors").exists():
        assert process.poll() is None and time.monotonic() < until
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    output, error = process.communicate(timeout=600)
    assert process.returncode == 130 and "--resume goes on" in error, error
    other = small.train(*SMALL, "--epochs", 2, "--save", "out", "--resume", "--no-track")
    assert other.returncode == 2 and "its number of epochs is 20000, here it is 2" in other.stderr


@pytest.mark.parametrize("words,said", [
    (["model.onnx", "--data", "nowhere"], "nowhere: cannot be found"),
    (["model.onnx", "--data", "x.npy"], "--labels FILE"),
    (["model.onnx", "--data", "x.npy", "--labels", "model.onnx"], "model.onnx: is not a NumPy file"),
    (["model.onnx", "--data", "wide.npy", "--labels", "y.npy"], "takes examples of 1x6x6, the data holds 1x7x6"),
    (["model.onnx", "--data", "x.npy", "--labels", "many.npy"], "the data has 240 classes, the network's head tells 3 apart"),
    (["model.onnx", "--data", "x.npy", "--labels", "y.npy", "--loss", "mean-square"], "the labels are classes"),
    (["model.onnx", "--data", "x.npy", "--labels", "y.npy", "--examples", "5", "--batch", "8"], "5 examples to learn from are fewer than a batch of 8"),
    (["model.onnx", "--data", "x.npy", "--labels", "y.npy", "--target", "accuracy=0.5"], "--hold-out"),
    (["model.onnx", "--data", "x.npy", "--labels", "y.npy", "--target", "loss=0.5"], "--target is 'loss=0.5'"),
    (["model.onnx", "--data", "x.npy", "--labels", "y.npy", "--crop", "6"], "6 pixels around images of 1x6x6"),
    (["model.onnx", "--data", "x.npy", "--labels", "y.npy", "--resume"], "need --save FOLDER"),
    (["bert_base", "--data", "x.npy", "--labels", "y.npy", "--seq", "8"], "one input"),
])
def test_what_is_wrong_is_said_before_anything_starts(small, words, said):
    numpy.save(small.folder / "wide.npy", numpy.zeros((240, 7, 6), numpy.uint8))
    numpy.save(small.folder / "many.npy", numpy.arange(240))
    done = small.train(*words, *([] if "--batch" in words else ["--batch", 8]))
    assert done.returncode == 2 and said in done.stderr, done.stderr
    assert not (small.folder / "data").exists(), "nothing is recorded of what never began"
