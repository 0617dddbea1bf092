"""merged_files.py PLIMSOLL [--outputs]: models that `plimsoll merge` wrote are right for others. onnx finds nothing wrong with
them and every tensor holds what it held; what is shared lies in the file once; with --outputs onnxruntime gives, bit for bit,
the outputs it gave before. A merge that is killed leaves nothing, and the next one goes on."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

try:
    import numpy
    import onnx
    from onnx import TensorProto, helper, numpy_helper
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

PROGRAM = os.path.abspath(sys.argv[1])
OUTPUTS = "--outputs" in sys.argv
WIDTH, SIDE = 16, 12


def check(what, found, wanted):
    assert found == wanted, f"{what}: {found} instead of {wanted}"


def merge(*arguments, code=0):
    done = subprocess.run([PROGRAM, "merge", *map(str, arguments), "--json"], capture_output=True, text=True)
    assert done.returncode == code, f"merge {arguments}: {done.returncode}: {done.stderr}"
    return json.loads(done.stdout) if done.stdout else done.stderr


class Net:
    """A stack of convolutions with normalisations and a head; a Reshape, whose target must stay in the model's own file."""

    def __init__(self, seed, depth, classes, residual=False, given=None):
        self.random, self.given = numpy.random.default_rng(seed), given or {}
        self.nodes, self.weights = [], {}
        flow = "x"
        for i in range(depth):
            entry = flow
            flow = self.layer("Conv", f"conv{i}", [flow, self.weight(f"conv{i}.weight", (WIDTH, 3 if i == 0 else WIDTH, 3, 3)),
                                                   self.weight(f"conv{i}.bias", (WIDTH,))], pads=[1, 1, 1, 1])
            flow = self.layer("BatchNormalization", f"norm{i}", [flow, *(self.weight(f"norm{i}.{name}", (WIDTH,), name == "var")
                                                                        for name in ("scale", "shift", "mean", "var"))])
            flow = self.layer("Relu", f"relu{i}", [flow])
            if residual and i > 0:
                flow = self.layer("Add", f"sum{i}", [flow, entry])
        flow = self.layer("GlobalAveragePool", "pool", [flow])
        self.weights["target"] = numpy.array([0, -1], dtype=numpy.int64)
        flow = self.layer("Reshape", "flat", [flow, "target"])
        self.classes = classes
        self.nodes.append(helper.make_node("Gemm", [flow, self.weight("head", (classes, WIDTH))], ["y"], "head", transB=1))

    def weight(self, name, shape, positive=False):
        drawn = self.random.standard_normal(shape, dtype=numpy.float32) * 0.3
        self.weights[name] = self.given.get(name, abs(drawn) + 0.5 if positive else drawn)
        return name

    def layer(self, kind, name, inputs, **attributes):
        self.nodes.append(helper.make_node(kind, inputs, [name + ".out"], name, **attributes))
        return name + ".out"

    def save(self, path, typed=False):
        tensors = [numpy_helper.from_array(value, name) for name, value in self.weights.items()]
        if typed:  # numbers in a field of their own instead of as bytes
            tensors = [helper.make_tensor(name, tensor.data_type, tensor.dims, value.flatten().tolist())
                       for tensor, (name, value) in zip(tensors, self.weights.items())]
        graph = helper.make_graph(self.nodes, "net", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 3, SIDE, SIDE])],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", self.classes])], tensors)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
        model.ir_version = 8
        onnx.checker.check_model(model)
        onnx.save(model, str(path))


def tensors_of(path):
    """By name, and the places in the file of weights as the model says them."""
    places = {}
    for tensor in onnx.load(str(path), load_external_data=False).graph.initializer:
        if tensor.data_location == TensorProto.EXTERNAL:
            said = {entry.key: entry.value for entry in tensor.external_data}
            check("location", said["location"], "weights.bin")
            places[tensor.name] = (int(said["offset"]), int(said["length"]))
    loaded = onnx.load(str(path))
    return {tensor.name: numpy_helper.to_array(tensor) for tensor in loaded.graph.initializer}, places


def outputs(path):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    x = numpy.random.default_rng(7).standard_normal((2, 3, SIDE, SIDE), dtype=numpy.float32)
    return session.run(None, {"x": x})[0]


def check_folder(folder, originals):
    """Every file of a merge against the models that went in; gives the manifest."""
    manifest = json.loads((folder / "manifest.json").read_text())
    check("files", sorted(os.listdir(folder)),
          sorted(["manifest.json", "weights.bin"] + [model["file"] for model in manifest["models"]]))
    check("bytes of weights", (folder / "weights.bin").stat().st_size, manifest["weights"]["bytes"])
    spans = {}
    for number, (model, original) in enumerate(zip(manifest["models"], originals, strict=True)):
        path = folder / model["file"]
        onnx.checker.check_model(str(path))
        now, places = tensors_of(path)
        before, _ = tensors_of(original)
        check("tensors", sorted(now), sorted(before))
        assert "target" not in places, "shapes depend on it"
        check("bytes", model["bytes"], sum(value.nbytes for value in before.values()))
        for name, value in before.items():
            if manifest["trained"]:
                assert value.dtype == now[name].dtype and value.tobytes() == now[name].tobytes(), f"{path.name}: {name}"
        for name, place in places.items():
            spans.setdefault(place, []).append((number, name))
        if OUTPUTS and manifest["trained"]:
            assert outputs(original).tobytes() == outputs(path).tobytes(), f"{path.name}: other outputs"
    # What the manifest says is shared is what shares its bytes, and nothing overlaps.
    check("shared", sorted((shared["offset"], shared["bytes"], sorted((t["model"], t["name"]) for t in shared["tensors"]))
                           for shared in manifest["shared"]),
          sorted((*place, sorted(users)) for place, users in spans.items() if len(users) > 1))
    ordered = sorted(spans)
    assert all(a[0] + a[1] <= b[0] for a, b in zip(ordered, ordered[1:])), "tensors overlap"
    union = sum(length for _, length in spans) + sum(8 * 2 for _ in originals)
    check("bytes of the union", manifest["union_bytes"], union)
    return manifest


def identical(work):
    """Two of the same weights but for the head, one of others: what is alike is in the file once, and nothing changed."""
    first = Net(1, depth=4, classes=10)
    second = Net(2, depth=4, classes=3, given={name: value for name, value in first.weights.items() if name != "head"})
    third = Net(3, depth=6, classes=10, residual=True)
    files = [work / "a" / "net.onnx", work / "b" / "net.onnx", work / "other.onnx"]
    for net, path, typed in zip((first, second, third), files, (False, True, False)):
        path.parent.mkdir(exist_ok=True)
        net.save(path, typed)
    answer = merge(*files, "--output", work / "merged")
    manifest = check_folder(work / "merged", files)
    check("trained", manifest["trained"], True)
    check("files", [model["file"] for model in manifest["models"]], ["net.onnx", "net-2.onnx", "other.onnx"])
    alike = sum(value.nbytes for name, value in first.weights.items() if name not in ("head", "target"))
    check("identical", answer["identical"]["saved_bytes"], alike)
    check("union", answer["identical"]["union_bytes"], manifest["union_bytes"])
    # A folder that is there is left alone.
    before = (work / "merged" / "manifest.json").read_bytes()
    assert "is there already" in merge(*files, "--output", work / "merged", code=2)
    check("manifest", (work / "merged" / "manifest.json").read_bytes(), before)
    return files


def untrained(work, files):
    """All that the plan shares, with the first model's weights: of the size that the plan says."""
    answer = merge(*files, "--untrained", "--output", work / "untrained")
    manifest = check_folder(work / "untrained", files)
    check("trained", manifest["trained"], False)
    check("union", answer["plan"]["union_bytes"], manifest["union_bytes"])
    check("all groups", answer["plan"], answer["ceiling"])
    first = tensors_of(files[0])[0]
    for model in manifest["models"]:
        now = tensors_of(work / "untrained" / model["file"])[0]
        assert now["conv1.weight"].tobytes() == first["conv1.weight"].tobytes()
        if OUTPUTS:
            assert numpy.isfinite(outputs(work / "untrained" / model["file"])).all()


def missing(work, files):
    """Weights that are not there: nothing is written."""
    third = onnx.load(str(files[2]))
    onnx.save(third, str(work / "beside.onnx"), save_as_external_data=True, location="beside.data", size_threshold=0)
    (work / "beside.data").unlink()
    said = merge(files[0], work / "beside.onnx", "--output", work / "never", code=2)
    assert "beside" in said, said
    assert not (work / "never").exists() and not (work / "never.part").exists()
    assert "has no weights" in merge("alexnet", "vgg16", "--output", work / "never", code=2)
    assert not (work / "never").exists() and not (work / "never.part").exists()


def written(part):
    """Bytes; -1 where there is no folder. Files come and go while this looks."""
    try:
        return sum(file.stat().st_size for file in part.iterdir())
    except OSError:
        return -1


def killed(work):
    """Ended at any time, a merge leaves no folder or the whole one, and the next one goes on."""
    net = Net(5, depth=3, classes=10)
    net.weights["table"] = numpy.zeros((64 << 20) // 4, dtype=numpy.float32)  # so that writing takes its time
    net.nodes.append(helper.make_node("Identity", ["table"], ["unused"]))
    net.save(work / "large.onnx")
    files = [work / "large.onnx", work / "a" / "net.onnx"]
    target, part = work / "again", work / "again.part"
    ended = {"before": 0, "within": 0, "after": 0}
    for step in range(12):
        process = subprocess.Popen([PROGRAM, "merge", *map(str, files), "--output", str(target), "--json"],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        # Each time a little later in what it does, by what it has written; it may end by itself first.
        while process.poll() is None and not target.exists():
            if step == 0 or written(part) >= (step - 2) * (8 << 20):
                break
            time.sleep(0.001)
        process.kill()
        process.wait()
        if target.exists():
            check_folder(target, files)
            ended["after"] += 1
            for file in target.iterdir():
                file.unlink()
            target.rmdir()
        else:
            ended["within" if part.exists() else "before"] += 1
    merge(*files, "--output", target)
    check_folder(target, files)
    assert not part.exists()
    print("killed:", ended)


with tempfile.TemporaryDirectory(prefix="plimsoll-merge-") as folder:
    work = pathlib.Path(folder)
    made = identical(work)
    untrained(work, made)
    missing(work, made)
    if not OUTPUTS:
        killed(work)
print("right")
