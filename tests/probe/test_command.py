"""What `plimsoll probe` answers. Figures vary: what is tested is which there are, that they are right, and what is said."""
import csv
import io
import json

H200 = """gpu NVIDIA H200
memory 1048576 150754820096
power 400
utilization 0 0
clocks 1980 3201
temperature 54
throttle 0
"""
QUICK = ("--quick", "--millions", "0.05,0.1")


def metric(row, name):
    (found,) = [m for m in row["metrics"] if m["name"] == name]
    return found


def test_the_cpus_sums_without_a_gpu(machine):
    machine.no_program()
    got = machine.probed("vecadd", *QUICK)
    assert [(r["workers"], r["elements"]) for r in got["vecadd"]] == [
        ("one-thread", 50000), ("one-thread", 100000), ("all-threads", 50000), ("all-threads", 100000)]
    assert all(r["right"] and r["place"] == "cpu" for r in got["vecadd"])
    for row in got["vecadd"]:
        assert metric(row, "kernel")["unit"] == "s" and metric(row, "kernel")["value"] > 0
        assert metric(row, "total")["value"] >= metric(row, "kernel")["value"]
    assert [c["name"] for c in got["ceilings"]] == ["stream-triad-one-thread"] * 2 + ["stream-triad"] * 2
    assert "no NVIDIA driver answers" in got["no_gpu"]["message"] and "plimsoll-cuda" in got["no_gpu"]["hint"]


def test_a_driver_but_no_program_says_how_to_get_it(machine):
    machine.no_program()
    machine.use_gpu(H200)
    done = machine.probe("vecadd", *QUICK)
    assert done.code == 0 and "no GPU was studied" in " ".join(done.out.split())
    assert "make cuda" in done.out
    alone = machine.probe("cuda")
    assert alone.code == 3 and alone.out == "" and "make cuda" in alone.err


def test_products_are_right_by_every_method(machine):
    got = machine.probed("matmul", "--quick", "--sizes", "64,96")
    cpu = [r for r in got["matmul"] if r["device"] == "cpu"]
    assert {(r["method"], r["size"]) for r in cpu} >= {("naive", 64), ("blocked", 64), ("naive", 96), ("blocked", 96)}
    gpu = [r for r in got["matmul"] if r["device"] == "gpu"]
    assert len(gpu) == 6 and all(r["right"] for r in got["matmul"])
    assert metric(gpu[0], "moved")["unit"] == "B"


def test_a_gpu_beside_the_cpu(machine):
    machine.use_gpu(H200)
    got = machine.probed("vecadd", *QUICK)
    assert {r["place"] for r in got["vecadd"]} == {"cpu", "gpu-copies", "gpu-managed", "gpu-managed-prefetch"}
    assert [d["device"] for d in got["devices"]] == ["cpu", "gpu"]
    assert got["devices"][1]["id"] == "h200" and got["devices"][1]["doubts"] == []
    assert got["no_gpu"] is None
    text = machine.probe("vecadd", *QUICK).out
    assert "of a copy from device to device in the same run (4.10 TB/s)" in " ".join(text.split())


def test_ceilings_have_their_share_of_the_datasheet(machine):
    machine.use_gpu(H200)
    got = machine.probed("cuda", "--millions", "1", "--sizes", "256")
    assert got["devices"][0]["device"] == "gpu" and len(got["devices"]) == 1
    (bf16,) = [c for c in got["ceilings"] if c["name"] == "product-bf16" and c["at_bytes"] == 6 * 16384**2]
    assert bf16["peak"] == 989e12 and abs(bf16["share_of_peak"] - bf16["value"] / 989e12) < 1e-9
    read = [c for c in got["ceilings"] if c["name"] == "memory-read"]
    assert read[-1]["share_of_peak"] == read[-1]["value"] / 4.8e12 and read[0]["share_of_peak"] is None
    power = {c["name"]: c for c in got["ceilings"] if c["unit"] in ("W", "J/FLOP", "J/B")}
    assert set(power) == {"idle-power", "load-power", "energy-memory-triad", "energy-product-fp32", "energy-product-bf16"}
    # The power is the counter's over a window of the test's own machine; how it is used is exact.
    under_load = [power["energy-memory-triad"]["value"] * 4e12] + [power[f"energy-product-{name}"]["value"] * 7e14
                                                                   for name in ("fp32", "bf16")]
    assert abs(max(under_load) / power["load-power"]["value"] - 1) < 1e-6
    assert got["devices"][0]["remarks"] == ["figures are made up"]


def test_others_and_clocks_are_said(machine):
    machine.use_gpu(H200.replace("throttle 0", "throttle 4") + "process 99999998 40802189312 0.7\n")
    done = machine.probe("cuda", "--millions", "1", "--sizes", "256")
    said = " ".join(done.out.split())
    assert done.code == 0
    assert "doubtful: the GPU's clocks were held down: power limit" in said
    assert "doubtful: process 99999998" in said


def test_what_broke_off_stands_and_is_said(machine):
    machine.trouble("crash")
    got = machine.probed("cuda", "--millions", "1", "--sizes", "256")
    assert len(got["vecadd"]) == 1 and len(got["matmul"]) == 1
    assert any("something broke" in remark or "signal 11" in remark for remark in got["devices"][0]["remarks"])


def test_a_wrong_sum_is_an_answer_of_no(machine):
    machine.trouble("wrong")
    done = machine.probe("cuda", "--millions", "1", "--sizes", "256")
    assert done.code == 1 and "WRONG" in done.out and "cannot be trusted" in done.err


def test_no_gpu_found_by_the_program(machine):
    machine.trouble("no-device")
    done = machine.probe("cuda")
    assert done.code == 3 and "there is no NVIDIA driver" in done.err
    assert machine.probe("vecadd", *QUICK).code == 0


def test_csv_has_a_line_per_figure(machine):
    rows = list(csv.DictReader(io.StringIO(machine.probe("vecadd", *QUICK, "--csv").out)))
    assert {r["variant"] for r in rows if r["study"] == "vecadd"} == {"cpu", "gpu-copies", "gpu-managed", "gpu-managed-prefetch"}
    for row in rows:
        assert float(row["value"]) >= 0 and row["unit"]


def test_a_calibration_without_an_engine_has_the_ceilings(machine):
    machine.environment["PLIMSOLL_ENGINE"] = "/nonexistent/engine"
    machine.environment["XDG_DATA_HOME"] = str(machine.folder / "data")
    done = machine.probe("cpu", "--calibrate", "--quick", "--json")
    assert done.code == 3 and "no calibration was written" in done.err and "`make engine`" in done.err
    assert any(c["name"] == "memory-triad" for c in json.loads(done.out)["ceilings"])
    assert not (machine.folder / "data").exists()


def test_what_sharing_costs_becomes_a_file_that_beside_reads(machine):
    log = machine.folder / "told"
    machine.use_mps(log)
    file = machine.folder / "sharing.json"
    done = machine.probe("--sharing", "-o", file)
    assert done.code == 0, done.err
    assert "slice" in done.out and "2.00 ms" in done.out and "2.09 ms" in done.out
    written = json.loads(file.read_text())
    assert written["device"] == "NVIDIA H200" and written["date"]
    # The built-in figure, times what was measured over what the same programs found on an H200.
    assert abs(written["slice"] - 2.09e-3 * 2e-3 / 2.0908e-3) < 1e-9
    assert abs(written["client_launch"] / (8e-7 * 5e-7 / 8.85e-8) - 1) < 0.01
    assert log.read_text().endswith("quit\n")
    beside = machine.plimsoll("beside", "resnet50,captured=true", "resnet18,captured=true", "--device", "h200", "--sharing", "naive",
                              "--figures", file)
    assert beside.code == 0, beside.err
    machine.environment["PLIMSOLL_FAKE_MPS"] = "refuses"
    got = machine.probed("--sharing")
    assert [f["name"] for f in got["figures"]] == ["slice", "change"] and got["figures"][0]["built_in"] == 0.00209
    assert any("no permission to start" in remark for remark in got["remarks"])


def test_sharing_needs_a_gpu_and_a_folder(machine):
    assert machine.probe("--sharing", "-o", "/nonexistent/sharing.json").code == 2
    assert machine.probe("--sharing", "cpu").code == 2
    machine.trouble("no-device")
    done = machine.probe("--sharing")
    assert done.code == 3 and done.out == "" and "there is no NVIDIA driver" in done.err


def test_charts_and_page(machine, tmp_path):
    folder, page = tmp_path / "charts", tmp_path / "page.html"
    done = machine.probe("vecadd", *QUICK, "--svg", folder, "--html", page)
    assert done.code == 0
    assert sorted(f.name for f in folder.iterdir()) == ["vecadd-copies.svg", "vecadd-unified.svg"]
    assert (folder / "vecadd-copies.svg").read_text().startswith("<svg xmlns=")
    assert page.read_text().endswith("</html>\n")
    page.unlink()
    bad = machine.probe("vecadd", *QUICK, "--svg", "/dev/null/charts")
    assert bad.code == 2 and "/dev/null/charts" in bad.err


def test_progress_is_for_terminals_alone(machine):
    assert machine.probe("vecadd", *QUICK).err == ""
