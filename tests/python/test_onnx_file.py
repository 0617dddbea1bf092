"""The rewriter, against files that the onnx package wrote."""

import numpy
import pytest

onnx = pytest.importorskip("onnx", reason="the onnx package writes the files to be read")

from plimsoll_torch import onnx_file, protobuf  # noqa: E402


def model(path, external=False):
    weight = numpy.arange(1000, dtype=numpy.float32).reshape(10, 100)
    spelled = onnx.helper.make_tensor("spelled", onnx.TensorProto.FLOAT, [300], list(range(300)))
    shape = numpy.array([-1, 100], dtype=numpy.int64)
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("Reshape", ["x", "shape"], ["r"], "reshape"),
         onnx.helper.make_node("Gemm", ["r", "weight"], ["y"], "gemm", transB=1)],
        "g", [onnx.helper.make_tensor_value_info("x", 1, ["batch", 100])],
        [onnx.helper.make_tensor_value_info("y", 1, ["batch", 10])],
        [onnx.numpy_helper.from_array(weight, "weight"), onnx.numpy_helper.from_array(shape, "shape"), spelled])
    made = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)])
    onnx.save(made, str(path), save_as_external_data=external, location="exported.bin", size_threshold=0)
    return made, weight


@pytest.mark.parametrize("external", [False, True])
@pytest.mark.parametrize("kind", ["none", "inside", "beside"])
def test_weights(tmp_path, external, kind):
    made, weight = model(tmp_path / "in.onnx", external)
    (tmp_path / "out").mkdir()
    target = tmp_path / "out" / "m.onnx"
    facts = onnx_file.rewrite(str(tmp_path / "in.onnx"), str(target), kind, None, lambda name: None, "m.onnx.data")
    assert facts.opset == 17 and facts.elements == {"weight": 1000, "shape": 2, "spelled": 300}
    found = onnx.load(str(target), load_external_data=kind != "none")
    assert found.graph.node == made.graph.node and found.graph.input == made.graph.input
    tensors = {t.name: t for t in found.graph.initializer}
    assert list(onnx.numpy_helper.to_array(tensors["shape"])) == [-1, 100]
    assert (target.parent / "m.onnx.data").exists() == (kind == "beside")
    if kind == "none":
        assert tensors["weight"].data_location == 1 and tensors["spelled"].data_location == 1
        assert not tensors["spelled"].float_data and target.stat().st_size < 1000
    else:
        assert (onnx.numpy_helper.to_array(tensors["weight"]) == weight).all()
        assert list(onnx.numpy_helper.to_array(tensors["spelled"])) == list(range(300))


def test_too_large_for_one_file_goes_beside(tmp_path, monkeypatch):
    model(tmp_path / "in.onnx")
    monkeypatch.setattr(onnx_file, "PROTOBUF_LIMIT", 2000)
    target = tmp_path / "m.onnx"
    facts = onnx_file.rewrite(str(tmp_path / "in.onnx"), str(target), "inside", None, lambda name: None, "m.data")
    assert facts.weights == "beside" and (tmp_path / "m.data").stat().st_size >= 4000


@pytest.mark.parametrize("value", [0, 1, 127, 128, 300, 2**31, 2**63, -1])
def test_varint(value):
    data = protobuf.varint(value)
    assert protobuf._varint(data, 0) == (value % 2**64, len(data))


def test_cut_file_is_refused(tmp_path):
    model(tmp_path / "in.onnx")
    (tmp_path / "cut.onnx").write_bytes((tmp_path / "in.onnx").read_bytes()[:500])
    with pytest.raises(ValueError, match="cut short"):
        onnx_file.rewrite(str(tmp_path / "cut.onnx"), str(tmp_path / "m.onnx"), "none", None, None, "d")
