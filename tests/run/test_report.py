"""What a run's report says, in each of its forms, of runs that really ran."""
import datetime
import json
import os
import pathlib
import re
import time

import pytest

from conftest import wait_for

FIXTURES = pathlib.Path(__file__).parent.parent / "fixtures"


def tell(machine, values, name="train.py", metric="accuracy"):
    """A script that tells the values of a metric, one after the other."""
    lines = [f"print('plimsoll: metric {metric} {value} step {step}', flush=True)" for step, value in enumerate(values)]
    return machine.script("\n".join(lines), name)


def page_data(path):
    return json.loads(re.search(r'id="data">(.*?)</script>', path.read_text(), re.S).group(1))


def test_every_form_has_the_first_point(machine):
    assert machine.run("--", *tell(machine, [0.5, 0.65, 0.8])).code == 0
    text = machine.plimsoll("report", "last")
    assert text.code == 0, text.err
    assert re.search(r"^accuracy +0\.65 +0\.5 +0\.8$", text.out, re.M), text.out
    average = json.loads(machine.plimsoll("report", "last", "--json").out)["runs"][0]["averages"]["accuracy"]
    assert (round(average["mean"], 12), average["low"], average["high"], average["points"]) == (0.65, 0.5, 0.8, 3)
    page = machine.folder / "page.html"
    assert machine.plimsoll("report", "last", "--html", page).code == 0
    assert '<b>0.65</b> <small>0.5 – 0.8</small>' in page.read_text()
    assert page_data(page)["charts"][0]["lines"][0]["v"] == [0.5, 0.65, 0.8]


def test_a_single_point_is_reported(machine):
    assert machine.run("--", *tell(machine, [0.9])).code == 0
    assert re.search(r"^accuracy +0\.9 +0\.9 +0\.9$", machine.plimsoll("report", "last").out, re.M)


def test_the_title_is_the_script_unless_somebody_named_the_run(machine):
    assert machine.run("--", *tell(machine, [1]), "--lr", "0.1").code == 0
    assert machine.plimsoll("report", "last").out.startswith("train.py --lr 0.1 (")
    assert "train.py --lr 0.1" in machine.plimsoll("runs").out
    page = machine.folder / "page.html"
    assert machine.plimsoll("report", "last", "--html", page).code == 0
    assert "<title>train.py --lr 0.1 – Plimsoll</title>" in page.read_text()
    assert machine.run("--name", "baseline", "--", *tell(machine, [1])).code == 0
    assert machine.plimsoll("report", "last").out.startswith("baseline (")


def test_last_is_the_newest_wherever_a_run_is_named(machine):
    for value in (1, 2):
        assert machine.run("--name", f"run{value}", "--", *tell(machine, [value])).code == 0
    newest, oldest = (run["id"] for run in machine.runs())
    assert json.loads(machine.plimsoll("report", "last", "--json").out)["runs"][0]["id"] == newest
    assert machine.show("last")["id"] == newest
    assert json.loads(machine.plimsoll("runs", "last", "--json").out)["id"] == newest
    compared = json.loads(machine.plimsoll("runs", "compare", oldest, "last", "--json").out)
    assert [run["id"] for run in compared["runs"]] == [oldest, newest]
    exported = machine.plimsoll("runs", "export", "last", "--metric", "accuracy")
    assert newest in exported.out and oldest not in exported.out
    assert json.loads(machine.plimsoll("runs", "delete", "last", "--json").out) == {"deleted": [newest]}
    assert machine.show("last")["id"] == oldest
    assert json.loads(machine.plimsoll("runs", "restore", "last", "--json").out) == {"restored": [newest]}
    assert machine.show("last")["id"] == newest


def test_last_of_nothing_says_so(machine):
    assert machine.run("--", "true").code == 0
    assert machine.plimsoll("runs", "delete", "last").code == 0
    done = machine.plimsoll("report", "last")
    assert done.code == 2
    assert "there is no run: none is the last" in done.err


def test_a_list_shows_what_it_was_filtered_and_ordered_by(machine):
    assert machine.run("--param", "lr=0.1", "--", *tell(machine, [0.5], metric="loss")).code == 0
    done = machine.plimsoll("runs", "--filter", "metrics.loss < 1 and params.lr = '0.1'")
    assert re.search(r"metrics\.loss +params\.lr", done.out), done.out
    assert re.search(r"0\.5 +0\.1 *$", done.out, re.M), done.out
    ordered = machine.plimsoll("runs", "--order-by", "metrics.loss DESC", "--columns", "metrics.loss")
    assert ordered.out.count("metrics.loss") == 1
    plain = machine.plimsoll("runs", "--filter", "status = 'FINISHED' and duration > 0")
    assert plain.out.splitlines()[0].split() == machine.plimsoll("runs").out.splitlines()[0].split()


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_the_text_fits_the_terminal(machine, columns):
    machine.environment["COLUMNS"] = str(columns)
    arguments = ["--learning-rate", "0.1", "--output", "/a/long/path/to/where/everything/of/this/run/is/kept"]
    for _ in range(2):
        assert machine.run("--", *tell(machine, [0.5, 0.65, 0.8], metric="validation/top-1 accuracy".replace(" ", "_")),
                           *arguments).code == 0
    first, second = (run["id"] for run in machine.runs())
    for words in (["report", "last"], ["report", first, second], ["runs"], ["runs", "show", "last"],
                  ["runs", "compare", first, second]):
        done = machine.plimsoll(*words)
        assert done.code == 0, done.err
        wide = [line for line in done.out.splitlines() if len(line) > columns]
        assert not wide, (words, wide)


def test_what_runs_of_a_workload_share_is_drawn_once(machine):
    description = machine.folder / "gpus.txt"
    description.write_text((FIXTURES / "two_gpus.txt").read_text())
    machine.environment.update(PLIMSOLL_NVML_LIBRARY=os.environ["PLIMSOLL_FAKE_NVML_LIBRARY"],
                               PLIMSOLL_FAKE_NVML=str(description))
    command = json.dumps(["sh", "-c", "echo plimsoll: metric loss 1; while [ ! -e enough ]; do sleep 0.05; done"])
    jobs = machine.folder / "jobs.toml"
    jobs.write_text('devices = ["0"]\n[[workload]]\nname = "both"\n' + 2 * f"[[workload.job]]\ncommand = {command}\n")
    process = machine.start("run", jobs)
    # The store is made by the first of them.
    wait_for(lambda: machine.plimsoll("runs", "--json").out.count('"id"') == 2)
    # Only runs that began together, for their length, share: they go on until the time between is a small part.
    starts = [datetime.datetime.fromisoformat(run["start"].replace("Z", "+00:00")).timestamp() for run in machine.runs()]
    wait_for(lambda: time.time() - max(starts) > 2 + 40 * (max(starts) - min(starts)), 3600)
    (machine.folder / "enough").touch()
    assert process.wait(timeout=300) == 0
    page = machine.folder / "page.html"
    done = machine.plimsoll("report", "--workload", "both", "--html", page)
    assert done.code == 0, done.err
    lines = {chart["title"]: chart["lines"] for chart in page_data(page)["charts"]}
    assert [line["runs"] for line in lines["GPU power"]] == [[0, 1]]
    assert [line["runs"] for line in lines["loss"]] == [[0], [1]]
    for title, drawn in lines.items():
        assert len({line["color"] for line in drawn}) == len(drawn), title
