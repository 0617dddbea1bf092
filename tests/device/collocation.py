"""Checks of runs that share a GPU: what the counters tell, MPS with limits that took effect, whose energy it was."""
import re
import sys

from machine import TRAINING

BUSY = """
import sys, time, torch
a = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
end, steps = time.monotonic() + float(sys.argv[1]), 0
while time.monotonic() < end:
    for _ in range(20): b = a @ a
    torch.cuda.synchronize(); steps += 20
    print(f"plimsoll: metric steps {steps} step {steps}")
"""


def activity_is_counted_by_gpm(machine):
    """Large products keep nearly every SM busy; counters and utilization say so, each from its own source."""
    done = machine.plimsoll("run", "--device", 0, "--", *machine.script("busy.py", BUSY).split(), 8)
    machine.holds(done.returncode == 0, done.stderr[-300:])
    run = machine.runs()[-1]
    metrics = run["metrics"]
    machine.holds("system/gpu/0/sm_activity" in metrics, "no sm_activity was sampled: GPM does not answer")
    machine.holds("GPM" in (metrics["system/gpu/0/sm_activity"]["source"] or ""), f"its source is {metrics['system/gpu/0/sm_activity']['source']}")
    active = sorted(value for _, value in machine.points(run, "system/gpu/0/sm_activity"))
    highest = active[int(len(active) * 0.9)]
    machine.holds(highest > 0.8, f"SM activity reaches {highest:.2f} only")
    joules = metrics.get("summary/gpu_energy", {}).get("value") or 0
    power = [value for _, value in machine.points(run, "system/gpu/0/power")]
    mean = sum(power) / len(power) * run["seconds"]
    machine.holds(0.8 < joules / mean < 1.25, f"{joules:.0f} J recorded, {mean:.0f} J by its power")
    return f"SM activity {highest:.2f} of {len(active)} samples, {joules:.0f} J recorded against {mean:.0f} J by its power"


ASK = """
import torch, time
torch.cuda.init()
free, total = torch.cuda.mem_get_info()
print(f"plimsoll: metric multiprocessors {torch.cuda.get_device_properties(0).multi_processor_count} step 0")
print(f"plimsoll: metric free_bytes {free} step 0")
a = torch.randn(2048, 2048, device="cuda")
end = time.monotonic() + 4
while time.monotonic() < end: (a @ a).sum().item()
try:
    torch.empty(9 << 30, dtype=torch.uint8, device="cuda"); print("plimsoll: metric refused 0 step 0")
except torch.OutOfMemoryError: print("plimsoll: metric refused 1 step 0")
"""


def mps_limits_take_effect(machine):
    """Two clients with half and a quarter of the SMs and 8 GiB each: what CUDA gives them, and what the record says."""
    whole = machine.plimsoll("run", "--device", 0, "--", *machine.script("ask.py", ASK).split())
    machine.holds(whole.returncode == 0, whole.stderr[-300:])
    all_of_them = machine.runs()[-1]["metrics"]["multiprocessors"]["value"]
    command = machine.script("ask.py", ASK)
    jobs = machine.jobs('[[workload]]\nmode = "mps"\ndevices = ["0"]\n' + "".join(
        f'[[workload.job]]\nname = "{part}"\nmps_percentage = {part}\nmps_memory = "8GiB"\ncommand = "{command}"\n' for part in (50, 25)))
    done = machine.plimsoll("run", jobs)
    machine.holds(done.returncode == 0, done.stderr[-400:])
    said = []
    for run in machine.runs()[-2:]:
        part, metrics, tags = int(run["name"]), run["metrics"], run["tags"]
        given, free = metrics["multiprocessors"]["value"], metrics["free_bytes"]["value"]
        machine.holds(abs(given - all_of_them * part / 100) <= 2, f"{part} % of {all_of_them:.0f} multiprocessors gave {given:.0f}")
        machine.holds(free <= 8 << 30, f"{free / 2**30:.1f} GiB were free with a limit of 8")
        machine.holds(metrics["refused"]["value"] == 1, "9 GiB were given to a client with 8")
        machine.holds("plimsoll.mps.effective" in tags, f"the record does not prove it: {tags.get('plimsoll.mps.unproven')}")
        numbers = [float(n) for n in re.findall(r"\d+(?:\.\d+)?", tags["plimsoll.mps.effective"])]
        machine.holds(given in numbers, f"the record says {tags['plimsoll.mps.effective']!r}, the client {given:.0f}")
        said.append(f"{part} %: {given:.0f} of {all_of_them:.0f} multiprocessors, {free / 2**30:.1f} GiB free")
    return "; ".join(said)


def by_energy(machine, run, name):
    """What a run's counter had reached when the GPU's own stood at so many joules: one sampler reads all, so that this is a clock
    that runs share."""
    whole = machine.points(run, "system/gpu/0/energy")
    out = {}
    for seconds, value in machine.points(run, name):
        out[max((joules for at, joules in whole if at <= seconds), default=0)] = value
    return out


def energy_is_shared(machine):
    """A small and a medium training, each alone and then both: their energies add up to the GPU's, and the larger one has more."""
    def group(name, *sizes):
        machine.jobs_text = f'[[workload]]\nname = "{name}"\ndevices = ["0"]\n' + (
            f'environment = {{ STUDY_MEMBERS = "{len(sizes)}", STUDY_MEETING = "{machine.folder}/meeting" }}\n' if len(sizes) > 1 else "") + "".join(
            f'[[workload.job]]\nname = "{size}"\ncommand = "{sys.executable} {TRAINING} {size} 6"\n' for size in sizes)
        done = machine.plimsoll("run", machine.jobs(machine.jobs_text))
        machine.holds(done.returncode == 0, f"{name}: {done.stderr[-300:]}")
        return machine.runs()[-len(sizes):]

    group("small alone", "small")
    group("medium alone", "medium")
    runs = group("both", "small", "medium")
    source = runs[0]["metrics"]["system/run/gpu/0/energy"]["source"]
    counted = {run["name"]: by_energy(machine, run, "system/run/gpu/0/energy") for run in runs}
    # While both were on the GPU: before that, programs start.
    shared = sorted(set.intersection(*(set(points) for points in counted.values())))
    machine.holds(len(shared) > 2, "they were hardly on the GPU together")
    first, last = shared[0], shared[-1]
    own = {name: points[last] - points[first] for name, points in counted.items()}
    untold = [run["metrics"].get("system/run/gpu/0/unattributed", {}).get("value") or 0 for run in runs]
    whole, together = last - first, sum(own.values())
    machine.holds(all(value > 0 for value in own.values()), f"a run got no energy: {own}")
    machine.holds(own["medium"] > own["small"], f"the small training took more than the medium one: {own}")
    machine.holds(0.9 * whole - max(untold) < together < 1.1 * whole, f"{together:.0f} J of {whole:.0f} J are given to the runs")
    return f"small {own['small']:.0f} J, medium {own['medium']:.0f} J, of the GPU's {whole:.0f} J while both were there ({source})"


CLIENT = """
import torch, time
a = torch.randn(1024, 1024, device="cuda")
end = time.monotonic() + 3
while time.monotonic() < end: (a @ a).sum().item()
print("plimsoll: metric done 1 step 0")
"""


def forty_eight_in_one_group(machine):
    """As many clients of one MPS daemon as it takes: all finish, nothing is left."""
    command = machine.script("client.py", CLIENT)
    done = machine.plimsoll("run", machine.jobs(
        f'[[workload]]\nmode = "mps"\ndevices = ["0"]\n[[workload.job]]\nname = "client"\ncount = 48\nmps_percentage = 10\ncommand = "{command}"\n'))
    runs = machine.runs()[-48:]
    ended = [run["tags"].get("plimsoll.outcome") for run in runs]
    machine.holds(len(runs) == 48 and all(how == "finished" for how in ended), f"ended as {sorted(set(map(str, ended)))}: {done.stderr[-300:]}")
    machine.holds(all(run["metrics"].get("done", {}).get("value") == 1 for run in runs), "a client's metric is missing")
    return f"48 clients finished, the longest in {max(run['seconds'] for run in runs):.0f} s"


CHECKS = [activity_is_counted_by_gpm, mps_limits_take_effect, energy_is_shared, forty_eight_in_one_group]
