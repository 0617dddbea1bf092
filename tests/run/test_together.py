"""Jobs that run beside each other: what was predicted stands beside what happened, and refines the figures."""
import json
import shlex

import pytest
from test_devices import gpus  # noqa: F401  (a fixture)

# Tells a step whenever the other has told as many, so that both work at the same time however busy the machine is.
LOCKSTEP = """
import os, sys, time
me, other, steps = sys.argv[1], sys.argv[2], 12
def told(name):
    try: return os.path.getsize(name)
    except OSError: return 0
for step in range(1, steps + 1):
    while told(other) < step - 1: time.sleep(0.01)
    print(f'plimsoll: metric loss 1.0 step {step}', flush=True)
    with open(me, 'a') as file: file.write('.')
    time.sleep(0.02)
"""


def jobs_file(machine, groups, sharing="naive", estimate="resnet18 --mode train --batch 8 --device h200", **settings):
    command = machine.script(LOCKSTEP)
    text = "experiment = 'e'\ndevices = ['0']\n"
    for group in range(groups):
        text += f"[[workload]]\nname = 'w{group}'\nmode = '{sharing}'\n"
        for me, other in (("a", "b"), ("b", "a")):
            words = shlex.join([*command, f"{me}{group}", f"{other}{group}"])
            text += f"[[workload.job]]\nname = '{me}'\ncommand = {json.dumps(words)}\n"
            if estimate:
                text += f"estimate = '{estimate}'\n"
            for key, value in settings.items():
                text += f"{key} = {json.dumps(value)}\n"
    path = machine.folder / "jobs.toml"
    path.write_text(text)
    return path


@pytest.mark.parametrize("sharing", ["naive", "mps"])
def test_what_is_predicted_is_recorded_and_reported_beside_what_happened(gpus, sharing):
    done = gpus.run(jobs_file(gpus, 1, sharing=sharing))
    assert done.code == 0, done.err
    runs = [gpus.show(run["id"]) for run in gpus.runs()]
    assert len(runs) == 2
    for one, other in (runs, runs[::-1]):
        tags = one["tags"]
        assert tags["plimsoll.beside.sharing"] == sharing and tags["plimsoll.beside.with"] == other["id"]
        assert 0 < float(tags["plimsoll.beside.low"]) <= float(tags["plimsoll.beside.speed"]) <= float(tags["plimsoll.beside.high"])
        workload = json.loads(tags["plimsoll.beside.workload"])
        assert workload["model"] == "resnet18" and workload["setting"]["batch"] == 8 and workload["setting"]["mode"] == "train"
        got = gpus.plimsoll("report", one["id"], "--json")
        assert got.code == 0, got.err
        beside = json.loads(got.out)["runs"][0]["beside"]
        assert beside["with"] == [other["id"]] and beside["predicted"]["speed"] == float(tags["plimsoll.beside.speed"])
        assert beside["measured"]["speed"] > 0 and beside["measured"]["seconds"] > 0
        rate = beside["measured"]["steps_per_second"]
        assert abs(beside["measured"]["speed"] * beside["alone_steps_per_second"] / rate - 1) < 1e-6
        text = gpus.plimsoll("report", one["id"])
        assert f"{sharing}, with {other['id'][:8]}: predicted" in text.out and "measured" in text.out


def test_jobs_that_do_not_say_what_they_are_are_not_predicted(gpus):
    done = gpus.run(jobs_file(gpus, 1, estimate=""))
    assert done.code == 0, done.err
    assert not any(key.startswith("plimsoll.beside") for run in gpus.runs() for key in gpus.show(run["id"])["tags"])


def test_an_estimate_that_fails_keeps_nobody_from_running(gpus):
    done = gpus.run(jobs_file(gpus, 1, estimate="no-such-network --device h200", need="1GiB"))
    assert done.code == 0, done.err
    assert "what they do to each other is not known" in done.err and "no-such-network" in done.err


def test_recorded_groups_refine_the_figures(gpus):
    file = gpus.folder / "sharing.json"
    empty = gpus.plimsoll("probe", "--sharing", "--from-runs")
    assert empty.code == 2, empty.err
    done = gpus.run(jobs_file(gpus, 3, sharing="mps"))
    assert done.code == 0, done.err
    few = gpus.plimsoll("probe", "--sharing", "--from-runs")
    assert few.code == 2 and "3 groups" in few.err and "4 are needed" in few.err
    (gpus.folder / "jobs.toml").unlink()
    for left in gpus.folder.glob("[ab][0-9]"):
        left.unlink()
    done = gpus.run("--rerun", "all", jobs_file(gpus, 2, sharing="mps"))
    assert done.code == 0, done.err
    got = gpus.plimsoll("probe", "--sharing", "--from-runs", "-o", file, "--json")
    assert got.code in (0, 1), got.err  # whether they are better is chance: the jobs here only sleep
    answer = json.loads(got.out)
    assert answer["groups"] == 5 and answer["better"] == (got.code == 0) == file.exists()
    assert answer["left_out"]["error_after"] >= 0
    if file.exists():
        beside = gpus.plimsoll("beside", "resnet18,mode=train", "resnet50,mode=train", "--device", "h200", "--sharing", "mps", "--figures", file)
        assert beside.code == 0, beside.err
    assert gpus.plimsoll("probe", "--from-runs").code == 2
