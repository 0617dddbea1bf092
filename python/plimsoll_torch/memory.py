"""Records what PyTorch's CUDA allocator was asked for, as a trace that `plimsoll replay` reads.

    with plimsoll_torch.record_memory("trace.json"):
        train()

or, of a snapshot that torch.cuda.memory._dump_snapshot wrote:  python -m plimsoll_torch.memory SNAPSHOT.pickle -o TRACE.json
"""

import argparse
import contextlib
import gzip
import json
import pickle
import sys

from .errors import HandoverError

# A block can be reused from the moment its free is completed, not from the moment it was asked for.
_ACTIONS = {"alloc": "alloc", "free_completed": "free", "segment_alloc": "segment_alloc",
            "segment_free": "segment_free", "segment_map": "segment_map", "segment_unmap": "segment_unmap", "oom": "oom"}
_MOST_EVENTS = 10_000_000


def trace_of(snapshot, device=0):
    """The events of one device in a snapshot of torch.cuda.memory._snapshot(), as a JSON-ready dict."""
    if not isinstance(snapshot, dict):
        raise HandoverError("this is no snapshot of torch.cuda.memory._snapshot()")
    traces = snapshot.get("device_traces") or []
    if device >= len(traces) or not traces[device]:
        raise HandoverError("this snapshot holds no history; call torch.cuda.memory._record_memory_history() before the run")
    events = [[_ACTIONS[e["action"]], e.get("addr", 0), e.get("size", 0), e.get("stream", 0)]
              for e in traces[device] if e["action"] in _ACTIONS]
    settings = snapshot.get("allocator_settings") or {}
    return {"version": 1, "settings": {k: v for k, v in settings.items() if isinstance(v, (bool, int, float, str))},
            "events": events}


def write_trace(path, trace):
    opened = gzip.open(path, "wt") if str(path).endswith(".gz") else open(path, "w")
    with opened as f:
        json.dump(trace, f, separators=(",", ":"))


@contextlib.contextmanager
def record_memory(path, device=None):
    """Records all that happens inside it. The trace is whole only if nothing was on the device before: the replay
    starts from an empty allocator."""
    import torch
    if not torch.cuda.is_available():
        raise HandoverError("there is no CUDA device here whose memory could be recorded")
    device = torch.cuda.current_device() if device is None else torch.device(device).index or 0
    torch.cuda.init()
    held = torch.cuda.memory_reserved(device)
    torch.cuda.reset_peak_memory_stats(device)
    torch.cuda.memory._record_memory_history(enabled="all", context=None, stacks="python", max_entries=_MOST_EVENTS)
    try:
        yield
        torch.cuda.synchronize(device)
        trace = trace_of(torch.cuda.memory._snapshot(), device)
        trace.update(reserved_before_bytes=held, peak_allocated_bytes=torch.cuda.max_memory_allocated(device),
                     peak_reserved_bytes=torch.cuda.max_memory_reserved(device), torch=torch.__version__,
                     device=torch.cuda.get_device_name(device))
        write_trace(path, trace)
    finally:
        torch.cuda.memory._record_memory_history(enabled=None)


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m plimsoll_torch.memory",
                                     description="Turns a PyTorch memory snapshot into a trace for plimsoll replay.")
    parser.add_argument("snapshot", help="file that torch.cuda.memory._dump_snapshot wrote; a pickle: open only your own")
    parser.add_argument("-o", "--output", required=True, help="the trace, JSON; compressed where the name ends in .gz")
    parser.add_argument("--device", type=int, default=0, help="index of the GPU in the snapshot (0)")
    given = parser.parse_args(arguments)
    try:
        with open(given.snapshot, "rb") as f:
            snapshot = pickle.load(f)
        write_trace(given.output, trace_of(snapshot, given.device))
    except (OSError, EOFError, ValueError, IndexError, KeyError, AttributeError, ImportError, pickle.UnpicklingError, HandoverError) as error:
        print(f"plimsoll_torch: {given.snapshot}: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
