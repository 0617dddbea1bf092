"""Traces from memory snapshots. Recording itself needs a GPU; the snapshot's form is PyTorch's."""

import gzip
import json
import pickle

import pytest

from plimsoll_torch import memory
from plimsoll_torch.errors import HandoverError

SNAPSHOT = {
    "segments": [],
    "device_traces": [[
        {"action": "segment_alloc", "addr": 4096, "size": 2097152, "stream": 0},
        {"action": "alloc", "addr": 4096, "size": 1000, "stream": 0, "frames": []},
        {"action": "free_requested", "addr": 4096, "size": 1000, "stream": 0},
        {"action": "free_completed", "addr": 4096, "size": 1000, "stream": 0},
        {"action": "snapshot", "addr": 0, "size": 0, "stream": 0},
    ]],
    "allocator_settings": {"expandable_segments": False, "max_split_size": -1, "roundup_power2_divisions": {"4": 1}},
}


def test_a_block_is_free_when_its_free_is_completed():
    trace = memory.trace_of(SNAPSHOT)
    assert trace["version"] == 1
    assert trace["events"] == [["segment_alloc", 4096, 2097152, 0], ["alloc", 4096, 1000, 0], ["free", 4096, 1000, 0]]
    assert trace["settings"] == {"expandable_segments": False, "max_split_size": -1}


@pytest.mark.parametrize("snapshot", [{}, {"device_traces": []}, {"device_traces": [[]]}])
def test_a_snapshot_without_history_is_refused(snapshot):
    with pytest.raises(HandoverError, match="_record_memory_history"):
        memory.trace_of(snapshot)


def test_a_snapshot_becomes_a_file(tmp_path, capsys):
    source = tmp_path / "snapshot.pickle"
    source.write_bytes(pickle.dumps(SNAPSHOT))
    for name, opened in (("trace.json", open), ("trace.json.gz", gzip.open)):
        assert memory.main([str(source), "-o", str(tmp_path / name)]) == 0
        assert json.load(opened(tmp_path / name, "rt"))["events"][1] == ["alloc", 4096, 1000, 0]
    assert memory.main([str(tmp_path / "none.pickle"), "-o", str(tmp_path / "t.json")]) == 2
    assert "none.pickle" in capsys.readouterr().err


def test_a_file_that_is_no_pickle_is_refused(tmp_path, capsys):
    (tmp_path / "junk").write_bytes(b"junk")
    assert memory.main([str(tmp_path / "junk"), "-o", str(tmp_path / "t.json")]) == 2
    assert "junk" in capsys.readouterr().err
    (tmp_path / "list").write_bytes(pickle.dumps([1, 2]))
    assert memory.main([str(tmp_path / "list"), "-o", str(tmp_path / "t.json")]) == 2
