"""What runs on this machine, as the page shows it: a GPU that is held is freed from there."""
import os
import pathlib
import subprocess
import time

import pytest
from conftest import serving

GIB = 2**30
GPU = """gpu NVIDIA H200
memory {used} 150754820096
power 412.5
activity 0.31 0.98 0.12 0.22
utilization {utilization} 0.34
clocks 1980 3201
temperature 54
"""


class Held:
    """A GPU that is made up, a run that has it, and a server."""

    def __init__(self, folder):
        self.folder = folder
        self.described = folder / "gpus.txt"
        self.describe("")
        runtime = folder / "runtime"
        runtime.mkdir(mode=0o700)
        self.environment = {"PLIMSOLL_NVML_LIBRARY": os.environ["PLIMSOLL_FAKE_NVML_LIBRARY"], "PLIMSOLL_FAKE_NVML": str(self.described), "XDG_RUNTIME_DIR": str(runtime)}
        self.served = serving.Served(folder, environment=self.environment)
        self.url = self.served.url
        command = ["sh", "-c", "trap 'echo saved > saved; exit 0' TERM; echo $$ > pid.new; mv pid.new pid; while :; do sleep 0.2; done"]
        self.run = subprocess.Popen([serving.BINARY, "run", "--name", "holds the GPU", "--", *command], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                    env={**os.environ, **self.environment, "PLIMSOLL_STORE": self.served.store, "PLIMSOLL_ARTIFACTS": str(folder / "artifacts")})
        while not (folder / "pid").exists():
            assert self.run.poll() is None
            time.sleep(0.05)
        self.describe(f"process {(folder / 'pid').read_text().strip()} {20 * GIB} 0.9\n")

    def describe(self, processes):
        new = self.folder / "gpus.new"
        new.write_text(GPU.format(used=21 * GIB if processes else GIB, utilization=1.0 if processes else 0) + processes)
        new.replace(self.described)

    def stop(self):
        if self.run.poll() is None:
            self.run.terminate()
            self.run.wait(120)
        self.served.stop()


@pytest.fixture
def held(tmp_path):
    held = Held(tmp_path)
    yield held
    held.stop()


def test_a_gpu_is_freed(held, page_of):
    page = page_of(held).open("/now", "document.querySelector('.gpu .on li.run')?.textContent.includes('holds the GPU')")
    page.wait("document.querySelector('.gpu')?.textContent.includes('GPU 0 NVIDIA H200')")
    page.picture("free_a_gpu")
    page.press("Free this GPU…")
    page.wait("document.querySelector('dialog[open]')?.textContent.includes('holds the GPU')")
    page.press("Stop them", "dialog")
    held.run.wait(120)
    assert (pathlib.Path(held.folder) / "saved").exists(), "it had the time to save"
    held.describe("")
    page.wait("!document.querySelector('.gpu .on li.run') && document.querySelector('.gpu')")
    assert page.errors() == []


def test_nobody_is_stopped_without_a_question_answered(held, page_of):
    page = page_of(held).open("/now", "document.querySelector('.gpu .on li.run')")
    page.press("Free this GPU…")
    page.wait("document.querySelector('dialog[open]')")
    page.press("Cancel", "dialog")
    page.wait("!document.querySelector('dialog[open]')")
    assert held.run.poll() is None
