"""What the queue believes of jobs, and what must not change that."""
import json
import signal

from conftest import GIB, H200, wait_for

LIGHT = ("--estimate", "mobilenet_v2 --mode train --batch 8 --input 3x32x32", "--steps", 100000)
HEAVY = ("--estimate", "vgg16 --mode train --batch 64 --input 3x224x224", "--steps", 100000)


def learned(queue, name, *options):
    """A run of a stand-in that is ended once its pace alone is known."""
    number = queue.submit_one(*options, "--", *queue.training(name, 100000, 0.01))
    pid = queue.begun(name)
    queue.gpus.hold(0, pid, GIB)
    queue.gpus.work(0, 0.3)
    queue.wait_job(number, lambda job: job.get("step", 0) >= 150 and job.get("gpu_bytes") == GIB)
    queue.plimsoll("cancel", number)
    queue.wait_ended(number, "cancelled")
    queue.gpus.leave(0, pid)


def together(queue, *options):
    """Two whose paces are known run side by side: their numbers."""
    numbers = []
    for name in ("old", "new"):
        more = options if name == "new" else ()
        numbers.append(queue.submit_one(*more, "--", *queue.training(name, 100000, 0.01)))
        queue.begun(name, 2)
    assert queue.wait_state(numbers[1], "running")["sharing"] == "mps"
    return numbers


def test_a_pace_beside_others_is_no_pace_alone(make_queue):
    """Also for a daemon that has found both when it came."""
    queue = make_queue(gpus=1)
    queue.start_daemon()
    for name in ("old", "new"):
        learned(queue, name)
    numbers = together(queue)
    paces = {profile["steps_per_second"] for profile in queue.profiles()}
    queue.kill_daemon(signal.SIGKILL)
    for name in ("old", "new"):
        (queue.folder / f"{name}.pace").write_text("0.1")
    queue.start_daemon()
    for number in numbers:
        first = queue.wait_job(number, lambda job: job["state"] == "running" and "step" in job)["step"]
        queue.wait_job(number, lambda job: job["step"] > first + 60)
    queue.let_go("old", "new")
    queue.plimsoll("cancel", *numbers)
    for number in numbers:
        queue.wait_state(number, "ended")
    assert {profile["steps_per_second"] for profile in queue.profiles()} == paces


def test_who_wants_to_keep_its_speed_is_rid_of_the_newest_that_saves(make_queue):
    """The promise's interval alone would let it be."""
    queue = make_queue(gpus=1)
    queue.start_daemon()
    saves = ("--save", "SIGUSR1", "--most-moves", 1)
    learned(queue, "old", "--keep", 0.9)
    learned(queue, "new", *saves)
    old = queue.submit_one("--keep", 0.9, "--", *queue.training("old", 100000, 0.01))
    queue.begun("old", 2)
    new = queue.submit_one(*saves, "--", *queue.training("new", 100000, 0.01))
    queue.begun("new", 2)
    assert queue.wait_state(new, "running")["promised_speed"] > 0.9
    # Some 0.8 of its pace: less than it keeps, more than what is as promised.
    (queue.folder / "old.pace").write_text("0.0125")
    move = wait_for(lambda: [one for one in queue.decisions(new) if one["kind"] == "move"])
    assert "wants to keep" in move[0]["reason"] or "slower than promised" in move[0]["reason"]
    assert [one["kind"] for one in queue.decisions(old)] == ["start"]


def test_who_is_slower_than_promised_is_told(make_queue):
    queue = make_queue(gpus=1)
    queue.start_daemon()
    learned(queue, "job")
    number = queue.submit_one("--", *queue.training("job", 100000, 0.01))
    queue.begun("job", 2)
    first = wait_for(lambda: (one := queue.wait_state(number, "running")) and "speed" in one and one)
    assert first["promised_speed"] > 0.9 and 0 < first["promised_low"] < first["promised_speed"]
    (queue.folder / "job.pace").write_text("0.1")  # a tenth
    wait_for(lambda: (one := queue.wait_state(number, "running")) and "speed" in one and one["speed"] < one["promised_low"])
    alarms = wait_for(lambda: [one for one in json.loads(queue.plimsoll("top", "--json").out)["alarms"] if one["kind"] == "slow"])
    assert alarms[0]["text"].startswith(f"job {number} (") and alarms[0]["run"]
    wait_for(lambda: "of its speed alone, lately" in queue.plimsoll("queue", number).out)


def test_what_took_nearly_all_of_a_gpu_runs_there_again(make_queue):
    queue = make_queue(gpus=1)
    queue.start_daemon()
    number = queue.submit_one("--", *queue.training("job"))
    pid = queue.begun("job")
    queue.gpus.hold(0, pid, H200 - 3 * GIB)
    queue.wait_job(number, lambda job: job.get("gpu_bytes") == H200 - 3 * GIB and job.get("step", 0) > 50)
    queue.let_go("job")
    queue.wait_ended(number)
    queue.gpus.leave(0, pid)
    queue.wait_ended(queue.submit_one("--", *queue.training("job")))


def test_out_of_memory_beyond_any_gpu_is_tried_alone_and_then_over(make_queue):
    queue = make_queue(gpus=1)
    queue.start_daemon()
    number = queue.submit_one("--need", "100GiB", "--", "sh", "-c", "echo try >> tries; echo 'CUDA out of memory'; exit 1")
    assert queue.wait_ended(number, "cuda-out-of-memory")["attempt"] == 3
    assert "no GPU here has" in next(one["reason"] for one in queue.decisions(number) if one["kind"] == "again")


def test_what_is_only_tried_changes_no_prediction(make_queue):
    promised = []
    for tries in ((), (HEAVY, LIGHT)):
        queue = make_queue(gpus=1)
        queue.start_daemon()
        first = queue.submit_one("--need", "2GiB", *LIGHT, "--", *queue.training("first"))
        queue.begun("first")
        for tried in tries:
            told = queue.plimsoll("submit", "--dry-run", "--json", "--need", "3GiB", *tried, "--", "true")
            assert told.code == 0, told.err
        second = queue.submit_one("--need", "2GiB", *LIGHT, "--keep", 0.1, "--", *queue.training("second"))
        queue.begun("second")
        promised.append(queue.wait_state(second, "running")["promised_speed"])
        queue.let_go("first", "second")
        for number in (first, second):
            queue.wait_ended(number)
    assert promised[0] == promised[1]


def test_a_dry_run_knows_what_waits_for_whom(queue):
    first = queue.submit_one("--need", "1GiB", "--seconds", "60", "--", *queue.training("first"))
    queue.begun("first")
    job, = json.loads(queue.plimsoll("submit", "--dry-run", "--json", "--need", "1GiB", "--after", first, "--", "true").out)["jobs"]
    assert job["waits"] == f"it waits for job {first}" and "place" not in job
    queue.let_go("first")


def test_a_dry_run_knows_what_was_learned_before_the_daemon_came(make_queue):
    queue = make_queue(gpus=1)
    queue.start_daemon()
    learned(queue, "job")
    queue.kill_daemon()
    queue.start_daemon()
    told = json.loads(queue.plimsoll("submit", "--dry-run", "--json", "--", *queue.training("job", 100000, 0.01)).out)["jobs"][0]
    assert told["source"] == "its last run" and told["memory_bytes"] >= GIB
