"""Runs files of this folder under pytest. Exit code 77, which ctest shows as skipped, without chromium or its driver."""
import os
import shutil
import subprocess
import sys

for program in ("chromium", "chromedriver"):
    if shutil.which(program) is None:
        print(f"skipped: there is no chromium here: no program {program}")
        sys.exit(77)
here = os.path.dirname(os.path.abspath(__file__))
sys.exit(subprocess.call([sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider",
                          *(os.path.join(here, name) if name.endswith(".py") else name for name in sys.argv[1:])]))
