"""tta_study.py PLIMSOLL: Fashion-MNIST to 87 % by two set-ups of bench/data/training_curves.csv.gz, five runs each, evaluation not counted, as
`plimsoll tta` judges them. bench/tta_study.sh makes such runs anew, ten of each."""
import csv
import gzip
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SETUPS = ("mlp, adam 0.0003, batch 256", "deep mlp, momentum 0.02, batch 128")


def main():
    curves = {name: {} for name in SETUPS}
    with gzip.open(os.path.join(HERE, "data", "training_curves.csv.gz"), "rt") as file:
        for row in csv.DictReader(file):
            if row["setup"] in curves:
                curves[row["setup"]].setdefault(row["seed"], []).append([float(row["seconds"]), float(row["accuracy"])])
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "curves.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"targets": ["accuracy>=0.87"],
                       "setups": [{"name": name, "runs": [{"name": f"seed {seed}", "points": points} for seed, points in runs.items()]}
                                  for name, runs in curves.items()]}, file)
        sys.exit(subprocess.call([sys.argv[1], "tta", "--from", path, *sys.argv[2:]], env={**os.environ, "COLUMNS": "160"}))


if __name__ == "__main__":
    main()
