#!/usr/bin/env python3
"""plimsoll-engine against PyTorch on one GPU, side by side: both hold the same network, and take turns. Inference is a
CUDA graph on both sides, and PyTorch's eager time stands beside it; training steps are compared eagerly and captured.

usage: engine_gpu.py ENGINE JOBS_FOLDER OUT.jsonl [--memory MEMORY.jsonl] [CASE…]

JOBS_FOLDER holds MODEL.BATCH.infer.json and MODEL.BATCH.train.json, made by `plimsoll engine-job` from the unfolded
graphs. The engine's peak of allocated memory is compared with MEMORY.jsonl, where PyTorch's was recorded. CASE is
MODEL/BATCH/DTYPE or train/MODEL/BATCH.
"""
import argparse
import json
import os
import statistics
import sys
import time

import torch

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from engine_process import PacedEngine

PAIRS = 21
LEAST_SAMPLE = 0.02  # seconds; more passes per sample where one is shorter
INFERENCE = [f"{m}/{b}/{t}" for m in ("resnet50", "mobilenet_v2", "efficientnet_b0", "vit_b_16", "bert_base", "gpt2")
             for b in (1, 64) for t in ("float32", "bfloat16")]
TRAINING = [f"train/resnet50/{b}" for b in (32, 128)]


def module_and_input(name, batch):
    torch.manual_seed(0)
    if name in ("bert_base", "gpt2"):
        import transformers
        if name == "bert_base":
            config = transformers.BertConfig(hidden_dropout_prob=0, attention_probs_dropout_prob=0)
            return transformers.BertModel(config), torch.randint(0, 30522, (batch, 128))
        config = transformers.GPT2Config(resid_pdrop=0, embd_pdrop=0, attn_pdrop=0, use_cache=False)
        return transformers.GPT2LMHeadModel(config), torch.randint(0, 50257, (batch, 512))
    import torchvision
    return getattr(torchvision.models, name)(weights=None), torch.randn(batch, 3, 224, 224)


def started(program, jobs, name, batch, mode, **setting):
    with open(os.path.join(jobs, f"{name}.{batch}.{mode}.json")) as file:
        job = json.load(file)
    job["device"] = "cuda:0"
    job["setting"].update(setting)
    job["protocol"]["paced"] = True
    path = f"/tmp/{name}.{batch}.{mode}.job.json"
    with open(path, "w") as file:
        json.dump(job, file)
    return PacedEngine(program, path)


def events(work, passes):
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    for _ in range(passes):
        work()
    end.record()
    torch.cuda.synchronize()
    return begin.elapsed_time(end) / 1e3 / passes


def wall(work, passes):
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(passes):
        work()
    torch.cuda.synchronize()
    return (time.perf_counter() - begin) / passes


def captured(work, before):
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            work()
    torch.cuda.current_stream().wait_stream(side)
    before()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()
    return graph.replay


def torch_work(name, batch, training, dtype=torch.float32):
    module, example = module_and_input(name, batch)
    module = module.cuda().train(training)
    if dtype != torch.float32:
        module = module.to(dtype)
    example = example.cuda()
    if example.is_floating_point():
        example = example.to(dtype)
    if not training:
        def forward():
            with torch.no_grad():
                module(example)
        return forward, lambda: None
    optimizer = torch.optim.SGD(module.parameters(), 0.01, 0.9)
    labels = torch.randint(0, 1000, (batch,), device="cuda")

    def step():
        optimizer.zero_grad(set_to_none=True)
        torch.nn.functional.cross_entropy(module(example), labels).backward()
        optimizer.step()
    return step, lambda: optimizer.zero_grad(set_to_none=True)


def turns(engine, theirs, clock):
    for _ in range(3):
        engine.sample(), theirs()
    once = clock(theirs, 3)
    passes = max(1, min(1000, round(LEAST_SAMPLE / once)))
    ours, peers = [], []
    for i in range(PAIRS):
        if i % 2 == 0:
            peers.append(clock(theirs, passes))
        ours.append(engine.sample())
        if i % 2:
            peers.append(clock(theirs, passes))
    ratios = sorted(o / t for o, t in zip(ours, peers))
    return {"engine_ms": statistics.median(ours) * 1e3, "torch_ms": statistics.median(peers) * 1e3,
            "ratio": statistics.median(ratios), "ratio_low": ratios[5], "ratio_high": ratios[15]}  # 95 %, n = 21


def inference(options, case, known):
    name, batch, dtype = case.split("/")
    batch = int(batch)
    engine = started(options.engine, options.jobs, name, batch, "infer", captured=True,
                     precision="fp32" if dtype == "float32" else "bf16")
    work, before = torch_work(name, batch, False, getattr(torch, dtype))
    for _ in range(3):
        work()
    eager = statistics.median(wall(work, 5) for _ in range(7))
    replay = captured(work, before)
    row = {"case": case, **turns(engine, replay, events), "torch_eager_ms": eager * 1e3,
           "recognised": engine.prepared["recognised"]}
    row["peak_allocated_bytes"] = engine.close()["memory"]["peak_allocated_bytes"]
    if dtype == "float32":
        row["recorded_bytes"] = known.get(("infer", name, batch))
    return row


def training(options, case, known, capture):
    _, name, batch = case.split("/")
    batch = int(batch)
    engine = started(options.engine, options.jobs, name, batch, "train", captured=capture, optimizer="momentum")
    work, before = torch_work(name, batch, True)
    for _ in range(3):
        work()
    row = {"case": case + ("/captured" if capture else "/eager"),
           **turns(engine, captured(work, before) if capture else work, events if capture else wall)}
    row["peak_allocated_bytes"] = engine.close()["memory"]["peak_allocated_bytes"]
    row["recorded_bytes"] = known.get(("train", name, batch))
    return row


def recorded(path):
    known = {}
    for line in open(path) if path else ():
        row = json.loads(line)
        if row["mode"] == "infer" or (row["mode"] == "train" and row["opt"] == "sgd" and not row["amp"]):
            known[(row["mode"], row["model"], row["bs"])] = row["alloc"]
    return known


def show(row):
    text = f"{row['case']:32} {row['engine_ms']:9.3f} {row['torch_ms']:9.3f} {row['ratio']:7.3f} ({row['ratio_low']:.3f} to {row['ratio_high']:.3f})"
    text += f" {row['torch_eager_ms']:9.3f}" if "torch_eager_ms" in row else " " * 10
    text += f" {row['peak_allocated_bytes'] / 2**20:10.1f} MiB"
    if row.get("recorded_bytes"):
        text += f" {row['peak_allocated_bytes'] / row['recorded_bytes'] - 1:+7.2%}"
    print(text, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("engine", "jobs", "out"):
        parser.add_argument(name)
    parser.add_argument("--memory")
    parser.add_argument("cases", nargs="*")
    options = parser.parse_intermixed_args()
    known = recorded(options.memory)
    print(f"PyTorch {torch.__version__}, CUDA {torch.version.cuda}, {torch.cuda.get_device_name()}; {PAIRS} pairs")
    print(f"{'case':32} {'engine ms':>9} {'torch ms':>9}   ratio (95 % interval)   torch eager   peak allocated, against recorded")
    with open(options.out, "a") as out:
        for case in options.cases or INFERENCE + TRAINING:
            kinds = [lambda: inference(options, case, known)]
            if case.startswith("train/"):
                kinds = [lambda c=c: training(options, case, known, c) for c in (False, True)]
            for kind in kinds:
                try:
                    row = kind()
                    show(row)
                except Exception as problem:  # the other cases are worth their time
                    row = {"case": case, "error": str(problem)}
                    print(f"{case:32} {str(problem)[:300]}", flush=True)
                out.write(json.dumps(row) + "\n")
                out.flush()
                torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
