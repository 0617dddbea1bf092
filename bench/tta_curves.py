"""tta_curves.py FILE.csv.gz: trains small networks on Fashion-MNIST in several set-ups with five seeds each and writes their learning curves,
evaluated often: what bench/tta_backtest.py predicts from. Takes about ten minutes of one core."""
import csv
import gzip
import sys

import fashion_training as fashion

SEEDS = range(5)
EVALUATIONS = 120
# Eight with a constant rate, and one whose rate falls, which says how wrong a fit of the curve so far is then.
SETUPS = {
    "linear, sgd 0.01, batch 64": ("linear", "sgd", 0.01, 64, 12000, "constant"),
    "mlp, sgd 0.05, batch 32": ("mlp", "sgd", 0.05, 32, 6000, "constant"),
    "mlp, adam 0.0003, batch 256": ("mlp", "adam", 0.0003, 256, 2040, "constant"),
    "deep mlp, momentum 0.02, batch 128": ("deep-mlp", "momentum", 0.02, 128, 2640, "constant"),
    "convolutions, adam 0.001, batch 64": ("convolutions", "adam", 0.001, 64, 1680, "constant"),
    "convolutions, momentum 0.01, batch 32": ("convolutions", "momentum", 0.01, 32, 2280, "constant"),
    "convolutions, adamw 0.0003, batch 128": ("convolutions", "adamw", 0.0003, 128, 1200, "constant"),
    "normalised, sgd 0.01, batch 64": ("normalised", "sgd", 0.01, 64, 1680, "constant"),
    "mlp, adam 0.001 cosine, batch 128": ("mlp", "adam", 0.001, 128, 2640, "cosine"),
}


def main():
    data = fashion.read("train", 60000), fashion.read("t10k", 3000)
    with gzip.open(sys.argv[1], "wt", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["setup", "seed", "step", "seconds", "evaluation_seconds", "accuracy", "loss"])
        for name, (network, optimizer, rate, batch, steps, schedule) in SETUPS.items():
            setup = {"network": network, "optimizer": optimizer, "learning_rate": rate, "batch": batch, "steps": steps,
                     "every": steps // EVALUATIONS, "schedule": schedule}
            for seed in SEEDS:
                def tell(step, training, evaluating, accuracy, loss, name=name, seed=seed):
                    rows.writerow([name, seed, step, f"{training:.4f}", f"{evaluating:.4f}", f"{accuracy:.5f}", f"{loss:.5f}"])
                fashion.train(setup, seed, data, tell)
                print(name, seed, flush=True)


if __name__ == "__main__":
    main()
