#!/usr/bin/env python3
"""How long a plan of many jobs takes, and how near it is to the lower bound.

usage: bench/plan_scale.py PLIMSOLL PODS.csv [--sizes 1000,10000,100000]

Jobs are drawn by a fixed seed from the pods of a trace like openb's: what each asks of a GPU, or how many it asks for; lengths are drawn from a
log-normal distribution, since the trace's pods have no end that one can use. A GPU for every ten jobs.
"""
import csv
import json
import random
import subprocess
import sys
import tempfile
import time


def drawn(pods, count):
    chance = random.Random(count)
    jobs = []
    for i in range(count):
        pod = chance.choice(pods)
        gpus, milli = int(pod['num_gpu']), int(pod['gpu_milli'])
        seconds = min(20000, max(60, chance.lognormvariate(7, 1)))
        job = {'name': f'j{i}', 'seconds': round(seconds, 1), 'need': f'{max(1, milli * 138 // 1000)}GiB', 'share': max(0.01, milli / 1000)}
        if gpus > 1:
            job.update(gpus=gpus, share=1.0)
        jobs.append(job)
    return jobs


def main():
    program, trace = sys.argv[1:3]
    sizes = [int(n) for n in (sys.argv[4] if len(sys.argv) > 4 else '1000,10000,100000').split(',')]
    pods = [pod for pod in csv.DictReader(open(trace)) if int(pod['num_gpu']) > 0]
    print(f'{"jobs":>7s} {"GPUs":>7s} {"seconds":>8s} {"us/job":>7s} {"makespan/bound":>15s}')
    for size in sizes:
        with tempfile.NamedTemporaryFile('w', suffix='.json') as file:
            json.dump(drawn(pods, size), file)
            file.flush()
            begin = time.perf_counter()
            done = subprocess.run([program, 'plan', file.name, '--devices', f'h200:{size // 10}', '--looks', '0', '--json'], capture_output=True, text=True)
            took = time.perf_counter() - begin
        if done.returncode != 0:
            sys.exit(done.stderr)
        plan = json.loads(done.stdout)
        print(f"{size:7d} {size // 10:7d} {took:8.2f} {1e6 * took / size:7.1f} {plan['makespan_seconds'] / plan['lower_bound']['seconds']:15.3f}", flush=True)


if __name__ == '__main__':
    main()
