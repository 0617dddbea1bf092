"""`plimsoll run --mlflow-uri` and `plimsoll export-mlflow` to MLflow's own server, over SQLite."""
import json
import os
import signal
import socket
import subprocess
import sys
import urllib.request

import pytest

from conftest import wait_for
from forwarding import JOB, Here, There, check_equal


@pytest.fixture
def there(tmp_path):
    """MLflow's server on a free port."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    clean = {k: v for k, v in os.environ.items() if not k.startswith("MLFLOW_")}
    log = open(tmp_path / "server.log", "w")
    server = subprocess.Popen([sys.executable, "-m", "mlflow", "server", "--backend-store-uri", f"sqlite:///{tmp_path}/mlflow.db",
                               "--artifacts-destination", str(tmp_path / "artifacts"), "--host", "127.0.0.1", "--port", str(port),
                               "--workers", "1"],
                              cwd=tmp_path, env=clean, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)
    url = f"http://127.0.0.1:{port}"
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def healthy():
        assert server.poll() is None, (tmp_path / "server.log").read_text()
        try:
            return opener.open(url + "/health", timeout=300).read() == b"OK"
        except OSError:
            return False

    try:
        wait_for(healthy, seconds=600)
        yield There(url)
    finally:
        os.killpg(server.pid, signal.SIGKILL)  # its workers too
        server.wait()
        log.close()


def test_live_and_afterwards(there, tmp_path):
    here = Here(tmp_path / "here")
    done = here.run("--mlflow-uri", there.url, "--experiment", "vision, too", "--name", "first", "--param", "lr=0.1",
                    "--tag", "long=" + "ä" * 9000, job=(JOB, 30, 0.2, 3))
    assert done.returncode == 3
    run = here.runs()[0]
    info = check_equal(here, run, there)
    assert info["status"] == "FAILED"
    # All once more, as after a crash that lost what was known of it: equal points are there once.
    sent = json.loads(here.call("export-mlflow", run, "--mlflow-uri", there.url, "--json").stdout)["runs"][0]
    assert sent["mlflow_run"] == info["run_id"] and sent["points_sent"] == 0
    here.environment["PLIMSOLL_STORE"] = str(here.folder / "copy.db")
    here.call("store", "copy", here.folder / "here.db", here.folder / "copy.db")
    forget_what_was_sent(here.folder / "copy.db")
    sent = json.loads(here.call("export-mlflow", run, "--mlflow-uri", there.url, "--json").stdout)["runs"][0]
    assert sent["mlflow_run"] == info["run_id"] and not sent["created"] and sent["points_sent"] > 30
    assert check_equal(here, run, there) == info
    assert len(there.runs()) == 1


def forget_what_was_sent(store):
    import sqlite3
    with sqlite3.connect(store) as database:
        database.execute("DELETE FROM tag WHERE name LIKE 'plimsoll.mlflow%'")


def test_many_points_and_odd_names(there, tmp_path):
    here = Here(tmp_path / "here")
    program = """
for s in range(5000): print(f"plimsoll: metric loss {s * 0.5} step {s}")
for name in ("hit@5", "a//b", "../up", "größe", "a:b"): print(f"plimsoll: metric {name} 1 step 0")
"""
    assert here.run(job=(program,)).returncode == 0
    run = here.runs()[0]
    sent = json.loads(here.call("export-mlflow", run, "--mlflow-uri", there.url, "--json").stdout)["runs"][0]
    assert sent["complete"]
    found = there.points_of(sent["mlflow_run"], "loss")
    assert sorted(step for _, step, _ in found) == list(range(5000))
    metrics = there.ask("runs/get", run_id=sent["mlflow_run"])["run"]["data"]["metrics"]
    assert len(metrics) == len(here.points(run))
