#!/usr/bin/env python3
"""The day of jobs, all there at once, as `plimsoll plan` would run it on one GPU, and as it came out.

usage: bench/device/plan_day.py PLIMSOLL DAY_FOLDER OUT [--exclusive] [--seconds 90]

DAY_FOLDER: day.json, job.py and service.py. Every kind of training runs alone for a third of its steps first, twice (`plimsoll run`, recorded): the
second time tells its pace and its start-up, the first one how much longer the first of a kind takes, while libraries are searched and loaded. The
plan is made from that, written as a jobs file, and run with the service beside it throughout. With --exclusive the trainings run one after the
other as well. Rows go to OUT/day.jsonl: what each kind did alone, what was planned and what each job did; a summary to standard output, with
the makespan against the plan's, the share of jobs whose speed is within the plan's interval, and what the trainings could not get.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time


PLANNED = ('start_seconds', 'first_step_seconds', 'end_seconds', 'alone_seconds', 'mean_speed', 'low_speed', 'high_speed')


def last_json(text):
    return json.loads([line for line in text.splitlines() if line.startswith('{')][-1])


def call(*words, **more):
    return subprocess.run([str(w) for w in words], capture_output=True, text=True, **more)


def record_alone(program, folder, job, seconds):
    """A training that has the GPU to itself for a third of its steps, some five seconds; the run's id."""
    command = [*job['command'][:-1], str(job['steps'] // 3)]
    done = call(program, 'run', '--device', 0, '--time-limit', f'{seconds}s', '--name', job['name'] + ' alone', '--', *command, cwd=folder)
    run = json.loads(call(program, 'runs', '--json', '--limit', 1).stdout)['runs'][0]
    return run['id'], done.returncode


def startup_of(program, folder, job, run):
    """As the planner reads it from a recorded run."""
    file = folder / 'one.json'
    file.write_text(json.dumps([{**job, 'alone': 'run:' + run}]))
    made = call(program, 'plan', file, '--devices', 'h200:1', '--looks', 0, '--json')
    if made.returncode != 0:
        sys.exit(f'no start-up of {run}: {made.stderr}')
    return json.loads(made.stdout)['jobs'][0]['startup_seconds']


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('program', type=pathlib.Path)
    parser.add_argument('day', type=pathlib.Path)
    parser.add_argument('out', type=pathlib.Path)
    parser.add_argument('--exclusive', action='store_true')
    parser.add_argument('--seconds', type=float, default=90, help='at most, of a training alone, its start included')
    asked = parser.parse_args()
    program = asked.program.resolve()
    asked.out.mkdir(parents=True, exist_ok=True)
    work = pathlib.Path(tempfile.mkdtemp())
    folder = work / 'day'
    shutil.copytree(asked.day, folder)
    os.environ['PLIMSOLL_STORE'] = str(work / 'store.db')
    rows = open(asked.out / 'day.jsonl', 'w')

    def note(**row):
        rows.write(json.dumps(row) + '\n')
        rows.flush()

    jobs = json.loads((folder / 'day.json').read_text())
    alone, settling, began = {}, {}, time.time()
    for job in jobs:
        key = ' '.join(job['command'][:-1])
        if job['kind'] != 'training' or key in alone:
            continue
        first, _ = record_alone(program, folder, job, asked.seconds)
        alone[key], code = record_alone(program, folder, job, asked.seconds)
        cold, warm = (startup_of(program, work, job, run) for run in (first, alone[key]))
        settling[key] = max(0.0, cold - warm)
        note(alone=job['name'], run=alone[key], code=code, startup=warm, first_startup=cold)
    service = next(job for job in jobs if job['kind'] == 'service')
    started = time.time()
    result = last_json(call(*service['command'][:-2], 2, service['command'][-1], cwd=folder).stdout)
    note(alone='service', startup=result['began'] - started)
    print(f'{len(alone)} kinds recorded alone in {time.time() - began:.0f} s', flush=True)
    planned = []
    for job in jobs:
        planned.append({**job, 'arrival_s': 0})
        if job['kind'] == 'training':
            key = ' '.join(job['command'][:-1])
            planned[-1].update(alone='run:' + alone[key], settling=settling[key], cudnn_benchmark=True)
        else:
            planned[-1].update(startup=result['began'] - started)
    (work / 'jobs.json').write_text(json.dumps(planned))
    began = time.time()
    made = call(program, 'plan', work / 'jobs.json', '--devices', 'h200:1', '--cores', os.cpu_count(), '--json', '--jobs-file', work / 'plan.toml',
                '--html', asked.out / 'plan.html')
    if made.returncode != 0:
        sys.exit(f'no plan: {made.stderr}')
    plan = json.loads(made.stdout)
    (asked.out / 'plan.json').write_text(made.stdout)
    shutil.copy(work / 'plan.toml', asked.out / 'plan.toml')
    print(f"planned in {time.time() - began:.0f} s: makespan {plan['makespan_seconds']:.1f} s", flush=True)
    began = time.time()
    ran = call(program, 'run', work / 'plan.toml', '--json', cwd=folder, timeout=400)
    (asked.out / 'run.txt').write_text(ran.stdout + ran.stderr)
    print(f'ran in {time.time() - began:.0f} s, exit {ran.returncode}', flush=True)
    told = {}
    for run in json.loads(call(program, 'runs', '--json', '--limit', 100).stdout)['runs']:
        shown = json.loads(call(program, 'runs', 'show', run['id'], '--json').stdout)
        log = '\n'.join(file.read_text(errors='replace') for file in work.rglob('*.log') if run['id'] in str(file))
        found = re.findall(r'^\{.*"(?:job|service)".*\}$', log, re.M)
        told[shown['name']] = (json.loads(found[-1]) if found else None, shown['tags'].get('plimsoll.outcome'))
    for job in plan['jobs']:
        result, outcome = told.get(job['name'], (None, None))
        note(job=job['name'], planned={k: job.get(k) for k in PLANNED}, result=result, outcome=outcome)
    held = counted = 0
    for job in plan['jobs']:
        result = told.get(job['name'], (None,))[0]
        if result and job['alone_seconds'] and job['low_speed']:
            counted += 1
            held += job['low_speed'] <= job['alone_seconds'] / (result['ended'] - result['began']) <= job['high_speed']
    trainings = [job for job in plan['jobs'] if not job['serves']]
    planned_span = max(job['end_seconds'] for job in trainings) - min(job['first_step_seconds'] for job in trainings)
    print(f'speeds within the plan\'s interval: {held} of {counted}')
    spans = [(told[j['name']][0]['began'], told[j['name']][0]['ended']) for j in jobs if j['kind'] == 'training' and told.get(j['name'], (None,))[0]]
    if spans:
        print(f"{len(spans)} trainings ended; from the first step to the last {max(e for _, e in spans) - min(b for b, _ in spans):.1f} s, planned {planned_span:.1f} s", flush=True)
    if asked.exclusive:
        total = 0
        for job in jobs:
            if job['kind'] == 'training':
                result = last_json(call(*job['command'], cwd=folder).stdout)
                total += result['ended'] - result['began']
                note(exclusive=job['name'], result=result)
        print(f'one after the other: {total:.1f} s of steps')


if __name__ == '__main__':
    main()
