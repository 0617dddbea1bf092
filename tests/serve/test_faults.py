"""What goes wrong around the server: it is killed, its database goes away, its disk is full. What it acknowledged is there
afterwards, and clients that try again get on."""
import http.client
import json
import random
import resource
import signal
import threading
import time

import pytest

from conftest import MILLION, wait_for

API = "/api/2.0/mlflow"
BATCH = 1000


class Sender(threading.Thread):
    """Logs batches to a run of its own and remembers which were acknowledged; tries again whatever happens, as MLflow's
    client does."""

    def __init__(self, port, run, enough):
        super().__init__(daemon=True)
        self.port, self.run_id, self.enough = port, run, enough
        self.acknowledged, self.failures = [], 0
        self.start()

    def run(self):
        connection, number = None, 0
        while not self.enough():
            body = json.dumps({"run_id": self.run_id, "metrics": [
                {"key": "loss", "value": s * 0.5, "timestamp": s, "step": s}
                for s in range(number * BATCH, (number + 1) * BATCH)]})
            try:
                connection = connection or http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)
                connection.request("POST", API + "/runs/log-batch", body, {"Content-Type": "application/json"})
                answer = connection.getresponse()
                text = answer.read()
            except (OSError, http.client.HTTPException):
                connection = None
                self.failures += 1
                time.sleep(0.02)
                continue
            if answer.status == 200:
                self.acknowledged.append(number)
                number += 1
            else:
                assert answer.status in (429, 500, 503, 504), text  # what the client tries again
                self.failures += 1
                time.sleep(0.02)


def call(port, method, path, message=None):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
    connection.request(method, path, json.dumps(message) if message else None, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    text = answer.read()
    connection.close()
    assert answer.status == 200, text[:500]
    return json.loads(text)


def new_run(port):
    return call(port, "POST", API + "/runs/create", {"experiment_id": "0", "start_time": 1})["run"]["info"]["run_id"]


def steps(port, run):
    found, token = [], ""
    while True:
        page = call(port, "GET", f"{API}/metrics/get-history?run_id={run}&metric_key=loss&max_results=100000&page_token={token}")
        found += [m["step"] for m in page["metrics"]]
        assert all(m["value"] == m["step"] * 0.5 for m in page["metrics"])
        token = page.get("next_page_token", "")
        if not token:
            return found


def check(port, senders):
    """Every acknowledged metric is there, once; one that was under way may be."""
    for sender in senders:
        sender.join(300)
        assert not sender.is_alive()
        found = steps(port, sender.run_id)
        assert len(found) == len(set(found))
        expected = len(sender.acknowledged) * BATCH
        assert found[:expected] == list(range(expected))
        assert len(found) <= expected + BATCH


def test_killed_under_load(serve, store):
    served = serve(store=store)
    port, draw, senders, killed = served.port, random.Random(20), [], threading.Event()
    total = lambda: BATCH * sum(len(s.acknowledged) for s in senders)
    for run in [new_run(port) for _ in range(4)]:
        senders.append(Sender(port, run, lambda: killed.is_set() and total() >= MILLION))
    for kill in range(1, 6):
        wait_for(lambda: total() >= kill * MILLION * 15 // 100, seconds=600)
        time.sleep(draw.uniform(0, 0.05))  # anywhere within a commit
        served.stop(signal.SIGKILL)
        served = serve(store=store, port=port)
    killed.set()
    wait_for(lambda: total() >= MILLION, seconds=600)
    check(port, senders)
    assert sum(s.failures for s in senders) >= 5
    print(f"{total()} acknowledged metrics over 5 kills, none lost")


def test_database_restarted_under_load(serve, postgres):
    served = serve(store=postgres.url)
    senders, end = [], threading.Event()
    for run in [new_run(served.port) for _ in range(4)]:
        senders.append(Sender(served.port, run, end.is_set))
    total = lambda: sum(len(s.acknowledged) for s in senders)
    for _ in range(3):
        before = total()
        wait_for(lambda: total() >= before + 20, seconds=600)
        postgres.stop()
        time.sleep(0.3)
        postgres.start()
    before = total()
    wait_for(lambda: total() >= before + 20, seconds=600)
    end.set()
    check(served.port, senders)
    assert served.process.poll() is None, "it serves on, without a restart of its own"


def test_full_disk(serve, tmp_path):
    # Files of the server end at 2 MiB; values that do not compress soon reach it.
    store = str(tmp_path / "store.db")
    serve(store=store).stop()

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (2 << 20, 2 << 20))

    served = serve(store=store, preexec_fn=limit)
    run, draw, number = new_run(served.port), random.Random(1), 0
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=300)
    while True:
        body = json.dumps({"run_id": run, "metrics": [
            {"key": "loss", "value": draw.random(), "timestamp": s, "step": s}
            for s in range(number * BATCH, (number + 1) * BATCH)]})
        connection.request("POST", API + "/runs/log-batch", body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        text = answer.read()
        if answer.status != 200:
            break
        number += 1
        assert number < 1000, "the limit was never reached"
    assert answer.status == 503 and b"TEMPORARILY_UNAVAILABLE" in text, (answer.status, text)
    # An upload that does not fit is refused too, and leaves nothing; what can be read is still read.
    connection.request("PUT", f"/api/2.0/mlflow-artifacts/artifacts/0/{run}/artifacts/large", b"x" * (3 << 20))
    answer = connection.getresponse()
    text = answer.read()
    assert answer.status in (500, 503, 507), (answer.status, text)
    listing = call(served.port, "GET", f"{API}/artifacts/list?run_id={run}")
    assert not listing.get("files"), listing
    assert served.stop() == 0
    served = serve(store=store)
    path = f"{API}/metrics/get-history?run_id={run}&metric_key=loss"
    assert len(call(served.port, "GET", path)["metrics"]) == number * BATCH
    call(served.port, "POST", API + "/runs/log-metric",
         {"run_id": run, "key": "after", "value": 1, "timestamp": 1, "step": 1})
