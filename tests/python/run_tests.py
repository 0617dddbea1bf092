"""Runs the tests of this folder under pytest. Exit code 77, which ctest shows as skipped, where the machine lacks
what they need: a test that silently did not run is worse than none."""
import os, subprocess, sys

for module in ("pytest", "torch"):
    done = subprocess.run([sys.executable, "-c", f"import {module}"], capture_output=True)
    if done.returncode != 0:
        print(f"skipped: {sys.executable} has no {module}")
        sys.exit(77)
sys.exit(subprocess.call([sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider",
                          os.path.dirname(os.path.abspath(__file__))]))
