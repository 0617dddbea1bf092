"""Requests as a careless or hostile client sends them: each is answered, in time, with an error that blames the request,
and leaves the server as it was."""
import base64
import http.client
import json
import os
import resource
import shutil
import signal
import socket
import sqlite3
import stat
import subprocess
import threading
import time
import urllib.parse

import pytest

from conftest import BINARY, wait_for

API = "/api/2.0/mlflow"
PROXY = "/api/2.0/mlflow-artifacts/artifacts"
TOKEN = "a-token-of-more-than-16-characters"


class Caller:
    def __init__(self, served, headers=None):
        self.served, self.headers = served, headers or {}

    def raw(self, method, path, body=None, headers=None):
        connection = http.client.HTTPConnection(self.served.host, self.served.port, timeout=300)
        try:
            connection.request(method, path, body, {**self.headers, **(headers or {})})
            answer = connection.getresponse()
            return answer.status, answer.read(), dict(answer.getheaders())
        finally:
            connection.close()

    def post(self, path, message, status=200):
        body = message if isinstance(message, (bytes, str)) else json.dumps(message)
        code, text, _ = self.raw("POST", API + path, body, {"Content-Type": "application/json"})
        assert code == status, (code, text[:500])
        return json.loads(text)

    def get(self, path, status=200, **query):
        code, text, _ = self.raw("GET", f"{path}?{urllib.parse.urlencode(query)}")
        assert code == status, (code, text[:500])
        return text

    def new_run(self):
        return self.post("/runs/create", {"experiment_id": "0", "start_time": 1})["run"]["info"]["run_id"]

    def history(self, run, metric):
        text = self.get(API + "/metrics/get-history", run_id=run, metric_key=metric)
        return [(m["timestamp"], m["step"], m["value"]) for m in json.loads(text)["metrics"]]


@pytest.fixture
def caller(serve):
    return Caller(serve())


@pytest.fixture
def run(caller):
    return caller.new_run()


def refused(answer, part="", code="INVALID_PARAMETER_VALUE"):
    assert answer["error_code"] == code and part in answer["message"], answer


@pytest.mark.parametrize("body", ["", "nonsense", "{", "[]", "17", '"text"', '{"run_id": "x", "key"', "{\"a\":" * 9999,
                                  "[" * 100_000, b"\xff\xfe\x00", '{"value": NaN}'])
def test_bodies_that_are_no_message(caller, run, body):
    for path in ("/runs/log-metric", "/runs/log-batch", "/runs/create", "/experiments/create"):
        code, text, _ = caller.raw("POST", API + path, body, {"Content-Type": "application/json"})
        if path == "/runs/create" and body == "":
            assert code == 200  # a run of the Default experiment, as MLflow does
        else:
            assert code == 400 and json.loads(text)["error_code"], (path, code, text)


def test_a_body_that_is_not_called_json_is_refused(caller):
    """A page of another site can post text/plain without asking."""
    for kind in ({}, {"Content-Type": "text/plain"}, {"Content-Type": "application/x-www-form-urlencoded"}):
        code, text, _ = caller.raw("POST", API + "/runs/create", "{}", kind)
        assert code == 400 and b"Content-Type" in text


@pytest.mark.parametrize("change", [{"key": 31}, {"key": None}, {"key": ""}, {"key": ["a"]}, {"value": "much"}, {"value": {}},
                                    {"value": True}, {"value": None}, {"timestamp": "now"}, {"timestamp": -1},
                                    {"timestamp": 1.5}, {"timestamp": 2**63}, {"timestamp": 2**62}, {"step": "first"},
                                    {"step": 2**64}, {"run_id": 31}, {"run_id": {}}])
def test_wrong_types(caller, run, change):
    message = {"run_id": run, "key": "loss", "value": 1, "timestamp": 1, "step": 1, **change}
    refused(caller.post("/runs/log-metric", message, 400))
    if "run_id" not in change:
        metric = {k: v for k, v in message.items() if k != "run_id"}
        refused(caller.post("/runs/log-batch", {"run_id": run, "metrics": [metric]}, 400), "metrics[0]")
    assert caller.history(run, "loss") == []


@pytest.mark.parametrize("key", ["../up", "a/../b", "/absolute", "a//b", "a/", ".", "..", "a\nb", "a\u0000b", "a\u001b[31m",
                                 "a\u202eb", "a\\b", "a%2e", "x" * 251])
def test_keys_that_are_no_keys(caller, run, key):
    refused(caller.post("/runs/log-metric", {"run_id": run, "key": key, "value": 1, "timestamp": 1}, 400))
    refused(caller.post("/runs/log-parameter", {"run_id": run, "key": key, "value": "1"}, 400))
    refused(caller.post("/runs/set-tag", {"run_id": run, "key": key, "value": "1"}, 400))
    refused(caller.post("/runs/log-batch", {"run_id": run, "tags": [{"key": key, "value": "1"}]}, 400))


def test_numbers_that_json_lacks(caller, run):
    for step, value in enumerate(["NaN", "Infinity", "-Infinity", 1e308, "1e3"]):
        caller.post("/runs/log-metric", {"run_id": run, "key": "odd", "value": value, "timestamp": 1, "step": step})
    assert [v for _, _, v in caller.history(run, "odd")] == ["NaN", "Infinity", "-Infinity", 1e308, 1000.0]
    latest = json.loads(caller.get(API + "/runs/get", run_id=run))["run"]["data"]["metrics"]
    assert latest == [{"key": "odd", "value": 1000.0, "timestamp": 1, "step": 4}]


def test_times_of_runs_that_are_odd(caller):
    """Zero is a time that was given, and MLflow takes times before 1970."""
    run = caller.post("/runs/create", {"experiment_id": "0", "start_time": 0})["run"]["info"]
    assert run["start_time"] == 0
    info = caller.post("/runs/update", {"run_id": run["run_id"], "status": "FINISHED", "end_time": -123})["run_info"]
    assert info["end_time"] == -123 and info["start_time"] == 0
    refused(caller.post("/runs/update", {"run_id": run["run_id"], "end_time": 2**62}, 400), "end_time")


def test_a_batch_that_comes_twice_counts_once(caller, run):
    batch = {"run_id": run, "metrics": [{"key": "m", "value": v, "timestamp": 5, "step": s}
                                        for s in range(10) for v in (1.5, "NaN")]}
    for _ in range(3):
        caller.post("/runs/log-batch", batch)
    assert len(caller.history(run, "m")) == 20


def test_limits_of_a_batch(caller, run):
    metric = {"key": "m", "value": 1, "timestamp": 1}
    for field, entries in (("metrics", [metric] * 1001), ("params", [{"key": f"k{i}", "value": ""} for i in range(101)]),
                           ("tags", [{"key": f"k{i}", "value": ""} for i in range(101)])):
        refused(caller.post("/runs/log-batch", {"run_id": run, field: entries}, 400), "at most")
    refused(caller.post("/runs/log-batch", {"run_id": run, "metrics": [metric] * 950,
                                            "tags": [{"key": f"k{i}", "value": ""} for i in range(51)]}, 400), "at most 1000")
    refused(caller.post("/runs/log-batch", {"run_id": run, "tags": [{"key": "k", "value": "x" * 1_000_001}]}, 400), "bytes")
    refused(caller.post("/runs/log-batch", {"run_id": run, "params": [{"key": "p", "value": "1"}, {"key": "p", "value": "2"}]},
                        400), "Duplicate parameter keys")
    assert caller.history(run, "m") == []


def test_long_values_are_cut(caller, run):
    """As MLflow's server does; a longer key is refused."""
    long = "ä" * 9000
    caller.post("/runs/log-parameter", {"run_id": run, "key": "p1", "value": long})
    caller.post("/runs/log-parameter", {"run_id": run, "key": "p1", "value": long})  # the same again is no conflict
    caller.post("/runs/set-tag", {"run_id": run, "key": "t1", "value": long})
    caller.post("/runs/log-batch", {"run_id": run, "params": [{"key": "p2", "value": long}],
                                    "tags": [{"key": "t2", "value": long}]})
    data = json.loads(caller.get(API + "/runs/get", run_id=run))["run"]["data"]
    assert {p["key"]: p["value"] for p in data["params"]} == {"p1": long[:6000], "p2": long[:6000]}
    assert {t["key"]: t["value"] for t in data["tags"] if t["key"] in ("t1", "t2")} == {"t1": long[:8000], "t2": long[:8000]}
    refused(caller.post("/experiments/set-experiment-tag", {"experiment_id": "0", "key": "k", "value": "x" * 20_001}, 400), "20000")


def test_messages_of_very_many_values(caller, run):
    """Each would take some hundred bytes of memory."""
    body = '{"run_id": "%s", "datasets": [{}%s]}' % (run, ",{}" * 3_000_000)
    refused(caller.post("/runs/log-inputs", body, 400), "more than 500000 values")


def test_one_bad_batch_does_not_hurt_its_neighbours(caller, run):
    """Many requests go into one commit; those for a run that is not there must fail alone."""
    other = "f" * 32
    answers = []

    def log(i):
        message = {"run_id": run if i % 2 == 0 else other, "key": "m", "value": i, "timestamp": i}
        code, _, _ = caller.raw("POST", API + "/runs/log-metric", json.dumps(message), {"Content-Type": "application/json"})
        answers.append((i % 2, code))

    threads = [threading.Thread(target=log, args=(i,)) for i in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answers) == [(0, 200)] * 20 + [(1, 404)] * 20
    assert len(caller.history(run, "m")) == 20


def test_a_body_that_is_too_large(caller, run):
    code, text, _ = caller.raw("POST", API + "/runs/set-tag", b" " * (5 << 20), {"Content-Type": "application/json"})
    assert code == 413, text
    assert caller.get("/health") == b"OK"


def test_a_body_that_ends_early(caller, run):
    with socket.create_connection((caller.served.host, caller.served.port)) as half:
        half.sendall(f"POST {API}/runs/log-metric HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                     f"Content-Length: 1000\r\n\r\n{{\"run_id\": \"{run}\"".encode())
        half.shutdown(socket.SHUT_WR)
        answer = half.recv(1000)
        assert answer == b"" or b" 400 " in answer.split(b"\r\n")[0]
    assert caller.history(run, "m") == []


def test_run_ids_are_whole(caller, run):
    for wrong in (run[:8], "", "../" + run, "0" * 32, run.upper(), run + "0"):
        code, text, _ = caller.raw("GET", f"{API}/runs/get?{urllib.parse.urlencode({'run_id': wrong})}")
        assert code in (400, 404), (wrong, text)


def climbing(run):
    up = f"0/{run}/artifacts/"
    return [up + "../../secret", up + "..", up + "a/../../../secret", "/etc/passwd", up + "a\\..\\b",
            up + "a\nb", "../secret", "0/../../secret", up + "%2e%2e/secret", up + "%252e%252e/secret", up + "x" * 5000]


def test_artifact_paths_that_climb(caller, run):
    secret = caller.served.folder / "secret"
    secret.write_text("secret")
    for path in climbing(run):
        for encoded in {urllib.parse.quote(path), urllib.parse.quote(path, safe="")}:
            for method in ("GET", "PUT", "DELETE"):
                code, text, _ = caller.raw(method, f"{PROXY}/{encoded}", b"x" if method == "PUT" else None)
                assert code in (400, 404), (method, path, code, text)
                assert b"secret" not in text or method != "GET" or b"error_code" in text
        below = path.split("artifacts/", 1)[-1]
        for where in (API + "/artifacts/list", "/get-artifact"):
            code, text, _ = caller.raw("GET", f"{where}?{urllib.parse.urlencode({'run_id': run, 'path': below})}")
            assert code in (400, 404) and b"error_code" in text, (where, below, code, text)
    assert secret.read_text() == "secret"


def test_artifacts_over_links(caller, run):
    """A link that somebody put among the artifacts leads nowhere."""
    secret = caller.served.folder / "secret"
    secret.write_text("secret")
    code, _, _ = caller.raw("PUT", f"{PROXY}/0/{run}/artifacts/good.txt", b"good")
    assert code == 200
    [folder] = [p for p in caller.served.folder.glob("**/good.txt")]
    os.symlink(secret, folder.parent / "link")
    os.symlink(caller.served.folder, folder.parent / "out")
    for path in ("link", "out/secret"):
        code, text, _ = caller.raw("GET", f"{PROXY}/0/{run}/artifacts/{path}")
        assert code == 404 and b"secret\n" not in text
    code, _, _ = caller.raw("PUT", f"{PROXY}/0/{run}/artifacts/out/new", b"x")
    assert code in (400, 404) and not (caller.served.folder / "new").exists()
    files = json.loads(caller.get(API + "/artifacts/list", run_id=run))["files"]
    assert [f["path"] for f in files] == ["good.txt"]
    assert stat.S_IMODE(folder.stat().st_mode) & 0o077 == 0


def test_artifacts_of_nobody(caller, run):
    for path in (f"0/{'f' * 32}/artifacts/x", "0/models/m-" + "f" * 32 + "/artifacts/x", "0/models/../artifacts/x", "x", "0"):
        code, _, _ = caller.raw("PUT", f"{PROXY}/{path}", b"x")
        assert code in (400, 404), path
    leftovers = [p for p in caller.served.folder.glob("**/uploads/*")]
    assert leftovers == []


def test_artifacts_of_another_experiment(caller, run):
    """The proxy's path names experiment and run: both must fit."""
    other = caller.post("/experiments/create", {"name": "other"})["experiment_id"]
    assert caller.raw("PUT", f"{PROXY}/0/{run}/artifacts/a.txt", b"x")[0] == 200
    for experiment in (other, "99", "x", "00", "0x0"):
        for method in ("GET", "PUT", "DELETE"):
            code, text, _ = caller.raw(method, f"{PROXY}/{experiment}/{run}/artifacts/a.txt", b"y" if method == "PUT" else None)
            assert code == 404 and json.loads(text)["error_code"] == "RESOURCE_DOES_NOT_EXIST", (method, experiment, text)
        assert caller.raw("GET", f"{PROXY}?path={experiment}/{run}/artifacts")[0] == 404
    assert caller.raw("GET", f"{PROXY}/0/{run}/artifacts/a.txt")[1] == b"x"
    # An experiment may have a place of its own at this server.
    named = caller.post("/experiments/create", {"name": "named", "artifact_location": "mlflow-artifacts:/place"})["experiment_id"]
    its = caller.post("/runs/create", {"experiment_id": named, "start_time": 1})["run"]["info"]
    assert its["artifact_uri"] == f"mlflow-artifacts:/place/{its['run_id']}/artifacts"
    assert caller.raw("PUT", f"{PROXY}/place/{its['run_id']}/artifacts/a.txt", b"z")[0] == 200
    assert caller.raw("GET", f"{PROXY}/place/{run}/artifacts/a.txt")[0] == 404


def head_of_upload(caller, method, path, length):
    """What is answered to the head alone, and the upload's files then; the body never comes."""
    with socket.create_connection((caller.served.host, caller.served.port), timeout=300) as upload:
        upload.sendall(f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n\r\n".encode())
        answer = upload.recv(1000)
    return int(answer.split()[1]), [p for p in caller.served.folder.glob("**/uploads/*")]


def test_uploads_are_looked_at_before_they_come(caller, run):
    terabyte = 10**12
    for path in ("x", "0", "..%2Fx", f"0/{run}/artifacts", f"0/{run}/artifacts/%2e%2e/x", f"0/{run}/artifacts/..%5Cb"):
        code, files = head_of_upload(caller, "PUT", f"{PROXY}/{path}", terabyte)
        assert code in (400, 404) and files == [], path
    for query in ("run_uuid=x", "path=y", f"run_uuid={run}&path=..%2Fx"):
        code, files = head_of_upload(caller, "POST", f"{API}/upload-artifact?{query}", 1000)
        assert code == 400 and files == [], query
    code, files = head_of_upload(caller, "POST", f"{API}/upload-artifact?run_uuid={run}&path=y", (10 << 20) + 1)
    assert code == 400 and files == []  # as MLflow says it
    code, _, _ = caller.raw("POST", f"{API}/upload-artifact?run_uuid={run}&path=y", b"x" * (10 << 20))
    assert code == 200


def test_uploads_of_several_servers_do_not_meet(caller, run):
    """In a container each has process number 1, and one that was killed leaves its file."""
    assert caller.raw("PUT", f"{PROXY}/0/{run}/artifacts/first", b"x")[0] == 200
    [uploads] = caller.served.folder.glob("**/uploads")
    for number in range(20):
        (uploads / f"{caller.served.process.pid}-{number}").write_text("another server's")
    assert caller.raw("PUT", f"{PROXY}/0/{run}/artifacts/second", b"x")[0] == 200
    assert len(list(uploads.iterdir())) == 20


def test_health_waits_for_nobody(serve):
    served = serve("--threads", 1)
    caller = Caller(served)
    store = sqlite3.connect(served.store, isolation_level=None, timeout=300)
    store.execute("BEGIN IMMEDIATE")  # so that the only worker waits
    # It waits ten seconds at most; on a machine that takes longer for the rest it is tried again.
    for _ in range(20):
        worker = threading.Thread(target=lambda: caller.raw("POST", API + "/runs/create", "{}", {"Content-Type": "application/json"}))
        worker.start()
        time.sleep(0.5)
        assert caller.get("/health") == b"OK" and caller.get("/version")
        first = worker.is_alive()
        if first:
            break
    store.execute("ROLLBACK")
    worker.join()
    assert first, "an answer came only after the worker's own"


@pytest.mark.skipif(shutil.which("strace") is None, reason="no strace to look with")
def test_no_handler_waits_for_an_upload_to_reach_the_disk(caller, run):
    """It is flushed by another thread than the one that gives it its place."""
    calls = caller.served.folder / "calls"
    trace = subprocess.Popen(["strace", "-f", "-y", "-e", "trace=fsync", "-o", calls, "-p", str(caller.served.process.pid)],
                             stderr=subprocess.PIPE, text=True)
    if "attached" not in trace.stderr.readline():
        pytest.skip("strace may not look")
    try:
        assert caller.raw("PUT", f"{PROXY}/0/{run}/artifacts/file", b"x" * 100_000)[0] == 200
    finally:
        trace.send_signal(signal.SIGINT)
        trace.communicate()
    flushes = [line for line in calls.read_text().splitlines() if "fsync(" in line]
    contents = {line.split()[0] for line in flushes if "/uploads/" in line}
    places = {line.split()[0] for line in flushes if "/uploads/" not in line and "artifacts" in line}
    assert contents and places and not contents & places, flushes


def test_long_histories_come_in_pages(caller, run):
    for start in range(0, 100_000, 1000):
        caller.post("/runs/log-batch", {"run_id": run, "metrics": [{"key": "m", "value": i, "timestamp": i, "step": i}
                                                                   for i in range(start, start + 1000)]})
    caller.post("/runs/log-metric", {"run_id": run, "key": "m", "value": 1, "timestamp": 100_000})
    first = json.loads(caller.get(API + "/metrics/get-history", run_id=run, metric_key="m"))
    assert len(first["metrics"]) == 100_000
    rest = json.loads(caller.get(API + "/metrics/get-history", run_id=run, metric_key="m", page_token=first["next_page_token"]))
    assert [m["timestamp"] for m in rest["metrics"]] == [100_000] and "next_page_token" not in rest
    wrong = json.loads(caller.get(API + "/metrics/get-history", 400, run_id=run, metric_key="m", page_token="nowhere"))
    refused(wrong, "Invalid page token")


def test_artifacts_come_as_attachments(caller, run):
    caller.raw("PUT", f"{PROXY}/0/{run}/artifacts/page.html", b"<script>alert(1)</script>")
    code, text, headers = caller.raw("GET", f"{PROXY}/0/{run}/artifacts/page.html")
    assert code == 200 and text == b"<script>alert(1)</script>"
    assert headers["Content-Disposition"] == "attachment; filename=\"page.html\"; filename*=UTF-8''page.html"
    assert headers["X-Content-Type-Options"] == "nosniff"
    caller.raw("PUT", f"{PROXY}/0/{run}/artifacts/MLproject", b"name: x")
    assert caller.raw("GET", f"{PROXY}/0/{run}/artifacts/MLproject")[2]["Content-Type"].startswith("text/plain")
    with socket.create_connection((caller.served.host, caller.served.port), timeout=300) as plain:
        plain.sendall(f"GET {PROXY}/0/{run}/artifacts/page.html HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        assert plain.recv(4000).lower().count(b"x-content-type-options") == 1


def test_an_upload_that_ends_early_leaves_nothing(caller, run):
    with socket.create_connection((caller.served.host, caller.served.port)) as half:
        half.sendall(f"PUT {PROXY}/0/{run}/artifacts/half.bin HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n"
                     .encode() + b"x" * 1000)
        half.shutdown(socket.SHUT_WR)
        half.recv(1000)
    assert json.loads(caller.get(API + "/artifacts/list", run_id=run))["files"] == []
    wait_for(lambda: not [p for p in caller.served.folder.glob("**/uploads/*")])


@pytest.mark.parametrize("path", ["/index.html", "/static/", "/static/nowhere.js", "/nowhere", "/api/2.0/mlflow", "/api/2.0/mlflow/runs/unknown",
                                  "/mlflow/", "/api/2.0/mlflow/registered-models/list"])
def test_paths_that_are_not_served(caller, path):
    code, text, _ = caller.raw("GET", path)
    assert code == 404 and json.loads(text)["error_code"] == "ENDPOINT_NOT_FOUND"


@pytest.mark.parametrize("method, path, part", [
    ("GET", "/api/2.0/mlflow/registered-models/list", "no such call"),
    ("POST", "/api/3.0/mlflow/prompts/create", "no prompts"),
    ("POST", "/api/3.0/mlflow/traces", "turn tracing off"), ("POST", "/v1/traces", "turn tracing off"),
    ("GET", "/api/2.0/mlflow/webhooks", "webhooks"),
    ("POST", "/api/3.0/mlflow/scorers/register", "evaluation"), ("POST", "/api/3.0/mlflow/gateway/secrets/create", "gateway")])
def test_features_that_are_not_served(caller, method, path, part):
    """The error names the feature, however long the body is that nobody reads."""
    for body in ("{}", "x" * 3_000_000):
        code, text, _ = caller.raw(method, path, body if method != "GET" else None, {"Content-Type": "application/json"})
        message = json.loads(text)
        assert code == 404 and message["error_code"] == "ENDPOINT_NOT_FOUND" and part in message["message"], message


def test_questions_that_no_page_of_mlflow_asks(caller):
    for body in ('{}', '{"operationName": "__schema", "query": "{__schema {types {name}}}", "variables": {}}'):
        code, text, _ = caller.raw("POST", "/graphql", body, {"Content-Type": "application/json"})
        assert code == 404 and "GraphQL" in json.loads(text)["message"]
    for body in ("x" * 3_000_000, "[" * 10_000, '{"operationName": "GetRun", "variables": {"data": {"run_id": 7}}}'):
        code, text, _ = caller.raw("POST", "/graphql", body, {"Content-Type": "application/json"})
        assert code == 400 and json.loads(text)["error_code"] == "INVALID_PARAMETER_VALUE"


def test_uploads_in_parts_are_declined(caller, run):
    """In the words after which MLflow's client sends the whole."""
    code, text, _ = caller.raw("POST", f"/api/2.0/mlflow-artifacts/mpu/create/0/{run}/artifacts", "{}",
                               {"Content-Type": "application/json"})
    assert code == 501 and json.loads(text)["message"].startswith("Multipart upload is not supported")


def test_methods_that_are_not_taken(caller):
    code, _, headers = caller.raw("DELETE", API + "/runs/create")
    assert code == 405 and headers["Allow"] == "POST"


def test_pages_of_other_sites(caller):
    """DNS that turns an attacker's name to 127.0.0.1, and posts across sites."""
    code, _, _ = caller.raw("GET", API + "/experiments/search", headers={"Host": "evil.example"})
    assert code == 403
    code, _, _ = caller.raw("POST", API + "/runs/create", "{}",
                            {"Content-Type": "application/json", "Origin": "http://evil.example"})
    assert code == 403
    for path in ("/api/plimsoll/events", API + "/experiments/search", "/metrics", "/version", "/health", "/nowhere"):
        assert caller.raw("GET", path, headers={"Origin": "http://evil.example"})[0] == 403, path
        assert caller.raw("OPTIONS", path, headers={"Origin": "http://evil.example"})[0] == 403, path
    own = {"Origin": f"http://{caller.served.host}:{caller.served.port}"}
    assert caller.raw("GET", API + "/experiments/search?max_results=1", headers=own)[0] == 200


def test_tokens(serve, tmp_path):
    token = tmp_path / "token"
    token.write_text(TOKEN + "\n")
    for mode in (0o644, 0o640, 0o660, 0o604):
        token.chmod(mode)
        done = command("--store", tmp_path / "store.db", "--token-file", token)
        assert done.returncode == 2 and "chmod 600" in done.stderr, done
    token.chmod(0o600)
    served = serve("--token-file", token)
    assert Caller(served).get("/health") == b"OK"  # and nothing else
    for path in ("/version", "/metrics", "/api/plimsoll/events", "/health/x"):
        assert Caller(served).raw("GET", path)[0] == 401, path

    def code(headers):
        return Caller(served, headers).raw("GET", API + "/experiments/get?experiment_id=0")[0]

    basic = base64.b64encode(f"anyone:{TOKEN}".encode()).decode()
    assert code({"Authorization": f"Bearer {TOKEN}"}) == 200 and code({"Authorization": f"Basic {basic}"}) == 200
    for wrong in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": f"Bearer {TOKEN}x"}, {"Authorization": "Bearer "},
                  {"Authorization": TOKEN}, {"Authorization": "Basic !!!"}, {"Authorization": f"Bearer {TOKEN[:-1]}"}):
        assert code(wrong) == 401, wrong
    assert Caller(served).raw("PUT", f"{PROXY}/0/{'0' * 32}/artifacts/x", b"x" * 100)[0] == 401


def command(*words, **environment):
    clean = {k: v for k, v in os.environ.items() if not k.startswith("PLIMSOLL_TOKEN")}
    return subprocess.run([BINARY, "serve", "--port", "0", *map(str, words)], env={**clean, **environment},
                          capture_output=True, text=True, timeout=300)


def test_elsewhere_only_with_a_token(tmp_path):
    store = tmp_path / "store.db"
    done = command("--store", store, "--host", "0.0.0.0")
    assert done.returncode == 2 and "token" in done.stderr, done
    for bad in ("short", "with space in it and long enough", "ünicode-and-long-enough"):
        done = command("--store", store, PLIMSOLL_TOKEN=bad)
        assert done.returncode == 2 and "token" in done.stderr, done


def test_every_address_is_named_by_one_that_serves(serve):
    served = serve("--host", "0.0.0.0", environment={"PLIMSOLL_TOKEN": TOKEN})
    assert served.host != "0.0.0.0"
    assert Caller(served, {"Authorization": f"Bearer {TOKEN}"}).get(API + "/experiments/get", experiment_id="0")


def test_slow_bodies_hold_up_nobody(serve):
    """As many as the server takes, each with half a body that never ends; the others are served all the same."""
    few = 200  # open files, so that the server takes fewer connections
    served = serve(preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (few, few)))
    caller = Caller(served)
    run = caller.new_run()
    half = f"POST {API}/runs/log-batch HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" \
           "Content-Length: 1000\r\n\r\n{\"run_id\""
    slow = []
    try:
        for _ in range(few):
            slow.append(socket.create_connection((served.host, served.port), timeout=20))
            slow[-1].sendall(half.encode())

        def is_served():
            try:
                return caller.raw("GET", "/health")[0] == 200
            except OSError:
                return False

        wait_for(is_served)  # each of them has its two seconds

        def is_kept(i):
            message = {"run_id": run, "key": "m", "value": i, "timestamp": i, "step": i}
            code, text, _ = caller.raw("POST", API + "/runs/log-metric", json.dumps(message), {"Content-Type": "application/json"})
            assert code in (200, 503), text[:500]  # slow ones that waited to be let in may have all places again, for their two seconds
            return code == 200

        for i in range(100):
            wait_for(lambda i=i: is_kept(i))
        wait_for(lambda: caller.raw("GET", "/health")[0] == 200)
        assert len(caller.history(run, "m")) == 100
    finally:
        for each in slow:
            each.close()


def test_stops_gracefully(serve):
    for how in (signal.SIGTERM, signal.SIGINT):
        served = serve()
        Caller(served).new_run()
        assert served.stop(how) == 0


def test_what_was_answered_survives_kill(serve, tmp_path):
    served = serve()
    caller = Caller(served)
    run = caller.new_run()
    for i in range(50):
        caller.post("/runs/log-metric", {"run_id": run, "key": "m", "value": i, "timestamp": i, "step": i})
    served.stop(signal.SIGKILL)
    assert len(Caller(serve()).history(run, "m")) == 50


def test_figures_for_prometheus(caller, run):
    caller.post("/runs/log-metric", {"run_id": run, "key": "m", "value": 1, "timestamp": 1})
    text = caller.get("/metrics").decode()
    lines = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    assert lines["plimsoll_metric_points_total"] == "1" and int(lines['plimsoll_http_responses_total{class="2xx"}']) >= 2
    assert int(lines['plimsoll_http_request_duration_seconds_bucket{le="+Inf"}']) >= 2
    assert caller.get("/version").decode()[0].isdigit()


def test_events_of_running_runs(caller, run):
    connection = http.client.HTTPConnection(caller.served.host, caller.served.port, timeout=300)
    connection.request("GET", f"/api/plimsoll/events?run_id={run}")
    stream = connection.getresponse()
    assert stream.status == 200 and stream.getheader("Content-Type").startswith("text/event-stream")

    def next_run():
        while True:
            line = stream.readline().decode()
            assert line
            if line.startswith("data: "):
                return json.loads(line[6:])

    assert next_run()["info"]["status"] == "RUNNING"
    caller.post("/runs/log-metric", {"run_id": run, "key": "m", "value": 2.5, "timestamp": 1})
    assert next_run()["data"]["metrics"][0]["value"] == 2.5
    caller.post("/runs/update", {"run_id": run, "status": "FINISHED", "end_time": 5})
    assert next_run()["info"]["status"] == "FINISHED"
    connection.close()
