#!/usr/bin/env python3
"""`plimsoll serve` beside MLflow's own server: the same calls by the same clients, one server after the other, twice.

usage: tracking_server.py PLIMSOLL MLFLOW [--store sqlite|postgresql] [--seconds 5] [--clients 4] [--runs 10000]
                          [--points 10000000] [--parts rates,search,history,memory] [--flush] [--rate 600]
                          [--through http|mlflow]

PLIMSOLL is the program, MLFLOW the `mlflow` of a Python environment (for PostgreSQL with psycopg2 in it), or "none" where
there is none: then only Plimsoll's rates are taken, and --rate stands for ten times MLflow's. Clients are
processes that keep a connection each and send bodies that were made before the clock starts; with --through mlflow they
call MLflow's own Python client, as a training script does, in the Python that runs this. Prints for each kind of
call the rate of both, the ratio, and the 99th percentile, of single metrics also at ten times MLflow's rate; then the
time of searches, that of a history of a million points thinned out to 2,500, as points and as spans, and Plimsoll's
memory while --points more come in.
"""
import argparse
import contextlib
import functools
import glob
import http.client
import json
import multiprocessing
import os
import pwd
import random
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

API = "/api/2.0/mlflow/"


class Client:
    def __init__(self, port):
        self.port = port
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=300)

    def send(self, method, path, body=None):
        headers = {"Content-Type": "application/json"} if body else {}
        try:
            self.connection.request(method, path, body, headers)
            answer = self.connection.getresponse()
        except (ConnectionError, http.client.RemoteDisconnected):  # a server may close what was idle for a while
            self.connection.close()
            self.connection.request(method, path, body, headers)
            answer = self.connection.getresponse()
        text = answer.read()
        if answer.status != 200:
            raise RuntimeError(f"{method} {path}: {answer.status} {text[:300]!r}")
        return json.loads(text) if text else {}

    def post(self, path, **fields):
        return self.send("POST", API + path, json.dumps(fields))

    def new_run(self, experiment="0"):
        return self.post("runs/create", experiment_id=experiment, start_time=1)["run"]["info"]["run_id"]


def batch(run, first, count, keys=10):
    metrics = [{"key": f"metric-{i % keys}", "value": (first + i) * 0.5, "timestamp": 1_700_000_000_000 + first + i,
                "step": first + i} for i in range(count)]
    return json.dumps({"run_id": run, "metrics": metrics})


def one(run, step):
    return json.dumps({"run_id": run, "key": "loss", "value": step * 0.5, "timestamp": 1_700_000_000_000 + step,
                       "step": step})


def through_http(port, kind):
    """Calls with bodies that are made beforehand, and nothing between them and the connection."""
    client = Client(port)
    run = client.new_run()
    if kind == "log-batch":
        path, bodies = API + "runs/log-batch", [batch(run, 1000 * i, 1000) for i in range(400)]
    else:
        path, bodies = API + "runs/log-metric", [one(run, i) for i in range(20000)]
    return [functools.partial(client.send, "POST", path, body) for body in bodies]


def through_mlflow(port, kind):
    """The same by MLflow's own client: what it makes of its objects, and its session, are part of each call."""
    from mlflow import MlflowClient
    from mlflow.entities import Metric
    client = MlflowClient(f"http://127.0.0.1:{port}")
    run = client.create_run("0").info.run_id
    if kind == "log-metric":
        return [functools.partial(client.log_metric, run, "loss", i * 0.5, 1_700_000_000_000 + i, i) for i in range(20000)]
    points = [[Metric(f"metric-{j % 10}", j * 0.5, 1_700_000_000_000 + j, j) for j in range(1000 * i, 1000 * i + 1000)]
              for i in range(200)]
    return [functools.partial(client.log_batch, run, metrics=each) for each in points]


def load(port, kind, seconds, pause, through, start, answers):
    """Calls one after the other; with a pause each is due that long after the one before, however long that took, and its
    time counts from when it was due."""
    calls = through_mlflow(port, kind) if through == "mlflow" else through_http(port, kind)
    answers.put("ready")
    start.wait()
    begin, taken = time.perf_counter(), []
    due = begin + random.random() * pause
    for call in calls:
        if pause:
            time.sleep(max(0, due - time.perf_counter()))
        sent = due if pause else time.perf_counter()
        if sent - begin > seconds:
            break
        call()
        taken.append(time.perf_counter() - sent)
        due += pause
    answers.put((len(taken), time.perf_counter() - begin, taken))


def loaded(port, kind, seconds, clients, pause=0, through="http"):
    start, answers = multiprocessing.Event(), multiprocessing.Queue()
    processes = [multiprocessing.Process(target=load, args=(port, kind, seconds, pause, through, start, answers))
                 for _ in range(clients)]
    for process in processes:
        process.start()
    for _ in processes:
        assert answers.get() == "ready"
    start.set()
    found = [answers.get() for _ in processes]
    for process in processes:
        process.join()
    taken = sorted(t for _, _, times in found for t in times)
    rate = sum(calls / elapsed for calls, elapsed, _ in found)
    return rate, taken[int(0.99 * (len(taken) - 1))]


def fill(port, experiment, numbers, runs):
    client = Client(port)
    for i in numbers:
        run = client.new_run(experiment)
        client.post("runs/log-batch", run_id=run, metrics=[{"key": "loss", "value": i / runs, "timestamp": 1, "step": 0}],
                    params=[{"key": "lr", "value": str(i % 10)}], tags=[{"key": "model", "value": f"m{i % 7}"}])


def filled(port, runs, clients):
    experiment = Client(port).post("experiments/create", name=f"many-{time.time_ns()}")["experiment_id"]
    processes = [multiprocessing.Process(target=fill, args=(port, experiment, range(i, runs, clients), runs))
                 for i in range(clients)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        assert process.exitcode == 0
    return experiment


def search(client, experiment):
    begin = time.perf_counter()
    found = client.post("runs/search", experiment_ids=[experiment], max_results=1000,
                        filter="metrics.loss < 0.5 and params.lr = '3'", order_by=["metrics.loss DESC"])
    taken = time.perf_counter() - begin
    assert found.get("runs"), found
    return taken, [run["info"]["run_id"] for run in found["runs"]]


def searched(command, folder, options):
    """Both servers are up, and asked in turn. In a second series every tenth run that was found gets a metric before each
    search, so that no answer is like the last."""
    experiments, runs, times = {}, {}, {}
    for which in ("plimsoll", "mlflow"):
        port = free_port()
        with served(command(which, port), port, folder):
            experiments[which] = filled(port, options.runs, options.clients)
            if which == "plimsoll":
                time.sleep(6)  # its upkeep looks at the tables' sizes every 5 s, MLflow's fill takes minutes
    with contextlib.ExitStack() as stack:
        clients = {}
        for which in experiments:
            port = free_port()
            stack.enter_context(served(command(which, port), port, folder))
            clients[which] = Client(port)
        for series in ("first", "same", "changed"):
            for number in range(1 if series == "first" else 15):
                for which, client in clients.items():
                    if series == "changed":
                        for run in runs[which][::10]:
                            client.post("runs/log-metric", run_id=run, key="other", value=number, timestamp=number, step=number)
                    taken, found = search(client, experiments[which])
                    times.setdefault((series, which), []).append(taken)
                    runs[which] = found
    for series, name in (("first", "the first time"), ("same", "again"), ("changed", "after every tenth had changed")):
        ours, theirs = (statistics.median(times[series, which]) for which in ("plimsoll", "mlflow"))
        print(f"search over {options.runs} runs, {len(runs['plimsoll'])} found, {name}: plimsoll {ours * 1e3:.1f} ms, MLflow {theirs * 1e3:.0f} ms, "
              f"ratio {theirs / ours:.1f}", flush=True)


def thinned(port, points=1_000_000):
    client = Client(port)
    run = client.new_run()
    for i in range(0, points, 1000):
        client.send("POST", API + "runs/log-batch", batch(run, i, 1000, keys=1))
    out = {}
    for name, path in (
            ("metrics", f"/ajax-api/2.0/mlflow/metrics/get-history-bulk-interval?run_ids={run}&metric_key=metric-0&max_results=2500"),
            ("spans", f"/api/plimsoll/outline?run_id={run}&metric_key=metric-0&max_results=2500")):
        taken = []
        for _ in range(15):
            begin = time.perf_counter()
            found = client.send("GET", path)
            taken.append(time.perf_counter() - begin)
        out[name] = statistics.median(taken), max(taken), len(found[name])
    return out


def resident(process):
    """Mebibytes: what it has now, and had at most."""
    with open(f"/proc/{process}/status", encoding="ascii") as lines:
        fields = dict(line.split(":", 1) for line in lines)
    return tuple(int(fields[name].split()[0]) / 1024 for name in ("VmRSS", "VmHWM"))


def grown(port, process, points):
    """Memory after every tenth of the points, which come in batches of 1,000 over two runs with ten metrics each."""
    client = Client(port)
    runs, found = [client.new_run(), client.new_run()], [resident(process)]
    for tenth in range(10):
        for i in range(tenth * points // 10, (tenth + 1) * points // 10, 1000):
            client.send("POST", API + "runs/log-batch", batch(runs[i // 1000 % 2], i, 1000))
        found.append(resident(process))
    return found


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def wait_for(port, process):
    for _ in range(600):
        with contextlib.suppress(OSError, http.client.HTTPException):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
            connection.request("GET", "/health")
            if connection.getresponse().status == 200:
                return
        if process.poll() is not None:
            sys.exit(f"{process.args[0]} ended with {process.returncode}")
        time.sleep(0.1)
    sys.exit(f"{process.args[0]} does not answer")


@contextlib.contextmanager
def postgresql(folder):
    """A server of its own on a Unix socket and a port; as another user where this one is root."""
    unpacked = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "build", "unpacked")
    found = shutil.which("initdb") or next(iter(sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb")) +
                                                sorted(glob.glob(unpacked + "/usr/lib/postgresql/*/bin/initdb"))), None)
    if found and found.startswith(unpacked):
        libraries = glob.glob(unpacked + "/usr/lib/*-linux-gnu") + glob.glob(unpacked + "/lib/*-linux-gnu")
        os.environ["LD_LIBRARY_PATH"] = ":".join(libraries)
    if found is None:
        sys.exit("there is no PostgreSQL here")
    programs = os.path.dirname(os.path.realpath(found))
    as_user = []
    if os.geteuid() == 0:
        # Where PostgreSQL was only unpacked it has no user of its own.
        user = pwd.getpwnam("postgres" if "postgres" in (u.pw_name for u in pwd.getpwall()) else "nobody")
        as_user = ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
        os.chown(folder, user.pw_uid, user.pw_gid)
    data, port = os.path.join(folder, "data"), free_port()
    subprocess.run([*as_user, f"{programs}/initdb", "-D", data, "-U", "bench", "-A", "trust"], check=True,
                   stdout=subprocess.DEVNULL)
    control = [*as_user, f"{programs}/pg_ctl", "-D", data, "-w"]
    subprocess.run([*control, "-o", f"-k {folder} -p {port} -c listen_addresses=127.0.0.1", "-l",
                    os.path.join(folder, "log"), "start"], check=True, stdout=subprocess.DEVNULL)
    try:
        yield port, lambda name: subprocess.run([f"{programs}/createdb", "-h", "127.0.0.1", "-p", str(port), "-U",
                                                 "bench", name], check=True)
    finally:
        subprocess.run([*control, "-m", "immediate", "stop"], check=False, stdout=subprocess.DEVNULL)


@contextlib.contextmanager
def served(command, port, folder):
    with open(os.path.join(folder, "server.log"), "ab") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder)
    try:
        wait_for(port, process)
        yield process.pid
    finally:
        process.terminate()
        process.wait(30)


def rates(command, folder, options):
    found, both = {}, ("plimsoll",) if options.mlflow == "none" else ("plimsoll", "mlflow")
    for _ in range(2):
        for which in both:
            port = free_port()
            with served(command(which, port), port, folder):
                for kind in ("log-batch", "log-metric"):
                    found.setdefault((which, kind), []).append(loaded(port, kind, options.seconds, options.clients, through=options.through))
    for kind, scale in (("log-batch", 1000), ("log-metric", 1)):
        means = [statistics.mean(rate for rate, _ in found[which, kind]) * scale for which in both]
        tails = [max(tail for _, tail in found[which, kind]) * 1e3 for which in both]
        if len(both) == 1:
            print(f"{kind:11} plimsoll {means[0]:10.0f} metrics/s; 99th percentile {tails[0]:.2f} ms, two rounds of {options.seconds:g} s",
                  flush=True)
        else:
            print(f"{kind:11} plimsoll {means[0]:10.0f} metrics/s, MLflow {means[1]:8.0f} metrics/s, ratio {means[0] / means[1]:6.1f}; "
                  f"99th percentile {tails[0]:.2f} ms and {tails[1]:.1f} ms, two rounds of {options.seconds:g} s", flush=True)
    if options.through == "http":
        paced(command, folder, options, 10 * means[1] if len(both) == 2 else options.rate)


def paced(command, folder, options, rate):
    """Single metrics at a rate that the clients hold together, whatever the server does: ten times what MLflow's server can
    do at most, where it was asked. As fast as they can, clients and server wait for each other's cores, and the tail is the
    machine's."""
    port = free_port()
    with served(command("plimsoll", port), port, folder):
        found = [loaded(port, "log-metric", options.seconds, options.clients, options.clients / rate) for _ in range(2)]
    print(f"log-metric at a rate that is given: {min(r for r, _ in found):.0f} metrics/s, 99th percentile "
          f"{max(t for _, t in found) * 1e3:.2f} ms, two rounds of {options.seconds:g} s", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("plimsoll")
    parser.add_argument("mlflow")
    parser.add_argument("--store", default="sqlite", choices=("sqlite", "postgresql"))
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--runs", type=int, default=10000)
    parser.add_argument("--points", type=int, default=10_000_000)
    parser.add_argument("--parts", default="rates,search,history,memory")
    parser.add_argument("--rate", type=float, default=600)
    parser.add_argument("--through", default="http", choices=("http", "mlflow"))
    parser.add_argument("--flush", action="store_true", help="plimsoll serve --flush: each answer survives a power cut")
    options = parser.parse_args()
    if options.mlflow == "none" and options.parts != "rates":
        parser.error("without MLflow there is --parts rates")
    with tempfile.TemporaryDirectory(prefix="plimsoll-bench-") as folder, contextlib.ExitStack() as stack:
        os.chmod(folder, 0o755)
        if options.store == "postgresql":
            base = os.path.join(folder, "pg")
            os.mkdir(base)
            pg_port, create = stack.enter_context(postgresql(base))
            create("ours")
            create("theirs")
            stores = [f"postgresql://bench@127.0.0.1:{pg_port}/ours",
                      f"postgresql+psycopg2://bench@127.0.0.1:{pg_port}/theirs"]
        else:
            stores = [os.path.join(folder, "ours.db"), f"sqlite:///{folder}/theirs.db"]

        def command(which, port):
            if which == "plimsoll":
                return [os.path.abspath(options.plimsoll), "serve", "--port", str(port), "--store", stores[0],
                        "--artifacts", os.path.join(folder, "artifacts"), *(["--flush"] if options.flush else [])]
            return [os.path.abspath(shutil.which(options.mlflow) or options.mlflow), "server", "--host", "127.0.0.1",
                    "--port", str(port), "--backend-store-uri", stores[1], "--workers", "2", "--default-artifact-root", os.path.join(folder, "theirs")]

        parts = options.parts.split(",")
        by = ", each MLflow's own" if options.through == "mlflow" else ""
        print(f"{options.store}, {options.clients} clients{by}{', --flush' if options.flush else ''}", flush=True)
        if "rates" in parts:
            rates(command, folder, options)
        if "search" in parts:
            searched(command, folder, options)
        port = free_port()
        with served(command("plimsoll", port), port, folder) as process:
            if "history" in parts:
                for name, (middle, longest, count) in thinned(port).items():
                    print(f"history of 1,000,000 points as {count} {name}: median {middle * 1e3:.1f} ms, "
                          f"longest {longest * 1e3:.1f} ms", flush=True)
            if "memory" in parts:
                memory = grown(port, process, options.points)
                print(f"resident while {options.points} points came in, at each tenth: "
                      + ", ".join(f"{now:.0f}" for now, _ in memory) + f" MiB; {memory[-1][1]:.0f} MiB at most")


if __name__ == "__main__":
    main()
