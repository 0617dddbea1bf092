#!/usr/bin/env python3
"""Records, on a machine with a GPU, every allocation that PyTorch makes in training and inference: the trace from an
empty allocator over three steps, and for the last step the operator that each allocation belongs to.

usage: allocations.py OUT.jsonl.xz MODEL CASE…       CASE: train|infer:BATCH:fp32|amp-bf16[:OPTIMIZER]
Each line of OUT: one case, its peaks, `events` ([action, block, bytes, stream]) and `operators` ([bytes, block, names of
the operators around it, outermost first, shapes of the innermost's inputs])."""

import gc
import json
import lzma
import os
import sys
import tempfile

import torch

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../python"))
import workloads
from plimsoll_torch.memory import trace_of


def annotated(path):
    """Memory events of a profiler's trace, each with the operators around it."""
    events = json.load(open(path))["traceEvents"]
    spans, memory = {}, []
    for e in events:
        if e.get("cat") == "cpu_op":
            spans.setdefault(e["tid"], []).append((e["ts"], -e["dur"], e["name"], e.get("args", {})))
        elif e.get("name") == "[memory]" and e["args"].get("Device Type") == 1:
            memory.append(e)
    for of_thread in spans.values():
        of_thread.sort(key=lambda s: (s[0], s[1]))
    result, place, stacks = [], {t: 0 for t in spans}, {t: [] for t in spans}
    for e in sorted(memory, key=lambda e: e["ts"]):
        stack, of_thread = stacks.get(e["tid"], []), spans.get(e["tid"], [])
        i = place.get(e["tid"], 0)
        while i < len(of_thread) and of_thread[i][0] <= e["ts"]:
            stack.append(of_thread[i]); i += 1
        place[e["tid"]] = i
        stack[:] = [s for s in stack if s[0] - s[1] >= e["ts"]]
        dims = next((s[3]["Input Dims"] for s in reversed(stack) if s[3].get("Input Dims")), [])
        result.append([e["args"]["Bytes"], e["args"]["Addr"], ">".join(s[2] for s in stack), dims])
    return result


def measure(model, case):
    mode, batch, precision, optimizer = (case.split(":") + ["momentum"])[:4]
    torch._C._cuda_clearCublasWorkspaces()
    gc.collect()
    torch.cuda.empty_cache()
    before = torch.cuda.memory_reserved()
    torch.cuda.reset_peak_memory_stats()
    torch.cuda.memory._record_memory_history(enabled="all", context=None, stacks="python", max_entries=10_000_000)
    step = (workloads.Training if mode == "train" else workloads.Inference)(model, int(batch), precision, optimizer)
    loaded = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    for _ in range(2):
        step()
    torch.cuda.synchronize()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True, record_shapes=True) as profile:
        step()
        torch.cuda.synchronize()
    row = {"model": model, "mode": mode, "batch": int(batch), "precision": precision, "optimizer": optimizer,
           "reserved_before_bytes": before, "loaded_bytes": loaded, "peak_allocated_bytes": torch.cuda.max_memory_allocated(),
           "peak_reserved_bytes": torch.cuda.max_memory_reserved()}
    row.update(trace_of(torch.cuda.memory._snapshot()))
    blocks = {}  # addresses, numbered as they appear
    row["events"] = [[a, blocks.setdefault(address, len(blocks)), size, stream] for a, address, size, stream in row["events"]]
    torch.cuda.memory._record_memory_history(enabled=None)
    with tempfile.NamedTemporaryFile(suffix=".json") as f:
        profile.export_chrome_trace(f.name)
        row["operators"] = [[size, blocks.get(address, -1), names, dims] for size, address, names, dims in annotated(f.name)]
    return row


def main():
    with lzma.open(sys.argv[1], "wt") as out:
        for case in sys.argv[3:]:
            try:
                row = measure(sys.argv[2], case)
            except Exception as error:
                row = {"model": sys.argv[2], "case": case, "error": f"{type(error).__name__}: {error}"}
            print(json.dumps(row, separators=(",", ":")), file=out)
            print(sys.argv[2], case, row.get("error", row.get("peak_allocated_bytes")), flush=True)
            row = None


main()
