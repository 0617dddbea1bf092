"""A machine of its own for each test, as tests/run makes it, with a stand-in for the engine."""
import importlib.util
import json
import os
import pathlib

import pytest

TESTS = pathlib.Path(__file__).parent.parent
FIXTURES = TESTS / "fixtures"
spec = importlib.util.spec_from_file_location("run_conftest", TESTS / "run" / "conftest.py")
run_conftest = importlib.util.module_from_spec(spec)
spec.loader.exec_module(run_conftest)
wait_for, is_alive = run_conftest.wait_for, run_conftest.is_alive


class Machine(run_conftest.Machine):
    def __init__(self, folder):
        super().__init__(folder)
        self.jobs = folder / "jobs"
        self.jobs.mkdir()
        self.temporary = folder / "tmp"
        self.temporary.mkdir()
        self.environment.update(PLIMSOLL_ENGINE=str(FIXTURES / "fake_engine.py"), TMPDIR=str(self.temporary),
                                PLIMSOLL_FAKE_ENGINE_JOBS=str(self.jobs))

    def trouble(self, what):
        self.environment["PLIMSOLL_FAKE_ENGINE"] = what

    def measure(self, *words, **options):
        return self.plimsoll("measure", *words, **options)

    def measured(self, *words, code=0):
        done = self.measure(*words, "--json")
        assert done.code == code, done.err
        return json.loads(done.out)

    def job(self, number=0):
        return json.loads((self.jobs / f"job{number}.json").read_text())

    def use_gpus(self, description):
        path = self.folder / "gpus.txt"
        path.write_text(description)
        self.environment.update(PLIMSOLL_NVML_LIBRARY=os.environ["PLIMSOLL_FAKE_NVML_LIBRARY"], PLIMSOLL_FAKE_NVML=str(path))
        self.environment["PLIMSOLL_FAKE_ENGINE_UUID"] = "GPU-00000000-0000-0000-0000-000000000000"

    @staticmethod
    def own_pid():
        return os.getpid()

    def nothing_left(self):
        """No file of ours in the temporary folder."""
        return list(self.temporary.iterdir()) == []


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)
