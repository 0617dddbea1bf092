import os
import sys

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "python"))


def pytest_collection_modifyitems(items):
    try:
        import torch
        torch.set_num_threads(1)
    except ImportError:
        for item in items:
            if "without_torch" not in item.name:
                item.add_marker(pytest.mark.skip(reason="PyTorch is not installed"))


@pytest.fixture
def read():
    """Reads an ONNX file with the onnx package, weights or not, after checking it."""
    onnx = pytest.importorskip("onnx", reason="the onnx package checks the files written")

    def read(path, external=False):
        if external:
            onnx.checker.check_model(str(path))
        return onnx.load(str(path), load_external_data=external)
    return read
