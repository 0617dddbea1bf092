#!/usr/bin/env python3
"""What `plimsoll plan` says now of the schedule that ran on the H200, against what it did: a replay of a recorded run, not a new run.

usage: bench/plan_day_replay.py PLIMSOLL DAY_FOLDER [RECORD] [--bars]

DAY_FOLDER has day.json; RECORD (docs/figures/plan_day) what bench/device/plan_day.py wrote: plan.json, day.jsonl, run.txt. The jobs start as they did then, the
first at once and each other one when the one that it waited for has ended, on one H200 under MPS with half of the SMs each; how long each
needs alone is what was recorded then; how long its kernels run of that was not kept, and is estimated. Start-ups were not recorded alone then; they are read from the run itself: from the last step of the one that a job waited for to
its first step, the mean for each kind. With --bars it fails unless the makespan is within 10 %.
"""
import collections
import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile


def recorded(folder):
    """What each job did, and whom it waited for."""
    rows = [json.loads(line) for line in (folder / 'day.jsonl').open()]
    ran = {row['job']: row['result'] for row in rows if 'job' in row}
    waits = dict(re.findall(r'^plimsoll: (\S+) waits for (\S+)$', (folder / 'run.txt').read_text(), re.M))
    return ran, waits


def startups(ran, waits):
    """By kind: what passes between the last step of one and the first step of the next, which waited for it."""
    gaps = collections.defaultdict(list)
    kind = {name: tuple(result.get('job', result.get('service'))) for name, result in ran.items()}
    for name, before in waits.items():
        gaps[kind[name]].append(ran[name]['began'] - ran[before]['ended'])
    out = {k: statistics.mean(v) for k, v in gaps.items()}
    # Of a kind of which none waited: against one of those that were started with it.
    first = [name for name in ran if name not in waits]
    known = [name for name in first if kind[name] in out]
    began = statistics.mean(ran[name]['began'] - out[kind[name]] for name in known)
    for name in first:
        out.setdefault(kind[name], ran[name]['began'] - began)
    return {name: out[kind[name]] for name in ran}


def settling(ran, waits):
    """What the first of a kind of network with convolutions takes longer than its later ones, beyond its start-up: of each kind the mean of what the
    OTHER kinds show, so that no figure is taken from the job that it is used for. Networks without convolutions search for no kernels."""
    runs = collections.defaultdict(list)
    for name, result in sorted(ran.items(), key=lambda item: item[1]['began']):
        if 'job' in result and result['job'][0] not in ('bert_base', 'gpt2'):
            runs[tuple(result['job'])].append((result['began'], result['ended'], name))
    shown = {}
    for kind, spans in runs.items():
        later = [e - b for b, e, _ in spans if b > spans[0][1]]  # began when the first had ended
        if later:
            shown[kind] = spans[0][1] - spans[0][0] - statistics.mean(later)
    out = {}
    for kind, spans in runs.items():
        others = [value for other, value in shown.items() if other != kind]
        for _, _, name in spans:
            out[name] = statistics.mean(others)
    return shown, out


def kernel_seconds(program, job):
    """Of a step, in which a kernel runs, as estimated."""
    model = job['model'] + (f":input={job['input']}" if 'input' in job else '')
    words = [program, 'estimate', model, '--device', 'h200', '--mode', 'train', '--batch', str(job['batch']), '--optimizer', job['optimizer'],
             '--precision', job['precision'], '--json']
    if 'seq' in job:
        words += ['--seq', str(job['seq'])]
    return json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)['time']['seconds']


def replayed(program, jobs, cores):
    with tempfile.NamedTemporaryFile('w', suffix='.json') as file:
        json.dump(jobs, file)
        file.flush()
        done = subprocess.run([program, 'plan', '--simulate', file.name, '--devices', 'h200:1', '--policy', 'naive', '--sharing', 'mps:50',
                               '--cores', str(cores), '--json'], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return {job['name']: job for job in json.loads(done.stdout)['policies'][0]['jobs']}


def span(told, names):
    return max(told[n]['end_seconds'] for n in names) - min(told[n]['first_step_seconds'] for n in names)


def main():
    words = [word for word in sys.argv[1:] if word != '--bars']
    program, day = words[0], pathlib.Path(words[1])
    folder = pathlib.Path(words[2]) if len(words) > 2 else pathlib.Path(__file__).parent.parent / 'docs/figures/plan_day'
    ran, waits = recorded(folder)
    plan = json.loads((folder / 'plan.json').read_text())
    planned = {job['name']: job for job in plan['jobs']}
    starting = startups(ran, waits)
    shown, more = settling(ran, waits)
    jobs = []
    for job in json.loads((day / 'day.json').read_text()):
        name = job['name']
        row = {k: v for k, v in job.items() if k not in ('arrival_s', 'command', 'save')}
        row.update(startup=starting[name], settling=more.get(name, 0), after=[waits[name]] if name in waits else [])
        if job['kind'] == 'training':
            seconds = planned[name]['alone_seconds']
            steps = job['steps'] / seconds
            row.update(cudnn_benchmark=True, alone={'steps_per_second': steps, 'smact': planned[name]['sm_activity'],
                                                    'gract': min(1.0, kernel_seconds(program, job) * steps)})
        jobs.append(row)
    trainings = [job['name'] for job in jobs if job['kind'] == 'training']
    first = min(ran[n]['began'] for n in trainings)
    true = {n: {'first_step_seconds': ran[n]['began'] - first, 'end_seconds': ran[n]['ended'] - first} for n in trainings}
    without = replayed(program, [{**job, 'startup': 0, 'settling': 0} for job in jobs], 16)
    no_settling = replayed(program, [{**job, 'settling': 0} for job in jobs], 16)
    with_startup = replayed(program, jobs, 16)
    shift = min(with_startup[n]['first_step_seconds'] for n in trainings)
    print('A replay of the run that is recorded in docs/figures/plan_day (one H200, 16 cores), not a new run. Seconds from the first step of all.')
    print(f'{"job":24s} {"start-up":>8s} | {"ran: first step":>15s} {"end":>6s} {"took":>6s} | {"replayed: first step":>20s} {"end":>6s} {"took":>6s} | {"took, off":>9s}')
    for n in sorted(trainings, key=lambda n: true[n]['first_step_seconds']):
        a, b = true[n], {k: with_startup[n][k] - shift for k in ('first_step_seconds', 'end_seconds')}
        took, told = a['end_seconds'] - a['first_step_seconds'], b['end_seconds'] - b['first_step_seconds']
        print(f"{n:24s} {starting[n]:8.2f} | {a['first_step_seconds']:15.1f} {a['end_seconds']:6.1f} {took:6.1f} | {b['first_step_seconds']:20.1f} "
              f"{b['end_seconds']:6.1f} {told:6.1f} | {100 * (told / took - 1):+8.0f} %")
    truth, before, half, now = (span(told, trainings) for told in (true, without, no_settling, with_startup))
    print('The first of a kind took longer than its later ones by ' + ', '.join(f'{s:.1f} s ({k[0]} {k[2]})' for k, s in shown.items()) + '.')
    print(f'From the first step to the last: ran {truth:.1f} s; replayed without start-ups {before:.1f} s ({100 * (before / truth - 1):+.1f} %), '
          f'with them {half:.1f} s ({100 * (half / truth - 1):+.1f} %), and with what the first of a kind takes more {now:.1f} s '
          f'({100 * (now / truth - 1):+.1f} %).')
    if '--bars' in sys.argv and abs(now / truth - 1) > 0.1:
        sys.exit('a bar does not hold')


if __name__ == '__main__':
    main()
