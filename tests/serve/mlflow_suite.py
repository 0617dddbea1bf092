"""MLflow's own tests of tracking, against `plimsoll serve`. Not part of the tests here: it needs a checkout of MLflow.

    git clone --branch v3.15.1 --depth 1 https://github.com/mlflow/mlflow checkout
    python3 -m venv venv && venv/bin/pip install mlflow==3.15.1 pytest pytest-asyncio pytest-timeout scikit-learn shap boto3 moto
    PLIMSOLL_BINARY=build/release/apps/plimsoll venv/bin/python tests/serve/mlflow_suite.py checkout [--postgresql] [PYTEST'S OPTIONS]

Runs tests/tracking/test_rest_tracking.py and test_model_registry.py, and the SQL stores' tests of experiments, runs and registered
models with a RestStore in place of the SQL store. It prints what passed and what did not, by the reason; exit code 1 where something failed that is none of
the known reasons. This file is the runner, and the plugin that pytest loads."""
import collections
import functools
import importlib.util
import inspect
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import pytest

HERE = pathlib.Path(__file__).resolve().parent
REST = ["tests/tracking/test_rest_tracking.py", "tests/tracking/test_model_registry.py"]
#: The SQL store's tests of experiments and runs: one file in 2.x, two of several in 3.x.
SQL = ["tests/store/tracking/test_sqlalchemy_store.py",
       "tests/store/tracking/sqlalchemy_store/test_sqlalchemy_store_experiments.py",
       "tests/store/tracking/sqlalchemy_store/test_sqlalchemy_store_runs.py",
       "tests/store/model_registry/test_sqlalchemy_store.py"]

#: What a test does in its own process to MLflow's server, or to the tables of its database: over REST there is neither.
INTERNALS = re.compile(r"ManagedSessionMaker|\bmodels\.|\bSql[A-Z]\w+\(|store\.engine|store\._|_get_store\(|session\.|alembic|"
                       r"mlflow\.store\.tracking\.sqlalchemy_store\.|mlflow\.server\.handlers|\bdb_uri\b|SqlAlchemyStore\(|"
                       r"test_client\(\)|_generate_large_data|_get_dialect|trace_archival|mock\.patch|monkeypatch\.setattr")
#: Features that are not served, by what a test is called or uses.
FEATURES = [
    ("GraphQL", r"graphql"),
    ("prompts", r"prompt(?!lab)"),
    ("traces, spans, assessments", r"trace|span|assessment|otel"),
    ("evaluation: scorers, datasets, issues, reviews", r"scorer|online_scoring|evaluation_dataset|dataset_to_experiments|issue|label_schema|"
                                                      r"review|add_(?:remove|multiple)?_?experiments|dataset_from_experiments"),
    ("prompt engineering, gateway, secrets", r"promptlab|gateway|secret|endpoint|guardrail|budget|provider|model_definition|list_models"),
    ("webhooks", r"webhook"),
    ("workspaces", r"workspace"),
    ("jobs, demonstration, telemetry, MCP", r"\bjob|demo|telemetry|mcp|online_config|server_info|server_features"),
]
#: Where Plimsoll differs knowingly, and what the failure then says: docs/serve.md says why.
PROXY = "artifacts go through the server, not to files beside the test"
OWN_PROCESS = "the test sets up a server in its own process"
UNSAID = "MLflow's REST API or its client has no words for it"
NEWER = "as a newer MLflow does it"
WORDS = "a filter is refused in other words"
MORE = "more can be asked for than of MLflow"
DIFFERENCES = {
    "test_artifacts": (PROXY, "mlflow-artifacts:/"),
    "test_create_model_version_with_path_source": (PROXY, "assert 200 == 400"),
    "test_create_model_version_with_file_uri": (PROXY, "assert False"),
    "test_create_model_version_with_validation_regex": (OWN_PROCESS, "assert 200 == 400"),
    "test_search_attrs": (PROXY, r"assert \[\] == "),
    "test_log_param_max_length_value": (OWN_PROCESS, "DID NOT RAISE"),  # MLFLOW_TRUNCATE_LONG_VALUES
    "test_log_batch_params_max_length_value": (OWN_PROCESS, "DID NOT RAISE"),
    "test_set_tag": (OWN_PROCESS, "DID NOT RAISE"),
    "test_log_batch_null_metrics": (UNSAID, "must be real number"),
    "test_log_inputs_fails_with_missing_inputs": (UNSAID, "bad argument type"),
    "test_log_inputs_handles_case_when_no_datasets_are_specified": (UNSAID, "not iterable"),
    "test_search_experiments_max_results_validation": (UNSAID, "DID NOT RAISE"),
    "test_get_metric_history_with_max_results": (UNSAID, "Invalid value 0"),  # nor does MLflow's own server take it
    "test_get_metric_history_paginated_request_raises": (NEWER, "DID NOT RAISE|did not match"),
    "test_get_metric_history_bulk_interval_respects_max_results": (NEWER, ""),
    "test_log_inputs_validation": (NEWER, ""),
    "test_search_model_versions": (WORDS, "expected a text in quotes"),
    "test_search_registered_models": (WORDS, "expected a text in quotes"),
    "test_search_model_versions_order_by_errors": (MORE, "DID NOT RAISE"),
    "test_search_registered_model_order_by_errors": (MORE, "DID NOT RAISE"),
    "test_search_model_versions_pagination": (UNSAID, "'' is None"),
    "test_search_registered_model_pagination": (UNSAID, "'' is None"),
    "test_delete_model_version_tag": (UNSAID, "bad argument type"),
    "test_set_registered_model_tag": (NEWER, "DID NOT RAISE"),  # of 100,000 characters, which were 5,000
    "test_set_model_version_tag": (UNSAID, "bad argument type"),
    "test_delete_model_deletes_alias": (NEWER, "did not match"),  # it says that there is no such model
    "test_set_experiment_tag": (NEWER, "DID NOT RAISE|20000"),  # a limit of 20,000, which was 5,000
}


def reason(item, message):
    """Why a test does not pass; None where there is no good reason."""
    name = item.originalname
    if name in DIFFERENCES and re.search(DIFFERENCES[name][1], message):
        return "differs: " + DIFFERENCES[name][0]
    source = inspect.getsource(item.function)
    for feature, words in FEATURES:
        if re.search(words, name) or (re.search(r"Plimsoll (has|keeps|does not answer|gives out)", message) and re.search(words, source)):
            return "not served: " + feature
    if "Plimsoll has" in message or "Plimsoll keeps" in message or "Plimsoll serves nothing" in message:
        return "not served: other"
    if INTERNALS.search(source):
        return "looks into MLflow's own server or database"
    return None


@functools.cache
def own_conftest():
    """By its path: the checkout has files of that name too."""
    spec = importlib.util.spec_from_file_location("plimsoll_conftest", HERE / "conftest.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Served:
    """`plimsoll serve` with a store of its own."""

    def __init__(self, store):
        self.folder = tempfile.TemporaryDirectory(prefix="pl")
        self.served = own_conftest().Served(pathlib.Path(self.folder.name), store=store, cwd=os.getcwd())  # as MLflow's would
        self.url = self.served.url

    def stop(self):
        self.served.stop()
        self.folder.cleanup()


class Databases:
    """One PostgreSQL, and a database in it for each test."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="pl")
        self.server = own_conftest().Postgres(pathlib.Path(self.folder.name))
        self.made = 0

    def new(self):
        self.made += 1
        found = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin/createdb"))
        create = shutil.which("createdb") or found[-1]
        subprocess.run([create, "-h", self.folder.name, "-U", "plimsoll", f"test{self.made}"], check=True)
        return f"postgresql:///test{self.made}?host={self.folder.name}&user=plimsoll"

    def stop(self):
        self.server.stop()
        self.folder.cleanup()


def rest_store(url):
    """MLflow's client of the REST API, where the tests call it as they would call the SQL store."""
    from mlflow.store.tracking.rest_store import RestStore
    from mlflow.utils.rest_utils import MlflowHostCreds

    class Store(RestStore):
        DEFAULT_EXPERIMENT_ID = "0"

        def create_run(self, experiment_id, user_id, start_time, tags, run_name):
            return super().create_run(experiment_id, user_id, start_time, tags or [], run_name)

    return Store(lambda: MlflowHostCreds(url))


def registry_store(url):
    """The same of the registry. The SQL store takes a path on the machine as the source of a version, of any run; a server does not,
    MLflow's neither: such a path stands behind "s3:/" on its way."""
    from mlflow.store.model_registry.rest_store import RestStore
    from mlflow.utils.rest_utils import MlflowHostCreds
    place = "s3:/plimsoll/"

    def plain(answer):
        """As the SQL store gives it: numbers as numbers, and None for what was not said."""
        if isinstance(answer, str):
            return answer.removeprefix(place)
        each = answer if isinstance(answer, list) else [answer]
        for thing in [*each, *(v for model in each for v in getattr(model, "latest_versions", []))]:
            if hasattr(thing, "version"):
                thing._version, thing._source = int(thing.version), thing.source.removeprefix(place)
                thing._run_link = thing.run_link or None
            elif hasattr(thing, "aliases"):
                thing._aliases = {alias: int(version) for alias, version in thing.aliases.items()}
            thing._description = thing.description or None
        return answer

    class Store(RestStore):
        def create_model_version(self, name, source, *words, **more):
            return plain(super().create_model_version(name, source if ":" in source else place + source.lstrip("/"), *words, **more))

        def search_model_versions(self, filter_string=None, *words, **more):
            text = re.sub(r"(source_path\s*\S+\s*['\"])(?!%)", rf"\g<1>{place}", filter_string or "")
            return plain(super().search_model_versions(text, *words, **more))

    for name in ("create_registered_model", "update_registered_model", "get_model_version", "get_model_version_by_alias", "get_latest_versions", "get_registered_model",
                 "search_registered_models", "update_model_version", "transition_model_version_stage", "get_model_version_download_uri"):
        def method(self, *words, _name=name, **more):
            return plain(getattr(RestStore, _name)(self, *words, **more))
        setattr(Store, name, method)
    return Store(lambda: MlflowHostCreds(url))


class Plugin:
    def __init__(self, config):
        self.databases = Databases() if os.environ.get("PLIMSOLL_SUITE_POSTGRESQL") == "1" else None
        self.passed, self.failed, self.unexplained = 0, collections.defaultdict(list), []

    def serve(self, request):
        served = Served(self.databases and self.databases.new())
        request.addfinalizer(served.stop)
        return served.url

    def pytest_fixture_setup(self, fixturedef, request):
        """A client or a store of Plimsoll's in place of MLflow's."""
        value = None
        if fixturedef.argname in ("mlflow_client", "mlflow_client_with_secrets"):
            import mlflow
            mlflow.set_tracking_uri(None)
            value = mlflow.MlflowClient(self.serve(request))
        elif fixturedef.argname == "client" and "test_model_registry" in str(request.node.nodeid):
            import mlflow
            value = mlflow.MlflowClient(self.serve(request))
        elif fixturedef.argname == "store" and "model_registry/test_sqlalchemy" in str(request.node.nodeid):
            value = registry_store(self.serve(request))
        elif fixturedef.argname == "store" and "sqlalchemy" in str(request.node.nodeid):
            value = rest_store(self.serve(request))
        if value is not None:
            fixturedef.cached_result = (value, fixturedef.cache_key(request), None)
        return value

    def pytest_collection_modifyitems(self, config, items):
        """Of tests that run for several stores, or with and without workspaces, one will do."""
        left_out = [i for i in items if re.search(r"\[(file|.*workspace-enabled)", i.nodeid)]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [i for i in items if i not in left_out]

    def pytest_runtest_logreport(self, report):
        if report.when == "call" and report.passed:
            self.passed += 1

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item, call):
        outcome = yield
        if outcome.get_result().failed:  # not what MLflow itself expects to fail
            self.failed[reason(item, str(call.excinfo.value)) or "unexplained"].append(item.name)

    def pytest_terminal_summary(self, terminalreporter):
        terminalreporter.section("plimsoll")
        terminalreporter.write_line(f"{self.passed:5} passed")
        for why, names in sorted(self.failed.items()):
            terminalreporter.write_line(f"{len(names):5} {why}")
        for why in sorted(self.failed):
            terminalreporter.write_line(f"\n{why}:\n  " + "\n  ".join(self.failed[why]))

    def pytest_unconfigure(self):
        if self.databases:
            self.databases.stop()

    def pytest_sessionfinish(self, session):
        session.exitstatus = 1 if self.failed.get("unexplained") or not self.passed else 0


def pytest_configure(config):
    config.pluginmanager.register(Plugin(config), "plimsoll-suite")


def main():
    checkout, *words = sys.argv[1:] or sys.exit(__doc__)
    environment = {k: v for k, v in os.environ.items() if not k.startswith("MLFLOW_")}
    environment["PLIMSOLL_BINARY"] = str(pathlib.Path(environment["PLIMSOLL_BINARY"]).resolve())
    environment["PYTHONPATH"] = f"{HERE}:{pathlib.Path(checkout).resolve()}"
    environment["PLIMSOLL_SUITE_POSTGRESQL"] = "1" if "--postgresql" in words else "0"
    environment["MLFLOW_HTTP_REQUEST_MAX_RETRIES"] = "1"
    given = [w for w in words if w != "--postgresql"]
    files = [f for f in given if f.split("::")[0].endswith(".py")]
    files = files or [f for f in [*REST, *SQL] if (pathlib.Path(checkout) / f).exists()]
    options = [w for w in given if w not in files]
    return subprocess.call([sys.executable, "-m", "pytest", "-q", "-p", "mlflow_suite", "-p", "no:cacheprovider", "--tb=no",
                            "--no-header", "-W", "ignore", "-o", "addopts=", *options, *files], cwd=checkout, env=environment)


if __name__ == "__main__":
    sys.exit(main())
