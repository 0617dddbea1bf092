"""A machine of its own for each test: store, runtime directory, and no GPU but the one a test makes up."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import types

import pytest

BINARY = os.environ["PLIMSOLL_BINARY"]
# How many acknowledged metrics are a million; scripts/sanitized_tests asks for fewer, since all is slower there.
MILLION = int(os.environ.get("PLIMSOLL_TEST_MILLION", 1_000_000))


def wait_for(condition, seconds=300):
    """What `condition` gives once it is true; a machine may be busy, and what is not
    there after five minutes never comes."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    raise AssertionError("waited in vain")


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


class Machine:
    def __init__(self, folder):
        self.folder = folder
        # Sockets stand there, whose paths must be short; pytest's own folders are not.
        self.runtime = pathlib.Path(tempfile.mkdtemp(prefix="pl"))
        self.environment = {**os.environ,
                            "PLIMSOLL_STORE": str(folder / "store.db"),
                            "XDG_RUNTIME_DIR": str(self.runtime),
                            "COLUMNS": "200",  # sentences are looked for whole
                            "PLIMSOLL_NVML_LIBRARY": "/nonexistent"}
        for name in [n for n in self.environment if n.startswith("CUDA_")]:
            del self.environment[name]

    def start(self, *words, **options):
        options.setdefault("stdout", subprocess.PIPE)
        options.setdefault("stderr", subprocess.PIPE)
        options.setdefault("stdin", subprocess.DEVNULL)
        return subprocess.Popen([BINARY, *map(str, words)], env=self.environment, cwd=self.folder, text=True, **options)

    def plimsoll(self, *words, timeout=300, **options):
        process = self.start(*words, **options)
        out, err = process.communicate(timeout=timeout)
        return types.SimpleNamespace(code=process.returncode, out=out, err=err)

    def run(self, *words, **options):
        return self.plimsoll("run", *words, **options)

    def runs(self):
        listed = self.plimsoll("runs", "--json", "--limit", 1000)
        assert listed.code == 0, listed.err
        return json.loads(listed.out)["runs"]

    def show(self, run):
        shown = self.plimsoll("runs", "show", run, "--json")
        assert shown.code == 0, shown.err
        return json.loads(shown.out)

    def last(self):
        return self.show(self.runs()[0]["id"])

    def script(self, text, name="script.py"):
        path = self.folder / name
        path.write_text(text)
        return [sys.executable, str(path)]

    def supervisors(self):
        """The processes that watch commands, by their directories."""
        return [int((folder / "owner").read_text().split()[0]) for folder in self.leftovers() if (folder / "owner").exists()]

    def supervisor(self):
        """The only one."""
        pid, = wait_for(self.supervisors)
        return pid

    def leftovers(self):
        """Directories of sessions that are still there."""
        base = self.runtime / "plimsoll"
        return [p for p in base.iterdir() if p.is_dir()] if base.exists() else []


@pytest.fixture
def machine(tmp_path):
    made = Machine(tmp_path)
    yield made
    shutil.rmtree(made.runtime, ignore_errors=True)
