"""Jobs of one workload that start one after the other: `after`, `start`, and what ends meanwhile."""
import csv
import datetime
import json
import os
import signal

import pytest
from conftest import is_alive, wait_for
from test_devices import daemons, gpus  # noqa: F401  (a fixture)

LOG = "echo {0} begins >>log; {1}; echo {0} ends >>log"


def command(name, does="true"):
    return f"sh -c '{LOG.format(name, does)}'"


def until(name):
    """Until a file of this name is there."""
    return f"until [ -e {name} ]; do sleep 0.05; done"


def jobs_file(machine, jobs, head=""):
    """`jobs`: (name, command, further lines of TOML)."""
    path = machine.folder / "jobs.toml"
    path.write_text(f'[[workload]]\nname = "w"\n{head}' + "".join(
        f'[[workload.job]]\nname = "{name}"\ncommand = "{words}"\n{more}\n' for name, words, more in jobs))
    return path


def log(machine):
    path = machine.folder / "log"
    return path.read_text().splitlines() if path.exists() else []


def statuses(path):
    beside = path.with_suffix(".toml.status.csv")
    if not beside.exists():
        return {}
    with open(beside) as file:
        return {row["Name"]: row["Status"] for row in csv.DictReader(file)}


def by_name(machine):
    return {run["name"]: machine.show(run["id"]) for run in machine.runs()}


def test_a_job_starts_when_those_that_it_waits_for_have_ended(machine):
    """c waits for a and b, d for c; `beside` runs all the time."""
    path = jobs_file(machine, [("d", command("d"), 'after = ["c"]'), ("c", command("c"), 'after = ["a", "b"]'),
                               ("a", command("a"), ""), ("b", command("b", until("go")), ""),
                               ("beside", f"sh -c '{until('over')}'", "")])
    process = machine.start("run", path, "--json")
    wait_for(lambda: "a ends" in log(machine) and "b begins" in log(machine))
    wait_for(lambda: statuses(path).get("a") == "FINISHED")
    assert "c begins" not in log(machine), "b goes on"
    (machine.folder / "go").touch()
    wait_for(lambda: "d ends" in log(machine))
    (machine.folder / "over").touch()
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    lines = log(machine)
    assert lines[-4:] == ["c begins", "c ends", "d begins", "d ends"]
    assert lines.index("a ends") < lines.index("c begins") and lines.index("b ends") < lines.index("c begins")
    assert "d waits for c\n" in err and "c waits for a, b\n" in err
    assert err.count("waits for") == 2, "said once"
    assert len({run["run"] for run in json.loads(out)["runs"]}) == 5
    runs = by_name(machine)
    assert runs["c"]["start"] >= max(runs["a"]["end"], runs["b"]["end"])
    assert runs["beside"]["end"] >= runs["d"]["start"], "beside those that still run"
    assert len({run["tags"]["plimsoll.supervisor"] for run in runs.values()}) == 1
    assert not machine.leftovers()


def test_a_job_does_not_start_before_its_time(machine):
    before = datetime.datetime.now(datetime.timezone.utc)
    path = jobs_file(machine, [("now", "true", "start = 0"), ("later", "true", "start = 1.5"),
                               ("last", "true", 'start = "0.5s"\nafter = ["later"]')])
    done = machine.run(path)
    assert done.code == 0, done.err
    assert "last waits for later" in done.err and "now starts in" not in done.err
    runs = by_name(machine)
    started = datetime.datetime.fromisoformat(runs["later"]["start"].replace("Z", "+00:00"))
    assert started >= before + datetime.timedelta(seconds=1.499), "times are recorded in whole milliseconds"
    assert runs["last"]["start"] >= runs["later"]["end"]


@pytest.mark.parametrize("how", ["sh -c 'exit 3'", "/no/such/program", "sh -c 'kill -9 $$'"])
def test_one_that_failed_lets_its_follower_start(machine, how):
    path = jobs_file(machine, [("first", how, ""), ("second", command("second"), 'after = ["first"]')])
    done = machine.run(path)
    assert done.code == 1, done.err
    assert log(machine) == ["second begins", "second ends"]
    assert statuses(path) == {"first": "FAILED", "second": "FINISHED"}


def test_one_that_is_refused_lets_its_follower_start(gpus):
    path = jobs_file(gpus, [("first", "true", 'need = "1TiB"'), ("second", command("second"), 'after = ["first"]')],
                     'devices = ["0"]\n')
    done = gpus.run(path)
    assert done.code == 1 and "needs 1.00 TiB" in done.err, done.err
    assert log(gpus) == ["second begins", "second ends"]


def test_who_waits_for_one_that_runs_out_of_memory_does_not_wait_for_its_retry(machine):
    fails = "echo once >>tried; test $(wc -l <tried) = 2 || { echo RuntimeError: CUDA out of memory.; exit 1; }"
    path = jobs_file(machine, [("first", command("first", fails), ""), ("second", command("second"), 'after = ["first"]')])
    done = machine.run(path, "--retry-oom")
    assert done.code == 0, done.err
    assert log(machine) == ["first begins", "second begins", "second ends", "first begins", "first ends"]


def test_all_mistakes_are_told_at_once_and_nothing_starts(machine):
    path = jobs_file(machine, [("a", "touch started", 'after = ["c"]'), ("b", "true", 'after = ["a"]'),
                               ("c", "true", 'after = ["b"]\nstart = -1'), ("d", "true", 'after = ["bb", "d"]'),
                               ("twin", "true", ""), ("twin", "true", ""), ("e", "true", 'after = ["twin"]\nstart = inf')])
    done = machine.run(path)
    assert done.code == 2
    for part in ("'a' waits for 'c', which waits for 'b', which waits for 'a'", "start: '-1'", "start: 'inf'",
                 "it waits for 'bb', but no job of workload 'w' has that name", "Did you mean b?", "it waits for itself",
                 "it waits for 'twin', but 2 jobs of workload 'w' have that name", "6 entries", "nothing was started"):
        assert part in done.err, (part, done.err)
    assert not (machine.folder / "started").exists() and not (machine.folder / "store.db").exists()
    table = machine.folder / "jobs.csv"
    table.write_text("Workload,Name,After,Start,Command\nv,a,,,true\nw,b,a,,true\n,c,a,soon,true\n")
    done = machine.run(table)
    assert done.code == 2
    for part in ("line 3: it waits for 'a', but no job of workload 'w'", "line 4: Start: 'soon'", "line 4: it waits for 'a', but is in no workload"):
        assert part in done.err, (part, done.err)


def test_options_that_make_one_workload_of_two_may_make_a_mistake(machine):
    table = machine.folder / "jobs.csv"
    table.write_text("Experiment,Workload,Name,After,Command\n,w,a,b,true\n,w,b,,true\ne,w,c,,true\ne,w,b,,true\n")
    done = machine.run(table, "--experiment", "e")
    assert done.code == 2 and "2 jobs of workload 'w' have that name" in done.err
    assert machine.run(table).code == 0


def test_an_interrupt_while_one_waits(machine):
    path = jobs_file(machine, [("first", command("first", "sleep 1000"), ""), ("second", command("second"), 'after = ["first"]'),
                               ("third", command("third"), "start = 1000")])
    process = machine.start("run", path)
    wait_for(lambda: statuses(path).get("first") == "RUNNING")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 130, err
    assert log(machine) == ["first begins"]
    assert statuses(path) == {"first": "KILLED", "second": "", "third": ""}
    assert len(machine.runs()) == 1 and not machine.leftovers()


def test_an_interrupt_while_all_wait(machine):
    path = jobs_file(machine, [("only", command("only"), "start = 1000")])
    process = machine.start("run", path)
    while "only starts in " not in (line := process.stderr.readline()):
        assert line, "it did not say so"
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=300)
    assert process.returncode == 130
    assert not log(machine) and not machine.leftovers()


def test_one_that_is_stopped_lets_its_follower_start(machine):
    path = jobs_file(machine, [("first", "sleep 1000", ""), ("second", command("second"), 'after = ["first"]')])
    process = machine.start("run", path)
    wait_for(lambda: statuses(path).get("first") == "RUNNING")
    assert machine.plimsoll("stop", machine.runs()[0]["id"]).code == 0
    process.communicate(timeout=300)
    assert process.returncode == 1
    assert log(machine) == ["second begins", "second ends"]


def test_a_second_start_counts_as_ended_what_ended_before(machine):
    path = jobs_file(machine, [("first", command("first"), ""), ("second", command("second", "test -e mended"), 'after = ["first"]'),
                               ("third", command("third", "test -e mended"), 'after = ["second"]')])
    (machine.folder / "jobs.toml").write_text(path.read_text().replace("test -e mended;", "test -e mended || exit 1;"))
    assert machine.run(path).code == 1
    assert statuses(path) == {"first": "FINISHED", "second": "FAILED", "third": "FAILED"}
    (machine.folder / "mended").touch()
    (machine.folder / "log").unlink()
    done = machine.run(path, "--rerun", "failed")
    assert done.code == 0, done.err
    assert log(machine) == ["second begins", "second ends", "third begins", "third ends"]


def test_a_second_start_follows_one_that_waits(machine):
    """The caller is killed when one has ended, as it knows, and the other waits."""
    path = jobs_file(machine, [("first", command("first"), ""), ("middle", command("middle", until("go")), 'after = ["first"]'),
                               ("last", command("last"), 'after = ["middle"]')])
    first = machine.start("run", path)
    wait_for(lambda: statuses(path).get("middle") == "RUNNING")
    first.kill()
    first.communicate(timeout=300)
    second = machine.start("run", path)
    while "started" not in (line := second.stderr.readline()):
        assert line, "it said nothing"
    (machine.folder / "go").touch()
    second.communicate(timeout=300)
    assert second.returncode == 0
    assert log(machine) == ["first begins", "first ends", "middle begins", "middle ends", "last begins", "last ends"]
    assert set(statuses(path).values()) == {"FINISHED"} and len(machine.runs()) == 3


def test_a_second_start_does_not_start_again_what_waits_for_its_time(machine):
    path = jobs_file(machine, [("only", command("only"), "start = 1000")])
    first = machine.start("run", path)
    while "only starts in " not in (line := first.stderr.readline()):
        assert line, "it did not say so"
    pid = machine.supervisor()
    first.kill()
    first.communicate(timeout=300)
    second = machine.start("run", path)
    while "1 of 1 jobs to run" not in (line := second.stderr.readline()):
        assert line, "it said nothing"
    wait_for(lambda: connections(machine) > 0)
    assert machine.supervisors() == [pid], "it follows the one that is there"
    second.send_signal(signal.SIGINT)
    second.communicate(timeout=300)
    assert second.returncode == 130
    wait_for(lambda: not is_alive(pid))
    assert not log(machine)


def test_a_second_start_runs_what_the_first_knew_nothing_of(machine):
    jobs = [("first", command("first", until("go")), "")]
    path = jobs_file(machine, jobs)
    first = machine.start("run", path)
    wait_for(lambda: statuses(path).get("first") == "RUNNING")
    first.kill()
    first.communicate(timeout=300)
    jobs_file(machine, [*jobs, ("new", command("new"), 'after = ["first"]')])
    second = machine.start("run", path)
    while "started" not in (line := second.stderr.readline()):
        assert line, "it said nothing"
    (machine.folder / "go").touch()
    second.communicate(timeout=300)
    assert second.returncode == 0
    assert log(machine) == ["first begins", "first ends", "new begins", "new ends"]
    assert set(statuses(path).values()) == {"FINISHED"}


def connections(machine):
    """To the door of its supervisors, established."""
    paths = [str(folder / "control.sock") for folder in machine.leftovers()]
    with open("/proc/net/unix") as table:
        rows = [line.split() for line in table]
    return sum(len(row) == 8 and row[7] in paths and row[5] == "03" for row in rows)


def test_a_killed_supervisor_loses_those_that_wait(machine):
    path = jobs_file(machine, [("first", command("first"), ""), ("second", command("second"), "start = 1000")])
    process = machine.start("run", path)
    wait_for(lambda: statuses(path).get("first") == "FINISHED")
    os.kill(machine.supervisor(), signal.SIGKILL)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 1 and "killed before it started" in err, err
    assert statuses(path) == {"first": "FINISHED", "second": "KILLED"}


def test_jobs_that_start_at_different_times_share_one_mps_daemon(gpus):
    env = "env | grep CUDA_MPS_PIPE >pipe.{0}; cat mps_pids >daemons.{0}"
    path = jobs_file(gpus, [("a", command("a", env.format("a")), ""), ("b", command("b", env.format("b") + "; " + until("go")), ""),
                            ("c", command("c", env.format("c") + "; touch go"), 'after = ["a"]\nstart = 1')],
                     'mode = "mps"\ndevices = ["0"]\n')
    done = gpus.run(path)
    assert done.code == 0, done.err
    lines = log(gpus)
    assert lines.index("a ends") < lines.index("c begins") < lines.index("b ends")
    (daemon, server), = daemons(gpus)
    read = lambda kind: {(gpus.folder / f"{kind}.{name}").read_text() for name in "abc"}
    assert len(read("pipe")) == 1 and len(read("daemons")) == 1
    wait_for(lambda: not is_alive(daemon) and not is_alive(server))
    assert {run["tags"]["plimsoll.mode"] for run in gpus.runs()} == {"mps"}


def test_an_mps_daemon_that_ends_refuses_those_that_wait(gpus):
    path = jobs_file(gpus, [("a", command("a", until("go")), ""), ("b", command("b"), 'after = ["a"]')], 'mode = "mps"\ndevices = ["0"]\n')
    process = gpus.start("run", path)
    wait_for(lambda: log(gpus) == ["a begins"])
    (daemon, _), = daemons(gpus)
    os.kill(daemon, signal.SIGKILL)
    while "the MPS daemon has ended" not in (line := process.stderr.readline()):
        assert line, "it did not say so"
    (gpus.folder / "go").touch()
    process.communicate(timeout=300)
    assert process.returncode == 1
    assert log(gpus) == ["a begins", "a ends"]
    assert statuses(path)["b"] == "FAILED"


@pytest.mark.parametrize("all_run", [True, False])
def test_only_what_all_run_is_predicted(gpus, all_run):
    """The second starts while the first runs, or when it has ended."""
    estimate = 'estimate = "resnet18 --mode train --batch 8 --device h200"\nneed = "1GiB"'
    first, second = ("touch begun; " + until("go"), until("begun") + "; touch go") if all_run else ("true", "true")
    turn = "start = 0.5" if all_run else 'after = ["first"]'
    path = jobs_file(gpus, [("first", command("first", first), estimate), ("second", command("second", second), f"{estimate}\n{turn}")],
                     'devices = ["0"]\n')
    done = gpus.run(path)
    assert done.code == 0, done.err
    for run in by_name(gpus).values():
        assert ("plimsoll.beside.speed" in run["tags"]) == all_run, run["tags"]
