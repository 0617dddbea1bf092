#!/usr/bin/env python3
"""How late output, Ctrl-C and a time limit are served while what a supervisor has done beside its loop hangs.

usage: bench/supervision_delays.py [PLIMSOLL]      default: build/release/apps/plimsoll

A command prints the moment (a clock that all processes share) every 20 ms; this program notes when it comes. Then Ctrl-C is
sent, and the command prints when it arrived. In another run a limit of 1 s ends it, and it prints when. Wanted: 100 ms for
output and signals, 1 s for limits, whatever hangs.
"""
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "fixtures"))
from postgres_server import Postgres, pg_programs  # noqa: E402

COMMAND = """
import signal, sys, time
def ended(number, _):
    print("ended", time.monotonic_ns(), flush=True)
    sys.exit(0)
signal.signal(signal.SIGINT, ended); signal.signal(signal.SIGTERM, ended)
print("begun", time.monotonic_ns(), flush=True)
while True:
    print("now", time.monotonic_ns(), flush=True)
    time.sleep(0.02)
"""
LINES = 150


class Case:
    """A machine of its own, on which something hangs."""

    def __init__(self, name, folder, binary):
        self.name, self.folder, self.binary = name, folder, binary
        self.environment = {**os.environ, "PLIMSOLL_STORE": str(folder / "store.db"), "XDG_RUNTIME_DIR": str(folder),
                            "PLIMSOLL_NVML_LIBRARY": "/nonexistent", "PLIMSOLL_ARTIFACTS": str(folder / "artifacts")}
        os.chmod(folder, 0o700)
        self.python = sys.executable
        self.on_begin = lambda: None
        self.on_end = lambda: None

    def stand_in(self, name, condition=""):
        """A program that waits until the case has ended."""
        path = self.folder / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{condition}until [ -e {self.folder}/go ]; do sleep 0.1; done; exit 1\n")
        path.chmod(0o755)
        self.environment["PATH"] = f"{path.parent}:{self.environment['PATH']}"
        return str(path)

    def run(self, *options):
        return subprocess.Popen([self.binary, "run", "-q", "--no-mlflow", *options, "--", self.python, "-c", COMMAND],
                                env=self.environment, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                stdin=subprocess.DEVNULL, text=True)

    @staticmethod
    def next(process, word):
        for line in process.stdout:
            arrived = time.monotonic_ns()
            said = line.split()
            if said and said[0] == word:
                return int(said[1]), arrived
        raise SystemExit(f"{word} never came")

    def measure(self):
        process = self.run()
        self.next(process, "begun")
        self.on_begin()
        delays = []
        for _ in range(LINES):
            said, arrived = self.next(process, "now")
            delays.append((arrived - said) / 1e6)
        sent = time.monotonic_ns()
        process.send_signal(signal.SIGINT)
        interrupted = (self.next(process, "ended")[0] - sent) / 1e6
        self.on_end()
        (self.folder / "go").touch()
        process.wait()
        (self.folder / "go").unlink()
        process = self.run("--time-limit", "1s")
        begun, _ = self.next(process, "begun")
        self.on_begin()
        limit = (self.next(process, "ended")[0] - begun) / 1e6 - 1000
        self.on_end()
        (self.folder / "go").touch()
        process.wait()
        delays.sort()
        return delays[len(delays) // 2], delays[-1], interrupted, max(limit, 0)


def main():
    binary = sys.argv[1] if len(sys.argv) > 1 else str(ROOT / "build/release/apps/plimsoll")
    binary = os.path.abspath(binary)
    rows = []

    def case(name, prepare=lambda case: None):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="pl"))
        made = Case(name, folder, binary)
        prepare(made)
        try:
            rows.append((name, *made.measure()))
        finally:
            made.on_end()
            shutil.rmtree(folder, ignore_errors=True)

    case("nothing")
    case("git", lambda made: made.stand_in("git"))

    def pip(made):
        made.python = made.stand_in("python3", f'case "$*" in *freeze*|*platform*) ;; *) exec {sys.executable} "$@" ;; esac\n')

    case("pip", pip)
    if pg_programs():
        with tempfile.TemporaryDirectory(prefix="pl") as folder:
            server = Postgres(pathlib.Path(folder))

            def store(made):
                made.environment["PLIMSOLL_STORE"] = server.url
                made.on_begin, made.on_end = server.hang, server.go_on

            case("the store (PostgreSQL stopped)", store)
            server.stop()
    else:
        print("no PostgreSQL here: the store's hanging is left out")
    print(f"{'while this hangs':32} {'output, median':>15} {'output, most':>13} {'Ctrl-C':>9} {'limit, late':>12}")
    for name, median, most, interrupted, limit in rows:
        print(f"{name:32} {median:12.2f} ms {most:10.2f} ms {interrupted:6.2f} ms {limit:9.2f} ms")


if __name__ == "__main__":
    main()
