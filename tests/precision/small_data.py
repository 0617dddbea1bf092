"""Images of four classes, a bright quarter in noise, that a narrow network learns in seconds; and plimsoll as the tests call it."""
import json
import os
import pathlib
import subprocess

import numpy

PLIMSOLL, ENGINE = os.environ["PLIMSOLL_BINARY"], os.environ["PLIMSOLL_ENGINE_BINARY"]
CLASSES, LEARN, TEST, SIDE = 4, 480, 400, 32
MODEL = f"mobilenet_v1:input=1x{SIDE}x{SIDE},classes={CLASSES}"


def write_images(folder):
    random = numpy.random.default_rng(5)
    for part, count in (("train", LEARN), ("test", TEST)):
        labels = random.integers(0, CLASSES, count)
        images = random.uniform(0, 150, (count, 1, SIDE, SIDE))
        half = SIDE // 2
        for image, label in zip(images, labels):
            row, column = divmod(int(label), 2)
            image[0, half * row:half * (row + 1), half * column:half * (column + 1)] += random.uniform(50, 100)
        numpy.save(pathlib.Path(folder) / f"x_{part}.npy", images.astype(numpy.uint8))
        numpy.save(pathlib.Path(folder) / f"y_{part}.npy", labels)


def environment(folder):
    return {**os.environ, "PLIMSOLL_ENGINE": ENGINE, "COLUMNS": "100", "XDG_CACHE_HOME": str(pathlib.Path(folder) / "cache")}


def plimsoll(folder, *words, code=0):
    """The JSON document of a command that answers, else what it says on standard error. `code`: what is expected, one or several."""
    done = subprocess.run([PLIMSOLL, *map(str, words)], capture_output=True, text=True, timeout=1800, env=environment(folder), cwd=folder)
    assert done.returncode in (code if isinstance(code, tuple) else (code,)), f"{done.returncode}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
    return json.loads(done.stdout) if done.returncode in (0, 1) and "--json" in words else done.stderr


def widths(*more):
    """What is asked of `plimsoll precision` in these tests."""
    return ["precision", MODEL, "--data", ".", "--depth", "0.25", "--keep", "kept", "--epochs", "8", "--train-batch", "32", "--lr", "0.005", "--threads",
            "1", "--no-time", "--json", *more]
