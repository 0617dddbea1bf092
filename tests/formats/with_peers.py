"""with_peers.py GROUP FOLDER SCRIPT ARGUMENT…: runs a script with what that group of tests/peers.txt names, in a virtual
environment in FOLDER that is made from PyPI on the first call. Exit code 77, which ctest shows as skipped, where it cannot be had."""
import os
import subprocess
import sys
import venv

HERE = os.path.dirname(os.path.abspath(__file__))


def wanted(named):
    with open(os.path.join(HERE, "..", "peers.txt"), encoding="utf-8") as file:
        rows = [line.split() for line in file if line.strip() and not line.startswith("#")]
    return [requirement for group, requirement in rows if group == named]


def works(python, requirements):
    check = "import importlib.metadata as m\n" + "\n".join(
        "assert m.version({!r}) == {!r}".format(*requirement.split("==")) for requirement in requirements)
    return os.path.exists(python) and subprocess.run([python, "-c", check], capture_output=True).returncode == 0


def main():
    group, folder, *command = sys.argv[1:]
    python = os.path.join(folder, "bin", "python")
    requirements = wanted(group)
    if not works(python, requirements):
        try:
            venv.create(folder, with_pip=True, clear=True)
        except Exception as error:  # Debian has ensurepip in a package of its own
            print(f"skipped: no virtual environment: {error}")
            sys.exit(77)
        done = subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps",
                               "--retries", "1", "--timeout", "15", *requirements], capture_output=True, text=True)
        if done.returncode != 0 or not works(python, requirements):
            print(f"skipped: {group}: its peers cannot be installed from PyPI: {done.stderr.strip().splitlines()[-1:]}")
            sys.exit(77)
    sys.exit(subprocess.call([python, *command]))


if __name__ == "__main__":
    main()
