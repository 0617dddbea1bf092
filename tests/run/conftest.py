"""A machine of its own for each test."""
import pathlib
import shutil
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "fixtures"))
from machine import BINARY, MILLION, Machine, is_alive, wait_for  # noqa: E402, F401


@pytest.fixture
def machine(tmp_path):
    made = Machine(tmp_path)
    yield made
    shutil.rmtree(made.runtime, ignore_errors=True)
