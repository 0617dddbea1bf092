#!/usr/bin/env python3
"""Measures Llama-style decoders in bf16 that no constant was chosen by, and with --compare holds `plimsoll estimate` against that.

usage: decoder_truth.py CONFIG.json… >MEASURED.jsonl                 on a machine with a GPU and PyTorch
       decoder_truth.py --compare PLIMSOLL MEASURED.jsonl CONFIG.json…   anywhere
Each row: a prompt without a cache, or one step with a cache of `context` tokens, as a CUDA graph that is replayed for two seconds:
milliseconds of a replay, joules of the board's counter.
"""
import json, os, statistics, subprocess, sys

CASES = [('prefill', 1, 256, 0), ('prefill', 1, 1024, 0), ('prefill', 4, 512, 0), ('prefill', 2, 3072, 0),
         ('decode', 1, 1, 512), ('decode', 2, 1, 4096), ('decode', 12, 1, 1024), ('decode', 48, 1, 768)]


def name_of(path):
    return os.path.splitext(os.path.basename(path))[0]


def energy_counter():
    import ctypes
    nvml = ctypes.CDLL('libnvidia-ml.so.1')
    nvml.nvmlInit_v2()
    device, value = ctypes.c_void_p(), ctypes.c_ulonglong()
    nvml.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(device))

    def read():
        nvml.nvmlDeviceGetTotalEnergyConsumption(device, ctypes.byref(value))
        return value.value / 1e3
    return read


def measure(paths):
    import time
    import torch
    import torch.nn.functional as F
    from decoder_kernels import Layer, device, dtype
    joules = energy_counter()
    for path in paths:
        c = json.load(open(path))
        layers = [Layer(c, True) for _ in range(c['num_hidden_layers'])]
        words = torch.randn(c['vocab_size'], c['hidden_size'], device=device, dtype=dtype)
        head = torch.randn(c['vocab_size'], c['hidden_size'], device=device, dtype=dtype)
        last = torch.ones(c['hidden_size'], device=device, dtype=dtype)
        d, k = layers[0].d, layers[0].k
        for mode, batch, seq, context in CASES:
            caches = [[torch.zeros(batch, k, context, d, device=device, dtype=dtype) for _ in range(2)] for _ in layers] if context else [None] * len(layers)
            ids = torch.randint(c['vocab_size'], (batch, seq), device=device)
            cos, sin = torch.randn(seq, d, device=device, dtype=dtype), torch.randn(seq, d, device=device, dtype=dtype)

            def step():
                x = F.embedding(ids, words)
                for layer, cache in zip(layers, caches):
                    x = layer(x, cos, sin, cache, context - seq if context else 0)
                return F.linear(layers[0].norm(x[:, -1:], last), head)

            with torch.no_grad():
                stream = torch.cuda.Stream()
                stream.wait_stream(torch.cuda.current_stream())
                with torch.cuda.stream(stream):
                    for _ in range(3):
                        step()
                torch.cuda.synchronize()
                graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(graph):
                    step()
                for seconds in (0.5, 2.0):  # warm, then counted
                    torch.cuda.synchronize()
                    begin, before, replays = time.perf_counter(), joules(), 0
                    while time.perf_counter() - begin < seconds:
                        for _ in range(4):
                            graph.replay()
                        torch.cuda.synchronize()
                        replays += 4
                    took, spent = time.perf_counter() - begin, joules() - before
            print(json.dumps({'mode': mode, 'model': name_of(path), 'batch': batch, 'seq': seq, 'context': context,
                              'graph_ms': round(took / replays * 1e3, 4), 'joules': round(spent / replays, 4)}), flush=True)
            del graph, caches
            torch.cuda.empty_cache()
        del layers, words, head
        torch.cuda.empty_cache()


def compare(plimsoll, measured, paths):
    by_name = {name_of(path): path for path in paths}
    errors, held = {}, {}
    for line in open(measured, encoding='utf-8'):
        r = json.loads(line)
        more = ['--seq', '1', '--context', str(r['context'])] if r['mode'] == 'decode' else ['--seq', str(r['seq']), '--logits', 'last', '--no-kv-cache']
        got = json.loads(subprocess.run([plimsoll, 'estimate', by_name[r['model']], '--device', 'h200', '--precision', 'bf16', '--batch', str(r['batch']),
                                         *more, '--json'], capture_output=True, text=True, check=True).stdout)
        for group, value, low, high, want in (
                (r['mode'], got['time']['seconds'] * 1e3, got['time']['low_seconds'] * 1e3, got['time']['high_seconds'] * 1e3, r['graph_ms']),
                ('joules', got['energy']['joules'], got['energy']['low_joules'], got['energy']['high_joules'], r['joules'])):
            errors.setdefault(group, []).append(value / want - 1)
            held.setdefault(group, []).append(low <= want <= high)
            print(f"{group:8s} {r['model']:20s} batch {r['batch']:3d} seq {r['seq']:5d} context {r['context']:5d} estimate {value:9.4g} measured {want:9.4g} {100 * (value / want - 1):+6.1f} %")
    for group, e in errors.items():
        print(f"{group:8s} {len(e)} rows, mean {100 * statistics.mean(map(abs, e)):.1f} %, largest {100 * max(map(abs, e)):.1f} %, interval holds {100 * statistics.mean(held[group]):.0f} %")


if sys.argv[1] == '--compare':
    compare(sys.argv[2], sys.argv[3], sys.argv[4:])
else:
    measure(sys.argv[1:])
