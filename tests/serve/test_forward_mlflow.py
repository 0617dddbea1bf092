"""`plimsoll run --mlflow-uri` and `plimsoll export-mlflow` to MLflow's own server, of 2.x and of 3.x, over SQLite."""
import json
import os
import signal
import socket
import subprocess
import sys
import urllib.request

import mlflow
import pytest

from conftest import Served, wait_for
from forwarding import JOB, Here, There, check_equal
from run_contents import Remote, differences, make, read
from test_forward_contents import Killer, killed_until_done

MAJOR = int(mlflow.__version__.split(".")[0])


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


def test_files_data_models_and_the_registry(there, tmp_path):
    """All of it, over and over from a process that is killed every few calls; then what a script finds there."""
    here = Here(tmp_path / "here")
    served = Served(here.folder, store=str(here.folder / "here.db"))
    make(Remote(served.url), models=MAJOR >= 3)
    contents = read(Remote(served.url), sent=False, models=MAJOR >= 3)
    served.stop()
    killer = Killer(there.url)
    assert killed_until_done(here, killer, step=5) > 3
    found = read(Remote(there.url), sent=True, models=MAJOR >= 3)
    assert differences(found, contents) == {}
    killer.kill_at = 0
    again = json.loads(here.call("export-mlflow", "--all", "--mlflow-uri", killer.url, "--json").stdout)
    killer.shutdown()
    assert [(r["files_sent"], r["datasets_sent"], r["points_sent"], r["refused"]) for r in again["runs"]] == [(0, 0, 0, [])] * 2
    assert [(m["versions_sent"], m["refused"]) for m in again["registered_models"]] == [(0, [])] * 2


@pytest.fixture
def client_of(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in [n for n in os.environ if n.startswith("MLFLOW_")]:
        monkeypatch.delenv(name)

    def aim(url):
        mlflow.set_tracking_uri(url)
        mlflow.set_registry_uri(url)
        return mlflow.MlflowClient(url)
    return aim


def test_a_model_that_a_script_registered_is_loaded_there(there, tmp_path, client_of):
    from sklearn.dummy import DummyClassifier
    here = Here(tmp_path / "here")
    served = Served(here.folder, store=str(here.folder / "here.db"))
    client = client_of(served.url)
    mlflow.set_experiment("scripts")
    for value in (0, 1):
        where = {"name": "dummy"} if MAJOR >= 3 else {"artifact_path": "dummy"}
        with mlflow.start_run():
            mlflow.log_table({"x": [1]}, "table.json")
            mlflow.sklearn.log_model(DummyClassifier(strategy="constant", constant=value).fit([[0], [1]], [0, 1]),
                                     registered_model_name="dummy", **where)
    client.set_registered_model_alias("dummy", "champion", "2")
    runs = sorted(r.info.run_id for r in client.search_runs([mlflow.get_experiment_by_name("scripts").experiment_id]))
    served.stop()
    sent = json.loads(here.call("export-mlflow", "--model", "dummy", "--mlflow-uri", there.url, "--json").stdout)
    assert sorted(r["run"] for r in sent["runs"]) == runs and [r["refused"] for r in sent["runs"]] == [[], []]
    client = client_of(there.url)
    for place, value in (("models:/dummy/1", 0), ("models:/dummy@champion", 1)):
        assert list(mlflow.pyfunc.load_model(place).predict([[5]])) == [value]
    assert {str(v.version): v.run_id for v in client.search_model_versions("name = 'dummy'")} == {
        str(n + 1): next(r["mlflow_run"] for r in sent["runs"] if r["run"] == run)
        for n, run in enumerate(r["run"] for r in sent["runs"])}


@pytest.mark.skipif(MAJOR >= 3, reason="servers of MLflow 3 have logged models")
def test_logged_models_come_to_a_server_without_them(there, tmp_path):
    here = Here(tmp_path / "here")
    served = Served(here.folder, store=str(here.folder / "here.db"))
    make(Remote(served.url), models=True)
    served.stop()
    sent = json.loads(here.call("export-mlflow", "--all", "--mlflow-uri", there.url, "--json").stdout)
    assert [r["refused"] for r in sent["runs"]] == [[], []]
    found = read(Remote(there.url), sent=True, models=False)
    files = [run["files"] for run in found["runs"].values()]
    assert sorted(name for f in files for name in f if name.startswith("net")) == ["net0/data/model.bin", "net1/data/model.bin"]
    assert found["registered"]["it's a net"]["versions"][5]["files"] == {"data/model.bin": b"m" * 1000}
