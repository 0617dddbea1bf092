"""The daemon: it starts, ends, and comes back; jobs go on meanwhile."""
import json
import shutil
import signal
import subprocess

from conftest import BINARY, GIB, Machine, is_alive, wait_for


def test_a_job_is_run_where_it_was_submitted(queue):
    queue.environment["MINE"] = "a=b"
    place = queue.folder / "elsewhere"
    place.mkdir()
    done = subprocess.run([BINARY, "submit", "--json", "--need", "1GiB", "--", "sh", "-c",
                           "umask > given; echo $MINE >> given; pwd >> given; echo $CUDA_VISIBLE_DEVICES >> given; echo said"],
                          env=queue.environment, cwd=place, capture_output=True, text=True, umask=0o027)
    assert done.returncode == 0, done.stderr
    number, = json.loads(done.stdout)["numbers"]
    job = queue.wait_ended(number)
    mask, mine, folder, device = (place / "given").read_text().splitlines()
    assert (mask, mine, folder) == ("0027", "a=b", str(place))
    assert device.startswith("GPU-")
    run = queue.show(job["run"])
    assert run["tags"]["plimsoll.queue.job"] == str(number) and run["tags"]["plimsoll.mode"] == "mps"
    assert queue.plimsoll("queue", "output", number).out == "said\n"


def test_a_restart_ends_no_job(queue):
    first = queue.submit_one("--need", "1GiB", "--", *queue.training("first"))
    second = queue.submit_one("--need", "1GiB", "--after", first, "--", *queue.training("second", 1))
    process = queue.begun("first")
    stopped = queue.plimsoll("queue", "stop", "--json")
    assert stopped.code == 0 and json.loads(stopped.out) == {"running": 1}
    assert queue.daemon.wait(timeout=300) == 0
    assert is_alive(process)
    assert queue.plimsoll("queue").code == 3
    queue.start_daemon()
    assert queue.wait_state(first, "running")["attempt"] == 1
    assert "waits for job" in queue.wait_job(second, lambda job: "waits_because" in job)["waits_because"]
    queue.let_go("first")
    queue.wait_ended(first)
    queue.wait_ended(second)
    assert [word for word, _, _ in queue.log("first")] == ["begin", "end"]


def test_what_ended_while_no_daemon_was_there_is_taken_in(queue):
    number = queue.submit_one("--need", "1GiB", "--", *queue.training("one"))
    queue.begun("one")
    queue.kill_daemon(signal.SIGTERM)
    queue.let_go("one")
    wait_for(lambda: ("end" in [word for word, _, _ in queue.log("one")]) and not queue.supervisors())
    queue.start_daemon()
    queue.wait_ended(number)
    assert len(queue.log("one")) == 2


def test_in_the_background(make_queue):
    queue = make_queue()
    started = queue.plimsoll("queue", "start", "--host", "here")
    assert started.code == 0, started.err
    again = queue.plimsoll("queue", "start", "--host", "here")
    assert again.code != 0 and "runs on this machine already" in again.err
    number = queue.submit_one("--need", "1GiB", "--", "true")
    queue.wait_ended(number)
    assert queue.plimsoll("queue", "stop").code == 0
    wait_for(lambda: queue.plimsoll("queue").code == 3)
    assert "plimsoll queue start" in queue.plimsoll("queue").err


def test_nothing_to_share(tmp_path):
    machine = Machine(tmp_path)
    machine.environment["PLIMSOLL_QUEUE"] = str(machine.runtime / "queue")
    failed = machine.plimsoll("queue", "start", "--foreground")
    shutil.rmtree(machine.runtime)
    assert failed.code == 3 and "no GPU" in failed.err


def test_what_the_machine_and_a_person_are_told(queue):
    running = queue.submit_one("--name", "runs", "--need", "2GiB", "--seconds", "10m", "--", *queue.training("a"))
    queue.begun("a")
    waiting = queue.submit_one("--name", "waits", "--need", "1TiB", "--", "true")
    queue.wait_job(waiting, lambda job: "no GPU here can hold it" in job.get("waits_because", ""))
    text = queue.plimsoll("queue").out
    assert "runs" in text and "ends in 10 min" in text and "no GPU here can hold it" in text and "GPU 0" in text
    told = json.loads(queue.plimsoll("queue", "--json").out)
    job, = [one for one in told["jobs"] if one["number"] == running]
    assert 0 < job["ends_in_seconds"] <= 600 and job["places"] in (["GPU 0"], ["GPU 1"])
    assert [gpu["name"] for gpu in told["queue"]["gpus"]] == ["GPU 0", "GPU 1"]
    one = queue.plimsoll("queue", running).out
    assert "start" in one and "nothing else is there" in one
    top = json.loads(queue.plimsoll("top", "--json").out)["queue"]
    assert (top["running"], top["waiting"]) == (1, 1) and top["next"][0]["name"] == "waits"
    assert "1 running, 1 waiting" in queue.plimsoll("top", "--once").out
    assert queue.plimsoll("queue", 99).code == 2


def test_output_is_kept_and_followed(queue):
    number = queue.submit_one("--need", "1GiB", "--", "sh", "-c", "echo first; while [ ! -e go ]; do sleep 0.05; done; echo last")
    following = queue.start("queue", "output", "--follow", number)
    assert following.stdout.readline() == "first\n"
    (queue.folder / "go").touch()
    out, err = following.communicate(timeout=300)
    assert (out, following.returncode) == ("last\n", 0), err
    assert queue.plimsoll("queue", "output", number).out == "first\nlast\n"
    failed = queue.submit_one("--need", "1GiB", "--", "sh", "-c", "echo wrong >&2; exit 3")
    done = queue.plimsoll("queue", "output", "--follow", failed)
    assert (done.code, done.out) == (1, "wrong\n")
    waiting = queue.submit_one("--hold", "--", "true")
    nothing = queue.plimsoll("queue", "output", waiting)
    assert nothing.code == 2 and "has not run" in nothing.err


def test_cancel_hold_release(queue):
    runs = queue.submit_one("--need", "1GiB", "--", *queue.training("runs"))
    held = queue.submit_one("--hold", "--", *queue.training("held", 1))
    process = queue.begun("runs")
    assert queue.job(held)["state"] == "held"
    waits = queue.submit_one("--after", runs, "--", *queue.training("waits", 1))
    assert queue.plimsoll("hold", waits).code == 0
    assert queue.plimsoll("cancel", runs, held).code == 0
    queue.wait_ended(runs, "cancelled")
    queue.wait_ended(held, "cancelled")
    assert not is_alive(process) and queue.log("held") == []
    assert queue.job(waits)["state"] == "held"
    assert queue.plimsoll("release", waits).code == 0
    queue.wait_ended(waits)
    again = queue.plimsoll("cancel", waits)
    assert again.code == 1 and "no such job that waits or runs" in again.err


def test_the_last_that_ended_are_shown(queue):
    numbers = queue.submit("--hold", "--array", 205, "--", "true")
    assert queue.plimsoll("cancel", "--quiet", f"{numbers[0]}-{numbers[-1]}").code == 0
    told = [job["number"] for job in json.loads(queue.plimsoll("queue", "--all", "--json").out)["jobs"]]
    assert told == numbers[-200:]
    assert len(queue.jobs(*numbers)) == 205


def test_jobs_of_another_pool_are_waited_for(make_queue):
    queue = make_queue(gpus=1)
    other = make_queue(gpus=1, store=queue.environment["PLIMSOLL_STORE"])
    queue.start_daemon()
    with open(other.folder / "daemon.log", "a") as log:
        other.daemons.append(other.start("queue", "start", "--foreground", "--host", "there", "--pool", "other",
                                         "--sharing", "exclusive", stdout=log, stderr=log))
    other.wait_until_open()
    first = queue.submit_one("--need", "1GiB", "--", *queue.training("first"))
    queue.begun("first")
    second = other.submit_one("--need", "1GiB", "--after", first, "--", *other.training("second", 1))
    assert "waits for job" in other.wait_job(second, lambda job: "waits_because" in job)["waits_because"]
    assert other.log("second") == []
    queue.let_go("first")
    queue.wait_ended(first)
    assert other.wait_ended(second)["started"] >= queue.job(first)["ended"]


def test_nonsense_on_the_socket_ends_nothing(queue):
    for message in ({"type": "list", "all": "yes"}, {"type": "list", "numbers": "x"}, {"type": "submit"}, {"type": 3}, {},
                    {"type": "submit", "token": "a", "environment": [], "jobs": [{"request": {"job": 3}}]},
                    {"type": "priority", "numbers": [1], "priority": []}, {"type": "decisions", "numbers": {}},
                    {"type": "dry", "environment": [], "jobs": [3]}, {"type": "move", "numbers": [None, -1, 1e300]}):
        assert queue.ask(message)["type"] in ("failed", "jobs", "changed", "decisions")
    number = queue.submit_one("--need", "1GiB", "--", "true")
    queue.wait_ended(number)


def test_memory_that_others_hold_is_not_given_away(make_queue):
    queue = make_queue(gpus=1)
    stranger = subprocess.Popen(["sleep", "600"])
    try:
        queue.gpus.hold(0, stranger.pid, 100 * GIB)
        queue.start_daemon()
        number = queue.submit_one("--need", "60GiB", "--", "true")
        queue.wait_job(number, lambda job: "no GPU here can hold it" in job.get("waits_because", ""))
        queue.gpus.leave(0, stranger.pid)
        queue.wait_ended(number)
    finally:
        stranger.kill()
        stranger.wait()
