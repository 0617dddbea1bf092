#!/usr/bin/env python3
"""Fills a store with many runs, as a laboratory has after some years: through the server, as clients do.

    PLIMSOLL_BINARY=build/release/apps/plimsoll bench/dashboard_runs.py STORE [RUNS]

Each run has five params, five metrics of three points, four tags. What is written depends on RUNS alone."""
import concurrent.futures
import http.client
import json
import os
import random
import subprocess
import sys
import urllib.parse

BINARY = os.environ.get("PLIMSOLL_BINARY", "build/release/apps/plimsoll")
MODELS = ["resnet50", "vgg16", "gpt2", "bert-base", "mobilenet_v2", "efficientnet_b0"]
START = 1_700_000_000_000  # milliseconds; one run every five minutes


def contents(number):
    dice = random.Random(number)
    start, learning = START + number * 300_000, 10 ** dice.uniform(-5, -1)
    accuracy = dice.betavariate(8, 2)
    metrics = []
    for step in range(3):
        at = start + (step + 1) * 60_000
        for key, value in {"loss": dice.gammavariate(2, 0.3) / (step + 1), "accuracy": accuracy * (step + 1) / 3,
                           "val_loss": dice.gammavariate(2, 0.35) / (step + 1), "epoch": float(step),
                           "system/run/gpu/0/energy": 1000.0 * (step + 1) * dice.uniform(0.5, 2)}.items():
            metrics.append({"key": key, "value": value, "timestamp": at, "step": step * 100})
    return (start, {"lr": f"{learning:.3g}", "batch_size": str(dice.choice([16, 32, 64, 128])), "model": dice.choice(MODELS),
                    "seed": str(number), "optimizer": dice.choice(["sgd", "adam", "adamw"])},
            metrics, {"mlflow.user": f"user{number % 7}", "team": dice.choice("abc"), "mlflow.source.name": "train.py"},
            dice.choices(["FINISHED", "FAILED", "KILLED"], [90, 7, 3])[0])


def fill(address, numbers):
    connection = http.client.HTTPConnection(address.hostname, address.port, timeout=300)

    def post(path, message):
        connection.request("POST", "/api/2.0/mlflow" + path, json.dumps(message), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        text = answer.read()
        if answer.status != 200:
            raise RuntimeError(f"{path}: {answer.status} {text[:300]}")
        return json.loads(text)

    for number in numbers:
        start, params, metrics, tags, status = contents(number)
        run = post("/runs/create", {"experiment_id": "0", "start_time": start, "run_name": f"run-{number:06}",
                                    "tags": [{"key": k, "value": v} for k, v in tags.items()]})["run"]["info"]["run_id"]
        post("/runs/log-batch", {"run_id": run, "metrics": metrics,
                                 "params": [{"key": k, "value": v} for k, v in params.items()]})
        post("/runs/update", {"run_id": run, "status": status, "end_time": start + 200_000})


def main():
    store, runs = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 100_000
    server = subprocess.Popen([BINARY, "serve", "--port", "0", "--json"], stdout=subprocess.PIPE, text=True,
                              env={**os.environ, "PLIMSOLL_STORE": store})
    try:
        address = urllib.parse.urlsplit(json.loads(server.stdout.readline())["url"])
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            for done in [pool.submit(fill, address, range(i, runs, 8)) for i in range(8)]:
                done.result()
    finally:
        server.terminate()
        server.wait()
    print(f"{runs} runs in {store}")


if __name__ == "__main__":
    main()
