"""A machine of its own for each test, as tests/run makes it, with a stand-in for plimsoll-cuda and no driver."""
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


class Machine(run_conftest.Machine):
    def __init__(self, folder):
        super().__init__(folder)
        self.environment.update(PLIMSOLL_CUDA=str(FIXTURES / "fake_cuda.py"), PLIMSOLL_FAKE_CUDA_SECONDS="0.2",
                                PLIMSOLL_NVML_LIBRARY="/nonexistent/libnvidia-ml.so")

    def no_program(self):
        self.environment["PLIMSOLL_CUDA"] = "/nonexistent/plimsoll-cuda"

    def trouble(self, what):
        self.environment["PLIMSOLL_FAKE_CUDA"] = what

    def use_gpu(self, description):
        path = self.folder / "gpus.txt"
        path.write_text(description)
        self.environment.update(PLIMSOLL_NVML_LIBRARY=os.environ["PLIMSOLL_FAKE_NVML_LIBRARY"], PLIMSOLL_FAKE_NVML=str(path),
                                PLIMSOLL_FAKE_CUDA_UUID="GPU-00000000-0000-0000-0000-000000000000",
                                PLIMSOLL_FAKE_COUNTER_READ=str(self.folder / "readings"))

    def use_mps(self, log):
        self.environment.update(PATH=f"{FIXTURES / 'fake_mps'}:{self.environment.get('PATH', os.environ['PATH'])}", PLIMSOLL_FAKE_MPS_LOG=str(log))

    def probe(self, *words, **options):
        return self.plimsoll("probe", *words, **options)

    def probed(self, *words, code=0):
        done = self.probe(*words, "--json")
        assert done.code == code, done.err
        return json.loads(done.out)


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)
