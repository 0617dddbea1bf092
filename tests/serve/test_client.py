"""MLflow's own client, unchanged, pointed at `plimsoll serve`."""
import math
import os
import pathlib
import subprocess
import time

import mlflow
import pytest
from mlflow import MlflowClient
from mlflow.entities import Metric, Param, RunTag, ViewType
from mlflow.exceptions import MlflowException, RestException

from conftest import BINARY, wait_for

MAJOR = int(mlflow.__version__.split(".")[0])


@pytest.fixture
def server(store, serve):
    served = serve(store=store)
    yield served
    served.stop()


@pytest.fixture
def client(server, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    for name in [n for n in os.environ if n.startswith("MLFLOW_")]:
        monkeypatch.delenv(name)
    mlflow.set_tracking_uri(server.url)
    mlflow.set_experiment("Default")
    yield MlflowClient(server.url)
    while mlflow.active_run():
        mlflow.end_run()


def test_experiments(client):
    first = client.create_experiment("vision", tags={"team": "a"})
    second = client.create_experiment("speech", tags={"team": "b"})
    with pytest.raises(RestException, match="already exists") as refusal:
        client.create_experiment("vision")
    assert refusal.value.error_code == "RESOURCE_ALREADY_EXISTS"
    assert client.get_experiment(first).name == "vision"
    assert client.get_experiment_by_name("speech").experiment_id == second
    assert client.get_experiment_by_name("nobody") is None
    assert client.get_experiment("0").name == "Default"
    client.rename_experiment(first, "seeing")
    client.set_experiment_tag(first, "stage", "early")
    assert client.get_experiment(first).tags == {"team": "a", "stage": "early"}
    assert [e.name for e in client.search_experiments(filter_string="tags.team = 'b'")] == ["speech"]
    assert [e.name for e in client.search_experiments(order_by=["name ASC"])] == ["Default", "seeing", "speech"]
    client.delete_experiment(second)
    assert {e.name for e in client.search_experiments()} == {"Default", "seeing"}
    assert [e.name for e in client.search_experiments(view_type=ViewType.DELETED_ONLY)] == ["speech"]
    client.restore_experiment(second)
    assert client.get_experiment(second).lifecycle_stage == "active"
    client.delete_experiment(second)
    with pytest.raises(MlflowException, match="must be in the 'active' state"):
        client.set_experiment_tag(second, "stage", "late")
    client.restore_experiment(second)
    with pytest.raises(MlflowException, match="No Experiment with id=99 exists"):
        client.get_experiment("99")


def test_a_run_from_start_to_end(client):
    with mlflow.start_run(run_name="first", tags={"kind": "test"}, description="what it is") as run:
        mlflow.log_param("lr", 0.1)
        mlflow.log_params({"layers": 3, "empty": "", "long": "x" * 6000})
        mlflow.log_metric("loss", 0.5, step=1)
        mlflow.log_metrics({"loss": 0.25, "accuracy": 0.9}, step=2)
        mlflow.set_tag("note", "ü\n\"quoted\" \u2603")
        mlflow.set_tags({"a": 1, "b": "two"})
    stored = client.get_run(run.info.run_id)
    assert stored.info.status == "FINISHED" and stored.info.end_time >= stored.info.start_time
    assert stored.info.run_name == "first"
    assert stored.data.params == {"lr": "0.1", "layers": "3", "empty": "", "long": "x" * 6000}
    assert stored.data.metrics == {"loss": 0.25, "accuracy": 0.9}
    assert stored.data.tags["note"] == "ü\n\"quoted\" \u2603"
    assert stored.data.tags["mlflow.runName"] == "first"
    assert stored.data.tags["mlflow.note.content"] == "what it is"
    with pytest.raises(MlflowException, match="Changing param values is not allowed"):
        client.log_param(run.info.run_id, "lr", 0.2)
    client.log_param(run.info.run_id, "lr", 0.1)
    client.delete_tag(run.info.run_id, "a")
    assert "a" not in client.get_run(run.info.run_id).data.tags
    client.update_run(run.info.run_id, status="FAILED", name="renamed")
    assert client.get_run(run.info.run_id).info.run_name == "renamed"
    client.delete_run(run.info.run_id)
    assert client.get_run(run.info.run_id).info.lifecycle_stage == "deleted"
    with pytest.raises(MlflowException, match="must be in the 'active' state"):
        client.log_metric(run.info.run_id, "loss", 1)
    client.restore_run(run.info.run_id)
    client.log_metric(run.info.run_id, "loss", 1, step=9)
    with pytest.raises(MlflowException, match="not found"):
        client.get_run("0" * 32)
    with pytest.raises(MlflowException, match="not found"):
        client.get_run(run.info.run_id[:8])


def test_an_unfinished_run_says_so(client):
    with pytest.raises(ZeroDivisionError):
        with mlflow.start_run() as run:
            1 / 0
    assert client.get_run(run.info.run_id).info.status == "FAILED"


def test_metrics_in_batches_and_their_history(client):
    run = client.create_run("0").info.run_id
    points = [Metric("loss", 1 / (i + 1), 1000 + i, i) for i in range(1000)]
    client.log_batch(run, metrics=points, params=[], tags=[])
    client.log_batch(run, metrics=points, params=[], tags=[])  # again: nothing comes twice
    history = client.get_metric_history(run, "loss")
    assert [(m.step, m.timestamp, m.value) for m in history] == [(p.step, p.timestamp, p.value) for p in points]
    assert client.get_run(run).data.metrics["loss"] == points[-1].value
    client.log_batch(run, metrics=[Metric("m", 1, 1, 0)], params=[Param("p", "v")], tags=[RunTag("t", "w")])
    data = client.get_run(run).data
    assert (data.metrics["m"], data.params["p"], data.tags["t"]) == (1, "v", "w")
    assert client.get_metric_history(run, "none") == []
    for value in (math.nan, math.inf, -math.inf, 5e-324, 1.7976931348623157e308, -0.0):
        client.log_metric(run, "odd", value, timestamp=5, step=0)
    values = [m.value for m in client.get_metric_history(run, "odd")]
    assert len(values) == 6 and sum(map(math.isnan, values)) == 1 and {math.inf, -math.inf, 5e-324} <= set(values)
    client.log_batch(run, metrics=[Metric("many", 1, 1, i) for i in range(2500)])  # the client makes three of it
    assert len(client.get_metric_history(run, "many")) == 2500


def test_a_history_of_several_pages(client):
    """More than the server gives in one answer."""
    run = client.create_run("0").info.run_id
    for start in range(0, 120_000, 1000):
        client.log_batch(run, metrics=[Metric("long", i, i, i) for i in range(start, start + 1000)])
    assert [m.step for m in client.get_metric_history(run, "long")] == list(range(120_000))


def test_long_values_are_cut(client):
    run = client.create_run("0").info.run_id
    client.log_param(run, "config", "x" * 7000)
    client.set_tag(run, "note", "y" * 9000)
    client.log_batch(run, params=[Param("other", "x" * 7000)], tags=[RunTag("more", "y" * 9000)])
    data = client.get_run(run).data
    assert data.params == {"config": "x" * 6000, "other": "x" * 6000}
    assert data.tags["note"] == data.tags["more"] == "y" * 8000


def test_asynchronous_metrics(client):
    with mlflow.start_run() as run:
        waiting = [mlflow.log_metric("async", i, step=i, synchronous=False) for i in range(200)]
        mlflow.log_params({"p": 1}, synchronous=False).wait()
        for each in waiting:
            each.wait()
    assert [m.step for m in client.get_metric_history(run.info.run_id, "async")] == list(range(200))


def test_search_with_filters_order_and_pages(client):
    experiment = client.create_experiment("searched")
    for i in range(10):
        run = client.create_run(experiment, start_time=1000 + i, tags={"even": str(i % 2 == 0)}, run_name=f"run {i}")
        client.log_param(run.info.run_id, "lr", str(i))
        client.log_metric(run.info.run_id, "loss", 10 - i)
        if i < 3:
            client.set_terminated(run.info.run_id)

    def names(**options):
        return [r.info.run_name for r in client.search_runs([experiment], **options)]

    assert names() == [f"run {i}" for i in reversed(range(10))]
    assert names(filter_string="metrics.loss < 3", order_by=["metrics.loss ASC"]) == ["run 9", "run 8"]
    assert names(filter_string="params.lr = '4'") == ["run 4"]
    assert names(filter_string="tags.even = 'True' and metrics.loss >= 8", order_by=["params.lr"]) == ["run 0", "run 2"]
    assert sorted(names(filter_string="attributes.status = 'FINISHED'")) == ["run 0", "run 1", "run 2"]
    assert names(filter_string="run_name LIKE '%7'") == ["run 7"]
    assert names(filter_string="attributes.start_time > 1007") == ["run 9", "run 8"]
    seen, token = [], None
    while True:
        page = client.search_runs([experiment], max_results=4, page_token=token, order_by=["attributes.start_time ASC"])
        seen += [r.info.run_name for r in page]
        token = page.token
        if not token:
            break
    assert seen == [f"run {i}" for i in range(10)]
    with pytest.raises(MlflowException) as refusal:
        names(filter_string="metrics.loss <")
    assert refusal.value.error_code in ("INVALID_PARAMETER_VALUE", 1000)
    with pytest.raises(MlflowException, match="Invalid attribute key 'colour' specified"):
        names(filter_string="attributes.colour = 'red'")
    assert client.search_runs([], "") == [] and client.search_runs(["12345"], "") == []
    client.delete_run(run.info.run_id)
    assert names(run_view_type=ViewType.DELETED_ONLY) == ["run 9"] and len(names(run_view_type=ViewType.ALL)) == 10
    frame = mlflow.search_runs([experiment], filter_string="metrics.loss = 7")
    assert list(frame["params.lr"]) == ["3"]


def test_search_of_values_that_are_no_numbers(client):
    """A NaN is a value: it differs from every number, and stands between the numbers and the runs without the metric."""
    experiment = client.create_experiment("odd")
    for i, value in enumerate([2.0, math.nan, None, -1.0, math.inf, -math.inf]):
        run = client.create_run(experiment, start_time=1000 + i, run_name=str(value)).info.run_id
        if value is not None:
            client.log_metric(run, "n", value)

    def names(**options):
        return [r.info.run_name for r in client.search_runs([experiment], **options)]

    assert names(order_by=["metrics.n"]) == ["-inf", "-1.0", "2.0", "inf", "nan", "None"]
    assert names(order_by=["metrics.n DESC"]) == ["inf", "2.0", "-1.0", "-inf", "nan", "None"]
    assert sorted(names(filter_string="metrics.n != 2")) == ["-1.0", "-inf", "inf", "nan"]
    assert names(filter_string="metrics.n = 2") == ["2.0"] and names(filter_string="metrics.n = 0") == []
    assert sorted(names(filter_string="metrics.n > -5")) == ["-1.0", "2.0", "inf"]


def test_search_of_experiments_by_their_ids(client):
    ids = [client.create_experiment(f"e{i}") for i in range(11)]
    everything = [e.experiment_id for e in client.search_experiments(order_by=["experiment_id"])]
    assert everything == sorted(everything, key=int) and set(ids) < set(everything)
    assert [e.experiment_id for e in client.search_experiments(order_by=["experiment_id DESC"])] == everything[::-1]
    assert [e.name for e in client.search_experiments(filter_string=f"experiment_id = '{ids[4]}'")] == ["e4"]
    found = client.search_experiments(filter_string=f"experiment_id IN ('{ids[1]}', '{ids[10]}')", order_by=["name ASC"])
    assert [e.name for e in found] == ["e1", "e10"]


def test_nested_runs(client):
    with mlflow.start_run() as parent:
        with mlflow.start_run(nested=True) as child:
            mlflow.log_metric("x", 1)
    found = client.search_runs(["0"], f"tags.mlflow.parentRunId = '{parent.info.run_id}'")
    assert [r.info.run_id for r in found] == [child.info.run_id]


def test_artifacts_up_and_down(client, tmp_path):
    source = tmp_path / "source"
    (source / "deep" / "er").mkdir(parents=True)
    (source / "note.txt").write_text("hello")
    (source / "deep" / "er" / "weights é.bin").write_bytes(os.urandom(3_000_000))
    with mlflow.start_run() as run:
        mlflow.log_artifacts(str(source), "all")
        mlflow.log_artifact(str(source / "note.txt"))
        mlflow.log_text("some text", "texts/a b.txt")
        mlflow.log_dict({"a": [1, 2]}, "d.json")
        mlflow.log_table({"x": [1, 2]}, "table.json")
        mlflow.log_text("of Windows", "back\\slash.txt")
    run_id = run.info.run_id
    assert {(f.path, f.is_dir) for f in client.list_artifacts(run_id)} == {
        ("all", True), ("note.txt", False), ("texts", True), ("d.json", False), ("table.json", False),
        ("back\\slash.txt", False)}
    assert [(f.path, f.file_size) for f in client.list_artifacts(run_id, "all/deep/er")] == [
        ("all/deep/er/weights é.bin", 3_000_000)]
    assert client.list_artifacts(run_id, "note.txt") == [] and client.list_artifacts(run_id, "no such") == []
    down = pathlib.Path(mlflow.artifacts.download_artifacts(run_id=run_id, artifact_path="all",
                                                            dst_path=str(tmp_path / "down")))
    assert (down / "deep/er/weights é.bin").read_bytes() == (source / "deep/er/weights é.bin").read_bytes()
    assert mlflow.artifacts.load_text(f"{run.info.artifact_uri}/texts/a b.txt") == "some text"
    assert mlflow.artifacts.load_text(f"{run.info.artifact_uri}/back\\slash.txt") == "of Windows"
    assert mlflow.artifacts.load_dict(f"runs:/{run_id}/d.json") == {"a": [1, 2]}
    with pytest.raises(MlflowException):
        mlflow.artifacts.download_artifacts(run_id=run_id, artifact_path="no such file")


def test_inputs(client):
    import pandas
    data = mlflow.data.from_pandas(pandas.DataFrame({"a": [1, 2]}), name="numbers")
    with mlflow.start_run() as run:
        mlflow.log_input(data, context="training")
        mlflow.log_input(data, context="training")
    inputs = client.get_run(run.info.run_id).inputs.dataset_inputs
    assert [i.dataset.name for i in inputs] == ["numbers"]
    assert {t.key: t.value for t in inputs[0].tags} == {"mlflow.data.context": "training"}
    assert len(client.search_runs(["0"], "datasets.name = 'numbers'")) == 1
    client.log_inputs(run.info.run_id, datasets=[])
    assert len(client.get_run(run.info.run_id).inputs.dataset_inputs) == 1


def test_system_metrics_of_mlflow(client):
    with mlflow.start_run(log_system_metrics=True) as run:
        from mlflow.system_metrics.system_metrics_monitor import SystemMetricsMonitor
        monitor = SystemMetricsMonitor(run.info.run_id, sampling_interval=0.2, samples_before_logging=1)
        monitor.start()
        wait_for(lambda: any(k.startswith("system/cpu") for k in client.get_run(run.info.run_id).data.metrics))
        monitor.finish()


def test_hardware_that_plimsoll_recorded(client, server, tmp_path):
    environment = {**os.environ, "PLIMSOLL_STORE": server.store, "PLIMSOLL_ARTIFACTS": str(tmp_path / "artifacts"),
                   "PLIMSOLL_NVML_LIBRARY": "/nonexistent"}
    subprocess.run([BINARY, "run", "--", "python3", "-c", "import time; time.sleep(1)"], env=environment, cwd=tmp_path,
                   check=True, capture_output=True)
    [run] = client.search_runs(["0"], "attributes.status = 'FINISHED'")
    names = set(run.data.metrics)
    assert any(n.startswith("system/run/") for n in names) and any(n.startswith("system/host/") for n in names), names
    name = next(n for n in names if n.startswith("system/run/"))
    assert len(client.get_metric_history(run.info.run_id, name)) >= 1


def test_autologging_of_scikit_learn(client):
    from sklearn.datasets import make_classification
    from sklearn.linear_model import LogisticRegression
    x, y = make_classification(n_samples=80, random_state=0)
    mlflow.sklearn.autolog(log_input_examples=False, silent=True)
    try:
        with mlflow.start_run() as run:
            LogisticRegression(max_iter=50).fit(x, y)
    finally:
        mlflow.sklearn.autolog(disable=True)
    stored = client.get_run(run.info.run_id)
    assert stored.data.params["max_iter"] == "50"
    assert stored.data.metrics["training_accuracy_score"] > 0.5
    assert stored.data.tags["estimator_name"] == "LogisticRegression"
    where = f"runs:/{run.info.run_id}/model"
    assert len(mlflow.sklearn.load_model(where).predict(x)) == 80


def test_log_model(client):
    from sklearn.dummy import DummyClassifier
    model = DummyClassifier(strategy="constant", constant=1).fit([[0], [1]], [0, 1])
    with mlflow.start_run() as run:
        if MAJOR >= 3:
            info = mlflow.sklearn.log_model(model, name="dummy", params={"depth": 2})
        else:
            info = mlflow.sklearn.log_model(model, "dummy")
    assert list(mlflow.sklearn.load_model(info.model_uri).predict([[0]])) == [1]
    if MAJOR < 3:
        assert "mlflow.log-model.history" in client.get_run(run.info.run_id).data.tags
        return
    stored = client.get_logged_model(info.model_id)
    assert stored.status == "READY" and stored.name == "dummy" and stored.source_run_id == run.info.run_id
    assert stored.params["depth"] == "2"
    assert [o.model_id for o in client.get_run(run.info.run_id).outputs.model_outputs] == [info.model_id]
    client.log_metric(run.info.run_id, "score", 0.75, step=3, model_id=info.model_id)
    assert [m.value for m in client.get_logged_model(info.model_id).metrics if m.key == "score"] == [0.75]
    client.set_logged_model_tags(info.model_id, {"good": "yes"})
    assert [m.model_id for m in client.search_logged_models(["0"], "tags.good = 'yes'")] == [info.model_id]
    client.delete_logged_model(info.model_id)
    assert client.search_logged_models(["0"]) == []


def test_many_writers_at_once(client):
    import concurrent.futures
    runs = [client.create_run("0").info.run_id for _ in range(4)]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        done = [pool.submit(client.log_metric, run, f"m{i % 3}", i, step=i) for run in runs for i in range(50)]
        for each in done:
            each.result()
    for run in runs:
        steps = sorted(m.step for k in range(3) for m in client.get_metric_history(run, f"m{k}"))
        assert steps == list(range(50))
