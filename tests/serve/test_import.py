"""A store that MLflow itself wrote, as files and as a database, comes over whole: what its client reads from `plimsoll serve`
afterwards equals what it reads from MLflow's own store."""
import json
import os
import pathlib
import subprocess

import mlflow
import pytest
from mlflow import MlflowClient
from mlflow.entities import Metric, Param, RunTag, ViewType

from conftest import BINARY

if int(mlflow.__version__.split(".")[0]) >= 3:
    from mlflow.entities import LoggedModelInput, LoggedModelOutput
MAJOR = int(mlflow.__version__.split(".")[0])


@pytest.fixture(params=["files", "database"])
def source(request, tmp_path, monkeypatch):
    """Its address for MLflow, and its path."""
    monkeypatch.chdir(tmp_path)
    for name in [n for n in os.environ if n.startswith("MLFLOW_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")  # newer clients warn of files, or refuse them
    folder = tmp_path / "theirs"
    folder.mkdir()
    if request.param == "files":
        return f"file://{folder}/mlruns", folder / "mlruns"
    return f"sqlite:///{folder}/mlflow.db", folder / "mlflow.db"


def write(uri, folder):
    client = MlflowClient(uri)
    vision = client.create_experiment("vision: first", artifact_location=f"file://{folder}/artifacts" if
                                      uri.startswith("sqlite") else None, tags={"team": "a\nb"})
    gone = client.create_experiment("gone")
    client.delete_experiment(gone)
    runs = []
    for i in range(3):
        run = client.create_run(vision, run_name=f"run {i}: 'quoted'", tags={"kind": "test", "note": "ü \u2603\nline"},
                                start_time=1_700_000_000_000 + i)
        runs.append(run.info.run_id)
        client.log_batch(run.info.run_id,
                         metrics=[Metric("loss", 1 / (s + 1), 1_700_000_000_000 + s, s) for s in range(500)]
                         + [Metric("odd", v, 1_700_000_000_000 + s, s)
                            for s, v in enumerate((-0.0, 1e-310, 1.7e308, -2.5))]
                         + [Metric("a/b", 1.0, 5, -3)],
                         params=[Param("lr", "0.1"), Param("empty", ""), Param("long", "x" * 500)],
                         tags=[RunTag("later", "yes")])
        path = folder / "report.txt"
        path.write_text(f"of run {i}")
        client.log_artifact(run.info.run_id, str(path), "sub/folder")
    client.set_terminated(runs[0], "FINISHED", 1_700_000_100_000)
    client.set_terminated(runs[1], "FAILED", 1_700_000_200_000)
    client.delete_run(runs[1])
    return runs


def described(client, run_id):
    run = client.get_run(run_id)
    info = {name: getattr(run.info, name) for name in
            ("run_id", "experiment_id", "status", "start_time", "end_time", "lifecycle_stage", "run_name")}
    histories = {key: sorted((m.timestamp, m.step, m.value) for m in client.get_metric_history(run_id, key))
                 for key in run.data.metrics}
    return info, run.data.metrics, run.data.params, run.data.tags, histories


def test_brought_over_whole(source, serve, tmp_path):
    uri, path = source
    runs = write(uri, path.parent)
    environment = {k: v for k, v in os.environ.items() if not k.startswith("MLFLOW_")}
    words = [BINARY, "import-mlflow", str(path), "--store", str(tmp_path / "store.db"), "--json"]
    done = subprocess.run(words, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)
    again = subprocess.run(words, env=environment, capture_output=True, text=True)
    assert again.returncode == 0, again.stderr
    theirs, ours = MlflowClient(uri), MlflowClient(serve().url)
    for run_id in runs:
        assert described(ours, run_id) == described(theirs, run_id)
        assert [f.path for f in ours.list_artifacts(run_id, "sub/folder")] == ["sub/folder/report.txt"]
        local = ours.download_artifacts(run_id, "sub/folder/report.txt", str(tmp_path))
        assert pathlib.Path(local).read_text().startswith("of run")
    names = lambda client: sorted((e.name, e.experiment_id, e.lifecycle_stage, tuple(sorted(
        (k, v) for k, v in e.tags.items() if not k.startswith("mlflow.")))) for e in client.search_experiments(view_type=ViewType.ALL))
    assert names(ours) == names(theirs)


@pytest.mark.skipif(MAJOR < 3, reason="logged models came with MLflow 3")
def test_logged_models_come_over(source, serve, tmp_path):
    uri, path = source
    client = MlflowClient(uri)
    where = f"file://{path.parent}/artifacts" if uri.startswith("sqlite") else None
    experiment = client.create_experiment("models", artifact_location=where)
    run = client.create_run(experiment).info.run_id
    model = client.create_logged_model(experiment, name="net", source_run_id=run, tags={"size": "small"},
                                       params={"depth": "18"}, model_type="classifier")
    client.finalize_logged_model(model.model_id, "READY")
    client.log_outputs(run, [LoggedModelOutput(model.model_id, 3)])
    client.log_inputs(run, models=[LoggedModelInput(model.model_id)])
    client.log_metric(run, "accuracy", 0.5, step=1, timestamp=3, model_id=model.model_id)
    done = subprocess.run([BINARY, "import-mlflow", str(path), "--store", str(tmp_path / "store.db")],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    ours = MlflowClient(serve().url).get_logged_model(model.model_id)
    theirs = client.get_logged_model(model.model_id)
    for name in ("name", "model_id", "experiment_id", "source_run_id", "model_type", "status", "params",
                 "creation_timestamp"):
        assert getattr(ours, name) == getattr(theirs, name), name
    assert ours.tags["size"] == "small"
    links = lambda at: (at.inputs.model_inputs, at.outputs.model_outputs)
    assert links(MlflowClient(serve().url).get_run(run)) == links(client.get_run(run)) != ([], [])
    assert [(m.key, m.value, m.step) for m in ours.metrics] == [("accuracy", 0.5, 1)]


def test_registered_models_come_over(source, serve, tmp_path):
    uri, path = source
    mlflow.set_tracking_uri(uri)  # the client asks it too, whatever its own address is
    mlflow.set_registry_uri(uri)
    theirs = MlflowClient(uri, registry_uri=uri)
    where = f"file://{path.parent}/artifacts" if uri.startswith("sqlite") else None
    experiment = theirs.create_experiment("models", artifact_location=where)
    run = theirs.create_run(experiment)
    (tmp_path / "net.txt").write_text("weights")
    theirs.log_artifact(run.info.run_id, str(tmp_path / "net.txt"), "net")
    theirs.create_registered_model("net", tags={"team": "a\nb"}, description="what it is")
    theirs.create_model_version("net", f"{run.info.artifact_uri}/net", run.info.run_id, tags={"k": "ü \u2603"},
                                run_link="https://x.org/r", description="first")
    for _ in range(3):
        theirs.create_model_version("net", "s3://bucket/net")
    theirs.transition_model_version_stage("net", "2", "Production")
    theirs.set_registered_model_alias("net", "champion", "1")
    theirs.delete_model_version("net", "3")
    theirs.delete_model_version("net", "4")
    words = [BINARY, "import-mlflow", str(path), "--store", str(tmp_path / "store.db"), "--json"]
    done = [json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout) for _ in range(2)]
    assert [(d["registered_models"], d["versions"], d["versions_different"]) for d in done] == [(1, 2, 0), (0, 0, 0)]
    url = serve().url
    ours = MlflowClient(url)
    model, was = ours.get_registered_model("net"), theirs.get_registered_model("net")
    for name in ("name", "creation_timestamp", "last_updated_timestamp", "description", "tags"):
        assert getattr(model, name) == getattr(was, name), name
    assert {k: int(v) for k, v in model.aliases.items()} == {"champion": 1}
    for number in ("1", "2"):
        version, was = ours.get_model_version("net", number), theirs.get_model_version("net", number)
        for name in ("creation_timestamp", "last_updated_timestamp", "current_stage", "source", "status", "tags", "aliases"):
            assert getattr(version, name) == getattr(was, name), name
        for name in ("description", "run_id", "run_link"):
            assert (getattr(version, name) or "") == (getattr(was, name) or ""), name
    assert len(ours.search_model_versions("name = 'net'")) == 2
    mlflow.set_tracking_uri(url)
    mlflow.set_registry_uri(url)
    local = mlflow.artifacts.download_artifacts("models:/net/1")
    assert (pathlib.Path(local) / "net.txt").read_text() == "weights"
    assert int(ours.create_model_version("net", "s3://x/y").version) == 5
