"""Runs one file of this folder under pytest. Exit code 77, which ctest shows as skipped, without pytest."""
import os
import subprocess
import sys

if subprocess.run([sys.executable, "-c", "import pytest"], capture_output=True).returncode != 0:
    print(f"skipped: {sys.executable} has no pytest")
    sys.exit(77)
here = os.path.dirname(os.path.abspath(__file__))
sys.exit(subprocess.call([sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider",
                          *(os.path.join(here, name) if name.endswith(".py") else name for name in sys.argv[1:])]))
