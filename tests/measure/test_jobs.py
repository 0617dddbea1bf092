"""What the engine is asked, and what comes of its answers."""
import json
import struct

from conftest import FIXTURES

TINY = FIXTURES / "tiny.onnx"


def safetensors(path, arrays):
    """arrays: name -> shape, of float32 zeros."""
    header, data = {}, b""
    for name, shape in arrays.items():
        size = 4
        for extent in shape:
            size *= extent
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + size]}
        data += bytes(size)
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
    return path


def test_options_reach_the_engine(machine):
    got = machine.measured("resnet18", "--device", "cpu", "--mode", "train", "--optimizer", "adamw", "--loss", "mean-square",
                           "--precision", "bf16", "--batch", "2", "--seed", "7", "--channels-last", "--literal",
                           "--freeze", "layer1,layer2", "--checkpoint", "layer3", "--threads", "3", "--inplace", "never", "--no-kv-cache",
                           "--time-limit", "2.5", "--width", "0.05", "--confidence", "0.9", "--layers", "--energy", "0")
    job = machine.job()
    assert job["version"] == 1 and job["task"] == "measure" and job["device"] == "cpu" and job["random_weights"]
    setting, execution, protocol = job["setting"], job["execution"], job["protocol"]
    assert (setting["mode"], setting["optimizer"], setting["loss"], setting["precision"]) == ("train", "adamw", "mean-square", "bf16")
    assert execution["seed"] == 7 and execution["threads"] == 3
    assert setting["layout"] == "channels-last" and setting["literal"]
    assert not setting["key_value_cache"]
    assert setting["frozen"] == ["layer1", "layer2"] and setting["checkpoints"] == ["layer3"] and setting["in_place"] == "never"
    assert (protocol["seconds"], protocol["relative_width"], protocol["confidence"], protocol["layers"]) == (2.5, 0.05, 0.9, True)
    assert got["rows"][0]["loss"] == 2.3026 and got["setting"]["optimizer"] == "adamw"
    assert got["rows"][0]["layers"]["sum_seconds"] > 0


def test_a_fresh_engine_for_each_row(machine):
    got = machine.measured("resnet18", "alexnet", "--device", "cpu,cuda:1", "--batch", "1,2")
    assert [(m["model"], m["device"]) for m in got["measurements"]] == [
        ("resnet18", "cpu"), ("resnet18", "cuda:1"), ("alexnet", "cpu"), ("alexnet", "cuda:1")]
    assert [[row["batch"] for row in m["rows"]] for m in got["measurements"]] == [[1, 2]] * 4
    assert len(list(machine.jobs.iterdir())) == 8


def test_weights_of_a_model_are_told_by_file_and_offset(machine):
    machine.measured(TINY, "--device", "cpu")
    job = machine.job()
    assert not job["random_weights"] and job["files"] == [str(TINY)]
    contents = TINY.read_bytes()
    names = {}
    for weight in job["weights"]:
        names[job["network"]["tensors"][weight["tensor"]]["name"]] = weight["bytes"]
        assert contents[weight["offset"]:weight["offset"] + weight["bytes"]] == bytes(weight["bytes"])
    assert names == {"w": 432, "b": 16, "v": 80}


def test_missing_weights_are_refused_or_random(machine):
    model = FIXTURES / "no_weights.onnx"
    done = machine.measure(model, "--device", "cpu")
    assert done.code == 2 and done.out == "" and "--random-weights" in done.err
    assert not list(machine.jobs.iterdir())
    got = machine.measured(model, "--device", "cpu", "--random-weights")
    assert got["weights"] == "random" and machine.job()["random_weights"] and machine.job()["weights"] == []


def test_weights_from_a_file_are_checked(machine):
    model = FIXTURES / "no_weights.onnx"
    whole = {"w": [4, 3, 3, 3], "b": [4], "v": [4, 5]}
    got = machine.measured(model, "--device", "cpu", "--weights", safetensors(machine.folder / "w.safetensors", {**whole, "z": [1]}))
    assert got["weights"] == "w.safetensors" and not machine.job()["random_weights"]
    assert any("1 of the 4 arrays" in note for note in got["notes"])
    for arrays, message in (({"b": [4], "v": [4, 5]}, "1 weight has no contents: 'w'"), ({**whole, "b": [5]}, "is 5; the network has 4")):
        done = machine.measure(model, "--device", "cpu", "--weights", safetensors(machine.folder / "bad.safetensors", arrays))
        assert done.code == 2 and message in done.err, done.err
    done = machine.measure(model, "--device", "cpu", "--weights", TINY)
    assert done.code == 2 and "safetensors" in done.err


def test_a_scene_is_an_offline_scenario(machine):
    got = machine.measured("mobilenet_v2", "--device", "cpu", "--scene", "4512x4512", "--patch", "224", "--batch", "8,16")
    assert machine.job()["protocol"]["scenario"] == {"arrival": "offline", "queries": 0, "samples_per_query": 1,
                                                     "queries_per_second": 0, "samples": 400}
    scenes = [row["scene"] for row in got["rows"]]
    assert [scene["patches"] for scene in scenes] == [400, 400]
    assert abs(scenes[0]["seconds"] - 50 * 0.008 * 1.003) < 1e-9  # the median of seven


def test_percentiles_as_far_as_the_queries_bear(machine):
    (row,) = machine.measured(TINY, "--device", "cpu", "--scenario", "single-stream", "--queries", "100")["rows"]
    known = {p["percent"]: p["seconds"] for p in row["latencies"]["percentiles"]}
    assert known[50] is not None and known[90] is not None and known[95] is not None
    assert known[97] is None and known[99] is None and known[99.9] is None
    assert len(row["latencies"]["seconds"]) == 100
    machine.measured(TINY, "--device", "cpu", "--scenario", "multi-stream")
    assert machine.job(1)["protocol"]["scenario"]["samples_per_query"] == 8


def test_a_trace_is_of_one_row(machine):
    done = machine.measure(TINY, "--device", "cpu", "--batch", "1,2", "--trace", "t.json")
    assert done.code == 2 and "--trace" in done.err
    assert machine.measure(TINY, "--device", "cpu", "--trace", "t.json").code == 0
    assert (machine.folder / "t.json").read_text() == "{}"


def test_the_contract(machine):
    got = machine.measured(TINY, "--device", "cpu", "--batch", "1,2,4")
    assert got["load"] == {"seconds": 0.001, "bytes": 528}
    for row in got["rows"]:
        seconds = row["seconds"]
        assert seconds["low"] <= seconds["median"] <= seconds["high"] and len(seconds["samples"]) == 30
        for key in ("batch", "peak_allocated_bytes", "peak_reserved_bytes", "device_used_bytes", "joules", "estimate", "error"):
            assert key in row
        assert row["estimate"] is None and row["device_used_bytes"] is None
