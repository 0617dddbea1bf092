"""`plimsoll export-mlflow` of all that a store has, to `plimsoll serve`: files, data, models, the registry. And that it goes on
where it was killed, be it at any of its calls."""
import http.client
import http.server
import json
import os
import signal
import subprocess
import threading

import pytest

from conftest import Served
from forwarding import BINARY, Here
from run_contents import Remote, differences, make, read


@pytest.fixture
def filled(tmp_path):
    """A store with something of everything; what it has, as a server shows it."""
    here = Here(tmp_path / "here")
    served = Served(here.folder, store=str(here.folder / "here.db"))
    make(Remote(served.url))
    contents = read(Remote(served.url), sent=False)
    served.stop()
    return here, contents


@pytest.fixture
def there(serve, tmp_path):
    return Remote(serve(store=str(tmp_path / "there.db")).url)


def exported(here, *words, code=0):
    return json.loads(here.call("export-mlflow", *words, "--json", code=code).stdout)


def test_all_of_it_arrives_and_once(filled, there):
    here, contents = filled
    said = exported(here, "--all", "--mlflow-uri", there.url)
    assert differences(read(there, sent=True), contents) == {}
    assert [len(r["refused"]) for r in said["runs"]] == [0, 0]
    assert [(r["files_sent"], r["datasets_sent"], len(r["models"])) for r in said["runs"]] == [(6, 2, 1), (6, 2, 1)]
    assert {m["name"]: m["versions_sent"] for m in said["registered_models"]} == {"empty": 0, "it's a net": 3}
    again = exported(here, "--all", "--mlflow-uri", there.url)
    assert differences(read(there, sent=True), contents) == {}
    assert [(r["files_sent"], r["files_present"], r["datasets_sent"], r["points_sent"]) for r in again["runs"]] == [(0, 6, 0, 0)] * 2
    assert {m["name"]: (m["versions_sent"], m["versions_present"]) for m in again["registered_models"]} == {
        "empty": (0, 0), "it's a net": (0, 3)}


def test_a_registered_model_brings_its_runs(filled, there):
    here, contents = filled
    said = exported(here, "--model", "it's a net", "--mlflow-uri", there.url)
    assert len(said["runs"]) == 1 and [m["name"] for m in said["registered_models"]] == ["it's a net"]
    found = read(there, sent=True)
    assert found["registered"]["it's a net"] == contents["registered"]["it's a net"]
    assert "'it's a net'" not in here.call("export-mlflow", "--model", "it's a ney", "--mlflow-uri", there.url, code=2).stdout


def test_what_changes_here_changes_there(filled, there):
    here, _ = filled
    exported(here, "--all", "--mlflow-uri", there.url)
    served = Served(here.folder, store=str(here.folder / "here.db"))
    own = Remote(served.url)
    name = "it's a net"
    own.ask("registered-models/alias", {"name": name, "alias": "champion", "version": "3"})
    own.ask("registered-models/update", {"name": name, "description": "another"}, "PATCH")
    own.ask("model-versions/transition-stage", {"name": name, "version": "3", "stage": "Archived", "archive_existing_versions": False})
    own.ask("model-versions/set-tag", {"name": name, "version": "2", "key": "k", "value": "v"})
    own.ask("model-versions/create", {"name": name, "source": "s3://bucket/newest"})
    contents = read(own, sent=False)
    served.stop()
    exported(here, "--all", "--mlflow-uri", there.url)
    assert differences(read(there, sent=True), contents) == {}


def test_another_model_of_the_name_is_left(filled, there):
    here, _ = filled
    there.ask("registered-models/create", {"name": "it's a net", "description": "theirs"})
    said = exported(here, "--all", "--mlflow-uri", there.url, code=1)
    assert [m["different"] for m in said["registered_models"] if m["name"] == "it's a net"] == [True]
    found = there.ask("registered-models/get", name="it's a net")["registered_model"]
    assert found["description"] == "theirs" and not found.get("latest_versions")


class Killer(http.server.ThreadingHTTPServer):
    """Hands calls on to a server, and kills the client at the nth: before it was handed on, or before it is answered."""
    daemon_threads = True

    def __init__(self, url):
        super().__init__(("127.0.0.1", 0), Handler)
        self.target = url.removeprefix("http://")
        self.client, self.calls, self.kill_at, self.answer_lost = None, 0, 0, False
        self.lock = threading.Lock()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def hand_on(self):
        server = self.server
        with server.lock:
            server.calls += 1
            last = server.calls == server.kill_at
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if last and not server.answer_lost:
            return self.end()
        onward = http.client.HTTPConnection(server.target, timeout=300)
        onward.request(self.command, self.path, body, {"Content-Type": self.headers.get("Content-Type", "")})
        answer = onward.getresponse()
        content = answer.read()
        onward.close()
        if last:
            return self.end()
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.getheader("Content-Type", ""))
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def end(self):
        os.kill(self.server.client.pid, signal.SIGKILL)
        self.server.client.wait()
        self.close_connection = True

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = hand_on

    def log_message(self, *words):
        pass


def killed_until_done(here, killer, step, limit=100_000):
    """Starts it again and again, each time to be killed `step` calls later; how often that was."""
    for kills in range(limit):
        killer.calls, killer.kill_at, killer.answer_lost = 0, (kills + 1) * step, kills % 2 == 1
        killer.client = subprocess.Popen([BINARY, "export-mlflow", "--all", "--mlflow-uri", killer.url], cwd=here.folder,
                                         env=here.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        killer.client.wait(300)
        out, error = killer.client.stdout.read(), killer.client.stderr.read()
        killer.client.stdout.close()
        killer.client.stderr.close()
        if killer.client.returncode != -signal.SIGKILL:
            assert killer.client.returncode == 0, (out, error)
            return kills
    raise AssertionError("it never ended")


def test_it_goes_on_after_being_killed_at_any_call(filled, there):
    here, contents = filled
    killer = Killer(there.url)
    kills = killed_until_done(here, killer, step=1)
    killer.shutdown()
    assert kills > 30
    assert differences(read(there, sent=True), contents) == {}
