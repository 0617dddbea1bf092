#!/usr/bin/env python3
"""On a machine with a GPU: lets plimsoll-cuda do all its tasks, checks what must hold, and prints what it found.

usage: tests/device/cuda.py PLIMSOLL_CUDA [FOLDER]      FOLDER: where the raw lines go, a file per task

What must hold: every result is right, and a vector add by many blocks reaches 90 % of the bandwidth of a copy within the
device, measured in the same run, at the largest size; two processes that watch the GPU's clock at once take turns, and
kernels that count cycles take as long as they count. Exit 1 where something does not.
"""
import json
import os
import statistics
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

program = sys.argv[1]
folder = sys.argv[2] if len(sys.argv) > 2 else None
wrong = []


def run(name, **job):
    began = time.monotonic()
    done = subprocess.run([program, '-'], input=json.dumps({'version': 1, 'device': 0, **job}), capture_output=True, text=True)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    if folder:
        with open(os.path.join(folder, f'{name}.jsonl'), 'w', encoding='utf-8') as file:
            file.write(done.stdout)
    print(f'\n== {name}: {time.monotonic() - began:.1f} s, exit {done.returncode}')
    for line in lines:
        if line['type'] in ('remark', 'failure', 'device'):
            print('  ', {key: value for key, value in line.items() if key != 'hint' or value})
    if done.returncode or not lines or lines[-1]['type'] != 'done':
        wrong.append(f'{name} ended with {done.returncode}: {done.stderr.strip()[-300:]}')
    return lines


def of(lines, type_):
    return [line for line in lines if line['type'] == type_]


def middle(samples):
    return statistics.median(samples)


def spread(samples):
    return (max(samples) - min(samples)) / middle(samples)


def vecadd():
    lines = run('vecadd', task='vecadd', elements=[1_000_000, 5_000_000, 10_000_000, 50_000_000, 100_000_000])
    print(f'{"elements":>12} {"place":22} {"workers":12} {"samples":>7}  times in ms')
    for add in of(lines, 'vecadd'):
        times = '  '.join(f'{part["name"]} {middle(part["samples"]) * 1e3:.3f}' for part in add['parts'])
        print(f'{add["elements"]:>12} {add["place"]:22} {add["workers"]:12} {len(add["parts"][0]["samples"]):>7}  {times}')
        if not add['right']:
            wrong.append(f'vecadd of {add["elements"]}, {add["place"]}, {add["workers"]} is wrong')
    rates = {(rate['name'], rate['amount']): rate['amount'] / middle(rate['samples']) for rate in of(lines, 'rate')}
    for add in of(lines, 'vecadd'):
        if add['workers'] != 'many-blocks' or add['place'] != 'gpu-copies':
            continue
        count = add['elements']
        kernel = next(part for part in add['parts'] if part['name'] == 'kernel')
        once, copy = 12 * count / middle(kernel['samples']), rates['memory-device-copy', 8 * count]
        again = rates['memory-add', 12 * count]
        print(f'{count:>12}: kernel {once / 1e12:.3f} TB/s, again and again {again / 1e12:.3f}, device copy {copy / 1e12:.3f}: {once / copy:.1%}')
        if count == 100_000_000 and once < 0.9 * copy:
            wrong.append(f'vector add by many blocks reaches {once / copy:.1%} of a device copy')


def matmul():
    lines = run('matmul', task='matmul', sizes=[256, 512, 1024, 2048, 4096, 8192, 1000])
    for product in of(lines, 'matmul'):
        seconds = middle(product['samples'])
        print(f'{product["size"]:>6} {product["method"]:8} {seconds * 1e3:10.4f} ms {2 * product["size"]**3 / seconds / 1e12:8.2f} TFLOP/s '
              f'moves {product["moved_bytes"] / seconds / 1e12:8.3f} TB/s  error {product["largest_error"]:.2e}  spread {spread(product["samples"]):.1%}')
        if not product['right']:
            wrong.append(f'matmul of {product["size"]} by {product["method"]} is wrong')


def ceilings():
    for rate in of(run('ceilings', task='ceilings'), 'rate'):
        seconds = middle(rate['samples'])
        figure = f'{seconds * 1e6:.3f} us' if rate['unit'] == 's' else f'{rate["amount"] / seconds / 1e12:.4f} T{rate["unit"]}'
        at = f'{rate["at"] / 1024:.0f} KiB' if 'at' in rate else ''
        print(f'{rate["name"]:24} {at:>14} {figure:>18}  spread {spread(rate["samples"]):.1%} of {len(rate["samples"])}')


def loads():
    for load in ('idle', 'memory-triad', 'product-fp32', 'product-bf16'):
        for window in of(run(f'load-{load}', task='load', load=load, seconds=2), 'window'):
            print('  ', window)


def sharing():
    begin = time.monotonic() + 5
    with ThreadPoolExecutor() as both:
        watchers = list(both.map(lambda name: run(name, task='share', part='watch', seconds=0.6, begin=begin), ('watch-1', 'watch-2')))
    for lines in watchers:
        gaps = [gap for turns in of(lines, 'turns') for gap in turns['gaps']]
        if len(gaps) < 10:
            wrong.append(f'two watchers took no turns: {len(gaps)} gaps')
            continue
        runs = [after[0] - before[1] for before, after in zip(gaps, gaps[1:])]
        print(f'   turns of {middle(runs) * 1e3:.3f} ms, gaps of {middle([end - begin for begin, end in gaps]) * 1e3:.3f} ms, {len(gaps)} of them')
    for rate in of(run('spin', task='share', part='spin', seconds=1, begin=0, kernels=174, different=64, blocks=16, threads=256, kernel_seconds=4e-6), 'rate'):
        step = middle(rate['samples'])
        print(f'   a step of 174 kernels of 4 us: {step * 1e6:.1f} us')
        if not 0.9 < step / (174 * 4e-6) < 3:
            wrong.append(f'174 kernels of 4 us take {step * 1e6:.1f} us')
    for rate in of(run('stream', task='share', part='stream', seconds=1, begin=0, kernels=1, blocks=264, threads=1024, bytes=768 << 20), 'rate'):
        print(f'   a stream: {rate["amount"] / middle(rate["samples"]) / 1e12:.3f} TB/s')


vecadd()
matmul()
ceilings()
loads()
sharing()
for line in wrong:
    print('WRONG:', line)
sys.exit(1 if wrong else 0)
