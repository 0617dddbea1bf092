#!/usr/bin/env python3
"""Which kernels a plain PyTorch decoder runs, and how long: prefill and one step of Llama-style decoders in bf16 as CUDA graphs.

usage: decoder_kernels.py CONFIG.json… ; needs PyTorch on a GPU. For each configuration and each way to write normalization and
attention it prints the graph's milliseconds, and for the last way the kernels of a step and of a prefill, summed by name.
"""
import json, sys
import torch
import torch.nn.functional as F

torch.manual_seed(0)
device, dtype = 'cuda', torch.bfloat16


class Layer:
    def __init__(self, c, fused):
        w, h, k, d, m = c['hidden_size'], c['num_attention_heads'], c['num_key_value_heads'], c.get('head_dim') or c['hidden_size'] // c['num_attention_heads'], c['intermediate_size']
        make = lambda o, i: torch.randn(o, i, device=device, dtype=dtype) * 0.02
        self.h, self.k, self.d, self.fused = h, k, d, fused
        self.q, self.kk, self.v, self.o = make(h * d, w), make(k * d, w), make(k * d, w), make(w, h * d)
        self.gate, self.up, self.down = make(m, w), make(m, w), make(w, m)
        self.n1, self.n2 = torch.ones(w, device=device, dtype=dtype), torch.ones(w, device=device, dtype=dtype)

    def norm(self, x, weight):
        if self.fused:
            return F.rms_norm(x, weight.shape, weight, 1e-5)
        wide = x.float()
        return weight * (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-5)).to(x.dtype)

    def rotate(self, x, cos, sin):
        half = x.shape[-1] // 2
        return x * cos + torch.cat((-x[..., half:], x[..., :half]), -1) * sin

    def __call__(self, x, cos, sin, cache, position):
        b, s, _ = x.shape
        y = self.norm(x, self.n1)
        q = F.linear(y, self.q).view(b, s, self.h, self.d).transpose(1, 2)
        k = F.linear(y, self.kk).view(b, s, self.k, self.d).transpose(1, 2)
        v = F.linear(y, self.v).view(b, s, self.k, self.d).transpose(1, 2)
        q, k = self.rotate(q, cos, sin), self.rotate(k, cos, sin)
        if cache is not None:
            cache[0][:, :, position:position + s], cache[1][:, :, position:position + s] = k, v
            k, v = cache
        a = F.scaled_dot_product_attention(q, k, v, is_causal=cache is None, enable_gqa=self.h != self.k)
        x = x + F.linear(a.transpose(1, 2).reshape(b, s, -1), self.o)
        y = self.norm(x, self.n2)
        return x + F.linear(F.silu(F.linear(y, self.gate)) * F.linear(y, self.up), self.down)


def run(c, batch, seq, context, fused, profile=False):
    layers = [Layer(c, fused) for _ in range(c['num_hidden_layers'])]
    words = torch.randn(c['vocab_size'], c['hidden_size'], device=device, dtype=dtype)
    head = torch.randn(c['vocab_size'], c['hidden_size'], device=device, dtype=dtype)
    last = torch.ones(c['hidden_size'], device=device, dtype=dtype)
    d = layers[0].d
    caches = [[torch.zeros(batch, layers[0].k, context, d, device=device, dtype=dtype) for _ in range(2)] for _ in layers] if context else [None] * len(layers)
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
        times = []
        for _ in range(12):
            a, b = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            a.record(); graph.replay(); b.record(); torch.cuda.synchronize()
            times.append(a.elapsed_time(b))
        times.sort()
        print(f"{c['_name']:14s} batch {batch:3d} seq {seq:5d} context {context:5d} {'rms_norm' if fused else 'written out'}: {times[len(times) // 2]:.4f} ms", flush=True)
        if profile:
            from torch.profiler import profile as record, ProfilerActivity
            with record(activities=[ProfilerActivity.CUDA]) as p:
                step(); torch.cuda.synchronize()
            rows = {}
            for e in p.events():
                n, t = rows.get(e.name, (0, 0))
                rows[e.name] = (n + 1, t + e.device_time)
            for name, (n, t) in sorted(rows.items(), key=lambda r: -r[1][1])[:24]:
                print(f'    {n:5d} x {t / n:9.2f} us = {t / 1e3:8.3f} ms  {name[:150]}')


def main():
    for path in sys.argv[1:]:
        c = json.load(open(path))
        c['_name'] = path.split('/')[-2]
        for fused in (False, True):
            for batch, seq, context in ((1, 512, 0), (1, 2048, 0), (8, 512, 0), (1, 1, 128), (1, 1, 8192), (32, 1, 1024)):
                try:
                    run(c, batch, seq, context, fused, profile=fused and (batch, seq) in ((1, 2048), (32, 1)))
                except RuntimeError as e:
                    print(c['_name'], batch, seq, context, 'failed:', str(e)[:200])
                torch.cuda.empty_cache()


if __name__ == '__main__':
    main()
