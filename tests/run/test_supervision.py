"""Supervisors: they outlive whoever started them, are found again, and leave nothing behind."""
import json
import os
import signal
import sqlite3

from conftest import is_alive, wait_for

UNTIL_TOLD = "until [ -e told ]; do sleep 0.05; done; "


def children_of(pid):
    """States of the processes whose parent is `pid`, by number."""
    out = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat") as stat:
                fields = stat.read().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(fields[1]) == pid:
            out[int(name)] = fields[0]
    return out


def started_run(machine):
    """The id of the run that has begun."""
    return wait_for(lambda: machine.runs() if (machine.folder / "store.db").exists() else None)[0]["id"]


def tell(machine):
    (machine.folder / "told").touch()


def test_a_command_outlives_the_one_who_started_it_and_is_found_again(machine):
    process = machine.start("run", "--", "sh", "-c", "echo before; " + UNTIL_TOLD + "echo 'plimsoll: metric late 1'; echo after; exit 5")
    assert process.stdout.readline() == "before\n"
    process.kill()
    process.communicate(timeout=300)
    run = started_run(machine)
    attached = machine.start("attach", run[:8])
    assert attached.stdout.readline() == "before\n", "from the last of what there was on"
    tell(machine)
    out, err = attached.communicate(timeout=300)
    assert out == "plimsoll: metric late 1\nafter\n" and attached.returncode == 5
    assert "failed" in err and run[:8] in err
    shown = machine.show(run)
    assert shown["tags"]["plimsoll.outcome"] == "failed" and shown["tags"]["plimsoll.exit_code"] == "5"
    assert shown["metrics"]["late"]["points"] == 1
    wait_for(lambda: not machine.leftovers())


def test_whoever_reads_what_a_killed_caller_wrote_to_learns_that_no_more_comes(machine):
    process = machine.start("run", "-q", "--", "sh", "-c", "echo before; " + UNTIL_TOLD)
    assert process.stdout.readline() == "before\n"
    process.kill()
    out, _ = process.communicate(timeout=300)  # comes back although the command goes on
    assert out == ""
    pid = machine.supervisor()
    tell(machine)
    wait_for(lambda: not is_alive(pid))


def test_detached_it_comes_back_at_once_and_can_be_stopped(machine):
    done = machine.run("--detach", "--", "sh", "-c", "trap 'echo bye; exit 3' TERM; echo here; while :; do sleep 0.05; done")
    assert done.code == 0, done.err
    run = done.out.strip()
    assert len(run) == 32 and "plimsoll attach" in done.err
    viewer = machine.start("attach")  # the only one
    assert viewer.stdout.readline() == "here\n"
    viewer.send_signal(signal.SIGINT)  # leaves the run alone
    assert viewer.wait(timeout=300) == 0
    assert machine.show(run)["status"] == "RUNNING"
    stopped = machine.plimsoll("stop", run[:6])
    assert stopped.code == 0 and "interrupted" in stopped.err
    shown = machine.show(run)
    assert shown["tags"]["plimsoll.outcome"] == "interrupted" and shown["status"] == "KILLED"
    wait_for(lambda: not machine.leftovers())
    assert machine.plimsoll("stop", run[:6]).code == 2, "it does not go on any more"


def test_stop_kills_what_does_not_listen(machine):
    run = machine.run("--detach", "-q", "--grace", "1000s", "--", "sh", "-c",
                      "trap '' TERM INT; echo $$ >pid; while :; do sleep 0.05; done").out.strip()
    pid = int(wait_for(lambda: (machine.folder / "pid").exists() and (machine.folder / "pid").read_text().strip()))
    stopped = machine.plimsoll("stop", "--kill", "--json")
    assert json.loads(stopped.out)["runs"][0]["signal"] == 9
    assert not is_alive(pid)
    assert machine.show(run)["tags"]["plimsoll.outcome"] == "interrupted"


def test_what_a_detached_start_cannot_do_is_told(machine):
    done = machine.run("--detach", "--", "no-such-program")
    assert done.code == 127 and "no-such-program" in done.err
    jobs = machine.folder / "jobs.csv"
    jobs.write_text("Command\ntrue\n")
    assert machine.run(jobs, "--detach").code == 2
    wait_for(lambda: not machine.leftovers())
    assert machine.plimsoll("attach").code == 2
    assert "No run of yours goes on" in machine.plimsoll("attach", "abc").err


def test_a_second_start_of_a_jobs_file_goes_on_with_what_runs(machine):
    jobs = machine.folder / "jobs.toml"
    jobs.write_text('[[workload]]\nname = "a"\n[[workload.job]]\ncount = 2\n'
                    f"command = \"sh -c 'echo x >>begun; {UNTIL_TOLD}'\"\n"
                    '[[workload]]\nname = "b"\n[[workload.job]]\ncommand = "touch second"\n')
    first = machine.start("run", jobs)
    wait_for(lambda: (machine.folder / "begun").exists() and (machine.folder / "begun").read_text() == "x\nx\n")
    status = jobs.with_suffix(".toml.status.csv")
    wait_for(lambda: status.exists() and status.read_text().count("RUNNING") == 2)
    first.kill()
    first.communicate(timeout=300)
    second = machine.start("run", jobs)
    while "started" not in (line := second.stderr.readline()):
        assert line, "it said nothing"
    tell(machine)
    second.communicate(timeout=300)
    assert second.returncode == 0
    assert (machine.folder / "begun").read_text() == "x\nx\n", "nothing ran twice"
    assert (machine.folder / "second").exists()
    assert status.read_text().count("FINISHED") == 3
    assert len(machine.runs()) == 3


def test_a_second_start_of_a_jobs_file_knows_what_ended_meanwhile(machine):
    jobs = machine.folder / "jobs.csv"
    jobs.write_text(f"Command\n\"sh -c 'echo x >>begun; {UNTIL_TOLD}'\"\n")
    first = machine.start("run", jobs)
    wait_for(lambda: "RUNNING" in jobs.read_text())
    first.kill()
    first.communicate(timeout=300)
    pid = machine.supervisor()
    tell(machine)
    wait_for(lambda: not is_alive(pid))
    done = machine.run(jobs)
    assert done.code == 0 and "1 done before" in done.err
    assert (machine.folder / "begun").read_text() == "x\n"


def test_one_that_is_to_go_on_does_when_its_supervisor_is_killed(machine):
    process = machine.start("run", "--if-killed", "leave", "--", "sh", "-c",
                            "echo $$ >pid; trap '' PIPE; while :; do echo tick; echo tick >&2; sleep 0.05; done")
    assert process.stdout.readline() == "tick\n", "its output is shown, too"
    pid = int(wait_for(lambda: (machine.folder / "pid").exists() and (machine.folder / "pid").read_text().strip()))
    run = started_run(machine)
    os.kill(machine.supervisor(), signal.SIGKILL)
    process.communicate(timeout=300)
    before = sum(file["bytes"] for file in machine.show(run)["files"] if file["path"] == "output.log")
    done = machine.run("--", "true")
    assert done.code == 0 and "goes on unwatched" in done.err
    assert is_alive(pid)
    shown = machine.show(run)
    assert shown["status"] == "RUNNING" and shown["tags"]["plimsoll.outcome"] == "unwatched"
    wait_for(lambda: sum(f["bytes"] for f in machine.show(run)["files"] if f["path"] == "output.log") > before)
    assert "unwatched" in machine.plimsoll("attach", run[:8]).err
    assert machine.plimsoll("stop", run[:8]).code == 0
    assert not is_alive(pid)
    assert machine.show(run)["tags"]["plimsoll.outcome"] == "lost"
    assert machine.run("--", "true").code == 0
    assert not machine.leftovers()


def test_helpers_that_daemonise_leave_no_zombies(machine):
    script = machine.script("""
import os, sys, time
for _ in range(40):
    if os.fork() == 0:          # the parent of the helper ends at once
        if os.fork() == 0:
            os.setsid(); time.sleep(0.01)
        os._exit(0)
for _ in range(40): os.wait()
open("begun", "w").close()
while not os.path.exists("told"): time.sleep(0.02)
""")
    process = machine.start("run", "-q", "--", *script)
    wait_for(lambda: (machine.folder / "begun").exists())
    supervisor = machine.supervisor()
    # All of them are its children by now, and each is gone once it has ended.
    wait_for(lambda: len(children_of(supervisor)) == 1)
    assert "Z" not in children_of(supervisor).values()
    tell(machine)
    assert process.wait(timeout=300) == 0


def test_a_thousand_short_jobs_in_a_row_leave_nothing(machine):
    """Ten rows of a hundred, side by side in one store: most of a short job's time is waiting for its last samples."""
    rows, length = 10, int(os.environ.get("PLIMSOLL_SHORT_JOBS", 1000)) // 10
    files = [machine.folder / f"jobs{row}.csv" for row in range(rows)]
    for file in files:
        file.write_text("Workload,Command\n" + "".join(f"w{i},true\n" for i in range(length)))
    callers = [machine.start("run", "-q", "--no-mlflow", file) for file in files]
    for caller in callers:
        _, err = caller.communicate(timeout=1700)
        assert caller.returncode == 0, err
    assert not machine.leftovers()
    assert [file.read_text().count("FINISHED") for file in files] == [length] * rows
    listed = json.loads(machine.plimsoll("runs", "--json", "--limit", rows * length + 10).out)["runs"]
    assert len(listed) == rows * length and {run["status"] for run in listed} == {"FINISHED"}


def test_a_signal_before_anything_has_begun(machine):
    """The store is locked, so that nothing can begin; Ctrl-C is served all the same."""
    machine.run("--", "true")
    other = sqlite3.connect(machine.environment["PLIMSOLL_STORE"], isolation_level=None, timeout=300)
    other.execute("BEGIN EXCLUSIVE")
    process = machine.start("run", "--", "touch", "begun")
    machine.supervisor()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 130, err
    other.execute("ROLLBACK")
    assert not (machine.folder / "begun").exists()
    wait_for(lambda: not machine.leftovers())
