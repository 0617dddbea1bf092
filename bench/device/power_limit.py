#!/usr/bin/env python3
"""What a GPU's power limit costs: kernels timed in a short burst, as a calibration does, and when they go on for seconds.

usage: power_limit.py ; needs PyTorch on a GPU. One JSON line per case: seconds of a pass in a burst and sustained, the clocks and the
watts while it went on, and what of the burst's time was spent in products.
"""
import ctypes, json, time
import torch
import torch.nn.functional as F

nvml = ctypes.CDLL('libnvidia-ml.so.1')
nvml.nvmlInit_v2()
handle = ctypes.c_void_p()
nvml.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(handle))


def millijoules():
    value = ctypes.c_ulonglong()
    nvml.nvmlDeviceGetTotalEnergyConsumption(handle, ctypes.byref(value))
    return value.value


def clock():
    value = ctypes.c_uint()
    nvml.nvmlDeviceGetClockInfo(handle, 1, ctypes.byref(value))
    return value.value


def captured(step):
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            step()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph


def seconds(graph, replays):
    a, b = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    a.record()
    for _ in range(replays):
        graph.replay()
    b.record()
    torch.cuda.synchronize()
    return a.elapsed_time(b) / 1e3 / replays


def measure(label, step, products):
    graph = captured(step)
    time.sleep(0.4)
    burst = sorted(seconds(graph, 1) for _ in range(7))[3]
    end = time.time() + 1.2
    count = max(1, int(0.05 / burst))
    while time.time() < end:
        seconds(graph, count)
    before, started, ran, clocks = millijoules(), time.time(), [], []
    while time.time() < started + 0.8:
        ran.append(seconds(graph, count))
        clocks.append(clock())
    joules, wall = (millijoules() - before) / 1e3, time.time() - started
    print(json.dumps({'case': label, 'burst_seconds': burst, 'sustained_seconds': sorted(ran)[len(ran) // 2], 'watts': joules / wall,
                      'mhz': sorted(clocks)[len(clocks) // 2], **products}), flush=True)


def make(*dims, dtype=torch.bfloat16):
    return torch.randn(*dims, device='cuda', dtype=dtype)


with torch.no_grad():
    for dtype, name in ((torch.bfloat16, 'bf16'), (torch.float32, 'fp32')):
        for m, n, k in ((128, 4096, 4096), (512, 14336, 4096), (1024, 4096, 4096), (2048, 14336, 4096), (8192, 4096, 4096), (8192, 14336, 4096), (16384, 2048, 2048), (8192, 768, 768)):
            x, ws = make(m, k, dtype=dtype), [make(n, k, dtype=dtype) for _ in range(6)]
            reps = max(1, int(2e-3 / (2 * m * n * k / (6e14 if dtype == torch.bfloat16 else 4e13) + 4e-6)))
            measure(f'{name} linear {m}x{n}x{k}', lambda: [F.linear(x, ws[i % 6]) for i in range(reps)], {'flops': 2 * m * n * k * reps, 'bytes': reps * dtype.itemsize * (m * k + n * k + m * n), 'arithmetic': name})
    x, ws = make(8192, 4096), [make(4096, 4096) for _ in range(6)]
    for adds in (1, 2, 4, 8, 16):
        a, b = make(8192, 4096 * 4), make(8192, 4096 * 4)
        def mixed():
            for i in range(4):
                F.linear(x, ws[i])
                for _ in range(adds):
                    a + b
        measure(f'bf16 linear 8192x4096x4096 and {adds} sums of 134 M values', mixed, {'flops': 8 * 8192 * 4096 * 4096, 'bytes': 4 * 2 * (2 * 8192 * 4096 + 4096 * 4096) + 4 * adds * 6 * 8192 * 4096 * 4, 'arithmetic': 'bf16'})
    for b, h, s, d in ((4, 32, 2048, 128), (16, 16, 1024, 64)):
        q, k, v = make(b, h, s, d), make(b, h, s, d), make(b, h, s, d)
        measure(f'attention {b}x{h}x{s}x{d}', lambda: [F.scaled_dot_product_attention(q, k, v, is_causal=True) for _ in range(4)], {'flops': 4 * 2 * b * h * s * s * d, 'bytes': 4 * 8 * b * h * s * d, 'arithmetic': 'bf16'})
    for n, c, side, layout in ((64, 256, 56, False), (64, 256, 56, True), (128, 512, 28, True)):
        for dtype, name in ((torch.bfloat16, 'bf16'), (torch.float32, 'tf32')):
            x, w = make(n, c, side, side, dtype=dtype), make(c, c, 3, 3, dtype=dtype)
            if layout:
                x, w = x.to(memory_format=torch.channels_last), w.to(memory_format=torch.channels_last)
            measure(f"{name} convolution {n}x{c}x{side} {'channels last' if layout else ''}", lambda: [F.conv2d(x, w, padding=1) for _ in range(2)], {'flops': 2 * 2 * n * c * c * 9 * side * side, 'bytes': 2 * dtype.itemsize * 2 * n * c * side * side, 'arithmetic': name})
    a, b = make(8192, 32768), make(8192, 32768)
    measure('sums', lambda: [a + b for _ in range(4)], {'flops': 0, 'bytes': 4 * 6 * 8192 * 32768, 'arithmetic': 'bf16'})
