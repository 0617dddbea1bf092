"""bench/device/queue_day.py, end to end, with stand-ins for the GPU and for what trains."""
import json
import pathlib
import subprocess
import sys

from conftest import BINARY, FIXTURES

ROOT = FIXTURES.parent.parent


def call(queue, out, *more):
    environment = {name: value for name, value in queue.environment.items() if not name.startswith("PLIMSOLL_QUEUE")}
    return subprocess.run([sys.executable, str(ROOT / "bench/device/queue_day.py"), BINARY, str(ROOT / "bench/device/stand_in_day"),
                           str(out), "--repeat", "1", *more], env=environment, capture_output=True, text=True, timeout=1500)


def test_the_day_is_run_in_pieces_and_told(make_queue):
    queue = make_queue(gpus=1)
    out = pathlib.Path(queue.folder) / "day"
    first = call(queue, out, "--minutes", "0")  # one pass a call
    assert first.returncode == 0 and "missing: exclusive-0" in first.stdout, first.stderr + first.stdout
    rest = call(queue, out, "--minutes", "1000")
    assert rest.returncode == 0 and "none is missing" in rest.stdout, rest.stderr + rest.stdout
    rows = [json.loads(line) for line in (out / "passes.jsonl").read_text().splitlines()]
    assert [row["pass"] for row in rows] == ["service", "exclusive-0", "queue-0", "naive-0", "carma-0", "queue-cold-0"]
    for row in rows[1:]:
        trainings = [job for job in row["jobs"] if job["job"] != "service"]
        assert [job["outcome"] for job in trainings] == ["finished"] * 3, row
        assert all(job["points"] for job in trainings)
    for policy in ("exclusive", "naive", "carma", "queue", "queue-cold"):
        assert f"\n{policy} " in rest.stdout
    assert "clairvoyant, simulated with" in rest.stdout, rest.stdout
