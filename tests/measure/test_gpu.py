"""A GPU that is made up (tests/fixtures/fake_nvml.cpp) under an engine that is, too."""
import time

from conftest import FIXTURES

TINY = FIXTURES / "tiny.onnx"
IDLE = """gpu NVIDIA H200
memory 1048576 150754820096
power 400
utilization 0 0
clocks 1980 3201
temperature 54
throttle 0
"""


def test_the_gpus_state_is_recorded(machine):
    machine.use_gpus(IDLE)
    got = machine.measured(TINY, "--device", "cuda", "--energy", "0")
    (row,) = got["rows"]
    gpu = row["conditions"]["gpu"]
    assert gpu["name"] == "NVIDIA H200" and gpu["other_processes"] == []
    assert gpu["before"]["sm_clock_hertz"] == 1980e6 and gpu["before"]["temperature_celsius"] == 54
    assert gpu["during"]["sm_clock_hertz"] == {"low": 1980e6, "high": 1980e6}
    assert row["doubts"] == []
    assert row["joules"] is None and row["energy"] is None
    assert got["engine"]["cuda"] == "12.8" and row["context_bytes"] == 500 << 20


def test_an_estimate_stands_beside_each_row(machine):
    machine.use_gpus(IDLE)
    (row,) = machine.measured("resnet18", "--batch", "4", "--device", "cuda")["rows"]
    assert row["estimate"]["peak_allocated_bytes"] > 46 << 20
    assert abs(row["error"]["peak_allocated"] - (row["estimate"]["peak_allocated_bytes"] / row["peak_allocated_bytes"] - 1)) < 1e-9
    assert row["error"]["device_used"] is not None


def test_energy_is_the_counters_difference_over_the_passes(machine):
    machine.use_gpus(IDLE)
    machine.environment["PLIMSOLL_FAKE_ENGINE_WINDOW"] = "1.2"
    begun = time.monotonic()
    (row,) = machine.measured(TINY, "--device", "cuda", "--energy", "1.2")["rows"]
    most = 400 * (time.monotonic() - begun) / 1000  # of the 400 W, all the while, over 1000 passes
    assert machine.job()["protocol"]["energy_seconds"] == 1.2
    assert row["energy"]["source"] == "NVML" and row["energy"]["passes"] == 1000
    assert 0 < row["joules"] < most
    assert abs(row["joules"] * 1000 - row["energy"]["window_joules"]) < 1e-6
    assert abs(row["energy"]["uncertainty"] - 0.2 / 1.2) < 1e-9


def test_a_window_too_short_for_the_counter_has_no_energy(machine):
    machine.use_gpus(IDLE)
    (row,) = machine.measured(TINY, "--device", "cuda", "--energy", "0.5")["rows"]
    assert row["joules"] is None


def test_throttling_makes_a_figure_doubtful(machine):
    machine.use_gpus(IDLE.replace("throttle 0", "throttle 68"))
    done = machine.measure(TINY, "--device", "cuda", "--energy", "0")
    assert done.code == 0
    assert "doubtful: batch 1: the GPU's clocks were held down: power limit, too hot (hardware)" in done.out


def test_others_on_the_gpu_are_named_and_make_it_doubtful(machine):
    machine.use_gpus(IDLE + "process 99999998 40802189312 0.7\n")
    (row,) = machine.measured(TINY, "--device", "cuda", "--energy", "0")["rows"]
    assert [p["pid"] for p in row["conditions"]["gpu"]["other_processes"]] == [99999998]
    assert any("process 99999998" in doubt for doubt in row["doubts"])


def test_who_fills_the_gpu_is_named_where_it_does_not_fit(machine):
    machine.use_gpus(IDLE + f"process {machine.own_pid()} 140802189312 0\n")
    machine.trouble("oom")
    done = machine.measure(TINY, "--device", "cuda", "--batch", "64")
    assert done.code == 1
    said = " ".join(done.out.split())
    assert "batch 64 does not fit" in said and "asked for 2.00 GiB; 1.00 GiB of 140 GiB were free" in said
    assert f"(pid {machine.own_pid()}) with 131 GiB" in said
    got = machine.measured(TINY, "--device", "cuda", "--batch", "64", code=1)
    (row,) = got["rows"]
    assert row["fits"] is False and row["does_not_fit"]["asked_bytes"] == 2 << 30
    assert row["does_not_fit"]["other_processes"][0]["bytes"] == 140802189312
    assert row["seconds"] is None and row["peak_allocated_bytes"] is None


def test_a_gpu_without_a_driver_to_ask_is_doubtful(machine):
    (row,) = machine.measured(TINY, "--device", "cuda")["rows"]
    assert row["conditions"]["gpu"] is None
    assert any("not known" in doubt for doubt in row["doubts"])
