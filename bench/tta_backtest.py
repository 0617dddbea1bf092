"""tta_backtest.py PLIMSOLL [--check] [--straight-since 0.5]: how well `plimsoll tta` tells, from the curve so far,
when a training will reach its target. Of bench/data/training_curves.csv.gz (bench/tta_curves.py) every run is looked at after a third and
after half of its time, for every value of a grid that it has not reached by then and that most runs of its set-up reach. What is asked of an
interval's factors is answered by the other set-ups alone. Prints the table of docs/figures/tta_backtest.txt; --check fails where the factors
in src/learn/forecast.cpp are not those found, or an interval holds too seldom or too often."""
import argparse
import csv
import gzip
import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SHARES = (1 / 3, 1 / 2)
CHANGING_RATE = "mlp, adam 0.001 cosine, batch 128"  # its rate falls as it goes: said apart
RATE_OFFSET = 0.2                                     # of a constant rate: the curve has its own, by its noise
GRID = {"accuracy": [round(0.7 + 0.005 * i, 3) for i in range(50)], "loss": [round(1.2 - 0.02 * i, 2) for i in range(55)]}


def read_curves(clock, metric):
    curves = {}
    with gzip.open(os.path.join(HERE, "data", "training_curves.csv.gz"), "rt") as file:
        for row in csv.DictReader(file):
            at = float(row["seconds" if clock == "seconds" else "step"])
            curves.setdefault(row["setup"], {}).setdefault(row["seed"], []).append((at, float(row[metric])))
    return curves


def reached_at(curve, target, metric):
    for at, value in curve:
        if (value >= target) if metric == "accuracy" else (value <= target):
            return at
    return None


def cases_of(curves, metric):
    """Set-up, share of the time, curve so far, target, when it was reached (None: not while it was looked at), the end."""
    for setup, runs in curves.items():
        for target in GRID[metric]:
            ends = [reached_at(curve, target, metric) for curve in runs.values()]
            if 2 * sum(end is not None for end in ends) <= len(ends):
                continue
            for curve, end in zip(runs.values(), ends):
                for share in SHARES:
                    so_far = [point for point in curve if point[0] <= share * curve[-1][0]]
                    if end is None or end > so_far[-1][0]:
                        yield {"setup": setup, "share": share, "curve": so_far, "target": target, "reached": end, "until": curve[-1][0],
                               "now": so_far[-1][0]}


def constant_rate(case, metric, since):
    """Where a straight line through the best values from that share of the time on, from the best one on, reaches the target."""
    sign = 1 if metric == "accuracy" else -1
    best, points = -math.inf, []
    for at, value in case["curve"]:
        best = max(best, sign * value)
        if at >= since * case["now"]:
            points.append((at, best))
    middle, level = statistics.fmean(at for at, _ in points), statistics.fmean(value for _, value in points)
    slope = sum((at - middle) * (value - level) for at, value in points) / sum((at - middle) ** 2 for at, _ in points)
    if slope <= 0:
        return None
    return case["now"] + (sign * case["target"] - best) / slope


def ask_plimsoll(program, cases, clock, metric):
    """Adds what plimsoll expects: one file per target."""
    with tempfile.TemporaryDirectory() as folder:
        for target in sorted({case["target"] for case in cases}):
            of_target = [case for case in cases if case["target"] == target]
            path = os.path.join(folder, "curves.json")
            sign = ">=" if metric == "accuracy" else "<="
            with open(path, "w", encoding="utf-8") as file:
                json.dump({"targets": [f"{metric}{sign}{target}"], "clock": clock,
                           "setups": [{"runs": [{"points": case["curve"], "goes_on": True} for case in of_target]}]}, file)
            done = subprocess.run([program, "tta", "--from", path, "--resamples", "100", "--json"], capture_output=True, text=True)
            if done.returncode not in (0, 1):
                sys.exit(done.stderr)
            for case, run in zip(of_target, json.loads(done.stdout)["setups"][0]["runs"]):
                case["expected"] = run["expected"]


def quantile(values, share):
    values = sorted(values)
    place = share * (len(values) - 1)
    below = int(place)
    return values[below] + (place - below) * (values[min(below + 1, len(values) - 1)] - values[below])


def factors(cases, guess):
    """What (log of reached over elapsed time + offset) is to that of the guess; a guess is a moment and its offset. A run that did not reach it is taken to have needed
    a fifth more of the logarithm than it was looked at: it is later, and in the upper tail as long as no more are than that has."""
    out = []
    for case in cases:
        reached = math.log(case["reached"] / case["now"]) if case["reached"] else 1.2 * math.log(case["until"] / case["now"])
        moment, offset = guess(case)
        out.append((reached + offset) / (math.log(moment / case["now"]) + offset))
    return quantile(out, 0.1), quantile(out, 0.5), quantile(out, 0.9)


def interval(case, guess, low, high):
    continued, offset = guess(case)

    def moment(factor):
        return case["now"] * math.exp(max(0, (math.log(continued / case["now"]) + offset) * factor - offset))
    return moment(low), moment(high)


def holds(case, low, high):
    # Not reached while it was looked at: wrong only where it should have been by then.
    return low <= case["reached"] <= high if case["reached"] else high >= case["until"]


def judge(cases, guess):
    """By share: how many, the share held, the median and mean width over the time elapsed."""
    out = {}
    for share in SHARES:
        held, widths = [], []
        for setup in {case["setup"] for case in cases}:
            low, _, high = factors([case for case in cases if case["setup"] != setup], guess)
            for case in cases:
                if case["setup"] == setup and case["share"] == share:
                    ends = interval(case, guess, low, high)
                    held.append(holds(case, *ends))
                    widths.append((ends[1] - ends[0]) / case["now"])
        out[share] = len(held), statistics.fmean(held), statistics.median(widths), statistics.fmean(widths)
    return out


def shipped():
    with open(os.path.join(HERE, "..", "src", "learn", "forecast.cpp"), encoding="utf-8") as file:
        return tuple(map(float, re.search(r"kLow = ([\d.]+), kMiddle = ([\d.]+), kHigh = ([\d.]+)", file.read()).groups()))


def tell(program, clock, metric, since):
    """Prints the table of one clock and one metric; the figures by way, and the factors of all eight set-ups."""
    every = list(cases_of(read_curves(clock, metric), metric))
    ask_plimsoll(program, every, clock, metric)
    silent = [case for case in every if not case["expected"] or not constant_rate(case, metric, since)]
    told = [case for case in every if case not in silent]
    cases = [case for case in told if case["setup"] != CHANGING_RATE]
    print(f"{len(cases)} back-tests of {metric} in {clock}, {sum(c['reached'] is None for c in cases)} not reached while looked at, "
          f"of {len({c['setup'] for c in cases})} set-ups with 5 runs each; {len(silent)} more had no expectation")
    ways = {"the curve so far": lambda case: (case["expected"]["continued"], case["expected"]["offset"]),
            "a constant rate": lambda case: (constant_rate(case, metric, since), RATE_OFFSET)}
    found = {}
    print(f"{'80 % interval from':<20} {'looked at':>9} {'cases':>6} {'holds':>7} {'median width':>13} {'mean width':>11}  (of the time elapsed)")
    for name, guess in ways.items():
        found[name] = judge(cases, guess)
        for share, (count, held, middle, mean) in found[name].items():
            print(f"{name:<20} {f'{share:.0%}':>9} {count:>6} {held:>7.1%} {middle:>13.3f} {mean:>11.3f}")
    by_setup = {setup: [holds(c, c["expected"]["low"], c["expected"]["high"]) for c in told if c["setup"] == setup]
                for setup in dict.fromkeys(c["setup"] for c in told)}
    print("\nwith the factors that plimsoll has, by set-up (the last one's rate falls; it had no part in them)")
    for setup, held in by_setup.items():
        print(f"  {setup:<40} {len(held):>4} cases {statistics.fmean(held):>7.1%}")
    own = factors(cases, ways["the curve so far"])
    print("\nfactors of all eight (10, 50, 90 %): {:.3f} {:.3f} {:.3f}; plimsoll has {:.3f} {:.3f} {:.3f}\n".format(*own, *shipped()))
    return found, own


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--straight-since", type=float, default=0.5, help="share of the time from which on the constant rate is taken")
    asked = parser.parse_args()
    for clock in ("seconds", "steps"):
        for metric in ("accuracy", "loss"):
            found, own = tell(asked.program, clock, metric, asked.straight_since)
            if not asked.check:
                continue
            if (clock, metric) == ("seconds", "accuracy"):  # those by which the factors were found
                assert all(abs(a - b) < 0.0006 for a, b in zip(own, shipped())), "src/learn/forecast.cpp has other factors"
            ours, theirs = found["the curve so far"], found["a constant rate"]
            assert sum(ours[share][0] for share in SHARES) >= 200
            for share in SHARES:
                assert 0.75 <= ours[share][1] <= 0.9, f"{metric} in {clock}, {share}: holds {ours[share][1]}"
                assert ours[share][2] < theirs[share][2] and ours[share][3] < theirs[share][3], f"{metric} in {clock}, {share}: no narrower"


if __name__ == "__main__":
    main()
