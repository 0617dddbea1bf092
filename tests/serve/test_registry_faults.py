"""Many register at once while the server is killed: every version that was acknowledged is there once, with the number that
was told; one that was not acknowledged is there once at most, and numbers have no gaps."""
import http.client
import json
import os
import signal
import threading
import time

from conftest import wait_for

API = "/api/2.0/mlflow"
VERSIONS = int(os.environ.get("PLIMSOLL_TEST_VERSIONS", 1000))
CLIENTS = 8


def call(port, method, path, message=None):
    """None where no answer came."""
    try:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
        connection.request(method, API + path, json.dumps(message) if message else None,
                           {"Content-Type": "application/json"})
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
    except (OSError, http.client.HTTPException):
        return None
    if answer.status == 503:
        return None
    assert answer.status == 200, text[:500]
    return json.loads(text)


class Registrar(threading.Thread):
    """Registers a version for each request it has, and again where no answer came, until all have numbers."""

    def __init__(self, port, number):
        super().__init__(daemon=True)
        self.port, self.number = port, number
        self.given, self.sent = {}, {}
        self.start()

    def run(self):
        for i in range(VERSIONS // CLIENTS):
            for attempt in range(10_000):
                request = f"{self.number}-{i}-{attempt}"
                self.sent[request] = True
                answer = call(self.port, "POST", "/model-versions/create", {
                    "name": "net", "source": "s3://bucket/net", "tags": [{"key": "request", "value": request}]})
                if answer is not None:
                    self.given[request] = int(answer["model_version"]["version"])
                    break
                time.sleep(0.02)


def registered(port):
    found, token = [], ""
    while True:
        page = call(port, "GET", f"/model-versions/search?max_results=500&order_by=version_number&page_token={token}")
        found += [(int(v["version"]), v["tags"][0]["value"]) for v in page["model_versions"]]
        token = page.get("next_page_token", "")
        if not token:
            return found


def check(port, registrars):
    found = registered(port)
    assert [version for version, _ in found] == list(range(1, len(found) + 1))
    requests = [request for _, request in found]
    assert len(set(requests)) == len(requests)
    numbers = dict((request, version) for version, request in found)
    for registrar in registrars:
        for request, version in registrar.given.items():
            assert numbers[request] == version
    sent = set().union(*(registrar.sent for registrar in registrars))
    assert set(requests) <= sent
    return found


def test_all_at_once(serve, store):
    served = serve(store=store)
    call(served.port, "POST", "/registered-models/create", {"name": "net"})
    registrars = [Registrar(served.port, i) for i in range(CLIENTS)]
    for registrar in registrars:
        registrar.join(1500)
    assert len(check(served.port, registrars)) == VERSIONS // CLIENTS * CLIENTS


def test_killed_meanwhile(serve, store):
    served = serve(store=store)
    port = served.port
    call(port, "POST", "/registered-models/create", {"name": "net"})
    registrars = [Registrar(port, i) for i in range(CLIENTS)]
    everything = VERSIONS // CLIENTS * CLIENTS
    for part in range(1, 4):
        wait_for(lambda: sum(len(r.given) for r in registrars) >= everything * part // 5)
        served.stop(signal.SIGKILL)
        served = serve(store=store, port=port)
    for registrar in registrars:
        registrar.join(1500)
    found = check(port, registrars)
    assert sum(len(r.given) for r in registrars) == everything <= len(found)
