"""Who is put beside whom, what is learned, who is moved, and what follows an end."""
import json

from conftest import GIB, is_alive, wait_for


LIGHT = "mobilenet_v2 --mode train --batch 8 --input 3x32x32"


def places(queue, *numbers):
    return [queue.wait_state(number, "running")["places"] for number in numbers]


def test_those_that_fit_share_a_gpu(make_queue):
    queue = make_queue(gpus=1)
    queue.start_daemon()
    small = ("--need", "50GiB", "--seconds", "600")
    numbers = [queue.submit_one(*small, "--estimate", LIGHT, "--", *queue.training(name)) for name in "abc"]
    first, second = numbers[:2]
    queue.wait_state(first, "running")
    assert queue.wait_state(second, "running")["sharing"] == "mps"
    waits = queue.wait_job(numbers[2], lambda job: "waits_because" in job and "left, and it needs" in job["waits_because"])
    assert waits["state"] == "waiting"
    start, = [one for one in queue.decisions(second) if one["kind"] == "start"]
    assert "beside one other" in start["reason"] and start["expected"]["others"][0]["job"] == first
    assert 0 < start["expected"]["speed"] <= 1
    queue.let_go("a", "b", "c")
    for number in numbers:
        queue.wait_ended(number)


def test_exclusive_is_one_at_a_time(make_queue):
    queue = make_queue(gpus=1)
    queue.start_daemon("--policy", "exclusive")
    first, second = (queue.submit_one("--need", "1GiB", "--seconds", "60", "--", *queue.training(name)) for name in "ab")
    queue.begun("a")
    assert queue.job(second)["state"] == "waiting"
    queue.let_go("a")
    queue.wait_ended(first)
    queue.begun("b")
    assert queue.job(second)["sharing"] == "alone"
    queue.let_go("b")
    queue.wait_ended(second)


def test_alone_and_several_gpus(make_queue):
    queue = make_queue(gpus=2)
    queue.start_daemon()
    both = queue.submit_one("--gpus", 2, "--need", "1GiB", "--", "sh", "-c", "echo $CUDA_VISIBLE_DEVICES > devices; while [ ! -e go ]; do sleep 0.05; done")
    assert sorted(queue.wait_state(both, "running")["places"]) == ["GPU 0", "GPU 1"]
    alone = queue.submit_one("--alone", "--need", "1GiB", "--", *queue.training("alone"))
    other = queue.submit_one("--need", "1GiB", "--", *queue.training("other"))
    queue.wait_job(alone, lambda job: "waits_because" in job)
    (queue.folder / "go").touch()
    queue.wait_ended(both)
    assert len((queue.folder / "devices").read_text().split(",")) == 2
    (first,), (second,) = places(queue, alone, other)
    assert first != second
    queue.let_go("alone", "other")


def test_what_is_unknown_is_learned_alone_and_known_again(make_queue):
    queue = make_queue(gpus=1)
    queue.start_daemon()
    unknown = queue.submit_one("--", *queue.training("unknown", 100000, 0.02))
    pid = queue.begun("unknown")
    queue.gpus.hold(0, pid, 3 * GIB)
    queue.gpus.work(0, 0.2, 0.1)
    beside = queue.submit_one("--need", "2GiB", "--estimate", LIGHT, "--steps", 100000, "--", *queue.training("beside"))
    # It comes once fifty steps were seen, while the other still runs: until then nothing is known of that.
    queue.wait_state(beside, "running")
    assert queue.job(unknown)["step"] >= 50 and queue.job(unknown)["state"] == "running"
    # What the GPU did is read every half second, and may come after the fiftieth step.
    known = wait_for(lambda: next((one for one in queue.profiles() if one["peak_bytes"] >= 3 * GIB and "sm_activity" in one), None))
    assert 0.1 < known["sm_activity"] < 0.3 and known["steps_per_second"] > 1
    queue.plimsoll("cancel", unknown, beside)
    queue.wait_ended(unknown, "cancelled")
    queue.gpus.leave(0, pid)
    # The same command again is known by its fingerprint.
    told = json.loads(queue.plimsoll("submit", "--dry-run", "--json", "--", *queue.training("unknown", 100000, 0.02)).out)["jobs"][0]
    assert told["source"] == "its last run" and told["memory_bytes"] >= 3 * GIB


def test_a_move_saves_first_and_goes_on_elsewhere(queue):
    number = queue.submit_one("--need", "1GiB", "--save", "SIGUSR1", "--", *queue.training("saves"))
    queue.begun("saves")
    queue.wait_job(number, lambda job: job.get("step", 0) >= 5)
    assert queue.plimsoll("move", number).code == 0
    queue.begun("saves", 2)
    job = queue.wait_job(number, lambda job: job["state"] == "running" and job["attempt"] == 2)
    assert job["moves"] == 1
    begins = [step for word, _, step in queue.log("saves") if word == "begin"]
    assert begins[0] == 0 and begins[1] >= 5, "it goes on from what it saved"
    move, = [one for one in queue.decisions(number) if one["kind"] == "move"]
    assert f"it saved step {begins[1]}" in move["reason"]
    queue.let_go("saves")
    queue.wait_ended(number)
    assert "twice" not in [word for word, _, _ in queue.log("saves")]


def test_who_cannot_save_is_never_stopped(queue):
    number = queue.submit_one("--need", "1GiB", "--", *queue.training("cannot"))
    process = queue.begun("cannot")
    queue.wait_state(number, "running")
    refused = queue.plimsoll("move", number)
    assert refused.code == 1 and "never said how it saves" in refused.err
    assert is_alive(process)


def test_who_does_not_answer_stays(queue):
    queue.environment["TRAINING_IGNORES"] = "USR1"
    number = queue.submit_one("--need", "1GiB", "--save", "SIGUSR1", "--save-patience", "1s", "--", *queue.training("deaf"))
    process = queue.begun("deaf")
    queue.wait_state(number, "running")
    assert queue.plimsoll("move", number).code == 0
    wait_for(lambda: any(one["kind"] == "stay" for one in queue.decisions(number)))
    assert is_alive(process) and queue.job(number)["attempt"] == 1


def learn(queue, name, *options):
    """A run of a stand-in that is ended once its pace alone is known."""
    number = queue.submit_one(*options, "--", *queue.training(name, 100000, 0.01))
    pid = queue.begun(name)
    queue.gpus.hold(0, pid, GIB)
    queue.gpus.work(0, 0.3)
    # A second of it at least; then what it holds is told at most half a second later.
    queue.wait_job(number, lambda job: job.get("step", 0) >= 150 and job.get("gpu_bytes") == GIB)
    queue.plimsoll("cancel", number)
    queue.wait_ended(number, "cancelled")
    queue.gpus.leave(0, pid)


def test_the_newest_that_saves_is_moved_where_it_only_slows(make_queue):
    """Each makes some ninety steps a second alone, as its first run showed; together far fewer than was promised."""
    queue = make_queue(gpus=1)
    queue.start_daemon()
    saves = ("--save", "SIGUSR1", "--most-moves", 1)
    learn(queue, "old")
    learn(queue, "new", *saves)
    old = queue.submit_one("--", *queue.training("old", 100000, 0.01))
    queue.begun("old", 2)
    new = queue.submit_one(*saves, "--", *queue.training("new", 100000, 0.01))
    queue.begun("new", 2)
    assert queue.wait_state(new, "running")["promised_speed"] > 0.9
    for name in ("old", "new"):
        (queue.folder / f"{name}.pace").write_text("1.5")  # less than the busiest machine let them make alone
    move = wait_for(lambda: [one for one in queue.decisions(new) if one["kind"] == "move"])
    assert "slower than promised" in move[0]["reason"]
    assert [one["kind"] for one in queue.decisions(old)] == ["start"], "who cannot save is left alone"
    queue.wait_job(new, lambda job: job.get("moves") == 1)
    # What was measured is believed: they are not put together again.
    assert "beside those on GPU 0 it would add" in queue.wait_job(new, lambda job: "waits_because" in job)["waits_because"]


def test_out_of_memory_by_evidence_alone(make_queue):
    queue = make_queue(gpus=1)
    queue.start_daemon()
    # The third attempt has what it needs; its output says each time what PyTorch's would.
    text = ("n=$(cat tries 2>/dev/null || echo 0); echo $((n + 1)) > tries; [ $n = 2 ] && exit 0; echo 'torch.OutOfMemoryError: CUDA out of "
            "memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 139.81 GiB of which 1.00 GiB is free.'; exit 1")
    number = queue.submit_one("--need", "4GiB", "--", "sh", "-c", text)
    job = queue.wait_ended(number)
    assert (job["attempt"], job["out_of_memory"]) == (3, 2)
    again = [one["reason"] for one in queue.decisions(number) if one["kind"] == "again"]
    assert "it ran out of memory with 4.00 GiB" in again[0] and "alone" in again[1]
    # A bare exit code is none.
    other = queue.submit_one("--need", "4GiB", "--rerun", "--", "sh", "-c", "echo again >> others; exit 1")
    queue.wait_ended(other, "failed")
    assert (queue.folder / "others").read_text() == "again\n"


def test_out_of_memory_ends_in_the_end(make_queue):
    queue = make_queue(gpus=1)
    queue.start_daemon()
    number = queue.submit_one("--need", "4GiB", "--", "sh", "-c", "echo try >> tries; echo 'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.'; exit 1")
    job = queue.wait_state(number, "ended")
    assert "memory" in job["outcome"] and "third time" in job["reason"]
    assert (queue.folder / "tries").read_text() == "try\n" * 3


def test_neighbours_that_fell_with_a_fault_go_on_from_their_save(make_queue):
    queue = make_queue(gpus=1)
    queue.start_daemon()
    estimate = ("--need", "2GiB", "--estimate", LIGHT, "--steps", 100000)
    good = queue.submit_one(*estimate, "--save", "SIGUSR1", "--", "sh", "-c", """
if [ -e good.saved ]; then exit 0; fi
touch good.saved; echo 'plimsoll: saved step 5'; while [ ! -e fault ]; do sleep 0.02; done
echo 'CUDA error: an illegal memory access was encountered'; exit 1""")
    wait_for(lambda: (queue.folder / "good.saved").exists())
    bad = queue.submit_one(*estimate, "--", "sh", "-c", """
echo try >> bad.tries; touch fault; echo 'CUDA error: an illegal memory access was encountered'; exit 1""")
    job = queue.wait_ended(good)
    assert job["attempt"] == 2
    assert "fault of a neighbour" in [one for one in queue.decisions(good) if one["kind"] == "again"][0]["reason"]
    # Nobody knows whose it was: both are no clients of MPS any more, and what comes again is its own.
    queue.wait_ended(bad, "failed")
    assert (queue.folder / "bad.tries").read_text() == "try\n" * 2


def test_priority_comes_first_and_waiting_counts(make_queue):
    queue = make_queue(gpus=1)
    queue.start_daemon()
    first = queue.submit_one("--alone", "--need", "1GiB", "--", *queue.training("first"))
    queue.begun("first")
    low, high = (queue.submit_one("--alone", "--need", "1GiB", "--priority", priority, "--", *queue.training(name, 1))
                 for name, priority in (("low", 0), ("high", 5)))
    queue.let_go("first")
    queue.wait_ended(first)
    queue.wait_ended(low)
    assert queue.job(high)["started"] < queue.job(low)["started"]


def test_a_deadline_is_kept_where_it_can_be(make_queue):
    queue = make_queue(gpus=1)
    queue.start_daemon()
    first = queue.submit_one("--alone", "--need", "1GiB", "--", *queue.training("first"))
    queue.begun("first")
    early, urgent = (queue.submit_one("--alone", "--need", "1GiB", "--seconds", "60", *more, "--", *queue.training(name, 1))
                     for name, more in (("early", []), ("urgent", ["--deadline", "80s"])))
    queue.let_go("first")
    queue.wait_ended(first)
    queue.wait_ended(early)
    # On a machine so slow that it has passed, it comes in its turn.
    assert queue.job(urgent)["started"] < queue.job(early)["started"] or queue.job(urgent)["started"] > queue.job(urgent)["submitted"] + 80


def test_a_limit_for_each_user(make_queue):
    queue = make_queue(gpus=2)
    queue.start_daemon("--most-per-user", 1)
    first, second = (queue.submit_one("--need", "1GiB", "--", *queue.training(name)) for name in "ab")
    queue.begun("a")
    queue.wait_job(second, lambda job: "1 job at once" in job.get("waits_because", ""))
    queue.let_go("a", "b")
    queue.wait_ended(first)
    queue.wait_ended(second)
    assert queue.job(second)["started"] >= queue.job(first)["ended"]
