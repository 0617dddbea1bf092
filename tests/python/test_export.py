"""export(): the graphs, the parameters, and the module afterwards."""

import copy
import os
import random

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import graphs  # noqa: E402
import models  # noqa: E402
import plimsoll_torch  # noqa: E402


def test_training_keeps_batchnorm_and_dropout(tmp_path, read):
    module = models.Normed()
    report = plimsoll_torch.export(module, "3x16x16", tmp_path / "m.onnx", mode="train")
    model = read(tmp_path / "m.onnx")
    norms = [node for node in model.graph.node if node.op_type == "BatchNormalization"]
    assert len(norms) == 2
    for node in norms:
        assert len(node.output) >= 3
        assert [a.i for a in node.attribute if a.name == "training_mode"] == [1]
    assert graphs.operators(model)["Dropout"] == 1
    assert (report.exporter, report.mode, report.batch, report.weights) == ("script", "train", "symbolic", "none")
    assert report.bytes == os.path.getsize(tmp_path / "m.onnx")


def test_evaluation_folds_nothing(tmp_path, read):
    module = models.Normed()
    plimsoll_torch.export(module, "3x16x16", tmp_path / "m.onnx", mode="eval")
    found = graphs.operators(read(tmp_path / "m.onnx"))
    assert (found["Conv"], found["BatchNormalization"], found["Dropout"]) == (2, 2, 0)
    assert found["Identity"] == 0


@pytest.mark.parametrize("mode", ["train", "eval"])
@pytest.mark.parametrize("weights", ["none", "inside", "beside"])
def test_parameters_are_the_modules(tmp_path, read, mode, weights):
    module = models.Normed()
    path = tmp_path / "m.onnx"
    report = plimsoll_torch.export(module, "3x16x16", path, mode=mode, weights=weights)
    expected = sum(p.numel() for p in module.parameters())
    model = read(path, external=weights != "none")
    assert report.parameters == report.parameters_in_file == expected == graphs.parameters(model, module)
    assert graphs.shape(model.graph.input[0]) == ["batch", 3, 16, 16]
    assert graphs.shape(model.graph.output[0]) == ["batch", 10]
    if weights != "none":
        from onnx import numpy_helper
        stored = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
        for name, value in module.named_parameters():
            assert (stored[name] == value.detach().numpy()).all(), name
    left = sorted(os.listdir(tmp_path))
    assert left == (["m.onnx", "m.onnx.data"] if report.weights_path else ["m.onnx"])


def test_weights_left_out_point_to_no_file(tmp_path, read):
    module = torch.nn.Linear(100, 100)
    plimsoll_torch.export(module, "100", tmp_path / "m.onnx")
    weight, bias = sorted(read(tmp_path / "m.onnx").graph.initializer, key=lambda t: -len(t.dims))
    entries = {entry.key: entry.value for entry in weight.external_data}
    assert list(weight.dims) == [100, 100] and weight.data_location == 1 and not weight.raw_data
    assert entries["length"] == "40000" and not os.path.exists(tmp_path / entries["location"])
    assert len(bias.raw_data) == 400  # small: stays


# vgg11 wants whole images, and its convolutions take their time: one at a time.
@pytest.mark.parametrize("name,expected,size,batch", [
    ("resnet18", 11689512, 64, "symbolic"), ("mobilenet_v2", 3504872, 32, "symbolic"), ("vgg11", 132863336, 224, 1)])
def test_torchvision(tmp_path, read, name, expected, size, batch):
    vision = pytest.importorskip("torchvision", reason="torchvision is not installed")
    module = getattr(vision.models, name)(**({"init_weights": False} if name == "vgg11" else {}))
    for mode in ("train", "eval"):
        path = tmp_path / "m.onnx"
        report = plimsoll_torch.export(module, f"3x{size}x{size}", path, mode=mode, batch=batch)
        model = read(path)
        assert report.parameters == graphs.parameters(model, module) == expected
        assert report.batch == batch and report.bytes < 300000
        found = graphs.operators(model)
        parts = [type(part) for part in module.modules()]
        assert found["BatchNormalization"] == parts.count(torch.nn.BatchNorm2d)
        assert found["Conv"] == parts.count(torch.nn.Conv2d)
        assert found["Dropout"] == (parts.count(torch.nn.Dropout) if mode == "train" else 0)


@pytest.mark.parametrize("mode", ["train", "eval"])
@pytest.mark.parametrize("batch_first", [True, False])
def test_transformer(tmp_path, read, mode, batch_first):
    layer = torch.nn.TransformerEncoderLayer(32, 4, 64, dropout=0.1, batch_first=batch_first)
    for value in layer.parameters():
        value.requires_grad_(False)
    spec = "10x32" if batch_first else "10xBx32"
    report = plimsoll_torch.export(layer, spec, tmp_path / "m.onnx", mode=mode)
    model = read(tmp_path / "m.onnx")
    assert graphs.parameters(model, layer) == report.parameters
    assert report.symbolic_batch, report.notes
    assert graphs.operators(model)["Softmax"] == 1
    assert (graphs.operators(model)["Dropout"] > 0) == (mode == "train")
    assert not any(value.requires_grad for value in layer.parameters())


@pytest.mark.parametrize("mode", ["train", "eval"])
def test_tied_weights_stay_one(tmp_path, read, mode):
    module = models.Tied()
    report = plimsoll_torch.export(module, "int64:12", tmp_path / "m.onnx", mode=mode)
    model = read(tmp_path / "m.onnx")
    assert report.parameters == 1000 * 64 + 64 * 64 + 64
    large = [t for t in model.graph.initializer if 1000 in t.dims]
    assert len(large) == 1
    assert graphs.parameters(model, module) == report.parameters


@pytest.mark.parametrize("mode", ["train", "eval"])
def test_lstm(tmp_path, read, mode):
    module = models.Recurrent()
    report = plimsoll_torch.export(module, (20, 16), tmp_path / "m.onnx", mode=mode)
    model = read(tmp_path / "m.onnx")
    assert graphs.operators(model)["LSTM"] == 2
    assert graphs.parameters(model, module) == report.parameters
    assert report.outputs == ["output_0", "output_1_0", "output_1_1"]
    assert module.lstm.dropout == 0.1
    assert report.notes == (["dropout between the layers of LSTM is left out: ONNX has no form for it"]
                            if mode == "train" else [])


def test_diff_as_in_causal_masks(tmp_path, read):
    class Packed(torch.nn.Module):
        def forward(self, x):
            return torch.diff(x, prepend=x[:, :1] - 1, dim=-1)
    report = plimsoll_torch.export(Packed(), "int64:6", tmp_path / "m.onnx", exporter="script")
    assert report.symbolic_batch and graphs.operators(read(tmp_path / "m.onnx"))["Sub"] >= 1


def test_outputs_become_plain_tensors(tmp_path, read):
    module = models.Cached()
    report = plimsoll_torch.export(module, {"input_ids": "int64:5", "attention_mask": "int64:5"},
                                   tmp_path / "m.onnx", mode="eval")
    model = read(tmp_path / "m.onnx")
    assert [v.name for v in model.graph.input] == ["input_ids", "attention_mask"]
    assert report.outputs == [v.name for v in model.graph.output] == ["logits", "pooled"]
    assert module.config.use_cache is True and "forward" not in vars(module)


def test_example_tensors(tmp_path, read):
    report = plimsoll_torch.export(models.Picky(), [torch.ones(4, 3), torch.ones(())], tmp_path / "m.onnx")
    model = read(tmp_path / "m.onnx")
    assert [graphs.shape(v) for v in model.graph.input] == [["batch", 3], []]
    assert report.inputs == ["image=float32:batchx3", "scale=float32:"]


def test_fixed_batch(tmp_path, read):
    report = plimsoll_torch.export(models.Normed(), "3x16x16", tmp_path / "m.onnx", batch=4)
    assert (report.batch, report.symbolic_batch) == (4, False)
    assert graphs.shape(read(tmp_path / "m.onnx").graph.output[0]) == [4, 10]


def test_batch_that_became_a_number_is_found(tmp_path, read, monkeypatch):
    report = plimsoll_torch.export(models.FixedBatch(), "2x3", tmp_path / "m.onnx", exporter="script")
    assert report.batch == 1
    assert "fixed at 1" in report.notes[0] and "Python number" in report.notes[0]
    assert graphs.shape(read(tmp_path / "m.onnx").graph.input[0]) == [1, 2, 3]


@pytest.mark.parametrize("mode", ["train", "eval"])
@pytest.mark.parametrize("training", [True, False])
def test_module_is_left_as_it_was(tmp_path, mode, training):
    module = models.Normed().train(training)
    module.first.eval()
    module.head.weight.requires_grad_(False)
    module(torch.randn(2, 3, 16, 16)).sum().backward()
    flags = {name: part.training for name, part in module.named_modules()}
    state = copy.deepcopy(module.state_dict())
    identity = {name: id(value) for name, value in module.state_dict(keep_vars=True).items()}
    gradients = {name: id(p.grad) for name, p in module.named_parameters()}
    requires = {name: p.requires_grad for name, p in module.named_parameters()}
    attributes = set(vars(module))
    torch.manual_seed(7), random.seed(7)
    expected = (torch.rand(1).item(), random.random())
    torch.manual_seed(7), random.seed(7)
    plimsoll_torch.export(module, "3x16x16", tmp_path / "m.onnx", mode=mode)
    assert (torch.rand(1).item(), random.random()) == expected
    assert flags == {name: part.training for name, part in module.named_modules()}
    for name, value in module.state_dict().items():
        assert torch.equal(value, state[name]), name
    assert identity == {name: id(value) for name, value in module.state_dict(keep_vars=True).items()}
    assert gradients == {name: id(p.grad) for name, p in module.named_parameters()}
    assert requires == {name: p.requires_grad for name, p in module.named_parameters()}
    assert attributes == set(vars(module))
    assert torch.is_grad_enabled()


def test_frozen_batchnorm_stays_frozen_in_training(tmp_path, read):
    module = models.Normed().train()
    module.first.eval()
    plimsoll_torch.export(module, "3x16x16", tmp_path / "m.onnx", mode="train")
    norms = [node for node in read(tmp_path / "m.onnx").graph.node if node.op_type == "BatchNormalization"]
    assert [len(node.output) >= 3 for node in norms] == [False, True]


def test_failure_leaves_no_files_and_the_module_as_it_was(tmp_path):
    module = models.Normed()
    with pytest.raises(plimsoll_torch.HandoverError):
        plimsoll_torch.export(module, "4x16x16", tmp_path / "m.onnx")
    assert os.listdir(tmp_path) == [] and module.training and "forward" not in vars(module)


def test_wrappers_are_taken_off(tmp_path):
    module = torch.nn.DataParallel(models.Normed())
    report = plimsoll_torch.export(module, "3x16x16", tmp_path / "m.onnx")
    assert report.parameters_in_file == report.parameters
