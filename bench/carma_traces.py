#!/usr/bin/env python3
"""Policies on traces like CARMA's: 60 trainings, light to heavy, in bursts, on four GPUs.

usage: bench/carma_traces.py PLIMSOLL MEASURED.jsonl [--seeds 10] [--jobs 60] [--gpus 4] [--bars]

Trainings are drawn by seed from those that MEASURED (rows as in docs/figures/beside_groups_h200.jsonl) has alone and in pairs; what a group
does in the simulator is what was measured, where it was, else what is predicted, off by up to 20 %, drawn by seed. Policies believe what
`plimsoll beside` predicts. Prints makespans, and the gain over CARMA's gate against that of a policy which knows what is true. With --bars
it fails unless the makespan is 10 % below CARMA's gate in the mean, the gain 85 % of the clairvoyant one, and nothing ran out of memory.
"""
import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile

POLICIES = ('exclusive', 'naive', 'carma', 'best-fit', 'packing', 'dot-product', 'fragmentation', 'plimsoll', 'clairvoyant')


def trainings(path):
    rows = [json.loads(line) for line in open(path)]
    paired = {name for row in rows for name in row.get('workloads', [])}
    return [row for row in rows if row.get('kind') == 'alone' and row['sharing'] == 'exclusive' and row['mode'] == 'train'
            and row['workload'] in paired]


def trace(kinds, seed, jobs):
    """Light ones are many and short, heavy ones few and long; they come in bursts of up to eight."""
    drawn = random.Random(seed)
    by_weight = sorted(kinds, key=lambda k: k['smact'])
    out, now = [], 0.0
    while len(out) < jobs:
        for _ in range(min(drawn.randint(1, 8), jobs - len(out))):
            kind = by_weight[min(int(drawn.betavariate(1.2, 1.6) * len(by_weight)), len(by_weight) - 1)]
            seconds = drawn.uniform(120, 600) * (0.5 + kind['smact'])
            job = {k: kind[k] for k in ('model', 'mode', 'batch', 'seq', 'precision', 'optimizer', 'captured') if k in kind}
            job.update(name=f"j{len(out)}", steps=max(1, round(seconds * kind['best_alone'])), arrival=round(now, 1), cudnn_benchmark=True)
            job['alone'] = {k: kind[k] for k in ('gract', 'smact', 'occupancy', 'dram', 'tensor', 'watts', 'reserved_bytes')}
            job['alone']['steps_per_second'] = kind['best_alone']
            job['workload'] = kind['workload']
            out.append(job)
        now += drawn.expovariate(1 / 240)
    return out


def simulated(program, measured, jobs, seed, gpus):
    with tempfile.NamedTemporaryFile('w', suffix='.json') as file:
        json.dump(jobs, file)
        file.flush()
        done = subprocess.run([program, 'plan', '--simulate', file.name, '--devices', f'h200:{gpus}', '--truth', measured, '--disturb', '0.2',
                               '--seed', str(seed), '--json'], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f'failed: {done.stderr}')
    return {row['policy']: row for row in json.loads(done.stdout)['policies']}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('program')
    parser.add_argument('measured')
    parser.add_argument('--seeds', type=int, default=10)
    parser.add_argument('--jobs', type=int, default=60)
    parser.add_argument('--gpus', type=int, default=4)
    parser.add_argument('--bars', action='store_true')
    asked = parser.parse_args()
    kinds = trainings(asked.measured)
    print(f'{asked.jobs} trainings of {len(kinds)} kinds on {asked.gpus} GPUs; makespan in hours')
    print('seed  ' + ' '.join(f'{name:>13s}' for name in POLICIES))
    rows = []
    for seed in range(asked.seeds):
        rows.append(simulated(asked.program, asked.measured, trace(kinds, seed, asked.jobs), seed, asked.gpus))
        print(f'{seed:4d}  ' + ' '.join(f"{rows[-1][name]['makespan_seconds'] / 3600:13.3f}" for name in POLICIES), flush=True)
    mean = {name: statistics.mean(row[name]['makespan_seconds'] / row['carma']['makespan_seconds'] for row in rows) for name in POLICIES}
    print('/carma' + ' '.join(f'{mean[name]:13.3f}' for name in POLICIES))
    gain = (1 - mean['plimsoll']) / (1 - mean['clairvoyant'])
    failures = sum(row['plimsoll']['out_of_memory'] + row['plimsoll']['never_started'] for row in rows)
    print(f"Plimsoll: {100 * (1 - mean['plimsoll']):.1f} % below CARMA's gate, {100 * gain:.0f} % of the clairvoyant gain, {failures} failures")
    if asked.bars and (mean['plimsoll'] > 0.9 or gain < 0.85 or failures):
        sys.exit('a bar does not hold')


if __name__ == '__main__':
    main()
