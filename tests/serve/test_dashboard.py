"""What the page asks, asked by hand: the table of runs, files, what is computed, what goes on; and the same as a hostile page, a
stranger and a thief would ask it."""
import http.client
import json
import os
import pathlib
import re
import stat
import subprocess
import threading
import time
import urllib.parse

import pytest

from conftest import BINARY, wait_for

API = "/api/2.0/mlflow"
OWN = "/api/plimsoll"
WRITE, READ = "a-token-that-may-write-all", "a-token-that-may-read-alone"
JSON = {"Content-Type": "application/json"}
HOSTILE = ["<script>alert(1)</script>", "\"><img src=x onerror=alert(1)>", "\u202egnp.exe", "x" * 5000, "\U0001f600" * 50,
           "${7*7}{{7*7}}", "'; DROP TABLE run; --", "</script><svg onload=alert(1)>"]


class Browser:
    """Keeps a cookie, as a browser does, and sends what it is told to."""

    def __init__(self, served, headers=None):
        self.served, self.headers = served, dict(headers or {})

    def ask(self, method, path, body=None, headers=None):
        connection = http.client.HTTPConnection(self.served.host, self.served.port, timeout=300)
        try:
            connection.request(method, path, body, {**self.headers, **(headers or {})})
            answer = connection.getresponse()
            return answer.status, answer.read(), answer.headers
        finally:
            connection.close()

    def get(self, call, status=200, **query):
        code, text, _ = self.ask("GET", f"{call}?{urllib.parse.urlencode(query, doseq=True)}" if query else call)
        assert code == status, (code, text[:500])
        return json.loads(text)

    def post(self, path, message, status=200, headers=None):
        code, text, _ = self.ask("POST", path, json.dumps(message), {**JSON, **(headers or {})})
        assert code == status, (code, text[:500])
        return json.loads(text)

    def log_in(self, token):
        code, text, headers = self.ask("POST", f"{OWN}/login", json.dumps({"token": token}), JSON)
        assert code == 200, text
        self.headers["Cookie"] = headers["Set-Cookie"].split(";")[0]
        session = json.loads(text)
        self.headers["X-Plimsoll-CSRF"] = session["csrf"]
        return session, headers["Set-Cookie"]

    def new_run(self, name="r", params=(), metrics=(), tags=(), start=1000):
        run = self.post(f"{API}/runs/create", {"experiment_id": "0", "start_time": start, "run_name": name,
                                               "tags": [{"key": k, "value": v} for k, v in tags]})["run"]["info"]["run_id"]
        self.post(f"{API}/runs/log-batch", {"run_id": run, "params": [{"key": k, "value": v} for k, v in params],
                                            "metrics": [{"key": k, "value": v, "timestamp": start + s, "step": s} for k, v, s in metrics]})
        return run


@pytest.fixture
def page(serve):
    return Browser(serve())


@pytest.fixture
def guarded(serve, tmp_path):
    """A server that asks for a token."""
    for name, token in (("write", WRITE), ("read", READ)):
        (tmp_path / name).write_text(token + "\n")
        (tmp_path / name).chmod(stat.S_IRUSR | stat.S_IWUSR)
    return serve("--token-file", tmp_path / "write", "--read-token-file", tmp_path / "read")


def put_artifact(page, run, path, data):
    code, text, _ = page.ask("PUT", f"/api/2.0/mlflow-artifacts/artifacts/0/{run}/artifacts/{path}", data)
    assert code == 200, text


# --- The table of runs

def test_the_table_of_runs(serve, store):
    page = Browser(serve(store=store))
    runs = [page.new_run(f"run {i}", [("lr", f"0.{i}")], [("loss", 9 - i, 0), ("loss", 3 - i, 1), ("loss", 5 - i, 2)], [("team", "a" if i % 2 else "b")],
                         start=1000 * (i + 1)) for i in range(7)]
    table = page.get(f"{OWN}/runs", column=["metrics.loss", "metrics.loss:min", "metrics.loss:max", "metrics.loss:step", "metrics.loss:points",
                                            "params.lr", "tags.team", "metrics.none", "hardware.energy"], limit=3, total=1)
    assert [run["id"] for run in table["runs"]] == runs[:3:-1] and table["next"] == 3 and table["total"] == 7
    assert table["runs"][0]["cells"] == [-1, -3, 3, 2, 3, "0.6", "b", None, None]
    assert table["runs"][0]["name"] == "run 6" and table["runs"][0]["start"] == 7000 and table["runs"][0]["end"] is None
    last = page.get(f"{OWN}/runs", limit=3, offset=6)
    assert [run["id"] for run in last["runs"]] == [runs[0]] and last["next"] is None and last["total"] is None
    some = page.get(f"{OWN}/runs", filter="tags.team = 'a' and metrics.loss > 1", order_by="metrics.loss ASC", total=1)
    assert [run["id"] for run in some["runs"]] == [runs[3], runs[1]] and some["total"] == 2
    page.post(f"{API}/runs/delete", {"run_id": runs[0]})
    assert page.get(f"{OWN}/runs", total=1)["total"] == 6
    assert page.get(f"{OWN}/runs", view="deleted", total=1)["total"] == 1
    assert page.get(f"{OWN}/runs", view="all", total=1)["total"] == 7
    keys = page.get(f"{OWN}/facets")
    assert keys["metrics"] == ["loss"] and keys["params"] == ["lr"] and "team" in keys["tags"] and keys["complete"]
    assert keys["experiments"] == [{"id": "0", "name": "Default"}]


@pytest.mark.parametrize("query", [{"filter": "metrics.loss <"}, {"order_by": "nonsense"}, {"limit": -1}, {"limit": 1001}, {"offset": -1},
                                   {"limit": "many"}, {"view": "none"}, {"column": "loss"}, {"column": "metrics."}, {"column": "hardware.x"},
                                   {"column": ["params.a"] * 101}, {"experiment_id": "x"}, {"limit": 1000, "column": ["metrics.a:min"] * 6},
                                   {"filter": "'; DROP TABLE run; --"}])
def test_tables_that_cannot_be(page, query):
    assert page.get(f"{OWN}/runs", status=400, **query)["error_code"] == "INVALID_PARAMETER_VALUE"


def test_part_of_a_history(page):
    run = page.new_run(metrics=[("loss", i, i) for i in range(100)], start=1000)
    spans = page.get(f"{OWN}/outline", run_id=run, metric_key="loss", max_results=1, **{"from": 1010, "to": 1019})["spans"]
    assert len(spans) == 1 and spans[0]["points"] == 10 and (spans[0]["minimum"], spans[0]["maximum"]) == (10, 19)


# --- Files of a run

def test_a_log_in_pieces(page):
    run = page.new_run()
    text = "".join(f"line {i} ä€\U0001f600\n" for i in range(5000))
    put_artifact(page, run, "out/train.log", text.encode())
    put_artifact(page, run, "model.bin", b"\0\1")
    assert page.get(f"{OWN}/logs", run_id=run)["files"] == [{"path": "out/train.log", "bytes": len(text.encode())}]
    seen, at = "", 0
    while True:
        piece = page.get(f"{OWN}/log", run_id=run, path="out/train.log", **{"from": at, "bytes": 1000})
        if piece["to"] == at:
            break
        seen, at = seen + piece["text"], piece["to"]
    assert seen == text and at == piece["size"] == len(text.encode())
    tail = page.get(f"{OWN}/log", run_id=run, path="out/train.log", **{"from": -30})
    assert text.endswith(tail["text"]) and len(tail["text"]) > 10
    found = page.get(f"{OWN}/log", run_id=run, path="out/train.log", search="line 4321 ")
    assert [m["line"] for m in found["matches"]] == [4322] and found["complete"]
    assert text.encode()[found["matches"][0]["from"]:].startswith(b"line 4321 ")
    many = page.get(f"{OWN}/log", run_id=run, path="out/train.log", search="line")
    assert len(many["matches"]) == 200 and not many["complete"]


@pytest.mark.parametrize("path", ["../store.db", "/etc/passwd", "a/../../x", "..", ".", "", "a\0b", "%2e%2e/x", "..\\x", "a" * 5000, "none.log"])
def test_paths_that_lead_out(page, path):
    run = page.new_run()
    put_artifact(page, run, "a.log", b"text")
    for call in ("log", "preview"):
        code, text, _ = page.ask("GET", f"{OWN}/{call}?run_id={run}&path={urllib.parse.quote(path, safe='')}")
        assert code in (400, 404), (code, text)


def test_links_among_artifacts_are_not_followed(page, tmp_path):
    run = page.new_run()
    put_artifact(page, run, "a.log", b"text")
    folder = next(p.parent for p in tmp_path.rglob("a.log"))
    (folder / "link.log").symlink_to("/etc/passwd")
    code, text, _ = page.ask("GET", f"{OWN}/log?run_id={run}&path=link.log")
    assert code in (400, 404) and b"root:" not in text


def test_artifacts_are_shown_where_nothing_runs(page):
    run = page.new_run()
    script = b"<script>parent.postMessage(document.cookie)</script>"
    for name, kind in (("a.html", "text/html; charset=utf-8"), ("a.svg", "image/svg+xml"), ("a.js", "text/plain; charset=utf-8"),
                       ("a.json", "text/plain; charset=utf-8"), ("a.png", "image/png"), ("a.csv", "text/plain; charset=utf-8")):
        put_artifact(page, run, name, script)
        code, text, headers = page.ask("GET", f"{OWN}/preview?run_id={run}&path={name}")
        policy = headers["Content-Security-Policy"]
        assert code == 200 and text == script and headers["Content-Type"] == kind
        assert re.search(r"(^|; )sandbox;", policy) and "allow-" not in policy and "default-src 'none'" in policy and "script-src" not in policy
        assert headers["X-Content-Type-Options"] == "nosniff" and headers["Cross-Origin-Resource-Policy"] == "same-origin"
        code, _, headers = page.ask("GET", f"/get-artifact?run_id={run}&path={name}")
        assert code == 200 and headers["Content-Disposition"].startswith("attachment") and "sandbox" in headers["Content-Security-Policy"]
    for name in ("a.bin", "a.pdf", "a.exe", "noending"):
        put_artifact(page, run, name, script)
        assert page.ask("GET", f"{OWN}/preview?run_id={run}&path={name}")[0] == 400


@pytest.mark.parametrize("text", HOSTILE)
def test_stored_scripts_come_back_as_text_alone(page, text):
    key = "k" + re.sub(r"[^A-Za-z0-9]", "", text)[:20]
    run = page.new_run(text, [(key, text)], [(key, 1, 0)], [("mlflow.note.content", text), (key, text)])
    for path in (f"{OWN}/runs?column=params.{key}&column=tags.{key}", f"{OWN}/facets", f"{OWN}/report?run_id={run}", f"{OWN}/now",
                 f"{API}/runs/get?run_id={run}"):
        code, body, headers = page.ask("GET", path)
        assert code == 200 and headers["Content-Type"] == "application/json" and headers["X-Content-Type-Options"] == "nosniff", path
        json.loads(body)
    row = page.get(f"{OWN}/runs", column=[f"params.{key}", f"tags.{key}"])["runs"][0]
    assert row["name"] == text and row["cells"] == [text, text]


# --- The page itself

def test_the_page_and_its_policy(guarded):
    stranger = Browser(guarded)
    code, text, headers = stranger.ask("GET", "/")
    assert code == 200 and headers["Content-Type"] == "text/html; charset=utf-8"
    policy = headers["Content-Security-Policy"]
    for part in ("default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'self'", "connect-src 'self'"):
        assert part in policy
    assert "unsafe" not in policy and headers["X-Frame-Options"] == "DENY" and headers["Cross-Origin-Opener-Policy"] == "same-origin"
    assert headers["Referrer-Policy"] == "no-referrer" and headers["X-Content-Type-Options"] == "nosniff"
    # Nothing in it is a script, a style or an address of elsewhere.
    assert not re.search(rb"<script(?![^>]*\bsrc=)|\son\w+\s*=|\sstyle\s*=|<style|https?://(?!www\.w3\.org)", text)
    for name in re.findall(rb'(?:src|href)="(?:/|\./)?static/([^"]+)"', text):
        assert stranger.ask("GET", f"/static/{name.decode()}")[0] == 200
    for path in ("/static/../index.html", "/static/..%2findex.html", "/static/%2e%2e/store.db", "/static//etc/passwd", "/static/.git", "/static/"):
        assert stranger.ask("GET", path)[0] in (401, 404), path


def test_the_page_is_not_sent_twice(page):
    _, _, headers = page.ask("GET", "/static/app.css")
    code, text, _ = page.ask("GET", "/static/app.css", headers={"If-None-Match": headers["ETag"]})
    assert code == 304 and text == b""


def test_files_of_a_folder_for_who_works_on_the_page(serve, tmp_path):
    (tmp_path / "web").mkdir()
    (tmp_path / "web/index.html").write_text("mine")
    (tmp_path / "web/link.js").symlink_to("/etc/passwd")
    page = Browser(serve(environment={"PLIMSOLL_WEB": str(tmp_path / "web")}))
    assert page.ask("GET", "/")[1] == b"mine"
    assert page.ask("GET", "/static/../../store.db")[0] == 404


# --- Who asks

def test_without_a_login_nothing_is_told(guarded):
    stranger = Browser(guarded)
    session = stranger.get(f"{OWN}/session")
    assert session["login"] and session["role"] is None and "store" not in session and "user" not in session
    for path in (f"{OWN}/runs", f"{OWN}/now", f"{OWN}/queue", f"{OWN}/events", f"{API}/runs/get?run_id=x", "/metrics", "/version", f"{OWN}/devices"):
        assert stranger.ask("GET", path)[0] == 401, path
    for path in (f"{API}/runs/create", f"{OWN}/share/plan", f"{OWN}/queue/submit", f"{OWN}/stop", f"{OWN}/models"):
        assert stranger.ask("POST", path, "{}", JSON)[0] == 401, path
    assert stranger.ask("GET", "/health")[0] == 200


def test_a_login_and_what_it_may(guarded):
    writer, reader = Browser(guarded), Browser(guarded)
    session, cookie = writer.log_in(WRITE)
    assert session["role"] == "write" and not session["login"] and len(session["csrf"]) >= 32
    for part in ("HttpOnly", "SameSite=Strict", "Path=/", "Max-Age="):
        assert part in cookie
    assert len(cookie.split("=")[1].split(";")[0]) >= 32 and WRITE not in cookie
    run = writer.new_run("mine")
    assert reader.log_in(READ)[0]["role"] == "read"
    assert reader.get(f"{OWN}/runs")["runs"][0]["id"] == run
    assert reader.post(f"{API}/runs/search", {"experiment_ids": ["0"]})["runs"]
    for path, message in ((f"{API}/runs/set-tag", {"run_id": run, "key": "a", "value": "b"}), (f"{API}/runs/delete", {"run_id": run}),
                          (f"{OWN}/queue/submit", {"jobs": []}), (f"{OWN}/stop", {"run_id": run}), (f"{API}/runs/create", {})):
        assert reader.post(path, message, status=403)["error_code"] == "PERMISSION_DENIED"
    assert reader.ask("PUT", f"/api/2.0/mlflow-artifacts/artifacts/0/{run}/artifacts/a", b"x")[0] == 403
    assert reader.ask("DELETE", f"{OWN}/models?model=x")[0] == 403
    # Programs bring the token itself, and no other half.
    assert Browser(guarded, {"Authorization": f"Bearer {READ}"}).ask("POST", f"{API}/runs/create", "{}", JSON)[0] == 403
    assert Browser(guarded, {"Authorization": f"Bearer {WRITE}"}).ask("POST", f"{API}/runs/create", "{}", JSON)[0] == 200
    writer.post(f"{OWN}/logout", {})
    assert writer.ask("GET", f"{OWN}/runs")[0] == 401


def test_a_request_forged_by_another_page(guarded):
    browser = Browser(guarded)
    browser.log_in(WRITE)
    run = browser.new_run()
    cookie = {"Cookie": browser.headers["Cookie"]}
    delete = json.dumps({"run_id": run})
    forged = Browser(guarded, cookie)
    assert forged.ask("POST", f"{API}/runs/delete", delete, JSON)[0] == 403  # without its other half
    for half in ("", "0" * 32, browser.headers["X-Plimsoll-CSRF"][:-1], browser.headers["X-Plimsoll-CSRF"] + "0"):
        assert forged.ask("POST", f"{API}/runs/delete", delete, {**JSON, "X-Plimsoll-CSRF": half})[0] == 403
    for origin in ("http://evil.example", "null", f"http://127.0.0.1:{guarded.port + 1}", "https://127.0.0.1"):
        assert browser.ask("POST", f"{API}/runs/delete", delete, {**JSON, "Origin": origin})[0] == 403
        assert browser.ask("GET", f"{OWN}/runs", headers={"Origin": origin})[0] == 403
    for site in ("cross-site", "same-site"):  # what an <img> or a <script> of it asks for
        assert browser.ask("GET", f"{OWN}/runs", headers={"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "no-cors"})[0] == 403
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):  # what a form sends
        assert browser.ask("POST", f"{API}/runs/delete", delete, {"Content-Type": kind})[0] == 400
        assert browser.ask("POST", f"{OWN}/share/plan", delete, {"Content-Type": kind})[0] == 400
        assert browser.ask("POST", f"{OWN}/login", json.dumps({"token": WRITE}), {"Content-Type": kind})[0] == 400
    assert browser.get(f"{API}/runs/get", run_id=run)["run"]["info"]["lifecycle_stage"] == "active"
    assert browser.ask("GET", "/", headers={"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"})[0] == 200  # a link
    browser.post(f"{API}/runs/delete", {"run_id": run})


def test_a_name_that_was_turned_to_this_machine(page):
    for host in ("evil.example", "evil.example:5000", "127.0.0.1.evil.example", "[::2]"):
        for path in ("/", f"{OWN}/runs", f"{OWN}/session", "/static/app.js"):
            assert page.ask("GET", path, headers={"Host": host})[0] == 403, (host, path)


@pytest.mark.parametrize("cookie", ["", "=", ";;;", "plimsoll_=1", "a" * 5000, "plimsoll_session=" + "0" * 64, "\x7f=\x7f", "plimsoll_{port}=",
                                    "plimsoll_{port}=" + "0" * 64, "plimsoll_{port}=" + "0" * 4000, "plimsoll_{port}=' OR 1=1 --"])
def test_cookies_that_are_none(guarded, cookie):
    text = cookie.replace("{port}", str(guarded.port))
    assert Browser(guarded, {"Cookie": text}).ask("GET", f"{OWN}/runs")[0] in (400, 401)


def test_tokens_are_not_guessed_quickly(guarded):
    browser = Browser(guarded)
    codes = [browser.ask("POST", f"{OWN}/login", json.dumps({"token": f"wrong-{i}"}), JSON) for i in range(12)]
    assert [code for code, _, _ in codes[:5]] == [401] * 5 and 429 in [code for code, _, _ in codes]
    locked = next(headers for code, _, headers in codes if code == 429)
    assert int(locked["Retry-After"]) >= 1
    # Programs go on, and so does the browser a little later.
    assert Browser(guarded, {"Authorization": f"Bearer {WRITE}"}).ask("GET", f"{OWN}/runs")[0] == 200
    wait_for(lambda: browser.ask("POST", f"{OWN}/login", json.dumps({"token": WRITE}), JSON)[0] == 200)


@pytest.mark.parametrize("body", ["", "{", "[]", "17", '{"token": 3}', '{"token": ""}', '{"token": null}', "{\"a\":" * 100, "x" * 60000,
                                  '{"token": "' + "x" * 60000 + '"}'])
def test_logins_that_are_none(guarded, body):
    code, text, headers = Browser(guarded).ask("POST", f"{OWN}/login", body, JSON)
    assert code in (400, 401, 413, 429) and "Set-Cookie" not in headers and len(text) < 2000


def test_tokens_are_in_no_answer_and_no_log(serve, tmp_path):
    for name, token in (("write", WRITE), ("read", READ)):
        (tmp_path / name).write_text(token)
        (tmp_path / name).chmod(0o600)
    served = serve("--token-file", tmp_path / "write", "--read-token-file", tmp_path / "read")
    browser = Browser(served)
    _, cookie = browser.log_in(WRITE)
    secret = cookie.split("=")[1].split(";")[0]
    run = browser.new_run()
    texts = [browser.ask("GET", path)[1] for path in (f"{OWN}/session", f"{OWN}/now", f"{OWN}/report?run_id={run}", "/metrics", f"{OWN}/runs",
                                                      f"{OWN}/devices", f"/?token={WRITE}", f"{OWN}/runs?token={WRITE}")]
    texts += [browser.ask("POST", f"{OWN}/login", json.dumps({"token": WRITE + "x"}), JSON)[1]]
    command = pathlib.Path(f"/proc/{served.process.pid}/cmdline").read_bytes()
    # A token in an address is none: it would stay in histories and logs.
    assert Browser(served).ask("GET", f"{OWN}/runs?token={WRITE}")[0] == 401
    served.process.terminate()
    out, err = served.process.communicate(timeout=60)
    for text in [*texts, command, out.encode(), err.encode()]:
        assert WRITE.encode() not in text and READ.encode() not in text and secret.encode() not in text
    for file in tmp_path.rglob("*"):
        if file.is_file() and file.name not in ("write", "read"):
            assert secret.encode() not in file.read_bytes(), file


def test_tokens_to_read_go_beside_others(tmp_path):
    (tmp_path / "read").write_text(READ)
    (tmp_path / "read").chmod(0o600)
    for words in ([], ["--token-file", str(tmp_path / "read")]):
        done = subprocess.run([BINARY, "serve", "--port", "0", "--store", str(tmp_path / "s.db"), "--read-token-file", str(tmp_path / "read"), *words],
                              capture_output=True, text=True, timeout=60,
                              env={k: v for k, v in os.environ.items() if not k.startswith("PLIMSOLL_TOKEN")})
        assert done.returncode == 2 and "token" in done.stderr


# --- What is computed

def test_what_networks_need(page):
    ask = {"model": "resnet50", "batch": 4, "device": "h200", "mode": "train"}
    assert page.post(f"{OWN}/network/inspect", {"model": "resnet50"})["parameters"] == 25557032
    assert page.post(f"{OWN}/network/estimate", ask)["memory"]["fits"]
    assert page.post(f"{OWN}/network/weigh", {"model": "resnet50", "device": "h200"})["devices"]
    assert page.post(f"{OWN}/network/choose", {"model": "mobilenet_v1", "max_latency": 0.02, "max_power": 5})
    no = page.post(f"{OWN}/network/choose", {"model": "mobilenet_v1", "max_latency": 1e-9})
    assert no["answer"] is False
    for kind in ("timeline", "kernels"):
        code, text, headers = page.ask("GET", f"{OWN}/network/{kind}?ask={urllib.parse.quote(json.dumps(ask))}")
        assert code == 200 and text.startswith(b"<!DOCTYPE html>") and headers["Content-Type"].startswith("text/html")
        assert headers["Content-Security-Policy"].startswith("sandbox allow-scripts; default-src 'none'")
        assert "allow-same-origin" not in headers["Content-Security-Policy"]
    assert any(device["id"] == "h200" for device in page.get(f"{OWN}/devices"))
    assert page.get(f"{OWN}/zoo")


def test_what_sharing_does(page):
    pair = [{"model": "resnet50", "mode": "train", "batch": 32}, {"model": "vgg16", "mode": "train", "batch": 32}]
    both = page.post(f"{OWN}/share/beside", {"workloads": pair, "device": "h200", "sharing": "mps"})
    assert all(0 < workload["speed"] <= 1 for workload in both["workloads"])
    matrix = page.post(f"{OWN}/share/matrix", {"workloads": pair, "device": "h200"})
    assert len(matrix["speeds"]) == 2
    plan = page.post(f"{OWN}/share/plan", {"jobs": [{**job, "name": f"j{i}", "steps": 100} for i, job in enumerate(pair)], "devices": "h200:2"})
    assert {job["name"] for job in plan["jobs"]} == {"j0", "j1"}


def test_a_model_that_is_dropped_into_the_page(page, tmp_path):
    subprocess.run([BINARY, "export", "resnet18", "--output", str(tmp_path / "net.onnx")], check=True, capture_output=True, timeout=120)
    data = (tmp_path / "net.onnx").read_bytes()
    code, text, _ = page.ask("POST", f"{OWN}/models?name=my%20net.onnx", data, {"Content-Type": "application/octet-stream"})
    assert code == 200, text
    model = json.loads(text)["model"]
    assert page.post(f"{OWN}/network/inspect", {"model": model})["parameters"] == 11689512
    assert page.ask("DELETE", f"{OWN}/models?model={model}")[0] == 200
    assert page.post(f"{OWN}/network/inspect", {"model": model}, status=404)
    for name in ("x.py", "x", "x.onnx.py", "", "x.pt", "x.pkl"):
        code, text, _ = page.ask("POST", f"{OWN}/models?name={name}", b"import os", {"Content-Type": "application/octet-stream"})
        assert code == 400, (name, text)
    code, text, _ = page.ask("POST", f"{OWN}/models?name=x.onnx", b"garbage" * 1000, {"Content-Type": "application/octet-stream"})
    assert page.post(f"{OWN}/network/inspect", {"model": json.loads(text)["model"]}, status=400)["message"]


@pytest.mark.parametrize("model", ["/etc/passwd", "../x", "x.py:f", "x/y.onnx", "--help", "-h", "", " ", "resnet50 --html=/tmp/x", "resnet50;ls",
                                   "$(ls)", "`ls`", "a\nb", "upload:../../x", "upload:", None, 3, ["resnet50"], {"a": 1}])
def test_models_that_are_none(page, model, tmp_path):
    for call in ("inspect", "weigh", "estimate", "choose"):
        assert page.post(f"{OWN}/network/{call}", {"model": model}, status=404 if str(model).startswith("upload:") else 400)
    page.post(f"{OWN}/share/beside", {"workloads": [{"model": model}], "device": "h200"}, status=404 if str(model).startswith("upload:") else 400)


@pytest.mark.parametrize("device", ["/dev/null", "../device.json", "--html=/tmp/x", "h200 --html /tmp/x", "h200\n", "", "h200;ls", {"a": 1}, 7])
def test_devices_that_are_none(page, device):
    page.post(f"{OWN}/network/estimate", {"model": "resnet50", "device": device}, status=400)
    page.post(f"{OWN}/share/beside", {"workloads": [{"model": "resnet50"}], "device": device}, status=400)


def test_too_much_at_once_is_refused_and_nothing_breaks(page):
    """Sixty plans at once: some are answered, the others told to come again, and calls of other kinds go on."""
    jobs = [{"name": f"j{i}", "model": "resnet50", "mode": "train", "batch": 8 + i, "steps": 1000} for i in range(6)]
    codes = []

    def plan():
        codes.append(page.ask("POST", f"{OWN}/share/plan", json.dumps({"jobs": jobs, "devices": "h200:2"}), JSON)[0])

    threads = [threading.Thread(target=plan) for _ in range(60)]
    for thread in threads:
        thread.start()
    assert page.get(f"{OWN}/runs", total=1)["total"] == 0
    for thread in threads:
        thread.join()
    assert set(codes) <= {200, 503} and codes.count(200) >= 2 and codes.count(503) >= 30


def test_a_report_of_one_run(page):
    run = page.new_run("one", [("lr", "0.1")], [("loss", 1.0 / (i + 1), i) for i in range(20)])
    report = page.get(f"{OWN}/report", run_id=run)
    assert report["runs"][0]["id"] == run and report["runs"][0]["verdict"]["title"]
    for wrong in ("", "x", "last", "--help", run[:8], run + "0", "../" + run):
        assert page.get(f"{OWN}/report", run_id=wrong, status=400)


# --- Where it is opened

def opened(tmp_path, *words, **environment):
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("PLIMSOLL_TOKEN", "DISPLAY", "WAYLAND"))}
    process = subprocess.Popen([BINARY, "ui", "--json", "--store", str(tmp_path / "store.db"), *map(str, words)], stdout=subprocess.PIPE,
                               text=True, env={**clean, **environment})
    return process, json.loads(process.stdout.readline())


def test_ui_opens_what_is_served_already(serve, tmp_path):
    served = serve()
    process, told = opened(tmp_path, "--port", served.port)
    assert told == {"url": served.url, "store": served.store, "started": False} and process.wait(60) == 0


def test_ui_serves_where_nobody_does_and_starts_a_browser_where_there_is_a_screen(tmp_path):
    opener = tmp_path / "bin/xdg-open"
    opener.parent.mkdir()
    opener.write_text(f"#!/bin/sh\necho \"$@\" > {tmp_path}/asked.part; mv {tmp_path}/asked.part {tmp_path}/asked\n")
    opener.chmod(0o755)
    process, told = opened(tmp_path, "--port", 0, PATH=f"{opener.parent}:{os.environ['PATH']}", DISPLAY=":77")
    try:
        assert told["token"] is False
        wait_for(lambda: (tmp_path / "asked").exists())
        assert (tmp_path / "asked").read_text() == told["url"] + "/\n"
        parts = urllib.parse.urlsplit(told["url"])
        connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=60)
        connection.request("GET", "/")
        assert connection.getresponse().status == 200
    finally:
        process.terminate()
        assert process.wait(60) == 0


def test_ui_leaves_anothers_port_alone(serve, tmp_path):
    """At the port that was asked for another store is served: it is told, and nothing else is opened."""
    served = serve(store=str(tmp_path / "another.db"))
    done = subprocess.run([BINARY, "ui", "--json", "--no-browser", "--store", str(tmp_path / "store.db"), "--port", str(served.port)],
                          capture_output=True, text=True, timeout=60)
    assert done.returncode != 0 and not done.stdout and str(served.port) in done.stderr


# --- Figures for Grafana

def test_every_figure_that_grafana_draws_is_served(page):
    folder = pathlib.Path(__file__).resolve().parents[2] / "data/grafana"
    served = page.ask("GET", "/metrics")[1].decode()
    names = set(re.findall(r"^(plimsoll_\w+)(?:\{| )", served, re.M))
    files = sorted(folder.glob("*.json"))
    assert files
    for file in files:
        board = json.loads(file.read_text())
        drawn = set()
        for panel in board["panels"]:
            assert panel["targets"] and panel["title"] and panel["fieldConfig"]["defaults"]["unit"]
            for target in panel["targets"]:
                drawn |= set(re.findall(r"\bplimsoll_\w+", target["expr"]))
        assert drawn and drawn <= names, drawn - names
        # And nothing is served that nobody can see.
        assert names <= drawn, names - drawn


# --- What goes on

def test_now_tells_runs_and_how_far_they_are(page):
    now = int(time.time() * 1000)
    run = page.new_run("training", [("epochs", "10")], start=now - 40_000)
    page.post(f"{API}/runs/log-batch", {"run_id": run, "metrics": [
        {"key": "loss", "value": 0.5, "timestamp": now - 20_000, "step": 7}, {"key": "epoch", "value": 5, "timestamp": now - 20_000, "step": 7}]})
    seen = page.get(f"{OWN}/now")
    assert seen["host"]["cores"] >= 1 and isinstance(seen["alarms"], list)
    [shown] = seen["runs"]
    assert shown["metric"] == {"key": "loss", "value": 0.5, "step": 7, "time_microseconds": (now - 20_000) * 1000}
    assert shown["progress"] == 0.5 and shown["progress_source"] == "params.epochs" and shown["epoch"] == 5
    assert shown["expected_end_microseconds"] == now * 1000


class Events:
    """A stream of server-sent events."""

    def __init__(self, served, path):
        self.connection = http.client.HTTPConnection(served.host, served.port, timeout=30)
        self.connection.request("GET", path)
        self.answer = self.connection.getresponse()
        assert self.answer.status == 200 and self.answer.headers["Content-Type"] == "text/event-stream"

    def next(self):
        name = data = None
        while True:
            line = self.answer.readline().decode().rstrip("\n")
            if line.startswith("event: "):
                name = line[7:]
            elif line.startswith("data: "):
                data = json.loads(line[6:])
            elif not line and name:
                return name, data


def test_changes_alone_are_told(page):
    run = page.new_run("live", [("lr", "0.1")], [("loss", 1.0, 0)])
    other = page.new_run("other")
    events, one = Events(page.served, f"{OWN}/events?delta=1"), Events(page.served, f"{OWN}/events?delta=1&run_id={run}")
    name, data = events.next()
    assert name == "snapshot" and {r["id"] for r in data["runs"]} == {run, other}
    first = next(r for r in data["runs"] if r["id"] == run)
    assert first["params"] == [["lr", "0.1"]] and first["metrics"] == [["loss", 1.0, 0, 1000]] and first["name"] == "live"
    assert [r["id"] for r in one.next()[1]["runs"]] == [run]
    page.post(f"{API}/runs/log-metric", {"run_id": run, "key": "loss", "value": 0.5, "timestamp": 2000, "step": 1})
    for stream in (events, one):
        assert stream.next() == ("change", {"runs": [{"id": run, "metrics": [["loss", 0.5, 1, 2000]]}], "gone": []})
    page.post(f"{API}/runs/update", {"run_id": other, "status": "FAILED", "end_time": 5000})
    assert events.next() == ("change", {"runs": [{"id": other, "status": "FAILED", "end": 5000}], "gone": [other]})
    page.post(f"{API}/runs/update", {"run_id": run, "status": "FINISHED", "end_time": 6000})
    assert one.next() == ("change", {"runs": [{"id": run, "status": "FINISHED", "end": 6000}], "gone": [run]})
    events.connection.close()
    one.connection.close()


def test_stops_and_submissions_need_what_they_name(page):
    for body in ({}, {"run_id": "x"}, {"run_id": "--all"}, {"run_id": ["a"]}):
        page.post(f"{OWN}/stop", body, status=400)
    session = page.get(f"{OWN}/session")
    if not session["queue"]:  # then it says why, and nothing can be given away
        assert session["queue_reason"]
        page.post(f"{OWN}/queue/submit", {"jobs": [{"command": ["true"], "seconds": 1}]}, status=403)


def test_a_token_to_log_metrics_by_starts_and_stops_nothing(guarded):
    browser = Browser(guarded)
    session, _ = browser.log_in(WRITE)
    assert not session["queue"] and not session["stop"] and "plimsoll submit" in session["queue_reason"]
    run = browser.new_run()
    for path, message in (("queue/submit", {"jobs": [{"command": ["id"], "seconds": 1}]}), ("queue/cancel", {"jobs": [1]}), ("stop", {"run_id": run})):
        assert "plimsoll submit" in browser.post(f"{OWN}/{path}", message, status=403)["message"]


def test_every_user_of_a_machine_starts_and_stops_nothing(serve, tmp_path):
    page = Browser(serve("--any-user"))
    assert not page.get(f"{OWN}/session")["queue"]
    for path, message in (("queue/submit", {"jobs": [{"command": ["id"], "seconds": 1}]}), ("stop", {"run_id": "0" * 32})):
        page.post(f"{OWN}/{path}", message, status=403)
    done = subprocess.run([BINARY, "serve", "--any-user", "--allow-commands", "--port", "0", "--store", str(tmp_path / "other.db")],
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and "--any-user" in done.stderr
