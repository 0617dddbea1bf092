"""python -m plimsoll_torch: messages word for word, exit codes, and what goes to which stream."""

import json
import os
import subprocess
import sys

import pytest

from plimsoll_torch import command

HERE = os.path.dirname(os.path.abspath(__file__))
MODELS = os.path.join(HERE, "models.py")


def run(capfd, tmp_path, *arguments):
    """Exit code and standard error, with this machine's paths taken out."""
    path, modules = list(sys.path), set(sys.modules)
    try:
        code = command.main([*arguments, "-o", str(tmp_path / "m.onnx")])
    finally:
        sys.path[:] = path
        for name in set(sys.modules) - modules:
            if getattr(sys.modules[name], "__file__", None) in (MODELS, str(tmp_path / "user.py")):
                del sys.modules[name]
    text = capfd.readouterr().err
    for real, name in ((str(tmp_path), "TMP"), (HERE, "HERE"), (sys.executable, "PYTHON")):
        text = text.replace(real, name)
    return code, text


OFFERS = ("it offers Normed, Tied, Recurrent, Cached, FixedBatch, Unexportable, Picky, "
          "make_normed, make_nothing, make_trouble, instance")
IMAGE = ["--input", "3x16x16"]
GOLDEN = [
    ("missing file", ["HERE/nowhere.py:net", *IMAGE], "HERE/nowhere.py: no such file"),
    ("missing package", ["no_such_package.models:net", *IMAGE],
     "no module 'no_such_package' in PYTHON: install it (PYTHON -m pip install no_such_package), "
     "or give a file: FILE.py:NAME"),
    ("missing name", ["HERE/models.py:make_model", *IMAGE], "HERE/models.py has no 'make_model'; OFFERS"),
    ("no name", ["HERE/models.py", *IMAGE],
     "HERE/models.py: say which function, class or module, as in HERE/models.py:Normed; OFFERS"),
    ("not a module", ["HERE/models.py:number", *IMAGE],
     "HERE/models.py:number is of type int: not a torch.nn.Module, nor a function or class that makes one; OFFERS"),
    ("returns no module", ["HERE/models.py:make_nothing", *IMAGE],
     "HERE/models.py:make_nothing returned an object of type dict, not a torch.nn.Module"),
    ("raises", ["HERE/models.py:make_trouble", *IMAGE],
     "HERE/models.py:make_trouble raised: IndexError: list index out of range (models.py line 114, in make_trouble)"),
    ("wrong argument", ["HERE/models.py:make_normed", *IMAGE, "--args", "depth=3"],
     "HERE/models.py:make_normed(classes=10): got an unexpected keyword argument 'depth'; "
     "give what it needs with --args key=value"),
    ("argument without value", ["HERE/models.py:make_normed", *IMAGE, "--args", "depth"],
     "--args depth: expected key=value, as in --args num_classes=10"),
    ("arguments for an instance", ["HERE/models.py:instance", *IMAGE, "--args", "classes=3"],
     "--args: HERE/models.py:instance is a module that exists already, it takes no arguments"),
    ("wrong shape", ["HERE/models.py:Normed", "--input", "4x16x16"],
     "forward() failed with image float32 2x4x16x16: RuntimeError: Given groups=1, weight of size [8, 3, 3, 3], "
     "expected input[2, 4, 16, 16] to have 3 channels, but got 4 channels instead (models.py line 23, in forward)"),
    ("no input", ["HERE/models.py:Normed"],
     "--input is missing: say what forward() takes, without the batch, as in --input 3x224x224 or "
     "--input input_ids=int64:128"),
    ("too few inputs", ["HERE/models.py:Picky", "--input", "3"],
     "forward() also needs scale: give each with --input, as in --input scale=3x224x224"),
    ("too many inputs", ["HERE/models.py:Picky", "--input", "3", "--input", "3", "--input", "4"],
     "3 inputs, but forward() takes 2: image, scale"),
    ("unknown input", ["HERE/models.py:Picky", "--input", "picture=3"],
     "forward() has no parameter 'picture'; it takes image, scale"),
    ("input twice", ["HERE/models.py:Picky", "--input", "image=3", "--input", "image=3"],
     "inputs: 'image' is given twice"),
    ("no shape", ["HERE/models.py:Picky", "--input", "3,224"],
     "--input 3,224: expected [NAME=][DTYPE:]DIMSxDIMS without the batch, as in 3x224x224 or input_ids=int64:128"),
    ("no type", ["HERE/models.py:Picky", "--input", "float8:3"],
     "--input float8:3: no type 'float8'; there are float32, float16, bfloat16, float64, int64, int32, int16, "
     "int8, uint8, bool"),
]


@pytest.mark.parametrize("arguments,expected", [row[1:] for row in GOLDEN], ids=[row[0] for row in GOLDEN])
def test_message(capfd, tmp_path, arguments, expected):
    code, text = run(capfd, tmp_path, *[part.replace("HERE", HERE) for part in arguments])
    assert text == "plimsoll_torch: " + expected.replace("OFFERS", OFFERS) + "\n"
    assert code == 2


USER_CODE = [
    ("raises on import", "import torch\n\ndef depth():\n    return 1 // 0\n\nDEPTH = depth()\n",
     "user.py raised while it was imported: ZeroDivisionError: integer division or modulo by zero "
     "(user.py line 4, in depth)"),
    ("no Python", "def make_model(:\n", "user.py raised while it was imported: SyntaxError: invalid syntax "
     "(user.py, line 1) (user.py line 1)"),
    ("missing package", "import no_such_package\n",
     "user.py needs the package 'no_such_package', which PYTHON does not have: install it there, "
     "or run with the Python of your training environment"),
    ("exits", "import sys\nsys.exit(5)\n",
     "user.py ends the program while it is imported (exit 5): put what it runs under  if __name__ == \"__main__\":"),
]


@pytest.mark.parametrize("source,expected", [row[1:] for row in USER_CODE], ids=[row[0] for row in USER_CODE])
def test_user_code(capfd, tmp_path, source, expected):
    (tmp_path / "user.py").write_text(source)
    code, text = run(capfd, tmp_path, f"{tmp_path}/user.py:make_model", *IMAGE)
    assert (code, text) == (2, f"plimsoll_torch: {expected}\n")


def test_both_exporters_fail(capfd, tmp_path, monkeypatch):
    from plimsoll_torch import exporters

    def fail(request, path):
        raise exporters.Unavailable("needs onnxscript: PYTHON -m pip install onnxscript")
    monkeypatch.setitem(exporters.EXPORTERS, "dynamo", fail)
    code, text = run(capfd, tmp_path, f"{MODELS}:Unexportable", "--input", "3x3")
    lines = text.splitlines()
    assert code == 2
    assert lines[0] == "plimsoll_torch: neither exporter could write Unexportable as ONNX:"
    assert lines[1].startswith("  script: UnsupportedOperatorError: Exporting the operator 'aten::linalg_eigvals'")
    assert lines[2:] == ["  dynamo: needs onnxscript: PYTHON -m pip install onnxscript"]
    assert os.listdir(tmp_path) == []


def test_one_exporter_fails(capfd, tmp_path):
    code, text = run(capfd, tmp_path, f"{MODELS}:Unexportable", "--input", "3x3", "--exporter", "script")
    assert code == 2 and text.startswith("plimsoll_torch: the script exporter could not write Unexportable as ONNX:\n")


def test_whole_traceback_when_verbose(capfd, tmp_path):
    code, text = run(capfd, tmp_path, f"{MODELS}:make_trouble", *IMAGE, "--verbose")
    assert code == 2 and "Traceback (most recent call last):" in text


def test_without_torch(capfd, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    code, text = run(capfd, tmp_path, f"{MODELS}:Normed", *IMAGE)
    assert code == 3
    assert text == ("plimsoll_torch: PyTorch is not installed for PYTHON: PYTHON -m pip install torch, "
                    "or run with the Python of your training environment\n")


def test_output_folder_must_exist(capfd, tmp_path):
    code = command.main([f"{MODELS}:Normed", *IMAGE, "-o", str(tmp_path / "no" / "m.onnx")])
    assert code == 2 and "no such folder to write m.onnx into" in capfd.readouterr().err


def test_standard_output_is_the_report_alone(tmp_path):
    (tmp_path / "user.py").write_text(
        "import os, torch\nprint('hello')\n"
        "def make_model(width=4):\n    os.system('echo from a shell')\n    return torch.nn.Linear(width, 2)\n")
    environment = dict(os.environ, PYTHONPATH=os.path.join(HERE, "..", "..", "python"))
    done = subprocess.run(
        [sys.executable, "-m", "plimsoll_torch", "user.py:make_model", "--input", "8", "-o", "m.onnx", "--json",
         "--args", "width=8", "--mode", "eval"],
        cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert (report["parameters"], report["batch"], report["mode"]) == (18, "symbolic", "eval")
    assert report["path"] == str(tmp_path / "m.onnx") and report["version"] == 1
    assert "hello" in done.stderr and "from a shell" in done.stderr
