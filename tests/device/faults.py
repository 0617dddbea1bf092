"""Checks of what goes wrong: memory that runs out, and kill -9 of whoever takes part."""
import os
import pathlib
import signal

GREEDY = """
import torch
kept = [torch.empty(4 << 30, dtype=torch.uint8, device="cuda") for _ in range(10000)]
"""
STEADY = """
import os, pathlib, sys, time, torch
a = torch.randn(4096, 4096, device="cuda")
def work(): (a @ a).sum().item()
work()
pathlib.Path(sys.argv[1] + ".new").write_text(str(os.getpid())); os.rename(sys.argv[1] + ".new", sys.argv[1])
while not os.path.exists("enough"): work()
print("plimsoll: metric done 1 step 0")
"""


def out_of_memory_is_told_as_such(machine):
    done = machine.plimsoll("run", "--device", 0, "--", *machine.script("greedy.py", GREEDY).split())
    tags = machine.runs()[-1]["tags"]
    machine.holds(done.returncode != 0, "it ended well")
    machine.holds(tags["plimsoll.outcome"] == "cuda-out-of-memory", f"its outcome is {tags['plimsoll.outcome']}")
    return tags.get("plimsoll.reason", "")[:160].replace("\n", " ")


def steady(machine, *names):
    """Clients of one MPS daemon, all at work; plimsoll's process and theirs."""
    command = machine.script("steady.py", STEADY)
    jobs = machine.jobs('[[workload]]\nmode = "mps"\ndevices = ["0"]\n' + "".join(
        f'[[workload.job]]\nname = "{name}"\ncommand = "{command} {machine.folder}/{name}"\ndirectory = "{machine.folder}"\n' for name in names))
    process = machine.start("run", jobs)
    paths = [pathlib.Path(machine.folder / name) for name in names]
    machine.wait_for(lambda: process.poll() is not None or all(path.exists() for path in paths), "the clients to work")
    machine.holds(process.poll() is None, f"it ended with {process.returncode}: {(machine.folder / 'output.txt').read_text()[-300:]}")
    return process, [int(path.read_text()) for path in paths]


def gone(machine, what):
    machine.wait_for(lambda: not machine.daemons(), f"MPS to end after {what}")
    (machine.folder / "enough").unlink(missing_ok=True)


def a_killed_client_costs_no_other(machine):
    process, pids = steady(machine, "one", "other")
    os.kill(pids[0], signal.SIGKILL)
    machine.wait_for(lambda: any(run["name"] == "one" and run["end"] for run in machine.runs()), "the killed client's end")
    (machine.folder / "enough").touch()
    process.wait(timeout=120)
    ended = {run["name"]: run["tags"].get("plimsoll.outcome") for run in machine.runs()}
    machine.holds(ended["one"] == "failed", f"the killed client ended as {ended['one']}")
    machine.holds(ended["other"] == "finished", f"the other ended as {ended['other']}")
    gone(machine, "the killed client")
    return "the killed one failed, the other finished, the daemon ended"


def a_killed_daemon_is_told(machine):
    process, _ = steady(machine, "one")
    for pid in machine.daemons():  # the daemon and its server
        os.kill(pid, signal.SIGKILL)
    process.wait(timeout=120)
    run = machine.runs()[-1]
    tags = run["tags"]
    machine.holds(tags["plimsoll.outcome"] == "failed", f"its outcome is {tags['plimsoll.outcome']}")
    machine.holds("MPS daemon" in tags.get("plimsoll.reason", ""), f"its reason is {tags.get('plimsoll.reason')}")
    gone(machine, "the daemon")
    return tags["plimsoll.reason"][:160].replace("\n", " ")


def a_killed_supervisor_leaves_nothing(machine):
    """All of Plimsoll's own processes of the run are killed: command and MPS end, and the next start says that the run is lost."""
    process, pids = steady(machine, "one")
    for pid in machine.own("plimsoll"):  # who started it, and its supervisor
        os.kill(pid, signal.SIGKILL)
    process.wait(timeout=120)
    machine.wait_for(lambda: not os.path.exists(f"/proc/{pids[0]}") or state(pids[0]) == "Z", "the command to end")
    machine.holds(machine.plimsoll("run", "--", "true").returncode == 0, "the next start failed")
    gone(machine, "plimsoll")
    tags = next(run for run in machine.runs() if run["name"] == "one")["tags"]
    machine.holds(tags.get("plimsoll.outcome") == "lost", f"its outcome is {tags.get('plimsoll.outcome')}")
    return "the command and MPS ended, the run is lost"


def state(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "Z"


CHECKS = [out_of_memory_is_told_as_such, a_killed_client_costs_no_other, a_killed_daemon_is_told, a_killed_supervisor_leaves_nothing]
