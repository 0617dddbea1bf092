"""Files of jobs: workloads, statuses written back, bad rows, limits."""
import csv
import io
import json
import os
import signal
import sys
import time

from conftest import is_alive, wait_for


def rows(path):
    with open(path) as file:
        return list(csv.DictReader(file))


def test_jobs_of_a_workload_run_together_and_workloads_one_after_the_other(machine):
    path = machine.folder / "jobs.csv"
    path.write_text("Workload,Name,Command\n" + "".join(
        f"{w},{n},sh -c 'date +%s.%N >{w}{n}.new; mv {w}{n}.new {w}{n}.start; "
        f"until [ -e {w}1.start -a -e {w}2.start -a -e {w}3.start ]; do sleep 0.05; done; date +%s.%N >{w}{n}.end'\n"
        for w in "ab" for n in "123"))  # each ends only when all of its workload have begun
    done = machine.run(path, "--json")
    assert done.code == 0, done.err
    at = lambda name: float((machine.folder / name).read_text())
    starts, ends = [at(f"a{n}.start") for n in "123"], [at(f"a{n}.end") for n in "123"]
    assert max(starts) < min(ends), "together"
    assert min(at(f"b{n}.start") for n in "123") > max(ends), "one after the other"
    assert len(json.loads(done.out)["runs"]) == 6
    assert {r["tags"]["plimsoll.workload"] for r in machine.runs()} == {"a", "b"}


def test_status_is_written_back_and_a_second_start_goes_on(machine):
    path = machine.folder / "jobs.csv"
    path.write_text("Experiment,Workload,Status,Run,Devices,Collocation,File,Listeners,Params\n"
                    "e,1,,,,-,ok.py,smi+top,a b\n"
                    "e,2,,,,-,bad.py,,\n")
    (machine.folder / "ok.py").write_text("import sys; assert sys.argv[1:] == ['a', 'b']")
    (machine.folder / "bad.py").write_text("raise SystemExit(2)")
    assert machine.run(path).code == 1
    first = rows(path)
    assert [r["Status"] for r in first] == ["FINISHED", "FAILED"]
    assert all(len(r["Run"]) == 32 for r in first)
    again = machine.run(path)
    assert again.code == 1, "a failed job stands"
    assert "0 of 2 jobs to run; 1 done before; 1 failed before and not run again" in again.err
    assert "1 of 2 jobs failed: 2 / " in again.err and f"bad.py (run {first[1]['Run'][:8]})" in again.err
    assert "--rerun failed" in again.err
    assert rows(path) == first
    (machine.folder / "bad.py").write_text("")
    assert machine.run(path, "--rerun", "failed").code == 0
    last = rows(path)
    assert [r["Status"] for r in last] == ["FINISHED", "FINISHED"]
    assert machine.run(path).code == 0, "nothing is left"
    assert last[0]["Run"] == first[0]["Run"] and last[1]["Run"] != first[1]["Run"]


def test_an_edit_made_while_it_runs_stays(machine):
    path = machine.folder / "jobs.csv"
    path.write_text("Name,Command\nfirst,sh -c 'until [ -e go ]; do sleep 0.05; done'\nsecond,true\n")
    process = machine.start("run", path)
    wait_for(lambda: rows(path)[0].get("Status") == "RUNNING")
    edited = path.read_text().replace("second,true", "second,false") + "later,true,,\n"
    edited = edited.replace("\nfirst", "\nabove,true,,\nfirst", 1)
    path.write_text(edited)
    (machine.folder / "go").touch()
    _, said = process.communicate(timeout=300)
    assert process.returncode == 0, said
    now = {row["Name"]: row for row in rows(path)}
    assert list(now) == ["above", "first", "second", "later"]
    assert now["first"]["Status"] == "FINISHED" and len(now["first"]["Run"]) == 32
    assert now["second"]["Command"] == "false" and not now["second"]["Status"], "it is another job now"
    assert not now["above"]["Status"] and not now["later"]["Status"]
    assert said.count("'second' was changed or removed meanwhile") == 1 and "jobs.csv.status.csv" in said
    beside = {row["Name"]: row["Status"] for row in rows(str(path) + ".status.csv")}
    assert beside["second"] == "FINISHED"


def test_bad_rows_are_reported_at_once_and_nothing_starts(machine):
    path = machine.folder / "jobs.csv"
    text = "Command,Time limit,Mode\ntouch started,,\ntrue,soon,\ntrue,,fast\n,,\n"
    path.write_text(text)
    done = machine.run(path)
    assert done.code == 2
    for part in ("line 3", "'soon'", "line 4", "'fast'", "line 5", "nothing was started"):
        assert part in done.err, part
    assert not (machine.folder / "started").exists()
    assert path.read_text() == text
    assert not (machine.folder / "store.db").exists()


def test_an_interrupt_ends_all_and_the_next_start_goes_on(machine):
    path = machine.folder / "jobs.csv"
    path.write_text("Workload,Command\na,sleep 1000\na,sleep 1000\nb,true\n")
    process = machine.start("run", path)
    wait_for(lambda: [r.get("Status") for r in rows(path)][:2] == ["RUNNING"] * 2)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=300) == 130
    assert [r["Status"] for r in rows(path)] == ["KILLED", "KILLED", ""]


def test_forty_jobs_in_one_group(machine):
    path = machine.folder / "jobs.toml"
    path.write_text('[[workload]]\nname = "many"\n[[workload.job]]\nname = "j"\ncount = 40\ncommand = "sleep 0.2"\n')
    done = machine.run(path, "--json")
    assert done.code == 0, done.err
    assert {r["outcome"] for r in json.loads(done.out)["runs"]} == {"finished"}
    assert len(rows(str(path) + ".status.csv")) == 40
    assert not machine.leftovers()


def test_retry_after_running_out_of_gpu_memory(machine):
    path = machine.folder / "jobs.toml"
    (machine.folder / "job.sh").write_text(
        "[ -e tried ] && exit 0; touch tried; echo 'RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB'; exit 1")
    path.write_text('[[workload]]\n[[workload.job]]\ncommand = "sh job.sh"\n[[workload.job]]\ncommand = "sleep 1"\n')
    done = machine.run(path, "--retry-oom", "--json")
    assert done.code == 0, done.err
    assert "once more, alone" in done.err
    outcomes = sorted((r["tags"]["plimsoll.outcome"], r["tags"].get("plimsoll.retry", "")) for r in machine.runs())
    assert outcomes == [("cuda-out-of-memory", ""), ("finished", ""), ("finished", "true")]


def test_a_jobs_file_that_is_not_there(machine):
    done = machine.run(machine.folder / "none.csv")
    assert done.code == 2
    assert "none.csv" in done.err


def test_a_failed_job_of_a_toml_file_is_told_of_until_it_succeeds(machine):
    path = machine.folder / "jobs.toml"
    path.write_text('[[workload]]\n[[workload.job]]\nname = "good"\ncommand = "true"\n'
                    '[[workload.job]]\nname = "bad"\ncommand = "test -e mended"\n')
    first = machine.run(path)
    assert first.code == 1 and "1 of 2 jobs failed: workload-1 / bad (run " in first.err
    quiet = machine.run(path, "-q")
    assert quiet.code == 1, "it is still so"
    assert "1 of 2 jobs failed: workload-1 / bad (run " in quiet.err and "--rerun failed" in quiet.err
    (left,) = json.loads(machine.run(path, "--json").out)["failed_jobs"]
    assert left["name"] == "bad" and len(left["run"]) == 32
    (machine.folder / "mended").touch()
    mended = machine.run(path, "--rerun", "failed")
    assert mended.code == 0 and "failed" not in mended.err.replace("--rerun failed", "")
    assert machine.run(path).code == 0
