"""The registry of models with MLflow's own client, unchanged: what a training script does at its end, and what others do
with its model afterwards."""
import json
import os
import urllib.error
import urllib.request

import mlflow
import pytest
from mlflow import MlflowClient
from mlflow.exceptions import MlflowException

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
    mlflow.set_registry_uri(server.url)
    mlflow.set_experiment("Default")
    yield MlflowClient(server.url)
    while mlflow.active_run():
        mlflow.end_run()


def constant(value):
    from sklearn.dummy import DummyClassifier
    return DummyClassifier(strategy="constant", constant=value).fit([[0], [1]], [0, 1])


def logged(value, registered=None):
    """A run with a model, registered where a name is given; the run and what log_model said."""
    where = {"name": "dummy"} if MAJOR >= 3 else {"artifact_path": "dummy"}
    with mlflow.start_run() as run:
        info = mlflow.sklearn.log_model(constant(value), registered_model_name=registered,
                                        pip_requirements=["scikit-learn"], **where)
    return run.info.run_id, info


def refused(code, call, match=None):
    with pytest.raises(MlflowException, match=match) as refusal:
        call()
    assert refusal.value.error_code == code, refusal.value


def test_from_log_model_to_deletion(client):
    run, info = logged(1, "mine")
    assert client.get_run(run).info.status == "FINISHED"
    second, _ = logged(0)
    version = mlflow.register_model(f"runs:/{second}/dummy", "mine", tags={"kind": "worse"})
    assert (version.name, str(version.version), version.status, version.run_id) == ("mine", "2", "READY", second)
    first = client.get_model_version("mine", "1")
    assert (first.run_id, first.current_stage, first.tags, first.aliases) == (run, "None", {}, [])
    assert first.creation_timestamp <= first.last_updated_timestamp
    assert client.get_model_version("mine", 2).tags == {"kind": "worse"}

    client.set_registered_model_alias("mine", "champion", "1")
    client.set_registered_model_alias("mine", "best", "1")
    assert list(mlflow.sklearn.load_model("models:/mine@champion").predict([[0]])) == [1]
    assert list(mlflow.sklearn.load_model("models:/mine/2").predict([[0]])) == [0]
    assert list(mlflow.pyfunc.load_model("models:/mine/latest").predict([[0]])) == [0]
    client.set_registered_model_alias("mine", "champion", "2")
    assert list(mlflow.sklearn.load_model("models:/mine@champion").predict([[0]])) == [0]
    assert client.get_registered_model("mine").aliases == {"best": "1", "champion": "2"}
    client.delete_registered_model_alias("mine", "best")
    client.delete_registered_model_alias("mine", "best")  # again: nothing to do
    assert client.get_model_version("mine", "1").aliases == []
    refused("INVALID_PARAMETER_VALUE", lambda: client.get_model_version_by_alias("mine", "best"), "alias best not found")

    moved = client.transition_model_version_stage("mine", "1", "Production")
    assert moved.current_stage == "Production"
    client.transition_model_version_stage("mine", "2", "production", archive_existing_versions=True)
    assert client.get_model_version("mine", "1").current_stage == "Archived"
    assert list(mlflow.sklearn.load_model("models:/mine/Production").predict([[0]])) == [0]
    assert [v.version for v in client.get_latest_versions("mine", ["Production"])] in (["2"], [2])
    assert {v.current_stage: int(v.version) for v in client.get_latest_versions("mine")} == {"Archived": 1, "Production": 2}
    refused("INVALID_PARAMETER_VALUE", lambda: client.transition_model_version_stage("mine", "1", "Nowhere"),
            "Invalid Model Version stage: Nowhere")

    copy = client.copy_model_version("models:/mine@champion", "shipped")
    assert (copy.name, int(copy.version), copy.run_id) == ("shipped", 1, second)
    assert list(mlflow.sklearn.load_model("models:/shipped/1").predict([[0]])) == [0]
    assert client.get_model_version_download_uri("shipped", "1") == client.get_model_version_download_uri("mine", "2")

    client.delete_model_version("mine", "2")
    refused("RESOURCE_DOES_NOT_EXIST", lambda: client.get_model_version("mine", "2"), "version=2\\) not found")
    assert client.get_registered_model("mine").aliases == {}
    assert int(mlflow.register_model(f"runs:/{second}/dummy", "mine").version) == 3  # a number is not given again
    client.delete_registered_model("mine")
    refused("RESOURCE_DOES_NOT_EXIST", lambda: client.get_registered_model("mine"), "name=mine not found")
    assert list(mlflow.sklearn.load_model("models:/shipped/1").predict([[0]])) == [0]  # the files are the run's


@pytest.mark.skipif(MAJOR < 3, reason="logged models came with MLflow 3")
def test_a_logged_model_knows_its_versions(client):
    run, info = logged(1, "mine")
    version = client.get_model_version("mine", "1")
    assert version.source == f"models:/{info.model_id}" and version.run_id == run
    assert "mine" in client.get_logged_model(info.model_id).tags["mlflow.modelVersions"]
    again = client.create_model_version("mine", f"models:/{info.model_id}", model_id=info.model_id)
    assert again.run_id == run


def test_models_and_versions_are_described_and_renamed(client):
    made = client.create_registered_model("net", tags={"team": "a", "n": 1}, description="what it is")
    assert (made.name, made.description, made.tags) == ("net", "what it is", {"team": "a", "n": "1"})
    refused("RESOURCE_ALREADY_EXISTS", lambda: client.create_registered_model("net"), r"\(name=net\) already exists")
    version = client.create_model_version("net", "s3://bucket/net", run_link="https://x.org/r", description="first",
                                          tags={"k": "v"})
    assert (version.source, version.run_link, version.description) == ("s3://bucket/net", "https://x.org/r", "first")
    client.update_model_version("net", "1", "better")
    client.set_model_version_tag("net", "1", "more", "yes")
    client.delete_model_version_tag("net", "1", "k")
    client.delete_model_version_tag("net", "1", "k")
    client.update_registered_model("net", "better known")
    client.set_registered_model_tag("net", "team", "b")
    client.delete_registered_model_tag("net", "n")
    client.create_registered_model("other")
    refused("RESOURCE_ALREADY_EXISTS", lambda: client.rename_registered_model("net", "other"), "already exists")
    client.rename_registered_model("net", "network")
    renamed = client.get_registered_model("network")
    assert (renamed.name, renamed.description, renamed.tags) == ("network", "better known", {"team": "b"})
    version = client.get_model_version("network", "1")
    assert (version.description, version.tags) == ("better", {"more": "yes"})
    refused("RESOURCE_DOES_NOT_EXIST", lambda: client.get_model_version("net", "1"))
    for call in (lambda: client.create_model_version("nobody", "s3://x/y"), lambda: client.delete_registered_model("nobody"),
                 lambda: client.set_registered_model_tag("nobody", "a", "b"),
                 lambda: client.set_registered_model_alias("network", "a", "9"),
                 lambda: client.set_model_version_tag("network", "9", "a", "b"),
                 lambda: client.delete_model_version("network", "9"),
                 lambda: client.rename_registered_model("nobody", "x")):
        refused("RESOURCE_DOES_NOT_EXIST", call)


def test_searches_go_in_pages_and_orders(client):
    for i in range(25):
        client.create_registered_model(f"model{i:02}", tags={"parity": "even" if i % 2 == 0 else "odd"})
    assert len(client.search_registered_models()) == 25
    names, token = [], None
    while True:
        page = client.search_registered_models(max_results=10, page_token=token, order_by=["name DESC"])
        names += [m.name for m in page]
        token = page.token
        if not token:
            break
    assert names == [f"model{i:02}" for i in reversed(range(25))]
    found = lambda text: [m.name for m in client.search_registered_models(filter_string=text)]
    assert found("name = 'model07'") == ["model07"]
    assert found("name LIKE 'model0%' and tags.parity = 'odd'") == [f"model0{i}" for i in range(1, 10, 2)]
    assert found("name ILIKE 'MODEL24'") == ["model24"]
    assert found("tags.parity != 'odd'") == [f"model{i:02}" for i in range(0, 25, 2)]
    assert found("name = 'none'") == []
    for _ in range(5):
        client.create_model_version("model00", "s3://a/b", tags={"k": "v"})
    client.create_model_version("model01", "s3://c/d")
    versions = lambda text=None, **more: [(v.name, int(v.version)) for v in client.search_model_versions(text, **more)]
    assert versions("name = 'model00'", order_by=["version_number ASC"]) == [("model00", i) for i in range(1, 6)]
    assert versions("source_path = 's3://c/d'") == [("model01", 1)]
    assert versions("tags.k = 'v' and version_number >= 4", order_by=["version_number"]) == [("model00", 4), ("model00", 5)]
    assert len(versions()) == 6
    page = client.search_model_versions(max_results=4, order_by=["name", "version_number"])
    rest = client.search_model_versions(max_results=4, order_by=["name", "version_number"], page_token=page.token)
    assert [(v.name, int(v.version)) for v in [*page, *rest]] == [*[("model00", i) for i in range(1, 6)], ("model01", 1)]
    for call in (lambda: found("run_id = 'x'"), lambda: found("name = 'a' or name = 'b'"),
                 lambda: client.search_registered_models(order_by=["size"]),
                 lambda: client.search_registered_models(max_results=100_001),
                 lambda: versions("stage = 'None'"), lambda: versions("version_number = 'x'")):
        refused("INVALID_PARAMETER_VALUE", call)


@pytest.mark.parametrize("name", ["a b", "ö ☃ 模型", "it's \"quoted\"", "100%", "a\\b", "x" * 256, "a@b", "-", "x.y"])
def test_names_that_are_kept(client, name):
    client.create_registered_model(name, tags={"ключ/a-b.c d": "☃" * 10_000})
    client.create_model_version(name, "s3://a/b")
    client.set_registered_model_alias(name, "best", "1")
    assert client.get_registered_model(name).tags == {"ключ/a-b.c d": "☃" * 10_000}
    assert int(client.get_model_version_by_alias(name, "best").version) == 1
    quoted = name.replace("'", "''")
    assert [m.name for m in client.search_registered_models(f"name = '{quoted}'")] == [name]
    client.delete_registered_model(name)


@pytest.mark.parametrize("name", ["", " ", "a/b", "a:b", ".", "..", "x" * 10_000])
def test_names_that_are_refused(client, name):
    refused("INVALID_PARAMETER_VALUE", lambda: client.create_registered_model(name))
    assert list(client.search_registered_models()) == []


TEXTS = ["a", "a b", "ö ☃ 模型", "ключ", "a/b", "a:b", "a\\b", ".", "..", "..a", "a..b", "a/..b", "x" * 250, "x" * 251, "x" * 255, "x" * 256,
         "x" * 257, "x" * 10_000, "☃" * 256, "☃" * 257, "", " ", "v", "v7", "V7", "v7a", "latest", "Latest", "a-b_c", "a.b", "a%2fb",
         "a\nb", "'\"`", "a//b", "/a", "a/", "../a", "-", "0", "#?&"]


@pytest.mark.skipif(MAJOR < 3, reason="where versions of MLflow differ it is the newest one's")
def test_every_kind_of_text_is_taken_or_refused_as_mlflow_does(server, client):
    """Sent as it is, beside MLflow's client, which looks at some of them before; held against the checks of MLflow's server."""
    from mlflow.utils import validation

    def verdict(check, *words):
        try:
            check(*words)
            return True
        except (MlflowException, TypeError):
            return False

    def taken(call, message, method="POST"):
        request = urllib.request.Request(f"{server.url}/api/2.0/mlflow/{call}", json.dumps(message).encode(),
                                         {"Content-Type": "application/json"}, method=method)
        try:
            return urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=300).status == 200
        except urllib.error.HTTPError as error:
            assert error.code == 400, (call, message, error.read())
            return False

    client.create_registered_model("here")
    client.create_model_version("here", "s3://a/b")
    differ = []
    symbols = lambda text: text.replace("☃", "x")  # a key takes them here, and letters alone there
    for text in TEXTS:
        found = {
            "name": (taken("registered-models/create", {"name": text}), bool(text) and len(text) <= 256  # its databases' column
                     and verdict(validation._validate_model_name, text)),
            "alias": (taken("registered-models/alias", {"name": "here", "alias": text, "version": "1"}),
                      verdict(validation._validate_model_alias_name, text) and
                      verdict(validation._validate_model_alias_name_reserved, text)),
            "tag": (taken("registered-models/set-tag", {"name": "here", "key": text, "value": "x"}),
                    bool(text) and verdict(validation._validate_registered_model_tag, symbols(text), "x")),
            "version's tag": (taken("model-versions/set-tag", {"name": "here", "version": "1", "key": text, "value": "x"}),
                              bool(text) and verdict(validation._validate_model_version_tag, symbols(text), "x"))}
        differ += [(kind, text[:40], len(text), ours, theirs) for kind, (ours, theirs) in found.items() if ours != theirs]
    assert not differ, differ
    for length, fits in ((100_000, True), (100_001, False)):
        for call, whose in (("registered-models/set-tag", {}), ("model-versions/set-tag", {"version": "1"})):
            assert taken(call, {"name": "here", "key": "long", "value": "ü" * length, **whose}) == fits


def test_files_of_versions_are_given_out_as_attachments(client, server, tmp_path):
    import requests
    run = client.create_run("0").info.run_id
    (tmp_path / "net.txt").write_text("weights")
    client.log_artifact(run, str(tmp_path / "net.txt"), "net")
    client.create_registered_model("net")
    client.create_model_version("net", f"mlflow-artifacts:/0/{run}/artifacts/net", run_id=run)
    client.create_model_version("net", f"runs:/{run}/net", run_id=run)
    client.create_model_version("net", "s3://bucket/net")
    ask = lambda **query: requests.get(server.url + "/model-versions/get-artifact", params={"name": "net", **query}, timeout=60)
    for version in (1, 2):
        answer = ask(version=version, path="net.txt")
        assert (answer.status_code, answer.text) == (200, "weights") and "attachment" in answer.headers["Content-Disposition"]
        for path in ("../net/net.txt", "/etc/passwd", "%2e%2e/x", "", "gone"):
            assert ask(version=version, path=path).status_code in (400, 404), path
    assert ask(version=3, path="net.txt").status_code == 501
    assert ask(version=9, path="net.txt").status_code == 404


def test_sources_that_lead_elsewhere_are_refused(client):
    run = client.create_run("0").info.run_id
    client.create_registered_model("net")
    for source in ("/etc", "file:///etc/passwd", f"mlflow-artifacts:/0/{run}/artifacts/../../other",
                   "s3://bucket/../x", "s3://bucket/%2e%2e/x"):
        refused("INVALID_PARAMETER_VALUE", lambda: client.create_model_version("net", source, run_id=run),
                "Invalid model version source")
    assert list(client.search_model_versions("name = 'net'")) == []


@pytest.mark.skipif(MAJOR < 3, reason="prompts came with MLflow 3")
def test_prompts_are_declined_by_name(client):
    with pytest.raises(MlflowException, match="Plimsoll keeps no prompts"):
        mlflow.genai.register_prompt("mine", "Say {{what}}")
    assert list(client.search_registered_models()) == []


def test_many_clients_at_once(client):
    import concurrent.futures
    client.create_registered_model("net")
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        done = [pool.submit(client.create_model_version, "net", "s3://a/b", None, {"i": i}) for i in range(200)]
        numbers = sorted(int(each.result().version) for each in done)
    assert numbers == list(range(1, 201))
    assert len({v.tags["i"] for v in client.search_model_versions("name = 'net'")}) == 200
