"""Jobs packed inside allocations of a real Slurm: its daemons run here, with two nodes whose GPUs are made up."""
import json
import pathlib
import shutil
import sys
import tempfile

import pytest
from conftest import FIXTURES, Machine, wait_for
from fake_gpus import give_gpus

import slurm_server
from slurm_server import Slurm, processes

pytestmark = pytest.mark.skipif(not slurm_server.is_there(), reason="there is no Slurm here")

GPU = ("gpu NVIDIA H200\nmemory 1048576 150754820096\npower 100\nactivity 0 0 0 0\nutilization 0 0\nclocks 1980 3201\n"
       "temperature 40\nthrottle 0\n")
# A model of which several gain beside each other.
SMALL = ("--need", "20GiB", "--estimate", "mobilenet_v2 --mode train --batch 8 --input 3x32x32")


class Farm(Machine):
    """One who submits to Slurm: a store and a home that all nodes see."""

    def __init__(self, folder, slurm):
        super().__init__(folder)
        self.slurm = slurm
        give_gpus(self, 2 * GPU)
        path = f"{slurm.folder / 'bin'}:{self.environment['PATH']}"
        self.environment.update(slurm.environment)
        self.environment.update(PATH=path, XDG_STATE_HOME=str(folder / "state"))

    def submit(self, *words):
        done = self.plimsoll("submit", "--slurm", "--json", "--end-when-idle", "2s", "--lease", "20s", *words)
        assert done.code == 0, done.err
        return json.loads(done.out)

    def training(self, name, *arguments):
        return [sys.executable, str(FIXTURES / "training.py"), name, *map(str, arguments)]

    def let_go(self, *names):
        for name in names:
            (self.folder / f"{name}.go").touch()

    def log(self, name, word):
        path = self.folder / f"{name}.log"
        lines = path.read_text().splitlines() if path.exists() else []
        return [line.split()[1:] for line in lines if line.split()[0] == word]

    def jobs(self, *numbers):
        told = self.plimsoll("queue", "--slurm", "--all", "--json", *numbers)
        assert told.code == 0, told.err
        return {job["number"]: job for job in json.loads(told.out)["jobs"]}

    def wait_jobs(self, numbers, condition):
        """All of them, once that holds for each."""
        def hold():
            jobs = self.jobs()
            return all(condition(jobs[number]) for number in numbers) and jobs
        try:
            return wait_for(hold, 150)
        except AssertionError:
            raise AssertionError(f"{[self.jobs()[n] for n in numbers]}\n{self.said()}") from None

    def wait_ended(self, numbers, outcome):
        jobs = self.wait_jobs(numbers, lambda job: job["state"] == "ended")
        assert {jobs[n]["outcome"] for n in numbers} == {outcome}, ([jobs[n] for n in numbers], self.said())
        return jobs

    def wait_running(self, numbers):
        return self.wait_jobs(numbers, lambda job: job["state"] == "running")

    def wait_gone(self):
        """All allocations have been given back."""
        try:
            wait_for(lambda: not self.slurm.jobs())
        except AssertionError:
            raise AssertionError(f"{self.slurm.jobs()}\n{self.said()}") from None

    def said(self):
        """What allocations printed."""
        logs = sorted((self.folder / "state" / "plimsoll" / "slurm").glob("*.log"))
        return "\n".join(f"== {log.name}\n{log.read_text(errors='replace')[-4000:]}" for log in logs) + self.slurm.logs()

    def remove(self):
        mps = self.folder / "mps_pids"
        shutil.rmtree(self.runtime, ignore_errors=True)
        for word in mps.read_text().split() if mps.exists() else []:
            assert not pathlib.Path(f"/proc/{word}/cmdline").exists() or b"mps" not in pathlib.Path(
                f"/proc/{word}/cmdline").read_bytes(), "an MPS daemon has outlived its allocation"


@pytest.fixture(scope="module")
def slurm():
    made = Slurm(pathlib.Path(tempfile.mkdtemp(prefix="pls")))
    yield made
    made.stop()


@pytest.fixture
def farm(tmp_path, slurm):
    made = Farm(tmp_path, slurm)
    yield made
    slurm.call("scancel", f"--user={pathlib.Path('/proc/self').stat().st_uid}")
    wait_for(lambda: not slurm.jobs())
    wait_for(lambda: not processes(f"PLIMSOLL_STORE={made.environment['PLIMSOLL_STORE']}"))
    made.remove()


def test_an_array_is_packed_and_empty_allocations_end(farm, slurm):
    told = farm.submit("--array", 40, "--allocations", 2, "--name", "sweep", *SMALL, "--seconds", 600, "--", "sh", "-c",
                       'exec "$@" "job$SLURM_ARRAY_TASK_ID"', "sh", *farm.training("")[:2])
    numbers = told["numbers"]
    assert len(numbers) == 40
    # Two wait in vain for room in the first, so that a second is asked for; both have several inside.
    shown = wait_for(lambda: (rows := slurm.jobs()) and len(rows) == 2 and
                     all("; 0 run" not in row[3] and " run: " in row[3] for row in rows.values()) and rows)
    for state, _, name, comment in shown.values():
        assert state == "RUNNING" and name.startswith("plimsoll ") and comment.startswith(f"plimsoll {told['pool']}; ")
        inside = comment.split(" run: ")[1].split(";")[0].split(", ")
        assert len(inside) >= 2 and all("sweep" in one for one in inside)
    farm.let_go(*(f"job{i}" for i in range(40)))
    jobs = farm.wait_ended(numbers, "finished")
    for i, number in enumerate(numbers):
        assert len(farm.log(f"job{i}", "begin")) == len(farm.log(f"job{i}", "end")) == 1 and not farm.log(f"job{i}", "twice")
        assert jobs[number]["attempt"] == 1
    assert len({jobs[n]["host"] for n in numbers}) == 2
    farm.wait_gone()
    record = farm.show(jobs[numbers[3]]["run"])
    assert record["tags"]["plimsoll.slurm.job_id"] in shown and record["tags"]["plimsoll.slurm.array_task_id"] == "3"
    assert record["tags"]["plimsoll.slurm.node"] in slurm_server.NODES


def test_cancelled_one_by_one_and_all_at_once(farm, slurm):
    numbers = [farm.submit("--rerun", *SMALL, "--seconds", 600, "--", *farm.training(name))["numbers"][0] for name in "abc"]
    farm.wait_running(numbers)
    assert len(slurm.jobs()) == 1  # those that came later joined the first one's
    held = farm.submit("--hold", *SMALL, "--seconds", 600, "--", *farm.training("held"))
    assert "asked" not in held
    cancelled = farm.plimsoll("cancel", "--slurm", numbers[0], *held["numbers"])
    assert cancelled.code == 0, cancelled.err
    farm.wait_ended([numbers[0], *held["numbers"]], "cancelled")
    assert {farm.jobs()[n]["state"] for n in numbers[1:]} == {"running"}
    allocation, = slurm.jobs()
    slurm.say("scancel", allocation)
    farm.wait_ended(numbers[1:], "cancelled")
    farm.wait_gone()
    # Another allocation of the same pool takes what comes later, and nothing of what was cancelled.
    later = farm.submit(*SMALL, "--seconds", 600, "--", *farm.training("later"))
    assert later["asked"] != allocation
    farm.let_go("later")
    farm.wait_ended(later["numbers"], "finished")
    assert [len(farm.log(name, "begin")) for name in "abc"] == [1, 1, 1] and not farm.log("held", "begin")
    farm.wait_gone()


def test_a_lost_node_gives_its_jobs_to_another(farm, slurm):
    again = farm.submit("--rerun", *SMALL, "--seconds", 600, "--", *farm.training("again"))["numbers"]
    once = farm.submit(*SMALL, "--seconds", 600, "--", *farm.training("once"))["numbers"]
    farm.wait_running([*again, *once])
    (allocation, (_, node, _, _)), = slurm.jobs().items()
    waits = farm.submit("--hold", *SMALL, "--seconds", 600, "--", *farm.training("waits"))["numbers"]
    slurm.lose(node)
    assert farm.plimsoll("release", "--slurm", *waits).code == 0
    # Slurm finds that after SlurmdTimeout, and starts the allocation again two minutes later; an administrator is quicker.
    slurm.say("scontrol", "update", f"NodeName={node}", "State=DOWN", "Reason=lost")
    wait_for(lambda: slurm.jobs()[allocation][0] == "PENDING")
    slurm.say("scontrol", "update", f"JobId={allocation}", "StartTime=now")
    farm.wait_ended(once, "unknown")
    jobs = farm.wait_running([*again, *waits])
    assert {jobs[n]["host"].split("@")[1] for n in [*again, *waits]} == set(slurm_server.NODES) - {node}
    farm.let_go("again", "once", "waits")
    farm.wait_ended([*again, *waits], "finished")
    assert len(farm.log("again", "begin")) == 2 and len(farm.log("waits", "begin")) == 1
    assert not any(farm.log(name, "twice") for name in ("again", "once", "waits"))
    farm.wait_gone()
    slurm.start_node(node)
    slurm.say("scontrol", "update", f"NodeName={node}", "State=RESUME")
    slurm.wait_for_nodes()


def test_jobs_outlive_slurmd(farm, slurm):
    numbers = farm.submit(*SMALL, "--seconds", 600, "--", *farm.training("a"))["numbers"]
    farm.wait_running(numbers)
    (_, node, _, _), = slurm.jobs().values()
    slurm.kill(node)
    farm.let_go("a")
    farm.wait_ended(numbers, "finished")
    slurm.start_node(node)
    farm.wait_gone()
    slurm.wait_for_nodes()
    assert len(farm.log("a", "begin")) == 1


def test_the_end_of_an_allocations_time(farm, slurm):
    options = ("--slurm-option=--time=10", "--notice", "60s", *SMALL)
    # Not moved for its speed, which here is the machine's.
    saves = farm.submit(*options, "--seconds", 6000, "--save", "SIGUSR1", "--most-moves", 0, "--", *farm.training("saves"))["numbers"]
    again = farm.submit(*options, "--seconds", 6000, "--rerun", "--", *farm.training("again"))["numbers"]
    ends = farm.submit(*options, "--seconds", 20, "--", *farm.training("ends"))["numbers"]
    late = farm.submit(*options, "--seconds", 6000, "--", *farm.training("late"))["numbers"]
    farm.wait_running([*saves, *again, *ends])
    first, = slurm.jobs()
    # Slurm counts minutes; its own user may say seconds. It looks every half minute who is to be warned or ended.
    slurm.say("scontrol", "update", f"JobId={first}", "EndTime=now+45")
    jobs = farm.wait_ended(ends, "interrupted")
    assert "time was up" in jobs[ends[0]]["reason"]
    wait_for(lambda: len(farm.log("saves", "begin")) == 2 and len(farm.log("again", "begin")) == 2)
    jobs = farm.wait_running([*saves, *again])
    wait_for(lambda: first not in slurm.jobs())
    assert slurm.jobs()
    assert int(farm.log("saves", "begin")[1][1]) > 0  # from what it saved
    # What can neither save nor run again, and needs more than an allocation's time, never starts.
    assert jobs[late[0]]["state"] == "waiting" and not farm.log("late", "begin")
    farm.let_go("saves", "again", "ends", "late")
    farm.wait_ended([*saves, *again], "finished")
    farm.wait_gone()
    told = json.loads(farm.plimsoll("queue", "--slurm", "--json", *late).out)["decisions"]
    assert "it takes 6000 s" in told[-1]["reason"] and told[-1]["kind"] == "wait"
    farm.plimsoll("cancel", "--slurm", *late)
    assert len(farm.log("ends", "begin")) == 1 and not any(farm.log(n, "twice") for n in ("saves", "again", "ends"))


def test_shards_are_a_part_of_a_gpus_memory(farm, slurm):
    words = ("--slurm-option=--gres=shard:2", "--allocations", 1, "--need", "30GiB", *SMALL[2:], "--seconds", 600, "--")
    numbers = [farm.submit(*words, *farm.training(name))["numbers"][0] for name in "abc"]
    # Two of the four shards of a GPU of 140 GiB: two jobs of 30 GiB have room, and a third has not.
    wait_for(lambda: any("; 2 run: " in row[3] and row[3].endswith("; 1 wait") for row in slurm.jobs().values()))
    jobs = farm.wait_running(numbers[:2])
    assert jobs[numbers[2]]["state"] == "waiting"
    assert {jobs[n]["sharing"] for n in numbers[:2]} == {"naive"}  # no MPS daemon beside strangers
    farm.let_go(*"abc")
    jobs = farm.wait_ended(numbers, "finished")
    assert jobs[numbers[2]]["started"] >= min(jobs[n]["ended"] for n in numbers[:2])
    farm.wait_gone()


def test_runs_of_ones_own_batch_scripts_say_where_they_were(farm, slurm):
    job = slurm.call("sbatch", "--parsable", "--gres=gpu:1", "--ntasks=4", f"--output={farm.folder}/out", "--chdir", farm.folder, "--wrap",
                     f"srun {farm.binary} run --name ranks -- true", environment=farm.environment).stdout.strip()
    wait_for(lambda: job not in slurm.jobs())
    runs = [farm.show(run["id"]) for run in farm.runs()]
    assert len(runs) == 4, (farm.folder / "out").read_text()
    for run in runs:
        assert run["tags"]["plimsoll.slurm.job_id"] == job and run["tags"]["plimsoll.slurm.step_id"] == "0"
        assert run["tags"]["plimsoll.slurm.node"] in slurm_server.NODES and run["tags"]["plimsoll.host"]
    assert sorted(run["tags"]["plimsoll.rank"] for run in runs) == ["0", "1", "2", "3"]
    first, = [run for run in runs if run["tags"]["plimsoll.rank"] == "0"]
    assert {run["tags"].get("mlflow.parentRunId") for run in runs if run is not first} == {first["id"]}


def test_what_slurm_would_be_asked(farm):
    told = farm.submit("--dry-run", "--slurm-option=--partition=gpu", "--slurm-option=--gres=shard:2", "--", "true")
    assert "--gres=shard:2" in told["sbatch"] and "--gres=gpu:1" not in told["sbatch"]
    assert told["script"].startswith("#!/bin/sh\nexec ") and told["pool"] in told["script"]
    refused = farm.plimsoll("submit", "--slurm", "--slurm-option=--array=3", "--", "true")
    assert refused.code == 2 and "Plimsoll's own" in refused.err
