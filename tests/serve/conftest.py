"""A server of its own for each test, on a free port, with a store of its own."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import urllib.parse

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "fixtures"))
from postgres_server import Postgres, pg_programs  # noqa: E402

BINARY = os.environ["PLIMSOLL_BINARY"]
# How many acknowledged metrics are a million; scripts/sanitized_tests asks for fewer, since all is slower there.
MILLION = int(os.environ.get("PLIMSOLL_TEST_MILLION", 1_000_000))


class Served:
    """`plimsoll serve`, and where it serves."""

    def __init__(self, folder, *words, store=None, environment=None, port=0, **options):
        self.folder = folder
        self.store = store or str(folder / "store.db")
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("PLIMSOLL_TOKEN", "MLFLOW_"))}
        # An address of a database is long and secret; the environment keeps it off the list of processes.
        clean["PLIMSOLL_STORE"] = self.store
        clean["PLIMSOLL_ARTIFACTS"] = str(folder / "artifacts")
        self.process = subprocess.Popen([BINARY, "serve", "--port", str(port), "--json", *map(str, words)],
                                        env={**clean, **(environment or {})}, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True, **{"cwd": folder, **options})
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"it does not serve: {self.process.communicate()[1]}")
        self.url = json.loads(line)["url"]
        parts = urllib.parse.urlsplit(self.url)
        self.host, self.port = parts.hostname, parts.port

    def stop(self, how=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(how)
            self.process.wait(300)
        self.process.stdout.close()
        self.process.stderr.close()
        return self.process.returncode


@pytest.fixture
def serve(tmp_path):
    """Starts servers; all are stopped at the end."""
    started = []

    def start(*words, **options):
        started.append(Served(tmp_path, *words, **options))
        return started[-1]

    yield start
    for served in started:
        served.stop(signal.SIGKILL)


@pytest.fixture
def postgres():
    if pg_programs() is None:
        pytest.skip("no PostgreSQL here")
    with tempfile.TemporaryDirectory(prefix="pl") as folder:  # a socket's path is short
        server = Postgres(pathlib.Path(folder))
        try:
            yield server
        finally:
            server.stop()


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request, tmp_path):
    """Where a store is to be, in a file and on a server."""
    return str(tmp_path / "store.db") if request.param == "sqlite" else request.getfixturevalue("postgres").url


def wait_for(condition, seconds=300):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if value := condition():
            return value
        time.sleep(0.02)
    raise AssertionError("waited in vain")
