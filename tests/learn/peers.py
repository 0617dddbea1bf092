"""peers.py PLIMSOLL: `plimsoll tta --from FILE --json` against scipy, lifelines and the reference convergence points that mlperf-logging
ships: times drawn by fixed seeds, with and without ties and censored runs, and the edges: one run, all equal, none that reached it."""
import glob
import json
import math
import os
import random
import subprocess
import sys
import tempfile
import warnings

import lifelines
import numpy
import scipy.stats
from lifelines.statistics import logrank_test
from lifelines.utils import restricted_mean_survival_time
from mlperf_logging.rcp_checker import rcp_checker

CLOSE = 1e-9
RESAMPLES = 100


def tta(document, *options):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "times.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(document, file)
        done = subprocess.run([sys.argv[1], "tta", "--from", path, "--resamples", str(RESAMPLES), "--json", *options],
                              capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stderr
    return json.loads(done.stdout)


def check(what, found, wanted):
    """Both unknown, or within 1e-9 of each other."""
    known = wanted is not None and math.isfinite(wanted)
    assert (found is not None) == known, f"{what}: {found} instead of {wanted}"
    if known:
        assert abs(found - wanted) <= CLOSE * max(1, abs(wanted)), f"{what}: {found!r} instead of {wanted!r}"


def check_interval(what, found, wanted):
    for key, value in zip(("value", "low", "high"), wanted):
        check(f"{what}.{key}", found and found[key], value)


# The generator of C++'s standard, std::mt19937_64, so that resamples are the same ones.
def mersenne_twister_64(seed):
    mask, state = (1 << 64) - 1, [seed]
    for i in range(1, 312):
        state.append((6364136223846793005 * (state[-1] ^ (state[-1] >> 62)) + i) & mask)
    at = 312
    while True:
        if at == 312:
            for i in range(312):
                joined = (state[i] & ~0x7FFFFFFF & mask) | (state[(i + 1) % 312] & 0x7FFFFFFF)
                state[i] = state[(i + 156) % 312] ^ (joined >> 1) ^ (0xB5026F5AA96619E9 if joined & 1 else 0)
            at = 0
        value = state[at]
        at += 1
        value ^= (value >> 29) & 0x5555555555555555
        value ^= (value << 17) & 0x71D67FFFEDA60000
        value ^= (value << 37) & 0xFFF7EEE000000000
        yield (value ^ (value >> 43)) & mask


def bca(values, statistic):
    """As scipy's, of the same resamples. No ends where scipy's theory has none."""
    value = statistic(values)
    if len(values) < 3:
        return value, None, None
    draws = mersenne_twister_64(1)
    found = sorted(statistic([values[next(draws) * len(values) >> 64] for _ in values]) for _ in range(RESAMPLES))
    if found[0] == found[-1]:
        return value, found[0], found[-1]
    # Equal but for rounding, which is another in every order of the same values.
    below, at_most = (numpy.sum(numpy.array(found) < value * (1 + side)) for side in (-1e-12, 1e-12))
    share = (below + at_most) / (2 * RESAMPLES)
    bias = scipy.stats.norm.ppf(min(max(share, 0.5 / RESAMPLES), 1 - 0.5 / RESAMPLES))
    left = numpy.array([statistic(values[:i] + values[i + 1:]) for i in range(len(values))])
    away = left.mean() - left
    speed = (away**3).sum() / (6 * (away**2).sum()**1.5) if (away**2).sum() > 0 else 0
    ends = [scipy.stats.norm.cdf(bias + (bias + z) / (1 - speed * (bias + z))) for z in scipy.stats.norm.ppf([0.025, 0.975])]
    return value, *numpy.quantile(found, ends)


def variation(values):
    return numpy.std(values, ddof=1) / numpy.mean(values)


def check_setup(what, found, times, reached):
    n, there = len(times), sorted(t for t, r in zip(times, reached) if r)
    share = scipy.stats.binomtest(len(there), n).proportion_ci(0.95, method="wilson")
    check_interval(f"{what}: share", found["share"], (len(there) / n, share.low, share.high))
    check(f"{what}: deviation", found["deviation"], numpy.std(there, ddof=1) if len(there) > 1 else None)
    if len(there) == n:
        check_interval(f"{what}: mean", found["mean"], bca(there, numpy.mean))
    else:
        assert found["mean"] is None, what
    if len(there) > 1 and numpy.mean(there) > 0 and min(there) > 0:
        check_interval(f"{what}: variation", found["variation"], bca(there, variation))
    if len(there) == n >= 3 and min(there) > 0:
        logs = numpy.log(there)
        half = scipy.stats.t.ppf(0.9, n - 1) * numpy.std(logs, ddof=1) * math.sqrt(1 + 1 / n)
        check_interval(f"{what}: one more", found["next_run"], [math.exp(logs.mean() + side * half) for side in (0, -1, 1)])
    else:
        assert found["next_run"] is None, what
    # All but one at each end, as scipy trims; runs that never reached it are the largest.
    censored = n - len(there)
    olympic = numpy.mean((there + [math.inf] * censored)[1:-1]) if n > 2 and censored < 2 else None
    check(f"{what}: olympic mean", found["olympic_mean"], olympic)
    if n > 2 and censored == 0:
        check(f"{what}: trimmed mean", found["olympic_mean"], scipy.stats.trim_mean(times, 1 / n + 1e-12))
    check_survival(what, found, times, reached)


def check_survival(what, found, times, reached):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = lifelines.KaplanMeierFitter().fit(times, reached)
        ecdf = scipy.stats.ecdf(scipy.stats.CensoredData.right_censored(times, [not r for r in reached])).sf
        limits = ecdf.confidence_interval(0.95, method="log-log") if any(reached) else None
    for step in found["survival"]:
        at = step["time"]
        check(f"{what}: survival at {at}", step["share"], float(fit.survival_function_at_times(at).iloc[0]))
        check(f"{what}: survival at {at} (scipy)", step["share"], float(ecdf.evaluate([at])[0]))
        row = fit.event_table.loc[at]
        assert (step["at_risk"], step["reached"], step["censored"]) == (row["at_risk"], row["observed"], row["censored"]) or at == 0, what
        if 0 < step["share"] < 1:
            low, high = fit.confidence_interval_.loc[at]
            check(f"{what}: low at {at}", step["low"], low)
            check(f"{what}: high at {at}", step["high"], high)
            check(f"{what}: low at {at} (scipy)", step["low"], float(limits.low.evaluate([at])[0]))
    # lifelines multiplies by adding logarithms, so that a half may come out a last bit above itself: its own
    # curve is asked with room for that.
    below = [step["time"] for step in found["survival"] if fit.survival_function_at_times(step["time"]).iloc[0] <= 0.5 + CLOSE]
    check(f"{what}: median", found["median"] and found["median"]["value"], below[0] if below else None)
    horizon = found["horizon"]
    mean = restricted_mean_survival_time(fit, horizon)
    check(f"{what}: restricted mean", found["restricted_mean"]["value"], mean)
    check(f"{what}: restricted mean's interval", found["restricted_mean"]["high"], mean + greenwood(found["survival"], horizon))


def greenwood(steps, horizon):
    """Half of the interval of a restricted mean: Klein and Moeschberger, Survival Analysis, 2003, equation 4.5.2."""
    ends = [step["time"] for step in steps] + [horizon]
    areas = [max(0, min(ends[i + 1], horizon) - ends[i]) * step["share"] for i, step in enumerate(steps)]
    variance = sum(sum(areas[i:])**2 * s["reached"] / (s["at_risk"] * (s["at_risk"] - s["reached"])) for i, s in enumerate(steps)
                   if s["time"] < horizon and 0 < s["reached"] < s["at_risk"])
    return scipy.stats.norm.ppf(0.975) * math.sqrt(variance)


def check_comparison(what, found, one, other):
    (a, a_reached), (b, b_reached) = one, other
    slowest = max([t for ts, rs in (one, other) for t, r in zip(ts, rs) if r], default=0)
    ranked = all(r or t >= slowest for ts, rs in (one, other) for t, r in zip(ts, rs))
    if ranked:
        x, y = ([t if r else math.inf for t, r in zip(*side)] for side in (one, other))
        test = scipy.stats.mannwhitneyu(x, y, alternative="two-sided", method="auto")
        check(f"{what}: U", found["mann_whitney"]["u"], test.statistic)
        check(f"{what}: p", found["mann_whitney"]["p"], test.pvalue)
        if all(a_reached) and all(b_reached) and min(a + b) > 0:
            quotients = sorted(math.log(s) - math.log(t) for s in a for t in b)
            check(f"{what}: ratio", found["ratio"]["value"], math.exp(numpy.median(quotients)))
            if (len(a) <= 8 or len(b) <= 8) and len(set(a + b)) == len(a + b):
                # The interval holds what the exact test would not reject: shifted to an end, it just does not.
                if found["ratio"]["low"] is not None:
                    for end, out in ((found["ratio"]["low"], 1 - 1e-9), (found["ratio"]["high"], 1 + 1e-9)):
                        assert scipy.stats.mannwhitneyu(a, [t * end * out for t in b], method="exact").pvalue <= 0.05 + CLOSE, what
                        assert scipy.stats.mannwhitneyu(a, [t * end / out for t in b], method="exact").pvalue > 0.05 - CLOSE, what
    else:
        assert found["mann_whitney"] is None, what
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = logrank_test(a, b, a_reached, b_reached)
    # Where no time tells the sides apart lifelines has 0 or no number.
    check(f"{what}: log-rank", found["log_rank"]["statistic"], numpy.nan_to_num(theirs.test_statistic))
    check(f"{what}: log-rank's p", found["log_rank"]["p"], theirs.p_value if math.isfinite(theirs.p_value) else 1.0)


def cases():
    draw = random.Random(24)
    for n, m in ((1, 1), (2, 3), (3, 3), (4, 4), (5, 9), (8, 8), (8, 30), (9, 9), (10, 10), (25, 40)):
        for kind in ("free", "ties", "censored", "censored at the end", "ties and censored"):
            sides = []
            for size in (n, m):
                times = [draw.lognormvariate(3, 0.3) for _ in range(size)]
                if "ties" in kind:
                    times = [float(round(t / 4) * 4 or 4) for t in times]
                reached = [True] * size
                if kind == "censored at the end":
                    limit = 24.0
                    reached = [t <= limit for t in times]
                    times = [min(t, limit) for t in times]
                elif "censored" in kind:
                    reached = [draw.random() < 0.7 for _ in range(size)]
                sides.append((times, reached))
            yield f"{n} and {m} {kind}", *sides
    none = [False] * 5
    yield "none reached it", ([10.0] * 5, none), ([9.0, 8.0, 7.0, 6.0, 5.0], none)
    yield "one side never", ([1.0, 2.0, 3.0, 4.0, 5.0], [True] * 5), ([10.0] * 5, none)
    yield "all equal", ([7.0] * 6, [True] * 6), ([7.0] * 6, [True] * 6)
    yield "one run each, equal", ([7.0], [True]), ([7.0], [True])
    yield "nothing but zeros", ([0.0] * 4, [True] * 4), ([0.0] * 4, [True] * 4)


def times_and_tests():
    count = 0
    for what, one, other in cases():
        answer = tta({"setups": [{"name": "a", "times": one[0], "reached": one[1]}, {"name": "b", "times": other[0], "reached": other[1]}]})
        for found, side in zip(answer["setups"], (one, other)):
            check_setup(what, found, *side)
        check_comparison(what, answer["comparisons"][0], one, other)
        fewest = 2 / math.comb(len(one[0]) + len(other[0]), len(one[0]))
        assert (answer["comparisons"][0]["winner"] == "too-few-runs") == (fewest >= 0.05), what
        count += 1
    print(f"{count} pairs of set-ups as scipy {scipy.__version__} and lifelines {lifelines.__version__} have them, to {CLOSE:g}")


def power():
    """Runs a side for 80 % power, from scipy's normal quantiles; the published figures for a variation of 5 % are 104, 18 and 6."""
    spread = [100 * (1 + 0.05 * z) for z in (-math.sqrt(1.5), 0, math.sqrt(1.5))]
    needed = tta({"setups": [{"times": spread}]})["setups"][0]
    check("variation", needed["variation"]["value"], variation(spread))
    assert [row["runs"] for row in needed["runs_needed"]] != [], needed
    at_five_percent = {row["difference"]: row["runs"] for row in needed["runs_needed"]}
    level, gain = scipy.stats.norm.ppf([0.975, 0.8])
    for difference, runs in at_five_percent.items():
        exact = (2 * ((level + gain) * variation(spread) / difference)**2 + level**2 / 4) * math.pi / 3
        assert runs == max(4, math.ceil(exact)), (difference, runs, exact)
    print(f"runs needed at a variation of {variation(spread):.3f}: {at_five_percent}")


def reference_points():
    """Mean, deviation and largest speed-up of every row that mlperf-logging ships, as its own checker has them."""
    checked = differing = 0
    for path in sorted(glob.glob(os.path.join(os.path.dirname(rcp_checker.__file__), "*_*", "rcps_*.json"))):
        usage, ruleset = os.path.basename(os.path.dirname(path)).split("_")
        with open(path, encoding="utf-8") as file:
            rows = json.load(file)
        names = {row["Benchmark"] for row in rows.values()}
        for benchmark in names:
            runs = rcp_checker.submission_runs[usage].get(benchmark)
            if runs is None:  # its checker does not know it any more
                runs = 5
                rcp_checker.submission_runs[usage][benchmark] = runs
            theirs = rcp_checker.RCP_Checker.__new__(rcp_checker.RCP_Checker)
            theirs.usage, theirs.ruleset, theirs.benchmark, theirs.verbose = usage, ruleset, benchmark, False
            theirs.alpha, theirs.tolerance, theirs.submission_runs = 0.05, 0.0001, runs  # its own
            own_rows = {name: row for name, row in rows.items() if row["Benchmark"] == benchmark}
            theirs.rcp_data = theirs._process_raw_rcp_data(own_rows)
            theirs._prune_rcps = lambda: None
            theirs.compute_rcp_stats()
            document = {"setups": [{"name": name, "times": row["Epochs to converge"]} for name, row in theirs.rcp_data.items()]}
            answer = tta(document, "--submitted", str(runs), "--dropped", "4" if benchmark == "unet3d" else "1")
            for found, (name, wanted) in zip(answer["setups"], theirs.rcp_data.items()):
                reference = found["reference"]
                assert reference is not None, (path, name)
                figures = [("mean", "RCP Mean"), ("deviation", "RCP Stdev")]
                # Runs so far apart that its search ends at nothing: every speed-up would do.
                if wanted["Min Epochs"] < theirs.tolerance:
                    assert reference["most_speed_up"] is None and reference["least_mean"] == 0, (path, name)
                else:
                    figures.append(("most_speed_up", "Max Speedup"))
                for key, other in figures:
                    away = abs(reference[key] - wanted[other]) / max(abs(wanted[other]), 1e-12) if wanted[other] else abs(reference[key])
                    differing = max(differing, away)
                    assert away < 0.001, (path, name, key, reference[key], wanted[other])
                checked += 1
    assert checked >= 591, checked
    print(f"{checked} reference convergence points as mlperf-logging's rcp_checker has them, to {100 * differing:.2g} %")


if __name__ == "__main__":
    times_and_tests()
    power()
    reference_points()
