"""`plimsoll run --mlflow-uri` and `plimsoll export-mlflow`, with `plimsoll serve` as the MLflow server: what arrives, and that a
server's troubles are never the command's."""
import contextlib
import http.server
import json
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

import pytest

from conftest import wait_for
from forwarding import BINARY, JOB, Here, There, check_equal

TOKEN = "0123456789abcdef0123456789abcdef"


@pytest.fixture
def here(tmp_path):
    return Here(tmp_path / "here")


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def test_points_arrive_while_the_command_runs(serve, here):
    there = There(serve().url)
    job = here.start("--mlflow-uri", there.url, "--experiment", "vision", "--name", "first", "--tag", "note=a b",
                     "--param", "lr=0.1", job=(JOB, 5, 0.2, 7, "enough"))
    try:
        run = wait_for(there.runs)[0]
        assert run["info"]["status"] == "RUNNING"
        some = wait_for(lambda: there.points_of(run["info"]["run_id"], "loss"))
        more = wait_for(lambda: len(there.points_of(run["info"]["run_id"], "loss")) > len(some))
        assert more and job.poll() is None, "all of it came at the end"
    finally:
        (here.folder / "enough").touch()
        out, error = job.communicate(timeout=300)
    assert job.returncode == 7
    local = here.runs()[0]
    info = check_equal(here, local, there)
    assert info["status"] == "FAILED" and info["run_name"] == "first"
    assert f"/runs/{info['run_id']}" in error
    assert len(there.runs()) == 1
    assert "Infinity" in json.dumps(there.ask("metrics/get-history", run_id=info["run_id"], metric_key="odd"))


def test_what_the_command_logs_to_mlflow_is_sent_on(serve, here):
    """Its own server is the private one, whatever the environment says, and takes its token alone."""
    there = There(serve().url)
    here.environment.update(MLFLOW_TRACKING_URI=there.url, MLFLOW_TRACKING_USERNAME="somebody", MLFLOW_TRACKING_PASSWORD="x")
    program = """
import json, os, urllib.request
assert os.environ["MLFLOW_TRACKING_USERNAME"] != "somebody"
request = urllib.request.Request(os.environ["MLFLOW_TRACKING_URI"] + "/api/2.0/mlflow/runs/log-batch", json.dumps({
    "run_id": os.environ["MLFLOW_RUN_ID"], "params": [{"key": "by", "value": "client"}],
    "metrics": [{"key": "acc", "value": s / 10, "timestamp": 1000 + s, "step": s} for s in range(10)]}).encode(),
    {"Authorization": "Bearer " + os.environ["MLFLOW_TRACKING_TOKEN"], "Content-Type": "application/json"})
urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request).read()
"""
    done = here.run("--mlflow-uri", there.url, job=(program,))
    assert done.returncode == 0, done.stderr
    run = here.runs()[0]
    info = check_equal(here, run, there)
    assert len(there.points_of(info["run_id"], "acc")) == 10


# Asks its own server as MLflow's client does: through the proxy of the environment, with user and password where there are some.
CLIENT = """
import base64, json, os, urllib.request
def ask(call, message):
    who = os.environ["MLFLOW_TRACKING_USERNAME"] + ":" + os.environ["MLFLOW_TRACKING_PASSWORD"]
    request = urllib.request.Request(os.environ["MLFLOW_TRACKING_URI"] + "/api/2.0/mlflow/" + call, json.dumps(
        {"run_id": os.environ["MLFLOW_RUN_ID"], **message}).encode(),
        {"Authorization": "Basic " + base64.b64encode(who.encode()).decode(), "Content-Type": "application/json"})
    return urllib.request.urlopen(request, timeout=300).read()
"""


@pytest.mark.parametrize("hosts, expected", [
    ({}, "127.0.0.1"), ({"no_proxy": "a.example"}, "a.example,127.0.0.1"), ({"NO_PROXY": "a.example"}, "a.example,127.0.0.1"),
    ({"no_proxy": "a.example", "NO_PROXY": "b.example"}, "a.example,127.0.0.1"), ({"no_proxy": "*"}, "*")])
def test_the_command_reaches_its_own_server(here, hosts, expected):
    """Whatever proxy there is, and without credentials of the user's own: MLflow's file of them counts where the environment
    has none."""
    dead = f"http://127.0.0.1:{free_port()}"
    here.environment.update(HTTP_PROXY=dead, http_proxy=dead, **hosts)
    program = CLIENT + """
ask("runs/log-metric", {"key": "acc", "value": 1, "timestamp": 1})
print(os.environ["no_proxy"])
"""
    done = here.run(job=(program,))
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == expected
    assert "acc" in here.points(here.runs()[0])


@pytest.mark.skipif(shutil.which("strace") is None, reason="no strace to count with")
def test_a_metric_waits_for_no_disk(here):
    """The recorder's own commits, some ten a second, are flushed as ever."""
    program = CLIENT + """
for i in range(500):
    ask("runs/log-metric", {"key": "acc", "value": i, "timestamp": i, "step": i})
"""
    (here.folder / "job.py").write_text(program)
    counts = here.folder / "flushes"
    begun = time.monotonic()
    done = subprocess.run(["strace", "-f", "-e", "trace=fsync,fdatasync", "-o", counts, BINARY, "run", "--", sys.executable,
                           "job.py"], env=here.environment, cwd=here.folder, capture_output=True, text=True, timeout=300)
    if "ptrace" in done.stderr:
        pytest.skip("strace may not look")
    assert done.returncode == 0, done.stderr
    assert len(here.points(here.runs()[0])["acc"]) == 500
    # Half of what one for each metric would be, beside the recorder's own, however long it all takes.
    assert counts.read_text().count("sync(") < 250 + 10 * (time.monotonic() - begun)


def test_a_script_that_ends_its_run_and_works_on(serve, here):
    there = There(serve().url)
    program = CLIENT + """
import pathlib, time
ask("runs/update", {"status": "FINISHED", "end_time": 5})
i = 0
while not pathlib.Path("enough").exists():
    ask("runs/log-metric", {"key": "acc", "value": i, "timestamp": i, "step": i})
    time.sleep(0.1)
    i += 1
"""
    job = here.start("--mlflow-uri", there.url, job=(program,))
    try:
        run = wait_for(there.runs)[0]["info"]["run_id"]
        some = wait_for(lambda: len(there.points_of(run, "acc")))
        wait_for(lambda: len(there.points_of(run, "acc")) > some)
        assert there.runs()[0]["info"]["status"] == "RUNNING" and job.poll() is None
    finally:
        (here.folder / "enough").touch()
        out, error = job.communicate(timeout=300)
    assert job.returncode == 0, error
    assert check_equal(here, here.runs()[0], there)["status"] == "FINISHED"


def test_every_job_of_a_file_is_sent(serve, here):
    there = There(serve().url)
    (here.folder / "jobs.toml").write_text("""
experiment = "many"
[[workload]]
name = "both"
  [[workload.job]]
  name = "small"
  count = 3
  command = "echo 'plimsoll: metric loss 1 step 0'"
""")
    here.call("run", "jobs.toml", "--mlflow-uri", there.url)
    assert len(there.runs()) == 3
    for run in here.runs():
        check_equal(here, run, there)


def test_an_interrupted_command(serve, here):
    there = There(serve().url)
    job = here.start("--mlflow-uri", there.url, job=(JOB, 5, 0.1, 0, "never"))
    try:
        wait_for(there.runs)
    finally:
        job.send_signal(signal.SIGINT)
        job.communicate(timeout=300)
    assert job.returncode in (1, 130)  # Python's own end, or the signal's
    assert check_equal(here, here.runs()[0], there)["status"] == "KILLED"


def test_a_server_that_is_away_costs_nothing(serve, here):
    port = free_port()
    done = here.run("--mlflow-uri", f"http://127.0.0.1:{port}", job=(JOB, 20, 0.1, 5))
    assert done.returncode == 5
    run = here.runs()[0]
    assert f"export-mlflow {run[:8]} --mlflow-uri http://127.0.0.1:{port}" in done.stderr
    there = There(serve(port=port).url)
    # The very command that it named.
    command = re.search(r"plimsoll (export-mlflow .*)", done.stderr).group(1).split()
    sent = json.loads(here.call(*command, "--json").stdout)
    assert sent["runs"][0]["created"] and sent["runs"][0]["complete"]
    check_equal(here, run, there)


def test_a_server_killed_in_the_middle(serve, here):
    served = serve()
    there = There(served.url)
    job = here.start("--mlflow-uri", there.url, job=(JOB, 5, 0.2, 0, "enough"))
    try:
        run = wait_for(there.runs)[0]["info"]["run_id"]
        wait_for(lambda: there.points_of(run, "loss"))
        served.stop(signal.SIGKILL)
    finally:
        (here.folder / "enough").touch()
        out, error = job.communicate(timeout=300)
    assert job.returncode == 0
    assert "export-mlflow" in error
    there = There(serve(port=served.port).url)
    local = here.runs()[0]
    here.call("export-mlflow", local, "--mlflow-uri", there.url)
    assert check_equal(here, local, there)["run_id"] == run
    assert len(there.runs()) == 1


def test_a_server_that_comes_back_is_gone_on_with(serve, here):
    served = serve()
    there = There(served.url)
    job = here.start("--mlflow-uri", there.url, job=(JOB, 5, 0.2, 0, "enough"))
    try:
        run = wait_for(there.runs)[0]["info"]["run_id"]
        served.stop(signal.SIGKILL)
        while "MLflow" not in (line := job.stderr.readline()):  # it has noticed
            assert line, "it did not say so"
        serve(port=served.port)
        some = len(there.points_of(run, "loss"))
        wait_for(lambda: len(there.points_of(run, "loss")) > some)
    finally:
        (here.folder / "enough").touch()
        out, error = job.communicate(timeout=300)
    assert job.returncode == 0 and "export-mlflow" not in error
    check_equal(here, here.runs()[0], there)
    assert [r["info"]["run_id"] for r in there.runs()] == [run]


def test_a_server_that_never_answers(here):
    """The command ends when it would have; the rest is tried for some ten seconds, which Ctrl-C cuts short."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(8)
        uri = f"http://user:secret@127.0.0.1:{listener.getsockname()[1]}"
        # Nobody accepts the connection: what waited for an answer would wait for ever.
        done = here.run("--mlflow-uri", uri, job=(JOB, 10, 0.1, 3))
        assert done.returncode == 3
        assert "user:***@" in done.stderr and "secret" not in done.stderr
        command = re.search(r"export-mlflow .*", done.stderr).group()
        assert "http://user:PASSWORD@127.0.0.1" in command and "***" not in command
        assert "secret" not in here.call("runs", "show", here.runs()[0], "--json").stdout
        # Sooner than in the ten seconds: on a machine that is too busy to tell, once more.
        for _ in range(20):
            job = here.start("--mlflow-uri", uri, job=(JOB, 3, 0.1, 3))
            while "sending the rest" not in (line := job.stderr.readline()):
                assert line, "it did not say what it does"
            begun = time.monotonic()
            job.send_signal(signal.SIGINT)
            out, error = job.communicate(timeout=300)
            assert job.returncode == 3
            assert "export-mlflow" in error
            if sooner := time.monotonic() - begun < 5:
                break
        assert sooner


def test_exported_twice_adds_nothing(serve, here):
    there = There(serve().url)
    assert here.run(job=(JOB, 5, 0, 0)).returncode == 0
    run = here.runs()[0]
    first = json.loads(here.call("export-mlflow", run[:8], "--mlflow-uri", there.url, "--json").stdout)["runs"][0]
    before = check_equal(here, run, there)
    second = json.loads(here.call("export-mlflow", run[:8], "--mlflow-uri", there.url + "/", "--json").stdout)["runs"][0]
    assert first["created"] and not second["created"]
    assert first["points_sent"] > 0 and second["points_sent"] == 0
    assert second["mlflow_run"] == first["mlflow_run"]
    assert check_equal(here, run, there) == before
    # By the tag there, where the one here is of another server.
    other = There(serve(store=str(here.folder / "other.db")).url)
    here.call("export-mlflow", run, "--mlflow-uri", other.url)
    check_equal(here, run, other)
    here.call("export-mlflow", run, "--mlflow-uri", there.url)
    assert check_equal(here, run, there)["run_id"] == first["mlflow_run"]
    assert len(there.runs()) == 1


def test_many_points(serve, here):
    there = There(serve().url)
    program = "for s in range(12345): print(f'plimsoll: metric loss {s * 0.5} step {s}')"
    assert here.run(job=(program,)).returncode == 0
    run = here.runs()[0]
    done = here.call("export-mlflow", run, "--mlflow-uri", there.url)
    info = check_equal(here, run, there)
    assert len(there.points_of(info["run_id"], "loss")) == 12345
    assert info["run_id"] in done.stdout


def test_tokens(serve, here):
    served = serve(environment={"PLIMSOLL_TOKEN": TOKEN})
    there = There(served.url, TOKEN)
    done = here.run("--mlflow-uri", served.url, job=(JOB, 2, 0, 4))
    assert done.returncode == 4
    assert "does not let us in" in done.stderr and "MLFLOW_TRACKING_TOKEN" in done.stderr
    run = here.runs()[0]
    for variables in ({}, {"MLFLOW_TRACKING_TOKEN": "wrong-wrong-wrong-wrong"}):
        refused = here.call("export-mlflow", run, "--mlflow-uri", served.url, code=2, **variables)
        assert "does not let us in (401)" in refused.stderr and "MLFLOW_TRACKING_TOKEN" in refused.stderr
    assert there.runs() == []
    with pytest.raises(urllib.error.HTTPError):
        There(served.url).runs()
    here.call("export-mlflow", run, "--mlflow-uri", served.url, MLFLOW_TRACKING_TOKEN=TOKEN)
    check_equal(here, run, there)
    # As a password, by the environment and in the address.
    here.call("export-mlflow", run, MLFLOW_TRACKING_URI=served.url, MLFLOW_TRACKING_USERNAME="me",
              MLFLOW_TRACKING_PASSWORD=TOKEN)
    told = here.call("export-mlflow", run, "--mlflow-uri", served.url.replace("//", f"//me:{TOKEN}@"))
    assert TOKEN not in told.stdout + told.stderr
    assert TOKEN not in here.call("runs", "show", run, "--json").stdout
    # The command of a run that is sent is given the private server's token, not this one.
    here.environment["MLFLOW_TRACKING_TOKEN"] = TOKEN
    program = f"import os; assert os.environ['MLFLOW_TRACKING_TOKEN'] != '{TOKEN}'; " + JOB
    done = here.run("--mlflow-uri", served.url, job=(program, 2, 0, 0))
    assert done.returncode == 0, done.stderr
    check_equal(here, here.runs()[0], there)


def test_wrong_addresses(here):
    assert here.run(job=(JOB, 1, 0, 0)).returncode == 0
    run = here.runs()[0]
    for uri in ("databricks", "file:///tmp/mlruns", "http://", "http://me:secret/@host"):
        told = here.call("export-mlflow", run, "--mlflow-uri", uri, code=2).stderr
        assert "--mlflow-uri" in told and "http://HOST:5000" in told and "secret" not in told
        assert here.run("--mlflow-uri", uri).returncode == 2
    assert len(here.runs()) == 1, "nothing was started"
    assert "MLFLOW_TRACKING_URI" in here.call("export-mlflow", run, code=2).stderr
    away = here.call("export-mlflow", run, "--mlflow-uri", f"http://127.0.0.1:{free_port()}", code=3).stderr
    assert "cannot be reached" in away and "goes on" in away
    here.call("export-mlflow", "abcdef", "--mlflow-uri", "http://127.0.0.1:1", code=2)


class Quiet(http.server.BaseHTTPRequestHandler):
    def log_message(self, *words):
        pass


@contextlib.contextmanager
def listening(handler):
    """The address of a server of this test's own."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


@contextlib.contextmanager
def answering(status, body=b"", **headers):
    """A server that has one answer; gives its address and the calls that came."""
    calls = []

    class Handler(Quiet):
        def do_GET(self):
            calls.append(self.path)
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.send_response(status)
            for name, value in {**headers, "Content-Length": len(body)}.items():
                self.send_header(name, str(value))
            self.end_headers()
            with contextlib.suppress(OSError):  # a client that has enough leaves
                self.wfile.write(body)

        do_POST = do_GET

    with listening(Handler) as uri:
        yield uri, calls


def test_servers_that_are_not_mlflow(here):
    assert here.run(job=(JOB, 1, 0, 0)).returncode == 0
    run = here.runs()[0]

    def told(uri, code):
        return here.call("export-mlflow", run, "--mlflow-uri", uri, code=code, MLFLOW_TRACKING_TOKEN=TOKEN).stderr

    with answering(200) as (elsewhere, calls):
        with answering(302, Location=elsewhere) as (uri, _):
            assert "elsewhere" in told(uri, 2)
        assert calls == [], "the token went along"
    with answering(404, b"<html>") as (uri, _):
        assert "not an MLflow server" in told(uri, 2)
    with answering(200, b"<html>") as (uri, _):
        assert "not MLflow's" in told(uri, 2)
    with answering(200, b"[" * (9 << 20)) as (uri, _):
        assert "too long" in told(uri, 2)
    with answering(503, b"busy") as (uri, calls):
        assert "503" in told(uri, 3)
        assert len(calls) == 3
    with answering(400, json.dumps({"error_code": "X", "message": "a\x1b[31m" + "b" * 9999}).encode()) as (uri, _):
        assert "\x1b[31m" not in (text := told(uri, 2)) and len(text) < 1000


@contextlib.contextmanager
def stricter(port, takes_files):
    """An MLflow server that takes no key with a colon, as older ones and those on Windows, and perhaps no files."""
    class Handler(Quiet):
        def do_GET(self):
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            status, answer = 400, b'{"error_code": "INVALID_PARAMETER_VALUE", "message": "no colons"}'
            if not (self.path.endswith("log-batch") and re.search(rb'"key":"[^"]*:', body)):
                request = urllib.request.Request(f"http://127.0.0.1:{port}{self.path}", body or None,
                                                 {"Content-Type": "application/json"}, method=self.command)
                try:
                    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=300) as found:
                        status, answer = found.status, found.read()
                except urllib.error.HTTPError as error:
                    status, answer = error.code, error.read()
            self.send_response(status)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        do_POST = do_GET
        if takes_files:
            do_PUT = do_GET

    with listening(Handler) as uri:
        yield uri


@pytest.mark.parametrize("takes_files", [True, False])
def test_a_server_that_does_not_take_everything(serve, here, takes_files):
    """What it refuses is said once and left out; all else arrives."""
    served = serve()
    there = There(served.url)
    with stricter(served.port, takes_files) as uri:
        done = here.run("--mlflow-uri", uri, "--param", "a:b=1", "--param", "lr=0.1", "--tag", "c:d=2", "--tag", "note=x",
                        job=(JOB, 30, 0.2, 0))
        assert done.returncode == 0, done.stderr
        assert done.stderr.count("does not take") == 1 and "'a:b'" in done.stderr and "'c:d'" in done.stderr, done.stderr
        [run] = there.runs()
        assert run["info"]["status"] == "FINISHED"
        assert {p["key"] for p in run["data"]["params"]} == {"lr", "depth"}
        assert {"note", "plimsoll.run"} <= {t["key"] for t in run["data"]["tags"]}
        assert len(there.points_of(run["info"]["run_id"], "loss")) == 30
        again = here.call("export-mlflow", here.runs()[0], "--mlflow-uri", uri, "--json")
        [sent] = json.loads(again.stdout)["runs"]
        refused = [r["what"] for r in sent["refused"]]
        assert sent["complete"] and refused[:2] == ["param 'a:b'", "tag 'c:d'"]
        assert all(what.startswith("file ") for what in refused[2:]) and bool(refused[2:]) != takes_files, refused
        assert again.stderr.count("does not take") == len(refused)


@contextlib.contextmanager
def secured(port, certificate, key):
    """TLS in front of a port."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    listener = socket.create_server(("127.0.0.1", 0))

    def copy(source, target):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_RDWR)

    def accept():
        while True:
            try:
                plain, _ = listener.accept()
            except OSError:
                return
            with contextlib.suppress(OSError):
                client = context.wrap_socket(plain, server_side=True)
                server = socket.create_connection(("127.0.0.1", port))
                for pair in ((client, server), (server, client)):
                    threading.Thread(target=copy, args=pair, daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield f"https://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        listener.close()


@pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl to make a certificate with")
def test_https(serve, here):
    served = serve()
    certificate, key = here.folder / "certificate.pem", here.folder / "key.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1", "-addext",
                    "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate], check=True, capture_output=True)
    assert here.run(job=(JOB, 3, 0, 0)).returncode == 0
    run = here.runs()[0]
    with secured(served.port, certificate, key) as uri:
        refused = here.call("export-mlflow", run, "--mlflow-uri", uri, code=2).stderr
        assert "certificate" in refused and "MLFLOW_TRACKING_SERVER_CERT_PATH" in refused
        here.call("export-mlflow", run, "--mlflow-uri", uri, MLFLOW_TRACKING_SERVER_CERT_PATH=str(certificate))
        check_equal(here, run, There(served.url))
