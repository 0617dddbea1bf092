"""Engines that hang, are interrupted, or leave something behind."""
import os
import signal

import pytest
from conftest import FIXTURES, is_alive, wait_for

TINY = FIXTURES / "tiny.onnx"


def engine_of(process):
    """The engine that a plimsoll measure has started, once it runs."""
    def find():
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/stat") as stat, open(f"/proc/{pid}/cmdline") as line:
                    if int(stat.read().rsplit(")", 1)[1].split()[1]) == process.pid and "fake_engine" in line.read():
                        return int(pid)
            except (FileNotFoundError, ProcessLookupError):
                pass
    return wait_for(find)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_engine_too(machine, number):
    machine.trouble("hang")
    process = machine.start("measure", TINY, "--device", "cpu")
    engine = engine_of(process)
    wait_for(lambda: any(machine.jobs.iterdir()))
    process.send_signal(number)
    out, err = process.communicate(timeout=300)
    assert process.returncode == 128 + number
    assert out == "" and "interrupted" in err
    wait_for(lambda: not is_alive(engine))
    assert machine.nothing_left()


def test_a_hung_engine_is_ended(machine):
    machine.trouble("hang")
    done = machine.measure(TINY, "--device", "cpu", "--silence", "2")
    assert done.code == 4 and done.out == ""
    assert "said nothing for 2 s and was ended" in done.err and "--silence" in done.err
    assert machine.nothing_left()


def test_an_engine_that_is_not_done_in_time_is_ended(machine):
    machine.trouble("hang")
    done = machine.measure(TINY, "--device", "cpu", "--timeout", "2")
    assert done.code == 4 and done.out == ""
    assert "was not done after 2 s and was ended" in done.err and "--timeout" in done.err


def test_words_that_are_no_answer_are_refused(machine):
    machine.trouble("noisy")
    done = machine.measure(TINY, "--device", "cpu")
    assert done.code == 4 and "sent something that is not an answer: 'Loading libraries" in done.err


def test_nothing_is_left_after_a_measurement(machine):
    assert machine.measure(TINY, "--device", "cpu").code == 0
    assert machine.nothing_left()


def test_no_progress_but_on_a_terminal(machine):
    assert machine.measure(TINY, "--device", "cpu").err == ""


def test_progress_on_a_terminal(machine):
    controller, terminal = os.openpty()
    machine.environment["COLUMNS"] = "120"
    process = machine.start("measure", TINY, "--device", "cpu", "--batch", "1,2", stderr=terminal)
    os.close(terminal)
    process.communicate(timeout=300)
    shown = b""
    try:
        while chunk := os.read(controller, 65536):
            shown += chunk
    except OSError:  # the other end is closed
        pass
    os.close(controller)
    assert process.returncode == 0
    assert b"1/2 " in shown and b"tiny.onnx on cpu, batch 2: starting [" in shown and b"left" in shown
    assert shown.endswith(b"\r\x1b[K")
