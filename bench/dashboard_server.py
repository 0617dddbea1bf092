#!/usr/bin/env python3
"""What the dashboard costs its server: the first page of a table of many runs, filters, and pages that look on.

    PLIMSOLL_BINARY=build/release/apps/plimsoll bench/dashboard_server.py [--store many.db] [--live 1000] [--viewers 100]

`--store`: one that bench/dashboard_runs.py has filled; without it tables are left out. Live runs log a metric each per second, by
batches of one client; viewers read /api/plimsoll/events?delta=1. What counts is the processor's time of the server, less that
which it takes for the same metrics with nobody looking."""
import argparse
import http.client
import json
import os
import pathlib
import selectors
import socket
import statistics
import subprocess
import tempfile
import threading
import time
import urllib.parse

BINARY = os.environ.get("PLIMSOLL_BINARY", "build/release/apps/plimsoll")
OWN = "/api/plimsoll"


class Server:
    def __init__(self, store):
        self.process = subprocess.Popen([BINARY, "serve", "--port", "0", "--json"], stdout=subprocess.PIPE, text=True,
                                        env={**os.environ, "PLIMSOLL_STORE": str(store)})
        parts = urllib.parse.urlsplit(json.loads(self.process.stdout.readline())["url"])
        self.host, self.port = parts.hostname, parts.port
        self.connection = http.client.HTTPConnection(self.host, self.port, timeout=300)

    def ask(self, method, path, message=None):
        self.connection.request(method, path, None if message is None else json.dumps(message), {"Content-Type": "application/json"})
        answer = self.connection.getresponse()
        text = answer.read()
        if answer.status != 200:
            raise RuntimeError(f"{path}: {answer.status} {text[:300]}")
        return text

    def processor_seconds(self):
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self):
        self.process.terminate()
        self.process.wait()


TABLES = {
    "first 50 rows": {},
    "first 50 rows, six columns, counted": {"column": ["metrics.loss", "metrics.accuracy", "params.lr", "params.model", "tags.team", "hardware.energy"],
                                            "total": 1},
    "filter: metrics.loss < 0.1": {"filter": "metrics.loss < 0.1"},
    "filter: params.model = 'gpt2' and metrics.accuracy > 0.9": {"filter": "params.model = 'gpt2' and metrics.accuracy > 0.9"},
    "filter: attributes.status = 'FAILED'": {"filter": "attributes.status = 'FAILED'"},
    "filter that no run meets": {"filter": "tags.team = 'z'"},
    "filter by part of a name": {"filter": "attributes.run_name LIKE '%99999%'"},
    "order by metrics.accuracy": {"order_by": "metrics.accuracy DESC"},
    "rows 90,000 to 90,050": {"offset": 90_000},
}


def tables(store):
    server = Server(store)
    try:
        runs = json.loads(server.ask("GET", f"{OWN}/runs?limit=0&total=1"))["total"]
        print(f"{runs} runs; milliseconds until the answer has been read, of 15: median, worst")
        for name, query in {**TABLES, "facets": None}.items():
            path = f"{OWN}/facets" if query is None else f"{OWN}/runs?" + urllib.parse.urlencode({"limit": 50, **query}, doseq=True)
            times = []
            for _ in range(15):
                begin = time.perf_counter()
                server.ask("GET", path)
                times.append((time.perf_counter() - begin) * 1000)
            print(f"  {name:58} {statistics.median(times):8.1f} {max(times):8.1f}")
    finally:
        server.stop()


class Viewers:
    """Pages that look on; they read all that comes and count it."""

    def __init__(self, server, number):
        self.selector, self.bytes, self.stopping = selectors.DefaultSelector(), 0, False
        for _ in range(number):
            one = socket.create_connection((server.host, server.port))
            one.sendall(f"GET {OWN}/events?delta=1 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
            self.selector.register(one, selectors.EVENT_READ)
        self.thread = threading.Thread(target=self.read)
        self.thread.start()

    def read(self):
        while not self.stopping:
            for key, _ in self.selector.select(0.2):
                self.bytes += len(key.fileobj.recv(1 << 20))

    def stop(self):
        self.stopping = True
        self.thread.join()
        for key in list(self.selector.get_map().values()):
            key.fileobj.close()


def feed(server, runs, seconds, first):
    """Each run tells a metric every second, from that step on; the processor's time of the server, per second, and the next step."""
    begin, used, step = time.monotonic(), server.processor_seconds(), first
    while time.monotonic() - begin < seconds:
        due = begin + step - first
        for at, run in enumerate(runs):
            server.ask("POST", "/api/2.0/mlflow/runs/log-batch",
                       {"run_id": run, "metrics": [{"key": "loss", "value": step + at / 1000, "timestamp": int(time.time() * 1000), "step": step}]})
            # Spread over the second, as runs are.
            if (rest := due + (at + 1) / len(runs) - time.monotonic()) > 0.002:
                time.sleep(rest)
        step += 1
    return (server.processor_seconds() - used) / (time.monotonic() - begin), step


def live(number, viewers, seconds=20):
    with tempfile.TemporaryDirectory() as folder:
        server = Server(pathlib.Path(folder) / "live.db")
        try:
            runs = [json.loads(server.ask("POST", "/api/2.0/mlflow/runs/create", {"experiment_id": "0", "run_name": f"live-{i}"}))["run"]["info"]["run_id"]
                    for i in range(number)]
            _, first = feed(server, runs, 3, 0)
            alone, second = feed(server, runs, seconds, first)
            looking = Viewers(server, viewers)
            _, third = feed(server, runs, 3, second)
            looking.bytes = 0
            watched, last = feed(server, runs, seconds, third)
            got = looking.bytes
            looking.stop()
            print(f"{number} live runs, each a metric per second ({second - first}, then {last - third} rounds in {seconds} s); cores of the server")
            print(f"  nobody looks            {alone:6.3f}")
            print(f"  {viewers:4} viewers at 1 Hz     {watched:6.3f}")
            print(f"  for the viewers         {watched - alone:6.3f}   ({got / viewers / seconds / 1000:.0f} kB/s to each)")
        finally:
            server.stop()


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--store")
    options.add_argument("--live", type=int, default=1000)
    options.add_argument("--viewers", type=int, default=100)
    given = options.parse_args()
    if given.store:
        tables(given.store)
    if given.live:
        live(given.live, given.viewers)


if __name__ == "__main__":
    main()
