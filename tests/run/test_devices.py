"""GPUs that are made up (tests/fixtures/fake_nvml.cpp), and an MPS daemon that is a script."""
import json
import os
import signal

import pytest
from conftest import is_alive, wait_for
from fake_gpus import CONTROL, FIXTURES, describe, give_gpus  # noqa: F401


@pytest.fixture
def gpus(machine):
    return give_gpus(machine, (FIXTURES / "two_gpus.txt").read_text())


def daemons(machine):
    path = machine.folder / "mps_pids"
    return [tuple(map(int, line.split())) for line in path.read_text().splitlines()] if path.exists() else []


def test_a_chosen_gpu_is_the_one_seen_and_sampled(gpus):
    done = gpus.run("--device", 1, "--", "sh", "-c", "echo $CUDA_VISIBLE_DEVICES; sleep 1.5")
    assert done.code == 0, done.err
    run = gpus.last()
    uuid = done.out.strip()
    assert uuid.startswith("GPU-") and run["tags"]["plimsoll.devices"] == uuid
    metrics = run["metrics"]
    assert "system/gpu/1/sm_activity" in metrics and "system/gpu/0/sm_activity" not in metrics
    assert metrics["summary/gpu_energy"]["value"] > 0
    assert run["tags"]["plimsoll.need.source"] == "unknown"


def test_a_gpu_that_is_not_there(gpus):
    done = gpus.run("--device", 7, "--", "true")
    assert done.code == 3
    assert "there is no GPU '7'" in done.err


def test_a_job_that_can_never_fit_is_refused(gpus):
    done = gpus.run("--device", 0, "--need", "1TiB", "--", "true")
    assert done.code == 3
    assert "needs 1.00 TiB (given)" in done.err


def test_a_job_waits_for_room_or_is_refused(gpus):
    refused = gpus.run("--device", 0, "--need", "100GiB", "--no-wait", "--", "true")
    assert refused.code == 3 and "are free" in refused.err
    process = gpus.start("run", "--device", 0, "--need", "100GiB", "--", "true")
    line = process.stderr.readline()
    assert "waits: it needs 100 GiB" in line
    text = gpus.description.read_text().replace("memory 61203283968", "memory 1203283968", 1)
    describe(gpus, text)
    assert process.wait(timeout=300) == 0


def test_what_a_shells_worker_has_taken_is_promised_no_longer(gpus):
    """100 GiB of 140 are promised to the first job, and its worker, not its first process, takes them: 30 are left."""
    worker = ("import os, time\nopen('pid.new', 'w').write(str(os.getpid())); os.rename('pid.new', 'pid')\n"
              "while not os.path.exists('seen'): time.sleep(0.05)")
    first = gpus.start("run", "--device", 1, "--need", "100GiB", "--", "sh", "-c",
                       f'env -u PLIMSOLL_RUN_ID python3 -c "{worker}"; true')
    pid = wait_for(lambda: (gpus.folder / "pid").exists() and (gpus.folder / "pid").read_text())
    before = gpus.run("--device", 1, "--need", "60GiB", "--no-wait", "--", "true")
    assert before.code == 3 and "with 100 GiB promised to others" in before.err
    text = gpus.description.read_text().replace("memory 1048576", f"memory {100 << 30}", 1)
    describe(gpus, text + f"process {pid} {100 << 30} 1.0\n")
    assert gpus.run("--device", 1, "--need", "30GiB", "--no-wait", "--", "true").code == 0
    too_much = gpus.run("--device", 1, "--need", "60GiB", "--no-wait", "--", "true")
    assert too_much.code == 3 and "40.4 GiB of 140 GiB on GPU 1 are free" in too_much.err
    (gpus.folder / "seen").touch()
    assert first.wait(timeout=300) == 0
    describe(gpus, text.replace(f"memory {100 << 30}", "memory 0"))
    assert gpus.run("--device", 1, "--need", "130GiB", "--no-wait", "--", "true").code == 0, "nothing is promised to it now"


def test_a_job_is_admitted_by_the_slice_that_it_names(gpus):
    describe(gpus, (FIXTURES / "sliced_gpu.txt").read_text())
    never = gpus.run("--device", "0:0", "--need", "20GiB", "--", "true")
    assert never.code == 3 and "16.0 GiB on MIG slice 0:0 (1g.18gb) is all there is" in never.err
    full = gpus.run("--device", "0:0", "--need", "8GiB", "--no-wait", "--", "true")
    assert full.code == 3 and "6.00 GiB of 16.0 GiB on MIG slice 0:0 (1g.18gb) are free" in full.err
    done = gpus.run("--device", "0:2", "--need", "20GiB", "--no-wait", "--", "sh", "-c", "echo $CUDA_VISIBLE_DEVICES")
    assert done.code == 0, done.err
    assert done.out.startswith("MIG-") and gpus.last()["tags"]["plimsoll.devices"] == done.out.strip()
    absent = gpus.run("--device", "0:1", "--", "true")
    assert absent.code == 3 and "there is no MIG slice '0:1': this machine has 2" in absent.err


def test_the_last_run_tells_the_need(gpus):
    me = ("import os, time\nopen('pid.new', 'w').write(str(os.getpid())); os.rename('pid.new', 'pid')\n"
          "while not os.path.exists('seen'): time.sleep(0.05)")
    process = gpus.start("run", "--device", 1, "--", "python3", "-c", me)
    pid = wait_for(lambda: (gpus.folder / "pid").exists() and (gpus.folder / "pid").read_text())
    describe(gpus, gpus.description.read_text() + f"process {pid} 8589934592 1.0\n")
    wait_for(lambda: gpus.last()["metrics"].get("system/run/gpu/1/memory", {}).get("value") == 8 << 30)
    (gpus.folder / "seen").touch()
    assert process.wait(timeout=300) == 0
    assert gpus.last()["metrics"]["summary/gpu_memory_peak"]["value"] == 8 << 30
    assert gpus.run("--device", 1, "--", "python3", "-c", me).code == 0
    tags = gpus.last()["tags"]
    assert tags["plimsoll.need.source"] == "its last run" and tags["plimsoll.need.bytes"] == str(8 << 30)


def test_mps_is_started_limited_and_stopped(gpus):
    jobs = gpus.folder / "jobs.toml"
    jobs.write_text('[[workload]]\nmode = "mps"\ndevices = ["0"]\n[[workload.job]]\ncount = 2\nmps_percentage = 25\n'
                    'mps_memory = "4GiB"\ncommand = "sh -c \'env | grep CUDA_MPS >env.$$; sleep 1\'"\n')
    done = gpus.run(jobs)
    assert done.code == 0, done.err
    (daemon, server), = daemons(gpus)
    wait_for(lambda: not is_alive(daemon) and not is_alive(server))
    assert not gpus.leftovers()
    seen = [path.read_text() for path in gpus.folder.glob("env.*")]
    assert len(seen) == 2
    for text in seen:
        assert "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=25" in text
        assert "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=4096M" in text
    tags = gpus.last()["tags"]
    assert tags["plimsoll.mode"] == "mps" and tags["plimsoll.mps.percentage"] == "25"
    assert "plimsoll.mps.effective" in tags or "plimsoll.mps.unproven" in tags, "what is not proven is said to be so"


def test_forty_eight_in_one_mps_group(gpus):
    jobs = gpus.folder / "jobs.toml"
    # Each ends only when all have begun: they really run together.
    jobs.write_text('[[workload]]\nmode = "mps"\ndevices = ["0"]\n[[workload.job]]\ncount = 48\n'
                    'command = "sh -c \'touch begun.$$; until [ -e told ]; do sleep 0.2; done; echo plimsoll: metric done 1\'"\n')
    process = gpus.start("run", "-q", "--no-mlflow", jobs)
    wait_for(lambda: len(list(gpus.folder.glob("begun.*"))) == 48)
    (gpus.folder / "told").touch()
    _, err = process.communicate(timeout=900)
    assert process.returncode == 0, err
    (daemon, server), = daemons(gpus)
    assert not is_alive(daemon) and not is_alive(server)
    assert not gpus.leftovers()
    runs = gpus.runs()
    assert len(runs) == 48 and all(run["metrics"]["done"]["points"] == 1 for run in runs)


def test_two_daemons_at_once_on_two_gpus(gpus):
    jobs = gpus.folder / "jobs.csv"
    meet = "sh -c 'touch {0}; until [ -e {1} ]; do sleep 0.05; done'"  # each ends only when the other has begun
    jobs.write_text(f"Workload,Mode,Devices,Command\na,mps,0,{meet.format('a', 'b')}\nb,mps,1,{meet.format('b', 'a')}\n")
    assert gpus.run(jobs).code == 0
    assert len(daemons(gpus)) == 2
    first, second = sorted(gpus.runs(), key=lambda r: r["start"])
    assert second["start"] < first["end"], "workloads on different devices run at once"


def test_kill_9_of_the_mps_daemon(gpus):
    process = gpus.start("run", "--device", 0, "--mode", "mps", "--", "sh", "-c", "touch begun; until [ -e told ]; do sleep 0.05; done; exit 1")
    (daemon, server), = wait_for(lambda: daemons(gpus))
    wait_for(lambda: (gpus.folder / "begun").exists())  # before that it would not be started at all
    os.kill(daemon, signal.SIGKILL)
    while "the MPS daemon has ended" not in (line := process.stderr.readline()):
        assert line, "it did not say so"
    (gpus.folder / "told").touch()
    process.communicate(timeout=300)
    assert process.returncode == 1
    assert "MPS daemon" in gpus.last()["tags"]["plimsoll.reason"]
    wait_for(lambda: not is_alive(server))  # the server that it left is ended too
    assert not gpus.leftovers()


def test_kill_9_of_the_supervisor_leaves_no_daemon_after_the_next_start(gpus):
    process = gpus.start("run", "--device", 0, "--mode", "mps", "--", "sleep", "1000")
    (daemon, server), = wait_for(lambda: daemons(gpus))
    wait_for(lambda: gpus.runs() if (gpus.folder / "store.db").exists() else None)
    os.kill(gpus.supervisor(), signal.SIGKILL)
    process.wait()
    assert gpus.run("--", "true").code == 0
    wait_for(lambda: not is_alive(daemon) and not is_alive(server))
    assert not gpus.leftovers()


def test_mps_without_the_program(gpus):
    (gpus.folder / "bin" / "nvidia-cuda-mps-control").unlink()
    done = gpus.run("--device", 0, "--mode", "mps", "--", "true")
    assert done.code == 3
    assert "nvidia-cuda-mps-control" in done.err


def test_the_chosen_device_counts_over_the_jobs_own_environment(gpus):
    jobs = gpus.folder / "jobs.toml"
    jobs.write_text('[[workload]]\ndevices = ["0"]\n[[workload.job]]\nenvironment = { CUDA_VISIBLE_DEVICES = "1" }\n'
                    'command = "sh -c \'env | grep CUDA_VISIBLE >seen\'"\n')
    assert gpus.run(jobs).code == 0
    seen = (gpus.folder / "seen").read_text().split()
    assert len(seen) == 1 and seen[0].startswith("CUDA_VISIBLE_DEVICES=GPU-")
