#!/usr/bin/env python3
"""The collocation study as tables: speed of each training, what it got of the GPU, and how the shares compare with the
activities alone.

usage: collocation_table.py PLIMSOLL STORE
"""
import csv
import io
import json
import statistics
import subprocess
import sys


def main():
    plimsoll, store = sys.argv[1:]

    def ask(*words):
        return subprocess.run([plimsoll, *words, "--store", store], check=True, capture_output=True, text=True).stdout

    runs = json.loads(ask("runs", "--json", "--limit", "1000"))["runs"]
    runs.sort(key=lambda run: run["start"])

    def points(run, metric):
        if metric not in run["metrics"]:
            return []
        rows = csv.DictReader(io.StringIO(ask("runs", "export", run["id"], "--format", "csv", "--metric", metric)))
        return [(float(row["seconds"]), float(row["value"])) for row in rows]

    def working(run, metric):
        """Mean over the span in which the training measured itself."""
        span = [t for t, _ in points(run, "steps_per_second")]
        values = [v for t, v in points(run, metric) if span[0] <= t <= span[-1]]
        return statistics.mean(values) if values else float("nan")

    alone, rows = {}, []
    for run in runs:
        kind = run["name"].split("-")[0]
        row = {"workload": run["tags"]["plimsoll.workload"], "kind": kind,
               "speed": run["metrics"]["mean_steps_per_second"]["value"],
               "sm": working(run, "system/gpu/0/sm_activity"), "utilization": working(run, "system/gpu/0/utilization"),
               "share": working(run, "system/run/gpu/0/sm_share"), "power": working(run, "system/gpu/0/power")}
        if run["tags"]["plimsoll.mode"] == "alone":
            alone[kind] = row
        rows.append(row)

    print("| Workload | Training | steps/s | of alone | SM activity | utilisation | share given | by activities alone | off | GPU power |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for workload in dict.fromkeys(row["workload"] for row in rows):
        group = [row for row in rows if row["workload"] == workload]
        whole = sum(alone[row["kind"]]["sm"] for row in group)
        for row in group:
            expected = alone[row["kind"]]["sm"] / whole
            print(f"| {workload} | {row['kind']} | {row['speed']:.1f} | {row['speed'] / alone[row['kind']]['speed']:.0%} | "
                  f"{row['sm']:.1%} | {row['utilization']:.0%} | {row['share']:.3f} | {expected:.3f} | "
                  f"{row['share'] / expected - 1:+.1%} | {row['power']:.0f} W |")
        if len(group) > 1:
            total = sum(row["speed"] / alone[row["kind"]]["speed"] for row in group)
            told = sum(alone[row["kind"]]["sm"] * row["speed"] / alone[row["kind"]]["speed"] for row in group)
            print(f"| | **together** | | {total:.2f} × | {group[0]['sm']:.1%} | | {sum(r['share'] for r in group):.3f} | | "
                  f"activity alone × progress adds up to {told:.1%} | |")


main()
