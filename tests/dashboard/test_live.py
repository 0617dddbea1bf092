"""What runs on this machine, as the page shows it: a GPU that is held is freed from there."""
import pathlib
import shutil
import subprocess

import pytest
from conftest import serving
from fake_gpus import describe, give_gpus
from machine import Machine, wait_for

GIB = 2**30
GPU = """gpu NVIDIA H200
memory {used} 150754820096
power 412.5
activity 0.31 0.98 0.12 0.22
utilization {utilization} 0.34
clocks 1980 3201
temperature 54
"""
IDLE = GPU.format(used=GIB, utilization=0)
COMMAND = ["sh", "-c", "trap 'echo saved > saved; exit 0' TERM; echo $$ > pid.new; mv pid.new pid; while :; do sleep 0.2; done"]


class Held(Machine):
    """A GPU that is made up, a run that has it, and a server."""

    def __init__(self, folder):
        super().__init__(folder)
        give_gpus(self, IDLE)
        self.environment["PLIMSOLL_ARTIFACTS"] = str(folder / "artifacts")
        self.served = serving.Served(folder, environment=self.environment)
        self.url = self.served.url
        self.holder = self.start("run", "--name", "holds the GPU", "--", *COMMAND, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for(lambda: (folder / "pid").exists() or self.holder.poll() is not None)
        describe(self, GPU.format(used=21 * GIB, utilization=1.0) + f"process {(folder / 'pid').read_text().strip()} {20 * GIB} 0.9\n")

    def stop(self):
        if self.holder.poll() is None:
            self.holder.terminate()
            self.holder.wait(120)
        self.served.stop()
        shutil.rmtree(self.runtime, ignore_errors=True)


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
    held.holder.wait(120)
    assert (pathlib.Path(held.folder) / "saved").exists(), "it had the time to save"
    describe(held, IDLE)
    page.wait("!document.querySelector('.gpu .on li.run') && document.querySelector('.gpu')")
    assert page.errors() == []


def test_nobody_is_stopped_without_a_question_answered(held, page_of):
    page = page_of(held).open("/now", "document.querySelector('.gpu .on li.run')")
    page.press("Free this GPU…")
    page.wait("document.querySelector('dialog[open]')")
    page.press("Cancel", "dialog")
    page.wait("!document.querySelector('dialog[open]')")
    assert held.holder.poll() is None
