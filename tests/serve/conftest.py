"""A server of its own for each test, on a free port, with a store of its own."""
import json
import os
import pathlib
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.parse

import pytest

BINARY = os.environ["PLIMSOLL_BINARY"]
# How many acknowledged metrics are a million; scripts/sanitized_tests asks for fewer, since all is slower there.
MILLION = int(os.environ.get("PLIMSOLL_TEST_MILLION", 1_000_000))
UNPACKED = pathlib.Path(__file__).resolve().parents[2] / "build" / "unpacked"


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


class Postgres:
    """A PostgreSQL of this test's own, reached over a Unix socket."""

    def __init__(self, folder):
        self.data = folder / "pg"
        self.socket = folder
        self.user = {}
        if os.geteuid() == 0:  # the server refuses to be root's; one that is only unpacked has no user of its own
            user = next(u for name in ("postgres", "nobody") for u in pwd.getpwall() if u.pw_name == name)
            os.chown(folder, user.pw_uid, user.pw_gid)
            self.user = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
        programs = pg_programs()
        libraries = [str(p) for place in ("usr/lib", "lib") for p in (UNPACKED / place).glob("*-linux-gnu")]
        self.environment = {**os.environ, **({"LD_LIBRARY_PATH": ":".join(libraries)} if programs.startswith(str(UNPACKED)) else {})}
        self.control = os.path.join(programs, "pg_ctl")
        self.call(os.path.join(programs, "initdb"), "-D", self.data, "-A", "trust", "-U", "plimsoll", "-N", "-E", "UTF8",
                  "--locale=C")
        self.start()
        self.url = f"postgresql:///postgres?host={self.socket}&user=plimsoll"

    def call(self, *words):
        subprocess.run([*map(str, words)], check=True, stdout=subprocess.DEVNULL, cwd="/", env=self.environment, **self.user)

    def start(self):
        self.call(self.control, "-D", self.data, "-w", "-s", "-l", self.socket / "pg.log",
                  "-o", f"-k {self.socket} -c listen_addresses='' -c fsync=off", "start")

    def stop(self):
        """At once, as in a crash; what was committed is recovered when it starts again."""
        self.call(self.control, "-D", self.data, "-m", "immediate", "-s", "stop")


def pg_programs():
    """The folder with initdb and pg_ctl; None where there is none."""
    found = shutil.which("initdb")
    folders = [os.path.dirname(found)] if found else []
    for root in (pathlib.Path("/"), UNPACKED):  # installed, or unpacked by scripts/bootstrap
        folders += sorted((str(p) for p in root.glob("usr/lib/postgresql/*/bin")), reverse=True)
    return next((f for f in folders if os.path.exists(os.path.join(f, "pg_ctl"))), None)


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
