"""plimsoll precision on a narrow network and few images: what it measures, promises, keeps and refuses."""
import json
import subprocess

import pytest

onnx = pytest.importorskip("onnx")
numpy = pytest.importorskip("numpy")

from onnx import numpy_helper

from arrays import read_arrays, write_arrays
from small_data import CLASSES, ENGINE, PLIMSOLL, SIDE, TEST, environment, plimsoll, widths, write_images


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("precision")
    write_images(folder)
    return folder


@pytest.fixture(scope="module")
def measured(folder):
    answer = plimsoll(folder, *widths("--output", "written", "--html", "page.html"))
    (folder / "measured.json").write_text(json.dumps(answer))
    return {form["format"]: form for form in answer["forms"]}, answer


def test_what_every_format_costs(folder, measured):
    forms, answer = measured
    assert answer["data"]["selection_examples"] + answer["data"]["held_out_examples"] == TEST
    assert forms["fp32"]["accuracy"]["value"] > 0.7, "nothing was learned, so that nothing is tested"
    assert forms["int8"]["accuracy"]["value"] > 0.7
    assert forms["fp32"]["lost"]["value"] == 0
    assert forms["fp32"]["bytes"] / forms["int8"]["bytes"] > 3.4
    assert 1.9 < forms["fp32"]["bytes"] / forms["bf16"]["bytes"] <= 2
    for form in forms.values():
        # What this LibTorch cannot compute is said, and not guessed.
        assert form["supported"] == (form["accuracy"] is not None) == (form["reason"] is None)
    assert forms["int8"]["layers"] == {"int8": 28, "all": 28, "int8_parameters": forms["int8"]["layers"]["int8_parameters"]}
    assert [layer["name"] for layer in answer["layers"]][0] == "conv1" and len(answer["layers"]) == 28
    page = (folder / "page.html").read_text()
    assert page.count("<svg") == 1 and "Size against accuracy" in page  # neither time nor energy was measured


def test_the_file_is_what_onnx_says(folder, measured):
    model = onnx.load(str(folder / "written" / "depth-0.25-int8.onnx"))
    onnx.checker.check_model(model, full_check=True)
    stored = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    whole = onnx.load(str(folder / "kept" / "depth-0.25" / "model.onnx"))
    before = {tensor.name: numpy_helper.to_array(tensor) for tensor in whole.graph.initializer}
    for name in ("conv1.weight", "conv_pw_13.weight", "conv_preds.weight"):
        assert stored[name].dtype == numpy.int8 and before[name].nbytes == 4 * stored[name].nbytes
    types = [node.op_type for node in model.graph.node]
    assert types.count("Conv") == 28 and "BatchNormalization" not in types


def outputs(folder, model, images, literal):
    """Of one batch, by the engine: with its 8-bit kernels, or every operator by itself."""
    job_file = folder / "job.json"
    subprocess.run([PLIMSOLL, "engine-job", model, "-o", job_file, "--batch", str(len(images))], check=True, env=environment(folder))
    job = json.loads(job_file.read_text())
    job.update(task="compute", inputs_file=str(folder / "in"), outputs_file=str(folder / "out"))
    job["setting"]["literal"] = literal
    name = job["network"]["name"]
    loaded = onnx.load(str(model)).graph
    write_arrays(folder / "in", {loaded.input[0].name: images})
    job_file.write_text(json.dumps(job))
    answers = subprocess.run([ENGINE, job_file], check=True, stdout=subprocess.PIPE, text=True).stdout
    prepared = next(json.loads(line) for line in answers.splitlines() if '"prepared"' in line)
    assert bool(prepared["quantized_by"]) != literal, name
    return read_arrays(folder / "out")[loaded.output[0].name]


def test_eight_bit_kernels_give_what_the_graph_says(folder, measured):
    model = folder / "written" / "depth-0.25-int8.onnx"
    images = numpy.load(folder / "x_test.npy")[:200].astype(numpy.float32) / 255
    kernels, literal = outputs(folder, model, images, False), outputs(folder, model, images, True)
    step = numpy.diff(numpy.unique(literal)).min()
    assert (numpy.abs(kernels - literal) <= 1.01 * step).mean() >= 0.99


@pytest.mark.parametrize("points", ["0", "0.5", "20"])
def test_a_promise_is_kept_or_said_to_be_broken(folder, measured, points):
    answer = plimsoll(folder, *widths("--formats", "fp32,int8", "--range", "largest", "--sensitivity", "40", "--loss", points), code=(0, 1))
    form = answer["forms"][1]
    assert form["kept_promise"] == (form["layers"]["int8"] > 0 and form["lost"]["value"] <= float(points) / 100)
    if form["layers"]["int8"] > 0:
        # Whoever is chosen holds with certainty where it was chosen.
        assert form["lost_selecting"]["value"] <= float(points) / 100
    assert sum(layer["kept"] for layer in answer["layers"]) == form["layers"]["all"] - form["layers"]["int8"]
    if points == "20":
        assert form["kept_promise"] and form["layers"]["int8"] == 28
    if points == "0":
        assert form["layers"]["int8"] == 0, "with 200 examples nobody can be certain that nothing at all is lost"


def test_a_broken_promise_is_the_exit_code(folder, measured):
    plimsoll(folder, *widths("--formats", "fp32,int8", "--range", "largest", "--sensitivity", "10", "--loss", "0"), code=1)


def test_trainings_are_kept(folder, measured):
    _, first = measured
    again = plimsoll(folder, *widths("--formats", "fp32"))
    assert not first["trained"][0]["found"] and again["trained"][0]["found"]
    assert first["trained"][0]["accuracy"] == again["trained"][0]["accuracy"]
    assert again["forms"][0]["accuracy"]["examples"] == TEST, "nothing was to be decided"


def test_choose_takes_the_accuracies(folder, measured):
    forms, _ = measured
    answer = plimsoll(folder, "choose", "mobilenet_v1", "--depth", "0.25", "--precision", "int8", "--device", "h200", "--accuracy", "measured.json",
                      "--min-accuracy", "1%", "--json", code=(0, 1))
    figure = answer["candidates"][0]["accuracy"]
    assert figure["value"] == pytest.approx(forms["int8"]["accuracy"]["value"])
    assert (figure["low"], figure["high"]) == pytest.approx((forms["int8"]["accuracy"]["low"], forms["int8"]["accuracy"]["high"]))
    (folder / "broken.json").write_text('{"forms": [{"format": "int8", "accuracy": {"value": 7}}]}')
    said = plimsoll(folder, "choose", "mobilenet_v1", "--accuracy", "broken.json", code=2)
    assert "forms[0]" in said


def test_estimate_times_a_quantised_file_as_what_it_is(folder, measured):
    whole, eight = (plimsoll(folder, "estimate", model, "--device", "h200", "--batch", "64", "--kernels", "--json")
                    for model in ("kept/depth-0.25/model.onnx", "written/depth-0.25-int8.onnx"))
    assert eight["memory"]["weights_bytes"] < whole["memory"]["weights_bytes"] / 3.3
    arithmetics = {kernel["arithmetic"] for kernel in eight["kernels"] if "conv" in kernel["class"] or "depthwise" in kernel["class"]}
    assert arithmetics == {"int8"}


def refuse(folder, *words, says, code=2):
    said = plimsoll(folder, *words, code=code)
    assert says in said, said


def test_what_cannot_be_measured_is_said(folder, measured):
    data = ["--data", "."]
    kept = "kept/depth-0.25/model.onnx"
    refuse(folder, "precision", "written/depth-0.25-int8.onnx", *data, "--no-time", says="quantised already")
    refuse(folder, "precision", kept, *data, "--formats", "fp8", says="not a number format")
    refuse(folder, "precision", kept, *data, "--formats", "fp32", "--loss", "1", says="--loss is of int8")
    refuse(folder, "precision", kept, says="--data is missing")
    refuse(folder, "precision", kept, "--data", "x_train.npy", says="label")
    refuse(folder, "precision", kept, *data, "--image-size", "28", says="28")
    refuse(folder, "precision", "mobilenet_v1", *data, "--no-time", says="")
    refuse(folder, "precision", "resnet18", *data, "--depth", "0.5", says="one width alone")
    refuse(folder, "precision", kept, *data, "--depth", "0.5", says="zoo")
    refuse(folder, "precision", "--published", "unheard_of", says="no published accuracy")


def small_graph(opset, operator):
    """Flatten and one operator, with classes as outputs."""
    helper, floats = onnx.helper, onnx.TensorProto.FLOAT
    random = numpy.random.default_rng(0)
    inputs = [helper.make_tensor_value_info("x", floats, ["batch", 1, SIDE, SIDE])]
    outputs = [helper.make_tensor_value_info("y", floats, ["batch", CLASSES])]
    if operator == "MatMul":
        nodes = [helper.make_node("Flatten", ["x"], ["flat"]), helper.make_node("MatMul", ["flat", "w"], ["y"])]
        stored = [numpy_helper.from_array(random.normal(size=(SIDE * SIDE, CLASSES)).astype(numpy.float32), "w")]
    else:  # the means of four rows
        nodes = [helper.make_node("ReduceMean", ["x"], ["m"], axes=[1, 3], keepdims=0), helper.make_node("Slice", ["m", "begin", "end", "axes"], ["y"])]
        stored = [numpy_helper.from_array(numpy.array([v], numpy.int64), name) for name, v in (("begin", 0), ("end", CLASSES), ("axes", 1))]
    graph = helper.make_graph(nodes, "small", inputs, outputs, stored)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=7)


def test_graphs_that_have_nothing_to_quantise(folder):
    onnx.save(small_graph(11, "MatMul"), str(folder / "old.onnx"))
    refuse(folder, "precision", "old.onnx", "--data", ".", "--no-time", says="opset_version=13")
    onnx.save(small_graph(13, "mean"), str(folder / "none.onnx"))
    refuse(folder, "precision", "none.onnx", "--data", ".", "--no-time", says="no convolution and no matrix product")
    # A product without a bias is a layer.
    onnx.save(small_graph(13, "MatMul"), str(folder / "one.onnx"))
    answer = plimsoll(folder, "precision", "one.onnx", "--data", ".", "--formats", "fp32,int8", "--no-time", "--json")
    assert answer["forms"][1]["layers"]["int8"] == 1
