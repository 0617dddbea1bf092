"""Checks of the engine against PyTorch: time as a captured graph, memory in eager passes, of the same network and batch."""
import json
import os
import subprocess
import sys

CASES = [("resnet50", 64, "infer"), ("mobilenet_v2", 64, "infer"), ("resnet50", 32, "train")]
# PyTorch's own, in a process of its own: no memory of another case is in it.
PEER = """
import json, statistics, sys, torch, torchvision
name, batch, mode = sys.argv[1], int(sys.argv[2]), sys.argv[3]
torch.manual_seed(0)
module = getattr(torchvision.models, name)(weights=None).cuda().train(mode == "train")
images = torch.randn(batch, 3, 224, 224, device="cuda")
labels = torch.randint(0, 1000, (batch,), device="cuda")
optimizer = torch.optim.SGD(module.parameters(), 0.01, 0.9)
def infer():
    with torch.no_grad(): module(images)
def train():
    optimizer.zero_grad(set_to_none=True)
    torch.nn.functional.cross_entropy(module(images), labels).backward()
    optimizer.step()
work = train if mode == "train" else infer
for _ in range(3): work()
torch.cuda.synchronize()
peak = torch.cuda.max_memory_allocated()
side = torch.cuda.Stream(); side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    for _ in range(3): work()
torch.cuda.current_stream().wait_stream(side)
optimizer.zero_grad(set_to_none=True)
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph): work()
def once(passes):
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    for _ in range(passes): graph.replay()
    end.record(); torch.cuda.synchronize()
    return begin.elapsed_time(end) / 1e3 / passes
for _ in range(10): once(5)
print(json.dumps({"seconds": statistics.median(once(5) for _ in range(21)), "bytes": peak}))
"""


def case(machine, name, batch, mode):
    machine.holds(machine.engine and os.path.exists(machine.engine), "there is no plimsoll-engine")
    words = ["measure", name, "--batch", batch, "--device", "cuda:0", "--random-weights", "--energy", 0, "--time-limit", 3, "--mode", mode]
    if mode == "train":
        words += ["--optimizer", "momentum"]
    eager = machine.answer(*words)["rows"][0]
    captured = machine.answer(*words, "--capture")["rows"][0]
    asked = subprocess.run([sys.executable, "-c", PEER, name, str(batch), mode], capture_output=True, text=True, timeout=240)
    machine.holds(asked.returncode == 0, f"PyTorch's own: {asked.stderr.strip()[-300:]}")
    peer = json.loads(asked.stdout)
    time_ratio = captured["seconds"]["median"] / peer["seconds"]
    memory_ratio = eager["peak_allocated_bytes"] / peer["bytes"]
    machine.holds(0.9 < time_ratio < 1.1, f"{name}/{batch} {mode}: {time_ratio:.3f} of PyTorch's time")
    machine.holds(0.98 < memory_ratio < 1.02, f"{name}/{batch} {mode}: {memory_ratio:.4f} of PyTorch's memory")
    return f"{name}/{batch} {mode}: {time_ratio:.3f} of PyTorch's {peer['seconds'] * 1e3:.2f} ms, {memory_ratio:.4f} of its {peer['bytes'] / 2**20:.0f} MiB"


def the_engine_is_as_pytorch(machine):
    return "; ".join(case(machine, *one) for one in CASES)


def what_does_not_fit_is_told(machine):
    """A batch that no GPU holds: the answer is no, and the memory is given back."""
    machine.holds(machine.engine and os.path.exists(machine.engine), "there is no plimsoll-engine")
    answer = machine.answer("measure", "resnet50", "--batch", 8192, "--device", "cuda:0", "--random-weights", "--mode", "train", codes=(1,))
    row = answer["rows"][0]
    machine.holds(row["fits"] is False and row["does_not_fit"], f"it says {row}")
    again = machine.answer("measure", "resnet50", "--batch", 1, "--device", "cuda:0", "--random-weights", "--energy", 0, "--time-limit", 2)
    machine.holds(again["rows"][0]["seconds"]["median"] > 0, "nothing runs after it")
    return json.dumps(row["does_not_fit"])[:160]


CHECKS = [the_engine_is_as_pytorch, what_does_not_fit_is_told]
