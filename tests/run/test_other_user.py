"""What another user of the machine can do to a run: nothing. Its owner is careless (mask 0, folders that everybody may
enter), and the stranger tries all that lies in the runtime directory and the store, whatever is there."""
import http.client
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import urllib.parse

import pytest
from conftest import wait_for

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "fixtures"))
from other_user import (OWNER, STRANGER, OpenPlace, as_user, assert_shut, become, below, kinds,  # noqa: E402
                        needs_two_users, ways_in)
from test_devices import CONTROL, FIXTURES  # noqa: E402

pytestmark = needs_two_users

# Says what it was given, and waits until it is let go.
COMMAND = """
import os, time
print("private output")
with open("given.new", "w") as out:
    out.write("\\n".join(f"{name}={value}" for name, value in os.environ.items()))
os.rename("given.new", "given")
while not os.path.exists("go"): time.sleep(0.02)
"""


class OwnersMachine(OpenPlace):
    """As the machine of the other tests, but its user is OWNER, and all of it lies where STRANGER may go."""

    def __init__(self):
        super().__init__()
        self.runtime = self.home / "runtime"
        self.data = self.home / "data"
        for folder in (self.runtime, self.data):
            folder.mkdir(mode=0o755)
            os.chown(folder, OWNER, OWNER)
        self.started = []
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(self.home), "XDG_RUNTIME_DIR": str(self.runtime),
                            "XDG_DATA_HOME": str(self.data), "COLUMNS": "200", "PLIMSOLL_NVML_LIBRARY": "/nonexistent"}

    def start(self, *words):
        # Its messages go to the folder, so that nothing waits for who reads them.
        with open(self.root / "messages", "ab") as messages:
            process = subprocess.Popen([self.binary, *map(str, words)], env=self.environment, cwd=self.home,
                                       stdin=subprocess.DEVNULL, stdout=messages, stderr=messages, **become(OWNER))
        self.started.append(process)
        return process

    def call(self, *words):
        return subprocess.run([self.binary, *map(str, words)], env=self.environment, cwd=self.home, text=True, timeout=300,
                              stdin=subprocess.DEVNULL, capture_output=True, **become(OWNER))

    def messages(self):
        return (self.root / "messages").read_text(errors="replace")

    def start_run(self, *words):
        """A run that has begun and waits; what its command was given."""
        process = self.start("run", *words, "--", self.python, "-c", COMMAND)
        wait_for(lambda: (self.home / "given").exists() or process.poll() is not None)
        assert process.poll() is None, self.messages()
        lines = (self.home / "given").read_text().splitlines()
        return process, dict(line.split("=", 1) for line in lines if "=" in line)

    def end_run(self, process):
        (self.home / "go").touch()
        assert process.wait(timeout=300) == 0, self.messages()

    def remove(self):
        for process in self.started:
            if process.poll() is None:
                process.kill()
                process.wait()
        super().remove()


@pytest.fixture
def owner():
    made = OwnersMachine()
    yield made
    made.remove()


def test_the_stranger_of_these_tests_would_get_in_where_nothing_keeps_it_out(owner):
    """Else all that follows would hold of anything."""
    for name, mode in (("folder", 0o777), ("file", 0o666), ("socket", 0o777), ("pipe", 0o666)):
        path = owner.root / name
        if name == "folder":
            path.mkdir()
        elif name == "file":
            path.touch()
        elif name == "pipe":
            os.mkfifo(path)
        else:
            listener = socket.socket(socket.AF_UNIX)
            listener.bind(str(path))
            listener.listen()
        path.chmod(mode)
        assert as_user(STRANGER, ways_in, str(path)), name
    assert kinds(owner.root / name for name in ("folder", "file", "socket", "pipe")) == {"folder", "file", "socket", "pipe"}


def test_nothing_of_a_live_run_is_open_to_others(owner):
    process, given = owner.start_run()
    places = below(owner.runtime / "plimsoll")
    assert given["PLIMSOLL_SOCKET"] in places
    assert {"folder", "file", "socket"} <= kinds(places)
    assert_shut(places)
    kept = below(owner.data / "plimsoll")
    assert any(name.endswith("plimsoll.db") for name in kept)
    assert any("private output" in pathlib.Path(name).read_text(errors="replace") for name in kept
               if kinds([name]) == {"file"}), "its output is among them"
    assert_shut(kept)
    owner.end_run(process)
    assert_shut(below(owner.data / "plimsoll"))
    wait_for(lambda: not [p for p in (owner.runtime / "plimsoll").iterdir() if p.is_dir()])  # nothing is left of it


def test_sockets_are_their_owners_even_in_a_folder_that_is_not(owner):
    """The folder keeps others out; were it opened by a careless chmod, the sockets themselves would."""
    process, _ = owner.start_run()
    places = below(owner.runtime / "plimsoll")
    for place in places:
        if kinds([place]) == {"folder"}:
            os.chmod(place, 0o755)
    sockets = [place for place in places if kinds([place]) == {"socket"}]
    assert sockets
    assert_shut(sockets)
    owner.end_run(process)


def test_the_runs_own_server_asks_others_for_its_token(owner):
    process, given = owner.start_run()
    address = urllib.parse.urlsplit(given["MLFLOW_TRACKING_URI"])

    def ask(method, path):
        connection = http.client.HTTPConnection(address.hostname, address.port, timeout=300)
        connection.request(method, path, "{}" if method == "POST" else None)
        return connection.getresponse().status

    for method, path in (("GET", "/api/2.0/mlflow/experiments/search?max_results=1"), ("GET", "/version"), ("GET", "/metrics"),
                         ("GET", "/api/plimsoll/events"), ("POST", "/api/2.0/mlflow/runs/create"),
                         ("PUT", "/api/2.0/mlflow-artifacts/artifacts/0/x/artifacts/f"),
                         ("POST", "/api/2.0/mlflow/runs/log-batch")):
        assert as_user(STRANGER, ask, method, path) == 401, path
    owner.end_run(process)


def test_its_secrets_are_not_among_what_others_see_of_processes(owner):
    process, given = owner.start_run()
    token = given["MLFLOW_TRACKING_TOKEN"]

    def look():
        seen = {}
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                if os.stat(f"/proc/{pid}").st_uid != OWNER:
                    continue
                for what in ("cmdline", "comm", "stat", "environ"):
                    try:
                        with open(f"/proc/{pid}/{what}", "rb") as file:
                            seen.setdefault(what, []).append(file.read())
                    except PermissionError:
                        pass
            except (FileNotFoundError, ProcessLookupError):
                pass
        return seen

    seen = as_user(STRANGER, look)
    assert "cmdline" in seen, "it did look"
    assert not [text for texts in seen.values() for text in texts if token.encode() in text]
    owner.end_run(process)


def test_others_cannot_open_the_store(owner):
    process, _ = owner.start_run()
    owner.end_run(process)
    store = next((owner.data / "plimsoll").glob("*.db"))
    for words in (["runs"], ["run", "--", "true"], ["serve", "--port", "0"], ["store", "check"]):
        environment = {**owner.environment, "PLIMSOLL_STORE": str(store)}
        del environment["XDG_RUNTIME_DIR"]
        done = subprocess.run([owner.binary, *words], env=environment, cwd="/", capture_output=True, text=True, timeout=300,
                              stdin=subprocess.DEVNULL, **become(STRANGER))
        assert done.returncode not in (0, 1), (words, done)
    shutil.rmtree(f"/tmp/plimsoll-{STRANGER}", ignore_errors=True)


def test_the_pipes_of_mps_are_the_owners(owner):
    programs = owner.root / "bin"
    programs.mkdir(mode=0o755)
    control = programs / "nvidia-cuda-mps-control"
    control.write_text(CONTROL)
    control.chmod(0o755)
    description = owner.root / "gpus.txt"
    description.write_text((FIXTURES / "two_gpus.txt").read_text())
    library = shutil.copy(os.environ["PLIMSOLL_FAKE_NVML_LIBRARY"], owner.root / "fake_nvml.so")
    for path in (description, library):
        os.chmod(path, 0o755)
    owner.environment.update(PLIMSOLL_NVML_LIBRARY=str(library), PLIMSOLL_FAKE_NVML=str(description),
                             MPS_PIDS=str(owner.home / "mps_pids"), PATH=f"{programs}:{os.environ['PATH']}")
    process, given = owner.start_run("--device", 0, "--mode", "mps")
    pipes, places = given["CUDA_MPS_PIPE_DIRECTORY"], below(owner.runtime / "plimsoll")
    assert os.path.join(pipes, "control") in places and given["CUDA_MPS_LOG_DIRECTORY"] in places
    assert_shut(places)
    owner.end_run(process)


@pytest.fixture
def fallback(owner):
    """Where the runtime directory is without XDG_RUNTIME_DIR; a name that everybody can guess, in a place where
    everybody can make it."""
    path = pathlib.Path(f"/tmp/plimsoll-{OWNER}")
    assert not os.path.lexists(path), f"{path} is left from something else; remove it"
    del owner.environment["XDG_RUNTIME_DIR"]
    yield path
    if path.is_symlink() or path.is_file():
        path.unlink()
    else:
        shutil.rmtree(path, ignore_errors=True)


def test_without_a_runtime_directory_of_the_users_one_is_made_for_the_user_alone(owner, fallback):
    process, _ = owner.start_run()
    assert_shut(below(fallback))
    owner.end_run(process)


def strangers_folder(path, home):
    as_user(STRANGER, os.mkdir, str(path), 0o777)


def strangers_private_folder(path, home):
    as_user(STRANGER, os.mkdir, str(path), 0o700)


def link_to_the_owners_folder(path, home):
    (home / "elsewhere").mkdir(mode=0o700)
    os.chown(home / "elsewhere", OWNER, OWNER)
    as_user(STRANGER, os.symlink, str(home / "elsewhere"), str(path))


def link_to_nothing(path, home):
    as_user(STRANGER, os.symlink, str(home / "data" / "made"), str(path))


def owners_folder_that_others_may_enter(path, home):
    as_user(OWNER, os.mkdir, str(path), 0o755)


def owners_folder_that_others_may_write_in(path, home):
    as_user(OWNER, os.mkdir, str(path), 0o733)


def strangers_file(path, home):
    as_user(STRANGER, path.touch)


@pytest.mark.parametrize("trap", [strangers_folder, strangers_private_folder, link_to_the_owners_folder, link_to_nothing,
                                  owners_folder_that_others_may_enter, owners_folder_that_others_may_write_in, strangers_file])
def test_a_runtime_directory_that_is_not_the_users_alone_is_refused(owner, fallback, trap):
    trap(fallback, owner.home)
    done = owner.call("run", "--", "touch", "ran")
    assert done.returncode == 3, done
    assert str(fallback) in done.stderr and "XDG_RUNTIME_DIR" in done.stderr, "it says what to do"
    assert not (owner.home / "ran").exists()
    assert not (owner.home / "data" / "made").exists()
    if fallback.is_dir():
        assert not list(fallback.iterdir())


@pytest.mark.parametrize("maker, mode", [(STRANGER, 0o777), (STRANGER, 0o711), (OWNER, 0o777), (OWNER, 0o775), (0, 0o777)])
def test_nor_is_one_made_within_what_others_may_change(owner, fallback, maker, mode):
    """They could put a directory of theirs in its place, be it only later; that one is for sudo, which leaves the
    variable as it was."""
    unsafe = owner.root / "unsafe"
    unsafe.mkdir()
    os.chown(unsafe, maker, maker)
    unsafe.chmod(mode)
    owner.environment["XDG_RUNTIME_DIR"] = str(unsafe)
    process, given = owner.start_run()
    assert given["PLIMSOLL_SOCKET"].startswith(f"{fallback}/")
    assert not list(unsafe.iterdir())
    assert_shut(below(fallback))
    owner.end_run(process)


def test_a_link_in_the_users_runtime_directory_is_refused(owner):
    (owner.home / "elsewhere").mkdir(mode=0o700)
    os.chown(owner.home / "elsewhere", OWNER, OWNER)
    os.symlink(owner.home / "elsewhere", owner.runtime / "plimsoll")
    done = owner.call("run", "--", "true")
    assert done.returncode == 3 and "not a directory of yours alone" in done.stderr, done


@pytest.mark.parametrize("name, kind", [("store.db", "file"), ("store.db", "link"), ("store-artifacts", "folder"),
                                        ("store-artifacts", "link")])
def test_a_store_that_another_made_first_where_everybody_may_is_refused(owner, name, kind):
    shared = owner.root / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    trap = shared / name

    def lay():
        aim = shared / "aim"
        if kind == "file":
            trap.touch(0o666)
        elif kind == "folder":
            trap.mkdir(0o777)
        else:
            aim.touch(0o666) if name.endswith(".db") else aim.mkdir(0o777)
            os.symlink(aim, trap)

    as_user(STRANGER, lay)
    owner.environment["PLIMSOLL_STORE"] = str(shared / "store.db")
    done = owner.call("run", "--", "echo", "private output")
    assert done.returncode == 2 and "another user made this" in done.stderr, done
    for path in shared.rglob("*"):
        assert path.is_dir() or not path.stat().st_size, path


def test_a_store_of_ones_own_may_lie_there(owner):
    shared = owner.root / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    owner.environment["PLIMSOLL_STORE"] = str(shared / "store.db")
    process, _ = owner.start_run()
    owner.end_run(process)
    assert owner.call("runs").returncode == 0
    assert_shut([path for path in below(shared) if path != str(shared)])
