"""A server on loopback without a token, and another user of the machine, who can reach 127.0.0.1 as well."""
import http.client
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys

import pytest
from conftest import BINARY, Served, wait_for

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "fixtures"))
import conftest  # noqa: E402
from other_user import OWNER, STRANGER, OpenPlace, as_user, assert_shut, become, below, needs_two_users  # noqa: E402

pytestmark = needs_two_users

API = "/api/2.0/mlflow"
TOKEN = "a-token-of-more-than-16-characters"
CALLS = [("GET", "/health", None), ("GET", "/version", None), ("GET", "/metrics", None), ("GET", "/nowhere", None),
         ("GET", "/api/plimsoll/events", None), ("GET", API + "/experiments/search?max_results=1", None),
         ("POST", API + "/experiments/create", '{"name": "intruder"}'), ("POST", API + "/runs/create", "{}"),
         ("POST", API + "/runs/log-batch", "{}"), ("HEAD", "/version", None), ("OPTIONS", "/version", None),
         ("PUT", "/api/2.0/mlflow-artifacts/artifacts/0/x/artifacts/f", "x" * 3_000_000),
         ("DELETE", "/api/2.0/mlflow-artifacts/artifacts/0/x/artifacts/f", None)]


def ask(port, method="GET", path="/version", body=None, headers=None, host="127.0.0.1"):
    connection = http.client.HTTPConnection(host, port, timeout=300)
    try:
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


@pytest.fixture
def place():
    made = OpenPlace()
    yield made
    made.remove()


@pytest.fixture
def owners(place, monkeypatch):
    """Starts servers as OWNER; all are stopped at the end."""
    monkeypatch.setattr(conftest, "BINARY", place.binary)
    started = []

    def start(*words, **options):
        options.setdefault("environment", {})["HOME"] = str(place.home)
        started.append(Served(place.home, *words, **{**become(OWNER), **options}))
        return started[-1]

    yield start
    for served in started:
        served.stop(signal.SIGKILL)


def experiments(port):
    status, text = as_user(OWNER, ask, port, "GET", API + "/experiments/search?max_results=1000")
    assert status == 200, text
    return [e["name"] for e in json.loads(text)["experiments"]]


def figure(port, name):
    status, text = as_user(OWNER, ask, port, "GET", "/metrics")
    assert status == 200, text
    return next(int(line.split()[1]) for line in text.decode().splitlines() if line.startswith(name + " "))


def test_others_are_answered_403_whatever_they_ask(owners):
    port = owners().port
    for method, path, body in CALLS:
        status, text = as_user(STRANGER, ask, port, method, path, body)
        assert status == 403, path
        if method != "HEAD":
            error = json.loads(text)
            assert error["error_code"] == "PERMISSION_DENIED"
            assert f"user {STRANGER}" in error["message"] and f"user {OWNER}" in error["message"]
            assert "--any-user" in error["message"] and "--token-file" in error["message"]
    assert experiments(port) == ["Default"]
    assert figure(port, "plimsoll_http_strangers_refused_total") == len(CALLS)


def test_the_user_and_root_are_answered(owners):
    port = owners().port
    for user in (OWNER, 0):
        assert as_user(user, ask, port)[0] == 200


def test_a_server_of_root_is_roots_alone(serve):
    port = serve().port
    assert ask(port)[0] == 200
    assert as_user(OWNER, ask, port)[0] == 403


def test_with_any_user_all_are_answered(owners):
    port = owners("--any-user").port
    for user in (OWNER, STRANGER, 0):
        assert as_user(user, ask, port)[0] == 200
    # What keeps pages of other sites out is as it was.
    assert as_user(STRANGER, ask, port, "GET", "/version", None, {"Host": "evil.example"})[0] == 403


def test_with_a_token_it_counts_alone(owners):
    port = owners(environment={"PLIMSOLL_TOKEN": TOKEN}).port
    for user in (OWNER, STRANGER):
        assert as_user(user, ask, port)[0] == 401
        assert as_user(user, ask, port, "GET", "/version", None, {"Authorization": f"Bearer {TOKEN}"})[0] == 200
        assert as_user(user, ask, port, "GET", "/health")[0] == 200


def has_ip6():
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
        return True
    except OSError:
        return False


@pytest.mark.skipif(not has_ip6(), reason="no IPv6 here")
def test_over_ipv6_and_by_its_sockets_to_ipv4(owners):
    port = owners("--host", "::1").port
    assert as_user(OWNER, ask, port, "GET", "/version", None, None, "::1")[0] == 200
    assert as_user(STRANGER, ask, port, "GET", "/version", None, None, "::1")[0] == 403
    port = owners().port

    def by_mapped():
        with socket.socket(socket.AF_INET6) as client:
            client.connect(("::ffff:127.0.0.1", port))
            client.sendall(b"GET /version HTTP/1.1\r\nHost: localhost\r\n\r\n")
            return client.recv(100)[:12]

    assert as_user(OWNER, by_mapped) == b"HTTP/1.1 200"
    assert as_user(STRANGER, by_mapped) == b"HTTP/1.1 403"


def test_who_hangs_up_before_it_is_looked_at_gets_nothing_done(owners):
    """Of a socket that its process has closed, the kernel of many a version shows root as the owner."""
    port = owners().port
    attempts = 300

    def shout_and_go():
        body = b'{"name": "intruder"}'
        request = (b"POST " + API.encode() + b"/experiments/create HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n"
                   % len(body)) + body
        for number in range(attempts):
            with socket.create_connection(("127.0.0.1", port), timeout=300) as client:
                if number % 3 == 1:  # half closed: still looked at while it is there
                    client.sendall(request)
                    client.shutdown(socket.SHUT_WR)
                elif number % 3 == 2:  # gone without a word of goodbye
                    client.sendall(request)
                    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                else:
                    client.sendall(request)

    as_user(STRANGER, shout_and_go)
    # The server has looked at all of them that still were there; a reset one may be gone before.
    wait_for(lambda: figure(port, "plimsoll_http_connections") == 1)
    assert figure(port, "plimsoll_http_strangers_refused_total") >= attempts * 2 // 3
    assert experiments(port) == ["Default"]


CROWD = """
import socket, sys
clients = [socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=300) for _ in range(600)]
print("here", flush=True)
sys.stdin.read()
"""


def test_a_crowd_of_others_keeps_nobody_out(owners, place):
    port = owners().port
    crowd = subprocess.Popen([place.python, "-c", CROWD, str(port)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd="/",
                             **become(STRANGER))
    try:
        assert crowd.stdout.readline() == b"here\n"
        assert as_user(OWNER, ask, port)[0] == 200
        assert figure(port, "plimsoll_http_connections_spared_total") == 0
        assert figure(port, "plimsoll_http_connections_refused_total") == 0
    finally:
        crowd.kill()
        crowd.communicate()


def test_a_unix_socket_is_its_users_alone(owners, place):
    """Through the folder, too, which everybody may enter."""
    path = place.home / "s"
    with open(place.root / "messages", "wb") as messages:
        process = subprocess.Popen([place.binary, "serve", "--unix", str(path), "--store", str(place.home / "unix.db"), "--json"],
                                   cwd=place.home, env={**os.environ, "HOME": str(place.home)}, stdout=messages, stderr=messages,
                                   **become(OWNER))
    try:
        wait_for(lambda: path.exists() and (place.root / "messages").read_text())
        assert_shut([path])
    finally:
        process.kill()
        process.wait()
    done = subprocess.run([BINARY, "serve", "--unix", str(path), "--any-user"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 2 and "--any-user" in done.stderr, done


def test_files_that_the_server_keeps_are_the_users_alone(owners, place):
    served = owners(store=str(place.home / "data" / "store.db"))

    def fill():
        message = json.dumps({"experiment_id": "0", "start_time": 1})
        made = json.loads(ask(served.port, "POST", API + "/runs/create", message, {"Content-Type": "application/json"})[1])
        run = made["run"]["info"]["run_id"]
        path = f"/api/2.0/mlflow-artifacts/artifacts/0/{run}/artifacts/folder/file"
        return ask(served.port, "PUT", path, "private")[0]

    assert as_user(OWNER, fill) == 200
    places = below(place.home / "data")
    assert any(path.endswith("folder/file") for path in places) and any(path.endswith("store.db") for path in places)
    assert_shut(places)
