"""What the tests of `--mlflow-uri` and `plimsoll export-mlflow` share: runs here, the same runs on a server, and both compared."""
import datetime
import json
import os
import subprocess
import sys
import urllib.parse
import urllib.request

BINARY = os.environ["PLIMSOLL_BINARY"]
API = "/api/2.0/mlflow"

# Logs `count` points, `pause` seconds apart, and more until the file `enough` is there where one is named; then exits with `code`.
JOB = """
import os, sys, time
count, pause, code, enough = int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]), sys.argv[4:]
print("plimsoll: param depth 3", flush=True)
step = 0
while step < count or (enough and not os.path.exists(enough[0])):
    print(f"plimsoll: metric loss {1 / (step + 1)} step {step}", flush=True)
    time.sleep(pause)
    step += 1
print("plimsoll: metric odd nan step 0", "plimsoll: metric odd inf step 1", sep="\\n", flush=True)
sys.exit(code)
"""


class Here:
    """A store of its own, and the commands that use it."""

    def __init__(self, folder, **environment):
        folder.mkdir(exist_ok=True)
        self.folder = folder
        clean = {k: v for k, v in os.environ.items()
                 if not k.startswith(("MLFLOW_", "PLIMSOLL_TOKEN")) and not k.lower().endswith("_proxy")}
        self.environment = {**clean, "PLIMSOLL_STORE": str(folder / "here.db"), **environment}

    def start(self, *words, job=(JOB, 5, 0.1, 0), **options):
        """`plimsoll run` of a Python program."""
        program, *arguments = job
        return subprocess.Popen([BINARY, "run", *map(str, words), "--", sys.executable, "-c", program, *map(str, arguments)],
                                env=self.environment, cwd=self.folder, text=True, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)

    def run(self, *words, **options):
        process = self.start(*words, **options)
        out, error = process.communicate(timeout=300)
        return subprocess.CompletedProcess(words, process.returncode, out, error)

    def call(self, *words, code=0, **environment):
        done = subprocess.run([BINARY, *map(str, words)], env={**self.environment, **environment}, cwd=self.folder,
                              capture_output=True, text=True, timeout=300)
        assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
        return done

    def runs(self):
        """Their ids, the newest first."""
        return [run["id"] for run in json.loads(self.call("runs", "--json").stdout)["runs"]]

    def show(self, run):
        return json.loads(self.call("runs", "show", run, "--json").stdout)

    def points(self, run):
        """All points as MLflow counts them: sets of (milliseconds, step, value) by metric."""
        found = {}
        for p in json.loads(self.call("runs", "export", run, "--format", "json").stdout)["points"]:
            time = datetime.datetime.fromisoformat(p["time"].replace("Z", "+00:00"))
            micro = (time - datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)) // datetime.timedelta(microseconds=1)
            found.setdefault(p["metric"], set()).add((micro // 1000, p["step"], value_of(p["value"])))
        return found


def value_of(value):
    """Text for what is no number to compare; SQL keeps infinities as the largest number there is."""
    number = float(value)
    return "NaN" if number != number else max(min(number, sys.float_info.max), -sys.float_info.max)


class There:
    """An MLflow server, as its REST API shows it."""

    def __init__(self, url, token=None):
        self.url, self.token = url, token

    def ask(self, call, message=None, **query):
        request = urllib.request.Request(f"{self.url}{API}/{call}?{urllib.parse.urlencode(query)}",
                                         json.dumps(message).encode() if message else None,
                                         {"Content-Type": "application/json"})
        if self.token:
            request.add_header("Authorization", f"Bearer {self.token}")
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=300) as answer:
            return json.load(answer)

    def runs(self):
        experiments = self.ask("experiments/search", {"max_results": 1000})["experiments"]
        return self.ask("runs/search", {"experiment_ids": [e["experiment_id"] for e in experiments]}).get("runs", [])

    def points_of(self, run, metric):
        """A list: a point that is there twice is in it twice."""
        found, token = [], {}
        while True:
            page = self.ask("metrics/get-history", run_id=run, metric_key=metric, max_results=20000, **token)
            found += [(int(m["timestamp"]), int(m.get("step", 0)), value_of(m["value"])) for m in page.get("metrics", [])]
            if not page.get("next_page_token"):
                return found
            token = {"page_token": page["next_page_token"]}


def texts(pairs):
    return {p["key"]: p.get("value", "") for p in pairs}


def check_equal(here, run, there):
    """The server has all that the store has of a run, once."""
    own = here.show(run)
    remote = there.ask("runs/get", run_id=own["tags"]["plimsoll.mlflow_run"])["run"]
    info, data = remote["info"], remote["data"]
    assert info["status"] == own["status"]
    assert info["run_name"] == own["name"] or not own["name"]
    assert texts(data.get("params", [])) == own["params"]
    tags = texts(data["tags"])
    assert tags.pop("plimsoll.run") == run
    expected = {k: v[:8000] for k, v in own["tags"].items() if not k.startswith("plimsoll.mlflow_")}
    # What servers add of their own.
    assert {k: v for k, v in tags.items() if k in expected or not k.startswith("mlflow.")} == expected
    experiment = there.ask("experiments/get", experiment_id=info["experiment_id"])["experiment"]
    assert experiment["name"] == own["experiment"]
    points = here.points(run)
    assert {m["key"] for m in data["metrics"]} == set(points)
    for metric, expected in points.items():
        found = there.points_of(info["run_id"], metric)
        assert set(found) == expected, metric
        assert len(found) == len(expected), metric
    return info
