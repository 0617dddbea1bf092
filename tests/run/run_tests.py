"""Runs one file of this folder under pytest. Exit code 77, which ctest shows as skipped, without pytest
and where all of the file is skipped."""
import os
import subprocess
import sys

if subprocess.run([sys.executable, "-c", "import pytest"], capture_output=True).returncode != 0:
    print(f"skipped: {sys.executable} has no pytest")
    sys.exit(77)
here = os.path.dirname(os.path.abspath(__file__))
NOTHING_RAN = 5  # of pytest: the whole file was skipped
code = subprocess.call([sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", os.path.join(here, sys.argv[1])])
sys.exit(77 if code == NOTHING_RAN else code)
