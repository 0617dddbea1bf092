"""with_client.py MAJOR FOLDER TEST…: runs tests of this folder with MLflow of that major version, in a virtual environment in
FOLDER that is made from PyPI on the first call, of what tests/peers.txt names. Exit code 77, which ctest shows as skipped, where
it cannot be had."""
import os
import subprocess
import sys
import time
import venv

HERE = os.path.dirname(os.path.abspath(__file__))


def wanted(major):
    with open(os.path.join(HERE, "..", "peers.txt"), encoding="utf-8") as file:
        rows = [line.split() for line in file if line.strip() and not line.startswith("#")]
    return [requirement for group, requirement in rows if group in (f"mlflow-{major}", "both")]


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def works(python, requirements):
    """Whether the environment has MLflow in the version that is asked for now."""
    version = next(r for r in requirements if r.startswith("mlflow==")).removeprefix("mlflow==")
    asked = f"import mlflow, sklearn, psutil, pytest; assert mlflow.__version__ == {version!r}"
    return os.path.exists(python) and subprocess.run([python, "-c", asked], capture_output=True).returncode == 0


def install(folder, major):
    python = os.path.join(folder, "bin", "python")
    requirements = wanted(major)
    if works(python, requirements):
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
        return python if works(python, requirements) else skip("another test could not install MLflow")
    try:
        try:
            venv.create(folder, with_pip=True, clear=True)
        except Exception as error:  # Debian has ensurepip in a package of its own
            skip(f"no virtual environment: {error}")
        done = subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
                               "--retries", "1", "--timeout", "15", *requirements],
                              capture_output=True, text=True)
        if done.returncode != 0 or not works(python, requirements):
            skip(f"MLflow {major} cannot be installed from PyPI: {done.stderr.strip().splitlines()[-1:]}")
        return python
    finally:
        os.unlink(lock)


def main():
    major, folder, *tests = sys.argv[1:]
    python = install(os.path.abspath(folder), major)
    sys.exit(subprocess.call([python, os.path.join(HERE, "run_tests.py"), *tests]))


if __name__ == "__main__":
    main()
