"""What runs and registered models have beside params, tags and points, on any MLflow server, by its REST API alone: made on one,
read from any, so that both can be compared."""
import json
import urllib.error
import urllib.parse
import urllib.request

API = "/api/2.0/mlflow"
PROXY = "/api/2.0/mlflow-artifacts/artifacts"
OWN = ("plimsoll.", "mlflow.")


class Remote:
    def __init__(self, url):
        self.url = url
        self.opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def send(self, method, path, body=None, content_type="application/json"):
        request = urllib.request.Request(self.url + path, body, {"Content-Type": content_type}, method=method)
        with self.opener.open(request, timeout=300) as answer:
            return answer.read()

    def ask(self, call, message=None, method=None, **query):
        body = None if message is None else json.dumps(message).encode()
        asked = "?" + urllib.parse.urlencode(query) if query else ""
        return json.loads(self.send(method or ("GET" if body is None else "POST"), f"{API}/{call}{asked}", body))

    def put(self, uri, path, body):
        self.send("PUT", f"{PROXY}/{place(uri)}/{urllib.parse.quote(path)}", body, "application/octet-stream")

    def files(self, uri, folder=""):
        """Contents by path."""
        found = {}
        asked = urllib.parse.urlencode({"path": "/".join(p for p in (place(uri), folder) if p)})
        for entry in json.loads(self.send("GET", f"{PROXY}?{asked}")).get("files", []):
            path = f"{folder}/{entry['path']}" if folder else entry["path"]
            if entry.get("is_dir"):
                found.update(self.files(uri, path))
            else:
                found[path] = self.send("GET", f"{PROXY}/{place(uri)}/{urllib.parse.quote(path)}")
        return found


def place(uri):
    assert uri.startswith("mlflow-artifacts:/"), uri
    return uri.removeprefix("mlflow-artifacts:/").strip("/")


def pairs(**values):
    return [{"key": k, "value": v} for k, v in values.items()]


def texts(entries):
    return {e["key"]: e.get("value", "") for e in entries or [] if not e["key"].startswith(OWN)}


def make(remote, models=True):
    """Two runs with files, data, logged models where the server has them, and two registered models."""
    experiment = remote.ask("experiments/create", {"name": "vision: first"})["experiment_id"]
    runs = []
    for i in range(2):
        run = remote.ask("runs/create", {"experiment_id": experiment, "run_name": f"run {i}", "start_time": 1_700_000_000_000 + i,
                                         "tags": pairs(note="ü")})["run"]["info"]
        runs.append(run)
        remote.ask("runs/log-batch", {"run_id": run["run_id"], "metrics": [
            {"key": "accuracy", "value": s / 10, "timestamp": 1_700_000_000_000 + s, "step": s} for s in range(3)]})
        for path, body in (("report.txt", f"of run {i}".encode()), ("sub/folder/größe 1, 100 %.bin", bytes(range(256)) * 5),
                           ("sub/empty", b""), ("model/MLmodel", b"flavors: {}\n"), ("model/weights.bin", b"w" * 70_000)):
            remote.put(run["artifact_uri"], path, body)
        remote.ask("runs/log-inputs", {"run_id": run["run_id"], "datasets": [
            {"tags": pairs(**{"mlflow.data.context": "train"}),
             "dataset": {"name": f"digits {n}", "digest": f"d{n}", "source_type": "local", "source": '{"uri": "x"}', "schema": "{}",
                         "profile": '{"rows": 7}'}} for n in (0, i + 1)]})
        note = {"run_id": run["run_id"], "artifact_path": "model", "utc_time_created": f"2026-01-0{i + 1} 00:00:00", "flavors": {},
                "model_uuid": f"u{i}"}
        remote.ask("runs/log-model", {"run_id": run["run_id"], "model_json": json.dumps(note)})
    logged = []
    for i in range(2 if models else 0):
        model = remote.ask("logged-models", {"experiment_id": experiment, "name": f"net{i}", "model_type": "classifier",
                                             "source_run_id": runs[i]["run_id"], "params": pairs(depth="18"),
                                             "tags": pairs(size="small")})["model"]["info"]
        logged.append(model)
        remote.put(model["artifact_uri"], "data/model.bin", b"m" * (1000 + i))
        remote.ask("runs/log-batch", {"run_id": runs[1]["run_id"], "metrics": [
            {"key": "accuracy", "value": 0.5 + i, "timestamp": 1_700_000_000_009, "step": 9 + i, "model_id": model["model_id"]}]})
        remote.ask("runs/outputs", {"run_id": runs[i]["run_id"], "models": [{"model_id": model["model_id"], "step": 3}]})
    if models:
        remote.ask("runs/log-inputs", {"run_id": runs[1]["run_id"], "models": [{"model_id": logged[0]["model_id"]}]})
        remote.ask(f"logged-models/{logged[0]['model_id']}", {"model_id": logged[0]["model_id"], "status": "LOGGED_MODEL_READY"},
                   "PATCH")
        remote.ask(f"logged-models/{logged[1]['model_id']}",
                   {"model_id": logged[1]["model_id"], "status": "LOGGED_MODEL_UPLOAD_FAILED"}, "PATCH")
    for run, status in zip(runs, ("FINISHED", "FAILED")):
        remote.ask("runs/update", {"run_id": run["run_id"], "status": status, "end_time": 1_700_000_100_000})
    register(remote, runs, logged)


def register(remote, runs, logged):
    remote.ask("registered-models/create", {"name": "it's a net", "description": "what it is", "tags": pairs(team="a\nb")})
    remote.ask("registered-models/create", {"name": "empty"})

    def version(source, **more):
        return remote.ask("model-versions/create", {"name": "it's a net", "source": source, **more})["model_version"]["version"]

    def remove(number):
        remote.ask("model-versions/delete", {"name": "it's a net", "version": str(number)}, "DELETE")

    version("s3://bucket/gone")
    remove(1)
    version(f"{runs[0]['artifact_uri']}/model", run_id=runs[0]["run_id"], description="second", tags=pairs(k="ü \u2603"))
    version("s3://bucket/net")
    version("s3://bucket/gone")
    remove(4)
    if logged:
        version(f"models:/{logged[0]['model_id']}", model_id=logged[0]["model_id"], run_id=runs[0]["run_id"])
    for number, stage in (("3", "Production"),):
        remote.ask("model-versions/transition-stage", {"name": "it's a net", "version": number, "stage": stage,
                                                       "archive_existing_versions": False})
    for alias, number in (("champion", "2"), ("latest-good", "3")):
        remote.ask("registered-models/alias", {"name": "it's a net", "alias": alias, "version": number})


def read(remote, sent, models=True):
    """All of it, by the ids of the store that it is from. `sent`: it was sent to this server."""
    experiments = [e["experiment_id"] for e in remote.ask("experiments/search", {"max_results": 1000})["experiments"]]
    found = remote.ask("runs/search", {"experiment_ids": experiments}).get("runs", [])
    names = {r["info"]["run_id"]: texts_of(r["data"]["tags"])["plimsoll.run"] if sent else r["info"]["run_id"] for r in found}
    assert len(set(names.values())) == len(names), "a run is there twice"
    out = {"runs": {}, "models": {}, "registered": {}}
    model_names = {}
    listed = remote.ask("logged-models/search", {"experiment_ids": experiments}).get("models", []) if models else []
    for model in listed:
        tags = texts_of(model["info"].get("tags"))
        model_names[model["info"]["model_id"]] = tags["plimsoll.model"] if sent else model["info"]["model_id"]
    assert len(set(model_names.values())) == len(model_names), "a model is there twice"
    for model in listed:
        info, data = model["info"], model.get("data", {})
        out["models"][model_names[info["model_id"]]] = {
            **{k: info.get(k) for k in ("name", "model_type", "status")}, "run": names[info["source_run_id"]],
            "tags": texts(info.get("tags")), "params": texts(data.get("params")), "files": remote.files(info["artifact_uri"]),
            "metrics": sorted((names[m["run_id"]], m["key"], m["value"], int(m["step"]), int(m["timestamp"]))
                              for m in data.get("metrics", []))}
    for run in found:
        run = remote.ask("runs/get", run_id=run["info"]["run_id"])["run"]
        inputs, outputs = run.get("inputs", {}), run.get("outputs", {})
        notes = json.loads(texts_of(run["data"]["tags"]).get("mlflow.log-model.history", "[]"))
        out["runs"][names[run["info"]["run_id"]]] = {
            "files": remote.files(run["info"]["artifact_uri"]),
            "datasets": sorted((*(d["dataset"].get(k, "") for k in ("name", "digest", "source_type", "source", "schema", "profile")),
                                tuple((t["key"], t["value"]) for t in d.get("tags", []))) for d in inputs.get("dataset_inputs", [])),
            "models": sorted(model_names[m["model_id"]] for m in inputs.get("model_inputs", [])),
            "made": sorted((model_names[m["model_id"]], int(m.get("step", 0))) for m in outputs.get("model_outputs", [])),
            "notes": [(n["artifact_path"], names[n["run_id"]]) for n in notes]}
    for model in remote.ask("registered-models/search", max_results=100).get("registered_models", []):
        name = model["name"]
        whole = remote.ask("registered-models/get", name=name)["registered_model"]
        filtered = "name LIKE '" + name.replace("'", "_") + "'"
        versions = remote.ask("model-versions/search", filter=filtered, max_results=1000).get("model_versions", [])
        out["registered"][name] = {
            "description": whole.get("description", ""), "tags": texts(whole.get("tags")),
            "aliases": {a["alias"]: int(a["version"]) for a in whole.get("aliases", [])},
            "versions": {int(v["version"]): {
                "description": v.get("description", ""), "tags": texts(v.get("tags")), "stage": v.get("current_stage", "None"),
                "run": names.get(v.get("run_id", ""), ""), "model": model_names.get(v["source"].removeprefix("models:/"), ""),
                "files": remote.files(where) if (where := remote.ask(
                    "model-versions/get-download-uri", name=name, version=v["version"])["artifact_uri"]).startswith("mlflow-art") else where}
                for v in versions}}
    return out


def texts_of(entries):
    return {e["key"]: e.get("value", "") for e in entries or []}


def differences(found, wanted, place=""):
    """What differs in nested dictionaries, by its place."""
    if not (isinstance(found, dict) and isinstance(wanted, dict)):
        return {} if found == wanted else {place: (found, wanted)}
    out = {}
    for name in {*found, *wanted}:
        out.update(differences(found.get(name), wanted.get(name), f"{place}/{name}"))
    return out
