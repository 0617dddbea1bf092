#!/usr/bin/env python3
"""Does tracking slow trainings down? Separate runs of a group differ by several percent among themselves, more than tracking
could cost. So here one group runs throughout, and Plimsoll is stopped and let go on (SIGSTOP, SIGCONT) every few seconds:
the steps of windows with and without its sampling are compared in neighbouring pairs.

usage: tracking_windows.py PLIMSOLL naive|mps SECONDS OUT.json
"""
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
MEMBERS = 4
WINDOW, EDGE = 3.0, 0.3  # seconds; what is near a change counts for neither


def steps_between(lines, begin, end):
    """Steps per second in a window, from lines "time steps" of one training."""
    inside = [(t, n) for t, n in lines if begin <= t <= end]
    return (inside[-1][1] - inside[0][1]) / (inside[-1][0] - inside[0][0]) if len(inside) > 2 else None


def main():
    plimsoll, mode, seconds, out = sys.argv[1], sys.argv[2], float(sys.argv[3]), sys.argv[4]
    with tempfile.TemporaryDirectory(prefix="pl") as folder:
        meeting = os.path.join(folder, "meeting")
        variables = {"STUDY_MEETING": meeting, "STUDY_MEMBERS": str(MEMBERS), "STUDY_STEPS": os.path.join(folder, "steps")}
        os.mkdir(variables["STUDY_STEPS"])
        command = [sys.executable, os.path.join(HERE, "collocated_training.py"), "small", str(seconds)]
        jobs = os.path.join(folder, "jobs.toml")
        with open(jobs, "w") as file:
            file.write(f'[[workload]]\nname = "four"\nmode = "{mode}"\ndevices = ["0"]\n'
                       f"environment = {{ {', '.join(f'{k} = {json.dumps(v)}' for k, v in variables.items())} }}\n"
                       f"[[workload.job]]\ncount = {MEMBERS}\ncommand = {json.dumps(command)}\n")
        process = subprocess.Popen([plimsoll, "run", jobs, "--store", os.path.join(folder, "store.db")],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        ready = os.path.join(meeting, "begin")
        while process.poll() is None and len(os.listdir(ready) if os.path.isdir(ready) else ()) < MEMBERS:
            time.sleep(0.2)
        time.sleep(1)
        windows, begin = [], time.monotonic()
        while time.monotonic() - begin < seconds - 2 * WINDOW and process.poll() is None:
            for tracked in (True, False) if len(windows) % 4 == 0 else (False, True):
                os.kill(process.pid, signal.SIGCONT if tracked else signal.SIGSTOP)
                now = time.monotonic()
                time.sleep(WINDOW)
                windows.append((tracked, now + EDGE, now + WINDOW - EDGE))
        os.kill(process.pid, signal.SIGCONT)
        process.communicate()
        trainings = []
        for name in os.listdir(variables["STUDY_STEPS"]):
            with open(os.path.join(variables["STUDY_STEPS"], name)) as file:
                trainings.append([tuple(map(float, line.split())) for line in file])
    rates = []
    for tracked, first, last in windows:
        each = [steps_between(lines, first, last) for lines in trainings]
        rates.append({"tracked": tracked, "steps_per_second": each})
    pairs = []
    for a, b in zip(rates[::2], rates[1::2]):
        on, off = (a, b) if a["tracked"] else (b, a)
        pairs.append(sum(on["steps_per_second"]) / sum(off["steps_per_second"]))
    with open(out, "w") as file:
        json.dump({"mode": mode, "windows": rates, "ratios": pairs}, file, indent=1)
    ordered = sorted(pairs)
    print(f"{mode}: {len(pairs)} pairs of windows of {WINDOW:.0f} s; tracked / untracked: median {statistics.median(pairs):.4f}, "
          f"{ordered[0]:.4f} to {ordered[-1]:.4f}; mean steps/s of the four together "
          f"{statistics.mean(sum(r['steps_per_second']) for r in rates):.1f}")


main()
