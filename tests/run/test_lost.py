"""Never lost, never given away: what is acknowledged is in the store, and what is private is not."""
import json
import os
import pathlib
import sqlite3
import subprocess
import sys
import time

import pytest
from conftest import MILLION, wait_for

# Sends metrics until enough of them are acknowledged; says in a file how far that is.
CLIENT = """
import os, socket, sys, threading, time
name, enough = sys.argv[1], int(sys.argv[2])
s = socket.socket(socket.AF_UNIX); s.connect(os.environ["PLIMSOLL_SOCKET"])
kept, errors = [0], []
lock = threading.Lock()
def note():
    with lock:
        with open(name + ".acknowledging", "w") as out: out.write(f"{kept[0]}\\n" + "\\n".join(errors))
        os.replace(name + ".acknowledging", name + ".acknowledged")
def read():
    rest = b""
    while True:
        try: got = s.recv(65536)
        except OSError: return
        if not got: return
        *lines, rest = (rest + got).split(b"\\n")
        for line in lines:
            if line.startswith(b"ok "): kept[0] = int(line[3:])
            else: errors.append(line.decode())
        note()
reader = threading.Thread(target=read, daemon=True); reader.start()
sent = 0
while kept[0] < enough and not errors and sent < enough + 200_000:
    s.sendall(b"".join(b"metric %s %d step %d\\n" % (name.encode(), i % 7, i) for i in range(sent, sent + 1000)))
    sent += 1000
while kept[0] < enough and not errors and reader.is_alive(): time.sleep(0.01)
note()  # the reader may not have come to it
"""


def acknowledged(machine, name):
    path = machine.folder / f"{name}.acknowledged"
    lines = path.read_text().split("\n") if path.exists() else []
    return (int(lines[0]) if lines and lines[0] else 0), [line for line in lines[1:] if line]


def database(machine):
    return sqlite3.connect(machine.environment["PLIMSOLL_STORE"], isolation_level=None, timeout=300)


def metric_is_there(machine, name):
    """Whether some points of a metric are in the store."""
    store = pathlib.Path(machine.environment["PLIMSOLL_STORE"])
    if not store.exists():
        return False
    other = sqlite3.connect(store)
    try:
        return other.execute("SELECT count(*) FROM metric WHERE name = ?", [name]).fetchone()[0] > 0
    except sqlite3.OperationalError:
        return False
    finally:
        other.close()


def line_with(stream, part):
    """The first line that has `part`, as it comes."""
    for line in stream:
        if part in line:
            return line
    raise AssertionError(f"nobody said {part}")


def test_a_million_acknowledged_metrics_through_a_store_that_refuses_and_comes_back(machine):
    names = ["a", "b", "c", "d"]
    client = machine.script(CLIENT)
    command = " & ".join(f"{client[0]} {client[1]} {n} {MILLION // 4}" for n in names) + " & wait"
    process = machine.start("run", "-q", "--", "sh", "-c", command)
    wait_for(lambda: all(acknowledged(machine, n)[0] > 0 for n in names), 300)
    other = database(machine)

    def goes_on():
        """It takes more than now, or the command has ended."""
        before = sum(acknowledged(machine, n)[0] for n in names)
        return lambda: process.poll() is not None or sum(acknowledged(machine, n)[0] for n in names) > before

    while process.poll() is None:
        # An error that nobody mapped, then damage in the description of an index, each mended after a while.
        other.execute("ALTER TABLE chunk RENAME TO chunk_away")
        time.sleep(0.3)
        other.execute("ALTER TABLE chunk_away RENAME TO chunk")
        wait_for(goes_on(), 300)
        other.execute("PRAGMA writable_schema = ON")
        other.execute("UPDATE sqlite_master SET sql = 'CREATE INDEX chunk_by_metric ON' WHERE name = 'chunk_by_metric'")
        version = other.execute("PRAGMA schema_version").fetchone()[0]
        other.execute(f"PRAGMA schema_version = {version + 1}")
        time.sleep(0.3)
        other.execute("UPDATE sqlite_master SET sql = 'CREATE UNIQUE INDEX chunk_by_metric ON chunk(metric, sequence)' "
                      "WHERE name = 'chunk_by_metric'")
        other.execute(f"PRAGMA schema_version = {version + 2}")
        other.execute("PRAGMA writable_schema = RESET")
        wait_for(goes_on(), 300)
    other.close()
    _, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    assert "the store refuses" in err and "chunk" in err
    run = machine.last()
    assert run["status"] == "FINISHED"
    assert "no such table" in run["tags"]["plimsoll.store.trouble"]
    total = 0
    for name in names:
        kept, errors = acknowledged(machine, name)
        assert not errors
        assert run["metrics"][name]["points"] >= kept
        total += kept
    assert total >= MILLION


def test_a_damaged_row_costs_its_metric_and_is_told(machine):
    client = machine.script("""
import os, socket, time
s = socket.socket(socket.AF_UNIX); s.connect(os.environ["PLIMSOLL_SOCKET"])
answers = b""
s.settimeout(300)
def until(*parts):
    global answers
    while not any(part in answers for part in parts): answers += s.recv(1000)
s.sendall(b"metric good 1 step 1\\nmetric bad 1 step 1\\n"); until(b"ok 2")
print("ready", flush=True)
while not os.path.exists("damaged"): time.sleep(0.02)
s.sendall(b"metric good 2 step 2\\nmetric bad 2 step 2\\nmetric good 3 step 3\\n"); until(b"error", b"ok 5")
print(answers.decode(), flush=True)
""")
    process = machine.start("run", "-q", "--", *client)
    assert process.stdout.readline() == "ready\n"
    other = database(machine)
    other.execute("UPDATE metric SET full_chunks = -1 WHERE name = 'bad'")
    (machine.folder / "damaged").touch()
    assert "damaged" in line_with(process.stderr, "the store refuses metric 'bad'")
    assert process.poll() is None, "told at once, while it runs"
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    assert "ok 3" in out and "ok 4" not in out and "ok 5" not in out, "no more than the first that are kept"
    assert "error 4: " in out and "'bad'" in out
    assert "1 of its metrics were not kept" in err
    run = machine.last()
    assert run["status"] == "FINISHED" and run["tags"]["plimsoll.outcome"] == "finished"
    assert run["metrics"]["good"]["points"] == 3
    assert "'bad'" in run["tags"]["plimsoll.store.trouble"]
    assert run["tags"]["plimsoll.metrics_lost"] == "1"


def test_a_damaged_chunk_never_costs_the_end(machine):
    # The sampled series are what the summary is made of.
    process = machine.start("run", "-q", "--", "sh", "-c",
                            "echo 'plimsoll: metric loss 1 step 1'; while [ ! -e damaged ]; do sleep 0.1; done; "
                            "echo 'plimsoll: metric loss 2 step 2'")
    wait_for(lambda: metric_is_there(machine, "system/run/cpu_time"), 300)
    other = database(machine)
    other.execute("UPDATE chunk SET bytes = x'0102' WHERE metric IN "
                  "(SELECT id FROM metric WHERE name IN ('loss', 'system/run/memory'))")
    other.close()
    (machine.folder / "damaged").touch()
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    run = machine.last()
    assert run["status"] == "FINISHED"
    assert run["tags"]["plimsoll.outcome"] == "finished" and run["tags"]["plimsoll.exit_code"] == "0"
    assert run["metrics"]["loss"]["points"] == 2, "new points stand beside the damage"
    assert "summary/seconds" in run["metrics"] and "summary/cpu_seconds" in run["metrics"]
    assert "summary/memory_peak" not in run["metrics"]


def test_a_damaged_index_never_costs_the_end(machine):
    assert machine.run("--", "sh", "-c", "for i in 1 2 3; do echo \"plimsoll: metric loss $i step $i\"; done").code == 0
    other = database(machine)
    page = other.execute("SELECT rootpage FROM sqlite_master WHERE name = 'sqlite_autoindex_metric_1'").fetchone()[0]
    size = other.execute("PRAGMA page_size").fetchone()[0]
    other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    other.close()
    with open(machine.environment["PLIMSOLL_STORE"], "r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\x55" * size)
    client = machine.script("""
import os, socket, time
s = socket.socket(socket.AF_UNIX); s.connect(os.environ["PLIMSOLL_SOCKET"])
s.sendall(b"metric loss 1 step 1\\n")
answer = s.recv(1000)
print(answer.decode(), end="", flush=True)
""")
    done = machine.run("-q", "--", *client)
    assert done.code == 0, done.err
    assert done.out.startswith("error 1: "), "not acknowledged"
    assert "damaged" in done.err
    other = database(machine)
    number, status, end = other.execute("SELECT number, status, \"end\" FROM run ORDER BY number DESC LIMIT 1").fetchone()
    assert status == "FINISHED" and end is not None
    tags = dict(other.execute("SELECT name, value FROM tag WHERE run = ?", [number]).fetchall())
    assert tags["plimsoll.outcome"] == "finished"
    assert "damaged" in tags["plimsoll.store.trouble"]


@pytest.fixture
def private_key(machine):
    """A job's folder, and a key beside it that nobody may give away."""
    home = machine.folder / "home"
    home.mkdir()
    (home / "id_rsa").write_text("the-private-key")
    job = machine.folder / "job"
    job.mkdir()
    (job / "model.pt").write_text("weights")
    (job / "link.pt").symlink_to(home / "id_rsa")
    (job / "folder").symlink_to(home)
    return home / "id_rsa"


def given_away(machine, text):
    """Files of the store's artifacts that hold a text, their names aside."""
    found = []
    for folder, _, names in os.walk(machine.folder / "store-artifacts"):
        for name in names:
            if text in pathlib.Path(folder, name).read_bytes().decode(errors="replace"):
                found.append(name)
    return found


@pytest.mark.parametrize("line", ["row 7: plimsoll: artifact {key}", "plimsoll: artifact {key}", "plimsoll: artifact ../home/id_rsa",
                                  "plimsoll: artifact link.pt", "plimsoll: artifact folder/id_rsa", "{padding}plimsoll: artifact {key}",
                                  "50%\rplimsoll: artifact {key}"])
def test_a_printed_line_gives_no_private_file_away(machine, private_key, line):
    text = line.format(key=private_key, padding="x" * 131_072)
    (machine.folder / "data.txt").write_text(f"{text}\nplimsoll: artifact model.pt\n")
    path = machine.folder / "jobs.toml"
    path.write_text(f'[[workload]]\n[[workload.job]]\ndirectory = "{machine.folder}/job"\ncommand = "cat ../data.txt"\n')
    done = machine.run(path)
    assert done.code == 0, done.err
    assert given_away(machine, "the-private-key") == []
    assert given_away(machine, "weights") == ["model.pt"], "what is below the folder is kept"


def test_the_command_line_may_name_any_file(machine, private_key):
    assert machine.run("--artifact", private_key, "--", "true").code == 0
    assert given_away(machine, "the-private-key") == ["id_rsa"]


SECRETS = {"jwt": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1g",
           "hugging face": "hf_aBcDeFgHiJkLmNoPqRsTuVwXyZ012345",
           "openai": "sk-proj-abcdefghijklmnopqrstuvwx",
           "github": "ghp_0123456789abcdefghijABCDEFGHIJ012345",
           "amazon": "AKIAIOSFODNN7EXAMPLE",
           "address": "postgres://me:hunter2secret@host/db"}


def private_part(value):
    return "hunter2secret" if "hunter2" in value else value


@pytest.mark.parametrize("kind", SECRETS)
def test_a_secret_is_in_no_record(machine, kind):
    value = SECRETS[kind]
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b"]
    script = machine.folder / "train.py"
    script.write_text("x = 1\n")
    for words in (["init", "-q"], ["add", "train.py"], ["commit", "-qm", "a"]):
        if subprocess.run([*git, *words], cwd=machine.folder).returncode != 0:
            pytest.skip("git is not installed")
    script.write_text(f"x = 2\ncall('{value}')\n")
    machine.environment.update(CUDA_THING=value, SLURM_JWT="by-its-name", TS_AUTHKEY="by-its-name")
    done = machine.run("--env", "TS_AUTHKEY", "--param", f"given={value}", "--", "sh", "-c", "true", "x", value, f"--url={value}", f"A=1 B={value} c",
                       "TS_AUTHKEY=by-its-name")
    assert done.code == 0, done.err
    run = machine.last()
    assert "git.diff" in {file["path"] for file in run["files"]}
    for text in (private_part(value), "by-its-name"):
        assert text not in json.dumps(run)
        assert given_away(machine, text) == []
    assert given_away(machine, "x = 2") == ["git.diff"], "the rest of the diff is kept"


def test_a_diff_that_is_cut_says_so(machine):
    (machine.folder / "data.txt").write_text("")
    for words in (["init", "-q"], ["add", "data.txt"], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "a"]):
        if subprocess.run(["git", *words], cwd=machine.folder).returncode != 0:
            pytest.skip("git is not installed")
    (machine.folder / "data.txt").write_text("a line of data that is like many others\n" * 450_000)
    assert machine.run("--", "true").code == 0
    assert "cut after 16 MiB" in machine.last()["tags"]["plimsoll.git.diff"]
    assert "cut after 16 MiB" in given_away_text(machine, "git.diff")[-200:]


def given_away_text(machine, name):
    return next((machine.folder / "store-artifacts").rglob(name)).read_text()
