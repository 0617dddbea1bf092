#!/usr/bin/env python3
"""On a machine with a GPU: what only a GPU can show. A line for each check, passed or failed, and their number at the end.

usage: tests/device/run.py --plimsoll FILE [--engine FILE] [--cuda FILE] [--keep FOLDER] [CHECK…]      --list names the checks

Needs Python 3.10 with PyTorch (CUDA) and torchvision, and nothing that must be installed. Exit 0: all passed; 1: one failed;
3: there is no GPU here, or no PyTorch that sees it. FOLDER keeps the store, the jobs' files and the output. See docs/device.md.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import collocation
import comparison
import faults
from machine import Failed, Machine

LIMIT = 8 * 60  # seconds for all; what has not begun by then fails
CHECKS = [*collocation.CHECKS, *comparison.CHECKS, *faults.CHECKS]


def lacks():
    """Why no check can be made here; None where they can."""
    if not os.path.exists("/dev/nvidiactl"):
        return "no GPU"
    asked = subprocess.run([sys.executable, "-c", "import torch, torchvision; print(torch.cuda.is_available())"],
                           capture_output=True, text=True)
    if asked.returncode:
        return f"no PyTorch for {sys.executable}"
    return None if asked.stdout.strip() == "True" else "PyTorch sees no GPU"


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--plimsoll")
    parser.add_argument("--engine")
    parser.add_argument("--cuda")
    parser.add_argument("--keep")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("checks", nargs="*")
    options = parser.parse_args()
    names = [check.__name__ for check in CHECKS]
    if options.list:
        print("\n".join(names))
        return 0
    unknown = [name for name in options.checks if name not in names]
    if unknown or not options.plimsoll:
        parser.error(f"no check {', '.join(unknown)}" if unknown else "--plimsoll names the program")
    chosen = [check for check in CHECKS if not options.checks or check.__name__ in options.checks]
    begun, passed, failed, lacking = time.monotonic(), 0, 0, lacks()
    with tempfile.TemporaryDirectory(prefix="pl") as short:
        for check in chosen:
            start, machine = time.monotonic(), None
            try:
                if lacking:
                    raise Failed(lacking)
                if start - begun > LIMIT:
                    raise Failed(f"not begun within {LIMIT} s")
                folder = pathlib.Path(options.keep or short) / check.__name__
                folder.mkdir(parents=True, exist_ok=True)
                machine = Machine(options.plimsoll, options.engine, options.cuda, folder)
                said = check(machine)
                machine.holds(not machine.daemons(), "an MPS daemon or server is left")
                machine.holds(not machine.zombies(), "zombies are left")
                verdict = "passed"
            except Failed as why:
                said, verdict = str(why), "failed"
            except Exception:  # a check that breaks is a failed check, and the others are made all the same
                said, verdict = traceback.format_exc()[-600:], "failed"
            if machine:
                machine.close()
            passed, failed = passed + (verdict == "passed"), failed + (verdict == "failed")
            print(f"{verdict}: {check.__name__} ({time.monotonic() - start:.0f} s): {' '.join(str(said).split())[:600]}", flush=True)
    print(f"{passed} passed, {failed} failed, {time.monotonic() - begun:.0f} s")
    return 3 if lacking else 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
