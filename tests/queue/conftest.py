"""A queue of its own for each test: its daemon, GPUs that are made up, and what is asked of it."""
import json
import os
import pathlib
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile

import pytest

FIXTURES = pathlib.Path(__file__).resolve().parent.parent / "fixtures"
sys.path.insert(0, str(FIXTURES))
from fake_gpus import describe, give_gpus  # noqa: E402
from machine import BINARY, Machine, is_alive, wait_for  # noqa: E402

GIB = 1 << 30
H200 = 150754820096  # bytes


class Gpus:
    """What the fake NVML tells; each call changes it at once."""

    def __init__(self, machine, count):
        self.machine = machine
        self.gpus = [{"activity": "0 0 0 0", "processes": {}} for _ in range(count)]
        give_gpus(machine, self.text())

    def text(self):
        out = ""
        for gpu in self.gpus:
            used = (1 << 20) + sum(gpu["processes"].values())
            out += (f"gpu NVIDIA H200\nmemory {used} {H200}\npower 100\nactivity {gpu['activity']}\nutilization 0 0\n"
                    f"clocks 1980 3201\ntemperature 40\nthrottle 0\nmode {gpu.get('mode', 0)}\n")
            for pid, size in gpu["processes"].items():
                out += f"process {pid} {size} {1 / len(gpu['processes'])}\n"
        return out

    def hold(self, gpu, pid, size):
        """The process takes so many bytes of it."""
        self.gpus[gpu]["processes"][pid] = size
        describe(self.machine, self.text())

    def leave(self, gpu, pid):
        self.gpus[gpu]["processes"].pop(pid, None)
        describe(self.machine, self.text())

    def for_one_process(self, gpu):
        """Its compute mode lets nobody else compute on it: exclusive-process."""
        self.gpus[gpu]["mode"] = 3
        describe(self.machine, self.text())

    def work(self, gpu, sms, dram=0.0):
        """What its SMs and its memory do, as shares."""
        self.gpus[gpu]["activity"] = f"{sms} {sms} 0 {dram}"
        describe(self.machine, self.text())


class Queue(Machine):
    def __init__(self, folder, gpus=1, home=None, store=None, binary=BINARY):
        super().__init__(folder, binary)
        # Its socket stands there: short.
        self.home = pathlib.Path(home or tempfile.mkdtemp(prefix="plq"))
        self.environment["PLIMSOLL_QUEUE"] = str(self.home)
        if store:
            self.environment["PLIMSOLL_STORE"] = store
        self.gpus = Gpus(self, gpus)
        self.daemons = []

    # The daemon

    def start_daemon(self, *options, wait=True, **popen):
        """In the foreground, as a child of the test; what it says goes to daemon.log."""
        with open(self.folder / "daemon.log", "a") as log:
            daemon = self.start("queue", "start", "--foreground", "--host", "here", *options, stdout=log, stderr=log, **popen)
        self.daemons.append(daemon)
        if wait:
            self.wait_until_open()
        return daemon

    @property
    def daemon(self):
        return self.daemons[-1]

    def wait_until_open(self):
        def answers():
            assert self.daemon.poll() is None, self.said()
            try:
                return self.ask({"type": "list", "quick": True})["type"] == "jobs"
            except OSError:
                return False
        wait_for(answers)

    def kill_daemon(self, number=signal.SIGKILL):
        self.daemon.send_signal(number)
        return self.daemon.wait(timeout=300)

    def said(self):
        return (self.folder / "daemon.log").read_text(errors="replace")

    def ask(self, message):
        """One message on its socket; its answer."""
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(300)
            client.connect(str(self.home / "queue.sock"))
            client.sendall(json.dumps(message).encode() + b"\n")
            with client.makefile("rb") as lines:
                answer = lines.readline()
        if not answer:
            raise ConnectionResetError("the daemon has left without an answer")
        return json.loads(answer)

    # What is asked of it

    def submit(self, *words):
        """The numbers of the jobs, through the command line."""
        done = self.plimsoll("submit", "--json", *words)
        assert done.code == 0, done.err + self.said()
        return json.loads(done.out)["numbers"]

    def submit_one(self, *words):
        number, = self.submit(*words)
        return number

    def training(self, name, *arguments):
        """The words of a stand-in (tests/fixtures/training.py) that notes in NAME.log when it begins and ends."""
        return [sys.executable, str(FIXTURES / "training.py"), name, *map(str, arguments)]

    def let_go(self, *names):
        for name in names:
            (self.folder / f"{name}.go").touch()

    def log(self, name):
        """What a stand-in noted: ("begin", pid, step)…"""
        path = self.folder / f"{name}.log"
        lines = path.read_text().splitlines() if path.exists() else []
        return [(line.split()[0], int(line.split()[1]), int(line.split()[2]) if line.split()[2:] else None) for line in lines]

    def begun(self, name, times=1):
        """Its process, once it has begun for that time."""
        def pid():
            begins = [entry for entry in self.log(name) if entry[0] == "begin"]
            return len(begins) >= times and begins[times - 1][1]
        return wait_for(pid)

    def jobs(self, *numbers, all=True):
        answer = self.ask({"type": "list", "all": all, "numbers": list(numbers), "quick": True})
        assert answer["type"] == "jobs", answer
        return {job["number"]: job for job in answer["jobs"]}

    def job(self, number):
        return self.jobs(number)[number]

    def decisions(self, number):
        return self.ask({"type": "decisions", "numbers": [number]})["decisions"]

    def profiles(self):
        """What it has learned, of every command."""
        with sqlite3.connect(f"file:{self.environment['PLIMSOLL_STORE']}?mode=ro", uri=True) as store:
            return [json.loads(text) for text, in store.execute("SELECT profile FROM queue_profile")]

    def wait_job(self, number, condition):
        """The job as the queue tells it, once that holds."""
        def holds():
            job = self.job(number)
            return condition(job) and job
        try:
            return wait_for(holds)
        except AssertionError:
            raise AssertionError(f"{self.job(number)}\n{self.decisions(number)}\n{self.said()}") from None

    def wait_state(self, number, *states):
        return self.wait_job(number, lambda job: job["state"] in states)

    def wait_ended(self, number, outcome="finished"):
        job = self.wait_state(number, "ended")
        assert job["outcome"] == outcome, (job, self.decisions(number), self.said())
        return job

    def stop_jobs(self):
        """Those of other users, too, whose supervisors are not in this one's runtime directory."""
        if self.daemons and self.daemon.poll() is None:
            going_on = [number for number, job in self.jobs().items() if job["state"] != "ended"]
            self.ask({"type": "cancel", "numbers": going_on})
            for number in going_on:
                self.wait_state(number, "ended")

    def remove(self):
        """All that it started is ended."""
        for daemon in self.daemons:
            if daemon.poll() is None:
                daemon.kill()
                daemon.wait()
        for supervisor in self.supervisors():
            if is_alive(supervisor):
                os.kill(supervisor, signal.SIGTERM)
        for supervisor in self.supervisors():
            wait_for(lambda: not is_alive(supervisor))
        mps = self.folder / "mps_pids"
        for word in mps.read_text().split() if mps.exists() else []:
            if is_alive(int(word)):
                os.kill(int(word), signal.SIGKILL)
        shutil.rmtree(self.runtime, ignore_errors=True)
        shutil.rmtree(self.home, ignore_errors=True)


@pytest.fixture
def make_queue(tmp_path):
    """Queues, each a machine of its own: make_queue(gpus=2)."""
    made = []

    def make(gpus=1, **options):
        folder = tmp_path / f"machine{len(made)}"
        folder.mkdir()
        made.append(Queue(folder, gpus, **options))
        return made[-1]
    yield make
    for queue in made:
        queue.remove()


@pytest.fixture
def queue(make_queue):
    """A daemon that shares two GPUs by MPS."""
    out = make_queue(gpus=2)
    out.start_daemon()
    return out
