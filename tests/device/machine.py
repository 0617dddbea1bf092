"""What the checks share: plimsoll with a store and a runtime directory of its own, and a look at the processes there are."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
TRAINING = REPOSITORY / "bench/device/collocated_training.py"


class Failed(Exception):
    """What must hold does not."""


class Machine:
    def __init__(self, plimsoll, engine, cuda, folder):
        self.program, self.engine, self.cuda, self.folder = os.path.abspath(plimsoll), engine, cuda, folder
        self.started = []
        self.runtime = tempfile.mkdtemp(prefix="pl")  # sockets stand there, whose paths must be short
        self.environment = {**os.environ, "PLIMSOLL_STORE": str(folder / "store.db"), "XDG_RUNTIME_DIR": self.runtime,
                            "COLUMNS": "200", "PYTHONUNBUFFERED": "1"}
        if engine:
            self.environment["PLIMSOLL_ENGINE"] = os.path.abspath(engine)
        if cuda:
            self.environment["PLIMSOLL_CUDA"] = os.path.abspath(cuda)

    def holds(self, truth, why):
        if not truth:
            raise Failed(why)

    def start(self, *words, **options):
        log = open(self.folder / "output.txt", "a", encoding="utf-8")
        self.started.append(subprocess.Popen([self.program, *map(str, words)], env=self.environment, cwd=self.folder,
                                             stdin=subprocess.DEVNULL, stdout=log, stderr=log, **options))
        return self.started[-1]

    def close(self):
        """Ends what a check that failed has left, so that the next begins with nothing."""
        for process in self.started:
            if process.poll() is None:
                process.terminate()
        own = self.own()
        for how, seconds in ((signal.SIGTERM, 20), (signal.SIGKILL, 20)):
            for pid in own:
                try:
                    os.kill(pid, how)
                except ProcessLookupError:
                    pass
            end = time.monotonic() + seconds
            while (own := self.own()) and time.monotonic() < end:
                for process in self.started:
                    process.poll()
                time.sleep(0.1)
        shutil.rmtree(self.runtime, ignore_errors=True)

    def own(self, program=""):
        """Processes with this check's runtime directory in their environment: plimsoll's, the jobs', MPS's; or those of one program."""
        mark, found = f"XDG_RUNTIME_DIR={self.runtime}".encode(), []
        for path in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if mark in (path / "environ").read_bytes().split(b"\0"):
                    name = os.path.basename((path / "cmdline").read_bytes().split(b"\0")[0].decode(errors="replace"))
                    if name.startswith(program):
                        found.append(int(path.name))
            except OSError:
                continue
        return found

    def plimsoll(self, *words, timeout=240):
        return subprocess.run([self.program, *map(str, words)], env=self.environment, cwd=self.folder, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=timeout)

    def answer(self, *words, codes=(0,), timeout=240):
        done = self.plimsoll(*words, "--json", timeout=timeout)
        self.holds(done.returncode in codes, f"plimsoll {words[0]} ended with {done.returncode}: {done.stderr.strip()[-400:]}")
        return json.loads(done.stdout)

    def runs(self):
        """All runs, the oldest first."""
        return sorted(self.answer("runs", "--limit", 1000)["runs"], key=lambda run: run["start"])

    def script(self, name, text):
        """A Python program as a command of a jobs file."""
        path = self.folder / name
        path.write_text(text)
        return f"{sys.executable} {path}"

    def jobs(self, text):
        path = self.folder / f"jobs{len(list(self.folder.glob('jobs*.toml')))}.toml"
        path.write_text(text)
        return path

    def points(self, run, metric):
        """(seconds since the run's start, value)."""
        exported = self.answer("runs", "export", run["id"], "--format", "json", "--metric", metric)
        return [(point["seconds"], float(point["value"])) for point in exported["points"]]

    def wait_for(self, condition, what, seconds=120):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if value := condition():
                return value
            time.sleep(0.05)
        raise Failed(f"waited in vain for {what}")

    @staticmethod
    def processes():
        """(pid, name, state, parent) of all."""
        for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
            try:
                text = path.read_text()
            except OSError:
                continue
            name, rest = text[text.index("(") + 1:text.rindex(")")], text[text.rindex(")") + 2:].split()
            yield int(path.parent.name), name, rest[0], int(rest[1])

    def daemons(self):
        """Processes of MPS. The kernel keeps 15 characters of a name: nvidia-cuda-mps-control, -server."""
        return [pid for pid, name, state, _ in self.processes() if name.startswith("nvidia-cuda-mps") and state != "Z"]

    def zombies(self):
        """Processes that ended and that nobody waited for: the program's, its supervisors' ("exe"), MPS's; not those that the
        machine's first process has, which is not ours."""
        return [pid for pid, name, state, parent in self.processes() if state == "Z" and parent != 1 and name.startswith(("plimsoll", "exe", "nvidia-cuda-mps"))]
