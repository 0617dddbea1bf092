"""`plimsoll swap --run` on the CPU: outputs are bit for bit those without swapping, what moves is what the policy accounts for,
and never is more held than there is room for. Frames come one after the other where counts are compared, so that nothing here
depends on how fast the machine is."""
import json
import os
import pathlib
import subprocess

import pytest

onnx = pytest.importorskip("onnx")
numpy = pytest.importorskip("numpy")
from onnx import TensorProto, helper, numpy_helper

PLIMSOLL, ENGINE = os.environ["PLIMSOLL_BINARY"], os.environ["PLIMSOLL_ENGINE_BINARY"]
POLICIES = ["lru", "mru", "belady-model", "expected-block", "belady-block"]
BY_BLOCKS = ["expected-block", "belady-block"]
BLOCK = 64 << 10
FRAMES = 40


class Net:
    def __init__(self, seed, taken=None):
        self.random, self.taken = numpy.random.default_rng(seed), taken or {}
        self.weights, self.nodes = {}, []

    def weight(self, name, *shape):
        self.weights[name] = self.taken.get(name, self.random.standard_normal(shape, dtype=numpy.float32) * 0.1)
        return name

    def add(self, kind, name, inputs, **attributes):
        self.nodes.append(helper.make_node(kind, inputs, [name + ".out"], name, **attributes))
        return name + ".out"

    def save(self, path, shape, output, external=False):
        graph = helper.make_graph(self.nodes, "net", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                                  [helper.make_tensor_value_info(output, TensorProto.FLOAT, None)],
                                  [numpy_helper.from_array(value, name) for name, value in self.weights.items()])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
        model.ir_version = 8
        onnx.save(model, str(path), save_as_external_data=external, location="outside.bin" if external else None, size_threshold=0)


def cameras(path, seed, classes, taken=None, external=False):
    """Convolutions with normalisations, and a head of its own."""
    net, flow, channels = Net(seed, taken), "x", 3
    for i, width in enumerate((48, 96, 96)):
        flow = net.add("Conv", f"conv{i}", [flow, net.weight(f"conv{i}.weight", width, channels, 3, 3), net.weight(f"conv{i}.bias", width)], pads=[1] * 4)
        if i == 1:
            net.weights["norm.var"] = net.taken.get("norm.var", numpy.abs(net.random.standard_normal(width, dtype=numpy.float32)) + 0.5)
            flow = net.add("BatchNormalization", "norm", [flow, net.weight("norm.scale", width), net.weight("norm.shift", width), net.weight("norm.mean", width), "norm.var"])
        flow, channels = net.add("Relu", f"relu{i}", [flow]), width
    flow = net.add("Flatten", "flat", [net.add("GlobalAveragePool", "pool", [flow])])
    net.save(path, ["N", 3, 12, 12], net.add("Gemm", "head", [flow, net.weight("head.weight", classes, channels)], transB=1), external)
    return net.weights


def text(path, seed):
    """A weight that is read through a view, one that is read twice, and one that only a branch reads."""
    net = Net(seed)
    twice = net.weight("twice", 128, 128)
    turned = net.add("Transpose", "turned", [net.weight("across", 160, 128)], perm=[1, 0])
    flow = net.add("MatMul", "first", ["x", twice])
    flow = net.add("MatMul", "wide", [net.add("Tanh", "tanh", [flow]), turned])
    flow = net.add("MatMul", "narrow", [flow, net.weight("narrow", 160, 128)])
    flow = net.add("MatMul", "again", [flow, twice])
    branches = {}
    for branch in ("then_branch", "else_branch"):
        node = helper.make_node("MatMul", [flow, net.weight(branch, 128, 96)], [branch + ".out"], branch)
        branches[branch] = helper.make_graph([node], branch, [], [helper.make_tensor_value_info(branch + ".out", TensorProto.FLOAT, None)])
    asked = net.add("Greater", "asked", [net.add("ReduceSum", "sum", [flow], keepdims=0), net.weight("limit")])
    net.save(path, ["N", 128], net.add("If", "if", [asked], **branches))


def plimsoll(*arguments, code=0):
    done = subprocess.run([PLIMSOLL, *map(str, arguments)], capture_output=True, text=True, env={**os.environ, "PLIMSOLL_ENGINE": ENGINE})
    assert done.returncode == code, f"{arguments}: {done.returncode}: {done.stderr}"
    return done


def models_file(path, models):
    path.write_text("".join(f'[[model]]\nname = "{pathlib.Path(model).stem}"\nmodel = "{model}"\n' for model in models))
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("swap")
    first = cameras(out / "front.onnx", 1, 10)
    cameras(out / "side.onnx", 2, 4, {name: value for name, value in first.items() if not name.startswith("head")})
    cameras(out / "plate.onnx", 3, 7)
    text(out / "sign.onnx", 4)
    plimsoll("merge", out / "front.onnx", out / "side.onnx", "--output", out / "merged")
    models_file(out / "apart.toml", [out / f"{name}.onnx" for name in ("front", "side", "plate", "sign")])
    models_file(out / "merged.toml", [out / "merged/front.onnx", out / "merged/side.onnx", out / "plate.onnx", out / "sign.onnx"])
    return out


def run(models, memory, *options, in_sequence=True):
    ordered = ["--as-fast-as-possible", "--frames", FRAMES] if in_sequence else []
    document = json.loads(plimsoll("swap", models, "--memory", memory, "--block", f"{BLOCK}B", "--device", "cpu", "--threads", 1, "--pattern", "bursty", "--run",
                                   *ordered, *options, "--json").stdout)
    return document, {(row["policy"], row["weights"]): row for row in document["run"]["policies"]}


def arrays(path):
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8:8 + length])
    return {name: (of["dtype"], of["shape"], data[8 + length + of["data_offsets"][0]:8 + length + of["data_offsets"][1]])
            for name, of in header.items() if not name.startswith("__")}


def check_account(document, rows):
    for which, row in rows.items():
        assert row["outputs_differing"] == 0, which
        assert row["moved_bytes"] == row["decided_bytes"], which
        assert row["peak_bytes"] == row["decided_peak_bytes"] <= document["weights_memory_bytes"], which


@pytest.fixture(scope="module")
def whole(folder):
    """With room for all: every block is copied once, and stays."""
    document, rows = run(folder / "apart.toml", "100%", "--policy", "belady-block", "--outputs", folder / "whole.safetensors")
    check_account(document, rows)
    assert rows["belady-block", "separate"]["moved_bytes"] == rows["belady-block", "separate"]["peak_bytes"]
    return arrays(folder / "whole.safetensors")


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("models", ["apart.toml", "merged.toml"])
def test_outputs_are_those_without_swapping(folder, whole, policy, models):
    # A merged file's runs are two, and the last of them is of the merged weights: these outputs are what is written.
    document, rows = run(folder / models, "largest", "--policy", policy, "--outputs", folder / "given.safetensors")
    check_account(document, rows)
    given = arrays(folder / "given.safetensors")
    assert given == whole and len(given) == 4
    for row in rows.values():
        assert row["frames_run"] == FRAMES
        assert row["moved_bytes"] == row["simulated"]["moved_bytes"] > document["weights_memory_bytes"]


def test_layer_by_layer_in_room_for_the_largest_layer(folder, whole):
    refused = json.loads(plimsoll("swap", folder / "apart.toml", "--memory", "1kB", "--block", f"{BLOCK}B", "--device", "cpu", "--run", "--json", code=1).stdout)
    assert "run" not in refused
    needs = {row["policy"]: row["needs_bytes"] for row in refused["policies"]}
    assert needs["belady-block"] < needs["lru"]
    for policy in BY_BLOCKS:
        document, rows = run(folder / "apart.toml", f"{needs[policy]}B", "--policy", policy, "--outputs", folder / "layers.safetensors")
        check_account(document, rows)
        assert arrays(folder / "layers.safetensors") == whole
        assert document["weights_memory_bytes"] < max(model["weight_bytes"] for model in document["models"])
    plimsoll("swap", folder / "apart.toml", "--memory", f"{needs['belady-block'] - 1}B", "--block", f"{BLOCK}B", "--device", "cpu", "--run", "--policy", "belady-block", code=1)


def test_merged_models_move_only_what_is_not_shared(folder):
    document, rows = run(folder / "merged.toml", "largest", "--policy", "all")
    check_account(document, rows)
    assert set(rows) == {(policy, weights) for policy in POLICIES for weights in ("separate", "merged")}
    for policy in POLICIES:
        assert rows[policy, "merged"]["moved_bytes"] < rows[policy, "separate"]["moved_bytes"], policy
    document, rows = run(folder / "merged.toml", "100%", "--policy", "lru")
    # The allocator's count: what is not shared twice, what is shared once, each to a block.
    shared = json.loads((folder / "merged/manifest.json").read_text())
    saved = sum(set_["bytes"] * (len(set_["tensors"]) - 1) for set_ in shared["shared"])
    gained = rows["lru", "separate"]["peak_bytes"] - rows["lru", "merged"]["peak_bytes"]
    assert abs(gained - saved) < 4 * BLOCK, (gained, saved)


def test_by_the_clock(folder):
    for late in ("run", "drop"):
        document, rows = run(folder / "merged.toml", "largest", "--policy", "lru,belady-block", "--late", late, "--seconds", "0.5", in_sequence=False)
        check_account(document, rows)
        for which, row in rows.items():
            assert row["frames_met"] <= row["frames_run"] <= row["frames"], which
            assert late == "drop" or row["frames_run"] == row["frames"], which


def test_models_measured_together_hold_what_they_share_once(folder):
    def peaks(models):
        measured = json.loads(plimsoll("measure", *models, "--together", "--batch", 1, "--device", "cpu", "--threads", 1, "--time-limit", "0.1", "--json").stdout)
        return [row["peak_allocated_bytes"] for each in measured["measurements"] for row in each["rows"]]
    manifest = json.loads((folder / "merged/manifest.json").read_text())
    saved = sum(each["bytes"] for each in manifest["models"]) - manifest["union_bytes"]
    apart = peaks([folder / "front.onnx", folder / "side.onnx"])
    merged = peaks([folder / "merged/front.onnx", folder / "merged/side.onnx"])
    assert [a - b for a, b in zip(apart, merged)] == [saved, saved] and saved > 0


@pytest.mark.parametrize("what, code, words", [
    ("missing", 2, "outside.bin"), ("other", 2, "other numbers"), ("manifest", 2, "manifest.json"), ("captured", 2, "captured"), ("device", 2, "this machine")])
def test_what_cannot_run_is_said_and_nothing_written(folder, tmp_path, what, code, words):
    models, options = tmp_path / "models.toml", ["--device", "cpu"]
    if what == "missing":
        cameras(tmp_path / "far.onnx", 5, 3, external=True)
        (tmp_path / "outside.bin").unlink()
        models_file(models, [folder / "front.onnx", tmp_path / "far.onnx"])
    elif what == "other":
        models_file(models, [folder / "front.onnx", folder / "plate.onnx"])
        models.write_text(models.read_text() + '[[shared]]\nmodels = ["front", "plate"]\ntensors = ["conv1.weight"]\n')
        options += ["--policy", "lru"]
    elif what == "manifest":
        (tmp_path / "front.onnx").write_bytes((folder / "front.onnx").read_bytes())
        (tmp_path / "manifest.json").write_text('{"version": 1}')
        models_file(models, [tmp_path / "front.onnx"])
    else:
        models_file(models, [folder / "front.onnx"])
        if what == "captured":
            models.write_text(models.read_text() + "captured = true\n")
        else:
            options = ["--device", "h200"]
    outputs = tmp_path / "outputs.safetensors"
    done = plimsoll("swap", models, "--memory", "largest", "--block", f"{BLOCK}B", *options, "--run", "--frames", 4, "--as-fast-as-possible", "--outputs", outputs, code=code)
    assert words in done.stderr and done.stdout == "" and not list(tmp_path.glob("outputs*")), done.stderr


def test_without_an_engine_nothing_runs(folder):
    done = subprocess.run([PLIMSOLL, "swap", str(folder / "apart.toml"), "--memory", "largest", "--device", "cpu", "--run"], capture_output=True, text=True,
                          env={**os.environ, "PLIMSOLL_ENGINE": str(folder / "nowhere")})
    assert done.returncode == 3 and "nowhere" in done.stderr and done.stdout == "", done.stderr
