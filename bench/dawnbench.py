"""dawnbench.py PLIMSOLL FOLDER: reads the learning curves of DAWNBench's trainings (a clone of github.com/stanford-futuredata/dawn-bench-entries)
and asks `plimsoll tta` when each reached its target: 94 % on CIFAR-10, 93 % of the five best on ImageNet. Its own rule is to read off the first
row that is there (README.md of the entries): every time must be that row's. Prints the table of docs/figures/dawnbench.txt."""
import csv
import glob
import json
import os
import statistics
import subprocess
import sys
import tempfile

# Folder, the column of the accuracy, the target in %.
TASKS = {"CIFAR-10": ("CIFAR10/train", "top1Accuracy", 94.0), "ImageNet": ("ImageNet/train", "top5Accuracy", 93.0)}


def read_curve(path, column):
    """Rows of hours and the accuracy in %. Entries differ in the case of their headings, in spaces and in whether they write a share."""
    with open(path, encoding="utf-8-sig") as file:
        rows = [{(key or "").strip().lower(): (value or "").strip() for key, value in row.items() if key} for row in csv.DictReader(file, delimiter="\t")]
    return [(3600 * float(row["hours"]), float(row[column.lower()])) for row in rows if row.get("hours") and row.get(column.lower())]


def main():
    program, folder = sys.argv[1:]
    print(f"{'task':<9} {'entries':>7} {'reached':>7} {'fastest':>10} {'median':>10}   entries that cannot be read")
    for task, (place, column, target) in TASKS.items():
        entries, unreadable = {}, []
        for path in sorted(glob.glob(os.path.join(folder, place, "*.tsv"))):
            name = os.path.basename(path)[:-4]
            try:
                curve = read_curve(path, column)
            except (ValueError, KeyError):
                curve = []
            if curve and all(one[0] <= other[0] for one, other in zip(curve, curve[1:])):
                entries[name] = curve
            else:
                unreadable.append(name)
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump({"targets": [f"accuracy>={target}"],
                       "setups": [{"name": task, "runs": [{"name": name, "points": curve} for name, curve in entries.items()]}]}, file)
            file.flush()
            done = subprocess.run([program, "tta", "--from", file.name, "--json"], capture_output=True, text=True)
        if done.returncode not in (0, 1):
            sys.exit(done.stderr)
        setup = json.loads(done.stdout)["setups"][0]
        times = []
        for run, (name, curve) in zip(setup["runs"], entries.items()):
            first = next((at for at, accuracy in curve if accuracy >= target), None)
            assert run["reached"] == (first is not None) and run["time"] == (first if first is not None else curve[-1][0]), name
            times += [first] if first is not None else []
        print(f"{task:<9} {len(entries):>7} {setup['reached']:>7} {min(times):>8.1f} s {statistics.median(times):>8.1f} s   {', '.join(unreadable) or '-'}")


if __name__ == "__main__":
    main()
