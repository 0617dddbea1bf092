"""Times to a target of trainings that really ran, what is expected of one that goes on, and a change that is tried."""
import json

from conftest import wait_for

# A training whose accuracy grows by its steps alone; which step is the 90th percent depends on its seed.
TRAINING = """
import sys, time
seed, pace = int(sys.argv[1]), float(sys.argv[2])
for step in range(1, 21):
    print(f"plimsoll: metric samples {32 * step} step {step}")
    print(f"plimsoll: metric epoch {step / 10} step {step}")
    print(f"plimsoll: metric evaluation_seconds 1000 step {step}")
    print(f"plimsoll: metric accuracy {min(1, (step - seed % 3) * pace)} step {step}", flush=True)
"""


def tta(machine, *words, code=0):
    done = machine.plimsoll("tta", "--json", *words)
    assert done.code == code, done.err
    return json.loads(done.out)


def test_a_command_is_run_often_and_in_turn_with_another(machine):
    slow, quick = ([*machine.script(TRAINING), "{run}", pace] for pace in ("0.0601", "0.1"))
    page = machine.folder / "tta.html"
    answer = tta(machine, "--target", "accuracy=0.9", "--runs", 4, "--clock", "steps", "--compare", " ".join(map(str, quick)), "--html", page,
                 "--price", "3/h", "--", *slow)
    first, second = answer["setups"]
    assert [run["time"] for run in first["runs"]] == [16, 17, 15, 16]
    assert [run["time"] for run in second["runs"]] == [10, 11, 9, 10]
    assert answer["comparisons"][0]["winner"] == "second"
    assert all(run["dollars"] > 0 for run in first["runs"])
    assert all(words in page.read_text() for words in ("Learning curves", "Kaplan–Meier", "quartiles"))
    # In turn: the newest first.
    assert [run["tags"]["plimsoll.tta.setup"].split()[-1] for run in machine.runs()] == ["0.1", "0.0601"] * 4
    # And again from the store, by another clock.
    again = tta(machine, "--target", "accuracy=0.9", "--filter", "attributes.status = 'FINISHED'", "--by", "plimsoll.tta.setup", "--clock", "samples")
    assert sorted(setup["median"]["value"] for setup in again["setups"]) == [320, 512]
    # Evaluation says of itself that it took longer than everything: nothing is left of the time.
    without = tta(machine, "--target", "accuracy=0.9", "--filter", "attributes.status = 'FINISHED'", "--evaluation", "excluded")
    assert without["setups"][0]["median"]["value"] == 0


def test_runs_that_fail_or_do_not_tell_are_left_out_and_named(machine):
    assert machine.run("--", *machine.script(TRAINING), 0, 0.1).code == 0
    assert machine.run("--", *machine.script("print('plimsoll: metric accuracy 0.5 step 1', flush=True); raise SystemExit(3)", "fails.py")).code == 3
    assert machine.run("--", *machine.script("print('plimsoll: metric loss 0.5 step 1', flush=True)", "other.py")).code == 0
    answer = tta(machine, "--target", "accuracy=0.9", "--filter", "attributes.start_time > 0")
    assert answer["setups"][0]["count"] == 1
    assert len(answer["notes"]) >= 2 and any("failed before" in note for note in answer["notes"]) and any("no metric" in note for note in answer["notes"])
    assert tta(machine, "--target", "accuracy=1.5", machine.runs()[-1]["id"], code=1)["setups"][0]["reached"] == 0


def test_other_data_and_where_it_would_run(machine):
    """What the trained network reaches elsewhere, of every run that told it; and steps of runs as time on devices that are not here."""
    script = machine.script(TRAINING + """
print(f"plimsoll: metric other_accuracy {0.1 * seed} step 10", flush=True)
print(f"plimsoll: metric other_accuracy {0.7 + 0.02 * seed} step 20", flush=True)
""")
    made = tta(machine, "--target", "accuracy=0.9", "--runs", 4, "--clock", "steps", "--", *script, "{run}", 0.0501)["setups"][0]
    assert [run["time"] for run in made["runs"]] == [19, 20, 18, 19]
    answer = tta(machine, "--target", "accuracy=0.9", "--filter", "attributes.start_time > 0", "--clock", "steps",
                 "--model", "resnet18,batch=64", "--on", "h200,a100-80-sxm", "--beside", "resnet50,mode=train,batch=32")
    assert answer["generalisation_metric"] == "other_accuracy"
    found = answer["setups"][0]["generalisation"]
    assert found["runs"] == 4 and abs(found["mean"]["value"] - 0.75) < 1e-12 and abs(found["deviation"] - 0.02 * (5 / 3) ** 0.5) < 1e-12
    assert found["mean"]["low"] < 0.75 < found["mean"]["high"] and abs(found["least"] - 0.72) < 1e-12 and abs(found["most"] - 0.78) < 1e-12
    alone, beside, other, other_beside = answer["expected_on"]
    assert "H200" in alone["device"] and "A100" in other["device"] and alone["beside"] is None and "naive" in beside["beside"]
    for row in answer["expected_on"]:
        assert row["seconds"]["value"] == row["steps"]["value"] * row["step_seconds"]["value"]
    assert beside["step_seconds"]["value"] > alone["step_seconds"]["value"] and other_beside["step_seconds"]["value"] > other["step_seconds"]["value"]
    # Known steps are taken before those of the runs, and need none.
    known = tta(machine, "--steps", "900..1600", "--model", "resnet18,batch=64", "--on", "h200")["expected_on"][0]
    assert known["steps"] == {"value": 1200, "low": 900, "high": 1600}
    assert known["seconds"]["low"] < known["seconds"]["value"] < known["seconds"]["high"]
    assert machine.plimsoll("tta", "--steps", "900", "--on", "h200").code == 2


def test_the_first_minute_of_a_run_tells_a_step(machine):
    assert machine.run("--", *machine.script("""
import time
for step in range(1, 12):
    print(f"plimsoll: metric accuracy {min(0.1 * step, 0.95)} step {step}", flush=True)
    time.sleep(0.02)
""")).code == 0
    run = machine.runs()[-1]["id"]
    answer = tta(machine, "--target", "accuracy=0.9", run, run, "--clock", "steps", "--step-time", f"run:{run}")
    assert answer["step_seconds"] > 0
    assert machine.plimsoll("tta", "--target", "accuracy=0.9", run, "--clock", "steps", "--step-time", "run:0000").code == 2


def test_equal_seeds_are_told(machine):
    answer = tta(machine, "--target", "accuracy=0.9", "--runs", 2, "--", *machine.script(TRAINING), 1, 0.1)
    assert any("seeded alike" in note for note in answer["notes"])


def test_what_goes_on_is_expected(machine):
    script = machine.script("""
import pathlib, time
for step in range(1, 61):
    print(f"plimsoll: metric accuracy {0.1 * step ** 0.5} step {step}", flush=True)
    time.sleep(0.01)
while not pathlib.Path("enough").exists():
    time.sleep(0.02)
""")
    process = machine.start("run", "--target", "accuracy=0.95", "--", *script)

    def expected():
        shown = json.loads(machine.plimsoll("top", "--json").out)["runs"]
        return shown and shown[0]["target"] and shown[0]["target"]["expected"]

    ends = wait_for(expected)
    assert 0 < ends["low_seconds"] < ends["seconds"] < ends["high_seconds"]
    assert "accuracy >= 0.95 expected after" in machine.plimsoll("top", "--once").out
    assert "expected after" in machine.plimsoll("report", "last").out
    (machine.folder / "enough").touch()
    assert process.wait(timeout=300) == 0
    assert "accuracy >= 0.95 not reached in" in machine.plimsoll("report", "last").out


def test_a_target_that_is_none_is_refused(machine):
    assert machine.run("--target", "accuracy", "--", "true").code == 2
    assert machine.plimsoll("tta", "--target", "accuracy", "--", "true").code == 2
    assert not (machine.folder / "store.db").exists()


def test_a_change_is_tried_and_both_runs_are_kept(machine):
    script = machine.script("""
import os, sys, time
print("batch", sys.argv[sys.argv.index("--batch") + 1], os.environ.get("QUICK", ""), flush=True)
for step in range(5):
    print(f"plimsoll: metric loss {1 / (step + 1)} step {step}", flush=True)
    time.sleep(0.05)
""")
    assert machine.run("--", *script, "--batch", 32).code == 0
    done = machine.plimsoll("advise", "last", "--try", "--set", "batch=--batch", "--set", "mixed-precision=QUICK:yes", "--json")
    assert done.code == 0, done.err
    assert "batch 64" in done.err and "batch 32 yes" in done.err
    trials = json.loads(done.out)["trials"]
    assert [trial["change"] for trial in trials] == ["--batch 64", "QUICK=yes"]
    assert all(trial["measured"] > 0 and trial["predicted"] is None for trial in trials)
    assert len(machine.runs()) == 3
    assert machine.plimsoll("advise", "last", "--try", "--set", "batch=--size").code == 2
