#!/usr/bin/env python3
"""What the model says of the day that the queue ran on an H200 (bench/device/queue_day.py), beside what was measured: a replay, not a new run.

usage: bench/queue_day_replay.py PLIMSOLL DAY_FOLDER [RECORD]

DAY_FOLDER has day.json; RECORD (docs/figures/queue_day): passes.jsonl.xz, as queue_day.py wrote it, and profiles.jsonl, what the queue had learned of
each kind in the exclusive pass. Spans are from the first step of the first training to the last of the last, waiting from arrival to first step.
Then the service's 99th percentile a second beside those that computed for three seconds at least, against `beside --services-first`.
"""
import json
import lzma
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / 'bench/device'))
from queue_day import kind_of, summary  # noqa: E402

LEAST_SECONDS = 3
POLICIES = {'naive': ['--policy', 'naive', '--sharing', 'naive'], 'carma': ['--policy', 'carma', '--sharing', 'mps'],
            'queue': ['--policy', 'queue', '--sharing', 'mps']}


def alone_of(profile):
    told = {'steps_per_second': 'steps_per_second', 'smact': 'sm_activity', 'dram': 'dram_activity', 'watts': 'watts'}
    return {key: profile[name] for key, name in told.items() if name in profile}


def described(job, profiles):
    """As `plimsoll plan` takes it."""
    kept = ('name', 'model', 'batch', 'precision', 'optimizer', 'input', 'seq', 'rate', 'limit_ms')
    out = {key: job[key] for key in kept if key in job}
    out['arrival'] = job['arrival_s']
    if job['kind'] == 'training':
        profile = profiles[kind_of(job)]
        out.update(steps=job['steps'], alone=alone_of(profile), startup=profile['startup_seconds'])
    return out


def simulated(program, jobs, words):
    with tempfile.NamedTemporaryFile('w', suffix='.json') as file:
        json.dump(jobs, file)
        file.flush()
        done = subprocess.run([program, 'plan', '--simulate', file.name, '--devices', 'h200:1', *words, '--json'], capture_output=True,
                              text=True, check=True)
    trainings = [job for job in json.loads(done.stdout)['policies'][0]['jobs'] if job['name'] != 'service']
    arrival = {job['name']: job['arrival'] for job in jobs}
    return (max(job['end_seconds'] for job in trainings) - min(job['first_step_seconds'] for job in trainings),
            statistics.mean(job['first_step_seconds'] - arrival[job['name']] for job in trainings))


def companies(rows, jobs):
    """The service's p99 in each second, by who computed from a second before to a second after."""
    kinds = {job['name']: job for job in jobs if job['kind'] == 'training'}
    out = {}
    for row in rows:
        service = next((told for told in row['jobs'] if told.get('p99') and told['result']), None)
        if service is None or row['policy'] == 'naive':
            continue
        for second, p99 in enumerate(service['p99']):
            at = service['result']['began'] + second
            there = [told for told in row['jobs'] if told['job'] in kinds and told['result'] and told['result']['ended'] > at - 1
                     and told['result']['began'] < at + 2]
            if all(told['result']['began'] <= at - 1 and told['result']['ended'] >= at + 2 for told in there):
                names = tuple(sorted((kind_of(kinds[told['job']]) for told in there)))
                out.setdefault(names, []).append(p99)
    return {names: values for names, values in out.items() if len(values) >= LEAST_SECONDS}


def told_p99(program, names, jobs, profiles):
    by_kind = {kind_of(job): job for job in jobs}
    workloads = []
    for name in names:
        job = by_kind[name]
        workloads.append({**{key: job[key] for key in ('model', 'batch', 'precision', 'optimizer', 'seq') if key in job}, 'mode': 'train',
                          'name': name, 'alone': alone_of(profiles[name])})
        if 'input' in job:
            workloads[-1]['model'] = f"{job['model']}:input={job['input']}"
    service = next(job for job in jobs if job['kind'] == 'service')
    workloads.append({'name': 'service', 'model': service['model'], 'mode': 'infer', 'captured': True, 'arrivals': service['rate']})
    with tempfile.NamedTemporaryFile('w', suffix='.json') as file:
        json.dump(workloads, file)
        file.flush()
        done = subprocess.run([program, 'beside', '--workloads', file.name, '--device', 'h200', '--sharing', 'mps', '--services-first', '--json'],
                              capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout)['workloads'][-1]['latency']['p99_seconds']


def main():
    program, day = sys.argv[1], pathlib.Path(sys.argv[2])
    record = pathlib.Path(sys.argv[3]) if len(sys.argv) > 3 else ROOT / 'docs/figures/queue_day'
    jobs = json.loads((day / 'day.json').read_text())
    with lzma.open(record / 'passes.jsonl.xz', 'rt') as lines:
        rows = [row for row in map(json.loads, lines) if 'policy' in row]
    profiles = {profile['kind']: profile for profile in map(json.loads, (record / 'profiles.jsonl').read_text().splitlines())}
    wanted = [described(job, profiles) for job in jobs]
    print(f"{'policy':<10}{'measured span s':>17}{'told':>8}{'':>9}{'measured waiting s':>20}{'told':>8}")
    for policy, words in POLICIES.items():
        span, waiting = simulated(program, wanted, words)
        found = [summary(row, jobs, 0) for row in rows if row['policy'] == policy]
        if not found:
            print(f"{policy:<10}{'-':>17}{span:>8.1f}{'':>9}{'-':>20}{waiting:>8.1f}")
            continue
        seen_span, seen_waiting = (statistics.median(one[key] for one in found) for key in ('span', 'waiting'))
        print(f"{policy:<10}{seen_span:>17.1f}{span:>8.1f}{100 * (span / seen_span - 1):>+7.1f} %{seen_waiting:>20.1f}{waiting:>8.1f}")
    print("\nthe service beside                                       seconds   p99 a second, ms: median (from to)   told")
    for names, values in sorted(companies(rows, jobs).items(), key=lambda item: (len(item[0]), item[0])):
        told = told_p99(program, names, jobs, profiles)
        short = ' + '.join(name.replace('job.py ', '') for name in names) or 'nobody'
        print(f"{short:<58}{len(values):>6}{1e3 * statistics.median(values):>18.1f} ({1e3 * min(values):.1f} to {1e3 * max(values):.1f})"
              f"{1e3 * told:>14.1f}")


if __name__ == '__main__':
    main()
