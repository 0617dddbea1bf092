"""MLflow's own pages, of the wheel that the tests use, served by `plimsoll serve --mlflow-ui` and opened in a real browser: they
show the list, a run, its charts and files and the registry, and neither complain nor are refused what they ask."""
import http.client
import json
import os
import pathlib
import sys
import urllib.parse

import mlflow
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "fixtures"))
from browser import Browser, browser_programs  # noqa: E402
from run_contents import Remote, make  # noqa: E402

PACKAGE = pathlib.Path(mlflow.__path__[0])
PHOTOGRAPHS = os.environ.get("PLIMSOLL_TEST_PHOTOGRAPHS")  # a folder for what the pages look like

# What MLflow's pages say of themselves, whatever serves them.
KNOWN = ("AG Grid: ",)  # its table, of how it is used


@pytest.fixture
def served(serve, tmp_path):
    server = serve("--mlflow-ui", str(PACKAGE))
    make(Remote(server.url))
    return server


@pytest.fixture
def browser(tmp_path):
    if browser_programs() is None:
        pytest.skip("no chromium with its chromedriver here")
    browser = Browser(tmp_path / "profile")
    yield browser
    browser.close()


def names(server):
    remote = Remote(server.url)
    run = next(r["info"]["run_id"] for r in remote.ask("runs/search", {"experiment_ids": ["1"]})["runs"]
               if r["info"]["run_name"] == "run 1")
    model = remote.ask("logged-models/search", {"experiment_ids": ["1"]})["models"][0]["info"]
    return run, model["model_id"]


def photograph(browser, name):
    if PHOTOGRAPHS:
        browser.photograph(os.path.join(PHOTOGRAPHS, name + ".png"))


def check(browser, server, name, path, *texts, drawn=None):
    browser.open(f"{server.url}/mlflow/#{path}")
    look(browser, server, name, *texts, drawn=drawn)


def look(browser, server, name, *texts, drawn=None):
    """The page shows the texts and what `drawn` selects, complains of nothing, and is refused nothing."""
    browser.wait_for(lambda: (shown := browser.text()) and all(t in shown for t in texts) and (not drawn or browser.has(drawn)))
    photograph(browser, name)
    refused = [answer for answer in browser.answers if answer[0] >= 400]
    complaints = [c for c in browser.complaints if not any(known in c[1] for known in KNOWN)]
    assert not refused and not complaints, (name, refused, complaints)
    elsewhere = {urllib.parse.urlsplit(url).netloc for _, _, url in browser.answers} - {f"{server.host}:{server.port}"}
    assert not elsewhere, (name, elsewhere)


def test_list_run_charts_files_and_registry(served, browser):
    run, model = names(served)
    runs = "/experiments/1/runs"
    check(browser, served, "home", "/", "vision: first")
    check(browser, served, "experiments", "/experiments", "vision: first")
    check(browser, served, "overview", "/experiments/1", "vision: first")
    check(browser, served, "runs", runs, "run 0", "run 1", "digits 0")
    check(browser, served, "charts", f"{runs}?compareRunsMode=CHART", "accuracy", drawn=".js-plotly-plot svg.main-svg")
    check(browser, served, "run", f"{runs}/{run}", "run 1", "accuracy", "digits 0", "net1", "Failed")
    check(browser, served, "run-charts", f"{runs}/{run}/model-metrics", "accuracy", drawn=".js-plotly-plot svg.main-svg")
    check(browser, served, "run-files", f"{runs}/{run}/artifacts", "MLmodel", "weights.bin", "report.txt")
    browser.click_text("report.txt")
    look(browser, served, "run-file", "of run 1")
    check(browser, served, "models", "/experiments/1/models", "net0", "net1")
    check(browser, served, "model", f"/experiments/1/models/{model}", "net1", "depth")
    check(browser, served, "registered", "/models", "it's a net", "empty")
    check(browser, served, "registered-model", "/models/it's a net", "what it is", "champion", "Version 5")
    check(browser, served, "version", "/models/it's a net/versions/2", "Version 2", "second")


def ask(server, path, **headers):
    connection = http.client.HTTPConnection(server.host, server.port, timeout=300)
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer, body


def test_only_what_is_below_the_folder_is_given_out(serve, tmp_path):
    """Whatever is asked, and whatever links are among the pages."""
    folder = tmp_path / "pages"
    (folder / "static" / "js").mkdir(parents=True)
    (tmp_path / "secret").write_text("secret")
    (folder / "index.html").write_text("<html></html>")
    (folder / "static" / "js" / "main.js").write_text("1")
    (folder / "static" / "js" / "link.js").symlink_to(tmp_path / "secret")
    (folder / "static" / "out").symlink_to(tmp_path)
    server = serve("--mlflow-ui", str(folder))
    answer, body = ask(server, "/mlflow/")
    assert (answer.status, body, answer.headers["Content-Type"]) == (200, b"<html></html>", "text/html; charset=utf-8")
    policy = dict(rule.strip().split(" ", 1) for rule in answer.headers["Content-Security-Policy"].split(";"))
    assert policy["script-src"] == "'self' 'unsafe-eval'" and policy["connect-src"] == "'self'"
    assert ask(server, "/mlflow")[0].headers["Location"] == "/mlflow/"
    assert ask(server, "/mlflow/static-files/static/js/main.js")[1] == b"1"
    for path in ("static/js/link.js", "static/out/secret", "../secret", "static/../../secret", "%2e%2e/secret", "..%2fsecret",
                 "static/js/..%2f..%2f..%2fsecret", "/etc/passwd", "%2fetc%2fpasswd", "static", "", "gone.js", "static\\..\\secret"):
        answer, body = ask(server, "/mlflow/static-files/" + path)
        assert answer.status in (400, 404) and b"secret" not in body.replace(b"/secret", b""), path
    assert ask(server, "/mlflow/ajax-api/2.0/mlflow/experiments/search?max_results=1")[0].status == 200
    assert ask(server, "/mlflow/", Host="evil.example")[0].status == 403
    assert ask(server, "/mlflow/mlflow/health")[0].status == 404


def test_without_the_option_there_are_none(serve):
    assert ask(serve(), "/mlflow/")[0].status == 404


def test_the_calls_of_the_pages_answer_in_their_words(served):
    remote = Remote(served.url)
    run, _ = names(served)

    def question(name, variables):
        return json.loads(remote.send("POST", "/graphql", json.dumps({"operationName": name, "query": "…",
                                                                      "variables": variables}).encode()))["data"]

    found = question("GetRun", {"data": {"runId": run}})["mlflowGetRun"]
    assert found["apiError"] is None and found["run"]["experiment"]["name"] == "vision: first"
    assert found["run"]["data"]["metrics"] == [{"key": "accuracy", "step": "10", "timestamp": "1700000000009", "value": 1.5}]
    assert question("GetRun", {"data": {"runId": "0" * 32}})["mlflowGetRun"]["apiError"]["code"] == "RESOURCE_DOES_NOT_EXIST"
    assert question("MlflowGetExperimentQuery", {"input": {"experimentId": "1"}})["mlflowGetExperiment"]["experiment"]["tags"] == []
    runs = question("SearchRuns", {"data": {"filter": "attributes.run_name = 'run 1'", "experimentIds": ["1"]}})
    assert [r["info"]["runUuid"] for r in runs["mlflowSearchRuns"]["runs"]] == [run]
    for body in (b"{}", b"[]", b"{", b'{"operationName": "GetRun"}', b'{"operationName": "GetRun", "variables": 3}',
                 b'{"operationName": "GetRun", "variables": {"data": []}}', b'{"operationName": "__schema", "variables": {}}'):
        connection = http.client.HTTPConnection(served.host, served.port, timeout=300)
        connection.request("POST", "/graphql", body, {"Content-Type": "application/json"})
        assert connection.getresponse().status in (400, 404), body
        connection.close()
