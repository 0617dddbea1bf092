#!/usr/bin/env python3
"""Does tracking slow trainings down? Four small trainings together, naively and under MPS, tracked by Plimsoll and not,
taking turns. Prints each training's steps a second and, per mode, the ratio of the means.

usage: tracking_overhead.py PLIMSOLL REPEATS SECONDS OUT.json [MODE…]      MODE: naive, mps
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
MEMBERS = 4


def command(seconds):
    return [sys.executable, os.path.join(HERE, "collocated_training.py"), "small", str(seconds)]


def variables(folder):
    return {"STUDY_MEETING": os.path.join(folder, "meeting"), "STUDY_MEMBERS": str(MEMBERS)}


def untracked(mode, seconds):
    with tempfile.TemporaryDirectory(prefix="pl") as folder:
        environment = {**os.environ, **variables(folder)}
        if mode == "mps":
            for name in ("pipe", "log"):
                os.mkdir(os.path.join(folder, name))
            environment["CUDA_MPS_PIPE_DIRECTORY"] = os.path.join(folder, "pipe")
            environment["CUDA_MPS_LOG_DIRECTORY"] = os.path.join(folder, "log")
            subprocess.run(["nvidia-cuda-mps-control", "-d"], env=environment, check=True)
        group = [subprocess.Popen(command(seconds), env=environment, stdout=subprocess.PIPE, text=True)
                 for _ in range(MEMBERS)]
        texts = [process.communicate()[0] for process in group]
        if mode == "mps":
            subprocess.run(["nvidia-cuda-mps-control"], input="quit\n", text=True, env=environment, check=True)
    return [float(text.rsplit("mean_steps_per_second ", 1)[1].split()[0]) for text in texts]


def watch(process):
    """Plimsoll's own processor time and memory, without what it runs."""
    begin, used, memory = time.monotonic(), 0.0, 0
    while process.poll() is None:
        try:
            with open(f"/proc/{process.pid}/stat") as stat:
                fields = stat.read().rsplit(")", 1)[1].split()
            used = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
            with open(f"/proc/{process.pid}/status") as status:
                memory = next((int(line.split()[1]) for line in status if line.startswith("VmHWM")), memory)
        except OSError:
            pass
        time.sleep(0.2)
    elapsed = time.monotonic() - begin
    return f"plimsoll: {used:.2f} s of CPU in {elapsed:.1f} s, {used / elapsed:.2%} of a core, at most {memory / 1024:.1f} MiB"


def tracked(plimsoll, mode, seconds):
    with tempfile.TemporaryDirectory(prefix="pl") as folder:
        store = os.path.join(folder, "store.db")
        with open(os.path.join(folder, "jobs.toml"), "w") as jobs:
            jobs.write(f'[[workload]]\nname = "four"\nmode = "{mode}"\ndevices = ["0"]\n'
                       f"environment = {{ {', '.join(f'{k} = {json.dumps(v)}' for k, v in variables(folder).items())} }}\n"
                       f"[[workload.job]]\ncount = {MEMBERS}\ncommand = {json.dumps(command(seconds))}\n")
        with open(os.path.join(folder, "out"), "w+") as answer, open(os.path.join(folder, "err"), "w+") as messages:
            process = subprocess.Popen([plimsoll, "run", jobs.name, "--store", store, "--json"], stdout=answer,
                                       stderr=messages)
            cost = watch(process)
            answer.seek(0), messages.seek(0)
            if process.returncode != 0:
                sys.exit(f"plimsoll run: {messages.read()}\n{answer.read()}")
            sampling = json.load(answer)["sampling"]
        runs = json.loads(subprocess.run([plimsoll, "runs", "--store", store, "--json"], capture_output=True,
                                         text=True, check=True).stdout)["runs"]
        print(f"    {cost}; of it sampling {sampling['cpu_seconds']:.3f} s for {sampling['frames']} frames", flush=True)
    return [run["metrics"]["mean_steps_per_second"]["value"] for run in runs]


def main():
    plimsoll, repeats, seconds, out = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), sys.argv[4]
    modes = sys.argv[5:] or ["naive", "mps"]
    results = []
    for repeat in range(repeats):
        for mode in modes:
            # Who comes first changes from turn to turn.
            for kind in ("untracked", "tracked") if repeat % 2 == 0 else ("tracked", "untracked"):
                rates = untracked(mode, seconds) if kind == "untracked" else tracked(plimsoll, mode, seconds)
                results.append({"repeat": repeat, "mode": mode, "kind": kind, "steps_per_second": sorted(rates)})
                print(f"{repeat} {mode:6} {kind:10} {' '.join(f'{r:.2f}' for r in sorted(rates))}", flush=True)
                with open(out, "w") as file:
                    json.dump(results, file, indent=1)
    for mode in modes:
        means = {kind: [statistics.mean(r["steps_per_second"]) for r in results if r["mode"] == mode and r["kind"] == kind]
                 for kind in ("tracked", "untracked")}
        ratio = statistics.mean(means["tracked"]) / statistics.mean(means["untracked"])
        spread = statistics.stdev(means["untracked"]) / statistics.mean(means["untracked"]) if repeats > 1 else float("nan")
        pairs = sorted(t / u for t, u in zip(means["tracked"], means["untracked"]))
        print(f"{mode}: tracked / untracked, median of {len(pairs)} pairs {statistics.median(pairs):.4f} "
              f"({pairs[0]:.4f} to {pairs[-1]:.4f})")
        print(f"{mode}: tracked / untracked {ratio:.4f}; untracked runs among themselves differ by {spread:.2%} (one sd)")


main()
