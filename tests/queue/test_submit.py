"""What can be submitted: options, files, arrays, sweeps; and what is said before."""
import json

import pytest
from conftest import GIB


def words(queue, number):
    return queue.job(number)["command"]


def test_a_sweep_and_an_array_are_a_job_for_each(queue):
    swept = queue.submit("--hold", "--name", "s", "--sweep", "lr=0.1,0.01", "--sweep", "seed=1,2", "--", "train", "--lr={lr}")
    assert [words(queue, number) for number in swept] == [
        ["train", "--lr=0.1", "--seed", "1"], ["train", "--lr=0.1", "--seed", "2"],
        ["train", "--lr=0.01", "--seed", "1"], ["train", "--lr=0.01", "--seed", "2"]]
    assert queue.job(swept[3])["name"] == "s lr=0.01 seed=2"
    array = queue.submit("--need", "1GiB", "--array", 3, "--", "sh", "-c", "echo $PLIMSOLL_ARRAY_INDEX > out.{index}")
    for index, number in enumerate(array):
        run = queue.show(queue.wait_ended(number)["run"])
        assert (queue.folder / f"out.{index}").read_text() == f"{index}\n"
        assert run["params"]["index"] == str(index)


def test_what_is_asked_is_what_is_kept(queue):
    number = queue.submit_one("--hold", "--name", "n", "--priority", 2.5, "--need", "3GiB", "--gpus", 2, "--alone", "--keep", 0.8,
                              "--save", "USR1", "--save-patience", "5s", "--most-moves", 1, "--rerun", "--run-on", "--deadline", "2h",
                              "--estimate", "resnet50 --mode train --batch 64", "--steps", 100, "--time-limit", "1h", "--param",
                              "a=b", "--tag", "c=d", "--artifact", "out.txt", "--experiment", "e", "--", "train")
    job = queue.job(number)
    assert (job["name"], job["priority"], job["state"], job["command"]) == ("n", 2.5, "held", ["train"])
    request = job["request"]
    assert request["known"] == {"model": "resnet50", "mode": "train", "batch": 64, "steps": 100}
    assert request["save"] == "SIGUSR1" and request["save_patience_seconds"] == 5 and request["most_moves"] == 1
    assert request["rerun"] and request["runs_on"] and request["alone"] and (request["gpus"], request["keep"]) == (2, 0.8)
    assert request["job"]["need_bytes"] == 3 * GIB and request["job"]["time_limit_seconds"] == 3600


@pytest.mark.parametrize("given, told", [
    (["--save", "SIGKILL", "--", "true"], "no signal to save on"), (["--need", "much", "--", "true"], "--need"),
    (["--deadline", "yesterday", "--", "true"], "no time"), (["--deadline", "2001-01-01T00:00", "--", "true"], "passed already"),
    (["--sweep", "lr", "--", "true"], "no NAME=VALUE"), (["--after", "x", "--", "true"], "no number of a job"), ([], "nothing to submit"),
    (["--keep", "2", "--", "true"], "keep"), (["jobs.toml", "--array", "2"], "one by one"), (["--after", "77", "--", "true"], "77")])
def test_nonsense_is_refused(queue, given, told):
    (queue.folder / "jobs.toml").write_text('[[job]]\nname = "a"\ncommand = ["true"]\n')
    refused = queue.plimsoll("submit", *given)
    assert refused.code == 2 and told in refused.err, refused.err
    assert queue.jobs() == {}


def test_without_a_queue(make_queue):
    refused = make_queue().plimsoll("submit", "--", "true")
    assert refused.code == 3 and "plimsoll queue start" in refused.err


FILE = """
[[job]]
name = "prepare"
command = ["sh", "-c", "echo prepared > prepared"]
need = "1GiB"
priority = 3

[[job]]
name = "train"
command = ["sh", "-c", "cat prepared > trained"]
after = ["prepare"]
model = "resnet18"
batch = 32
steps = 100
save = "SIGUSR1"
keep = 0.5
"""


def test_a_file_of_jobs(queue):
    path = queue.folder / "jobs.toml"
    path.write_text(FILE)
    prepare, train = queue.submit(path, "--rerun")
    assert queue.wait_ended(prepare)["priority"] == 3
    job = queue.wait_ended(train)
    assert (queue.folder / "trained").read_text() == "prepared\n" and job["after"] == [prepare]
    request = job["request"]
    assert request["known"] == {"model": "resnet18", "batch": 32, "steps": 100}
    assert (request["save"], request["keep"], request["rerun"]) == ("SIGUSR1", 0.5, True)


@pytest.mark.parametrize("text, told", [
    ('[[job]]\nname = "a"\n', "no command"), ('[[job]]\nname = "a"\ncommand = ["true"]\nsave = "KILL"\n', "saves on no signal"),
    ('[[job]]\nname = "a"\ncommand = ["true"]\nkeap = 1\n', "keap"), ("nonsense", "jobs.toml"), ("", "[[job]]"),
    ('[[job]]\nname = "a"\ncommand = ["true"]\nafter = ["b"]\n', "names no job")])
def test_a_file_that_makes_no_sense(queue, text, told):
    path = queue.folder / "jobs.toml"
    path.write_text(text)
    refused = queue.plimsoll("submit", path)
    assert refused.code == 2 and told in refused.err, refused.err
    assert queue.jobs() == {}


def test_a_dry_run_tells_where_when_beside_whom_and_what_it_costs(make_queue):
    queue = make_queue(gpus=1)
    queue.start_daemon()
    vgg = ("--estimate", "vgg16 --mode train --batch 32 --input 3x224x224", "--steps", 5000)
    running = queue.submit_one(*vgg, "--", *queue.training("runs"))
    queue.wait_state(running, "running")
    told = queue.plimsoll("submit", "--dry-run", "--json", *vgg, "--", "true")
    assert told.code == 0, told.err
    answer = json.loads(told.out)
    job, = answer["jobs"]
    assert job["memory_bytes"] > GIB and job["alone_seconds"] > 10 and job["end_seconds"] > job["start_seconds"] >= 0
    if "place" in job:
        assert job["place"] == "GPU 0" and [other["job"] for other in job["beside"]] == [running]
    else:
        assert job["waits"]
    other, = answer["others"]
    assert other["job"] == running and other["later_seconds"] >= 0
    text = queue.plimsoll("submit", "--dry-run", *vgg, "--", "true").out
    assert "of GPU memory at most" in text and "expected to start in" in text
    assert list(queue.jobs()) == [running], "nothing was submitted"
    # Of what nobody knows, nothing is foretold.
    unknown = json.loads(queue.plimsoll("submit", "--dry-run", "--json", "--", "true").out)["jobs"][0]
    assert "memory_bytes" not in unknown and "alone_seconds" not in unknown and "end_seconds" not in unknown
    refused = queue.plimsoll("submit", "--dry-run", "--estimate", "nothing --batch 1", "--steps", 3, "--", "true")
    assert refused.code == 2 and "nothing" in refused.err
