"""with_client.py MAJOR FOLDER TEST…: runs tests of this folder with the newest MLflow of that major version, in a virtual
environment in FOLDER that is made from PyPI on the first call. Exit code 77, which ctest shows as skipped, where it cannot
be had."""
import os
import subprocess
import sys
import time
import venv

WANTED = {"2": ["mlflow<3", "sqlalchemy<2.1"], "3": ["mlflow>=3,<4"]}
OTHERS = ["pytest", "scikit-learn", "psutil"]


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def works(python):
    return os.path.exists(python) and subprocess.run([python, "-c", "import mlflow, sklearn, psutil, pytest"],
                                                     capture_output=True).returncode == 0


def install(folder, major):
    python = os.path.join(folder, "bin", "python")
    if works(python):
        return python
    # Tests run side by side; the one that comes second waits.
    lock = folder + ".lock"
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    try:
        os.close(os.open(lock, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        end = time.monotonic() + 600
        while os.path.exists(lock) and time.monotonic() < end:
            time.sleep(1)
        return python if works(python) else skip("another test could not install MLflow")
    try:
        try:
            venv.create(folder, with_pip=True, clear=True)
        except Exception as error:  # Debian has ensurepip in a package of its own
            skip(f"no virtual environment: {error}")
        done = subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
                               "--retries", "1", "--timeout", "15", *WANTED[major], *OTHERS],
                              capture_output=True, text=True)
        if done.returncode != 0 or not works(python):
            skip(f"{WANTED[major][0]} cannot be installed from PyPI: {done.stderr.strip().splitlines()[-1:]}")
        return python
    finally:
        os.unlink(lock)


def main():
    major, folder, *tests = sys.argv[1:]
    python = install(os.path.abspath(folder), major)
    here = os.path.dirname(os.path.abspath(__file__))
    sys.exit(subprocess.call([python, os.path.join(here, "run_tests.py"), *tests]))


if __name__ == "__main__":
    main()
