#!/usr/bin/env python3
"""The day of jobs on one GPU under four policies, each run by `plimsoll queue`, and what the clairvoyant policy would have made of it.

usage: bench/device/queue_day.py PLIMSOLL DAY_FOLDER OUT [--minutes 9] [--repeat 2] [--only PASS,…] [--device 0] [--model-device h200]

DAY_FOLDER: day.json, job.py, service.py. Passes: the service alone; exclusive first-in-first-out without it; naive all at once; CARMA's gate; the
queue with the profiles that the first exclusive pass left, and once without any. A call runs those that are missing in OUT/passes.jsonl as
long as another is expected to end within --minutes, one at least; call it again until it says that none is missing. Then the table: span of the
trainings' steps, mean waiting, joules less the service's own, share of the service's seconds within its limit, ends by memory. Speeds of the groups
that came about go to OUT/truth.jsonl, by which `plimsoll plan --simulate` tells the clairvoyant policy's span.
"""
import argparse
import bisect
import collections
import ctypes
import datetime
import hashlib
import json
import os
import pathlib
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

POLICIES = {  # what `plimsoll queue start` is told
    'exclusive': ['--policy', 'exclusive'],
    'naive': ['--policy', 'naive', '--sharing', 'naive'],
    'carma': ['--policy', 'carma', '--sharing', 'mps'],
    'queue': ['--policy', 'plimsoll'],
    'queue-cold': ['--policy', 'plimsoll'],
}
FIRST_GUESS = 420  # s of a pass, before one was seen
SHARED = 0.5  # of what an exclusive pass takes, that another one is guessed to take at most
LEAST_INTERVAL = 2  # s that a group has to be together to tell its speeds


class EnergyCounter(threading.Thread):
    """The GPU's own counter, four times a second."""

    def __init__(self, device):
        super().__init__(daemon=True)
        self.nvml = ctypes.CDLL(os.environ.get('PLIMSOLL_NVML_LIBRARY', 'libnvidia-ml.so.1'))
        if self.nvml.nvmlInit_v2() != 0:
            sys.exit('NVML does not start')
        self.handle = ctypes.c_void_p()
        if self.nvml.nvmlDeviceGetHandleByIndex_v2(device, ctypes.byref(self.handle)) != 0:
            sys.exit(f'there is no GPU {device}')
        self.times, self.joules = [], []
        self.over = threading.Event()
        self.start()

    def run(self):
        millijoules = ctypes.c_ulonglong()
        while not self.over.wait(0.25):
            if self.nvml.nvmlDeviceGetTotalEnergyConsumption(self.handle, ctypes.byref(millijoules)) == 0:
                self.times.append(time.time())
                self.joules.append(millijoules.value / 1e3)

    def at(self, moment):
        return interpolated(self.times, self.joules, moment)

    def between(self, begin, end):
        return self.at(end) - self.at(begin)


def interpolated(xs, ys, x):
    i = min(max(bisect.bisect_left(xs, x), 1), len(xs) - 1)
    share = (x - xs[i - 1]) / (xs[i] - xs[i - 1])
    return ys[i - 1] + min(max(share, 0), 1) * (ys[i] - ys[i - 1])


class Queue:
    """A daemon of its own for one pass."""

    def __init__(self, asked, name, store, options):
        self.program, self.folder = asked.program, asked.folder
        # Short, since sockets stand there; always the same, since the profiles' store knows its daemon by it.
        self.home = pathlib.Path(tempfile.gettempdir()) / ('plq' + hashlib.sha256(str(asked.out).encode()).hexdigest()[:12])
        shutil.rmtree(self.home, ignore_errors=True)
        self.home.mkdir(mode=0o700)
        self.environment = {**os.environ, 'PLIMSOLL_QUEUE': str(self.home), 'PLIMSOLL_STORE': str(store)}
        self.log = open(asked.out / f'{name}.daemon.log', 'w')
        words = ['queue', 'start', '--foreground', '--host', 'day', '--device', asked.device, '--model-device', asked.model_device, *options]
        self.daemon = subprocess.Popen([self.program, *map(str, words)], env=self.environment, stdout=self.log, stderr=self.log)
        while self.call('queue', '--json').returncode != 0:
            if self.daemon.poll() is not None:
                sys.exit(f'the daemon ended: see {self.log.name}')
            time.sleep(0.2)

    def call(self, *words, **more):
        return subprocess.run([self.program, *map(str, words)], env={**self.environment, **more}, cwd=self.folder, capture_output=True,
                              text=True)

    def ask(self, *words, **more):
        done = self.call(*words, '--json', **more)
        if done.returncode != 0:
            sys.exit(f'plimsoll {words[0]}: {done.stderr}')
        return json.loads(done.stdout)

    def submit(self, job, state):
        told = {key: value for key, value in job.items() if key != 'arrival_s'}
        path = self.home / 'job.json'
        path.write_text(json.dumps([told]))
        return self.ask('submit', path, **({'JOB_STATE': str(state)} if job['kind'] == 'training' else {}))['numbers'][0]

    def end(self):
        self.daemon.send_signal(signal.SIGTERM)
        self.daemon.wait(timeout=60)
        for path in self.home.glob('mps/*/pipe'):  # no client is left
            subprocess.run(['nvidia-cuda-mps-control'], input='quit\n', text=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                           env={**os.environ, 'CUDA_MPS_PIPE_DIRECTORY': str(path)})
        shutil.rmtree(self.home, ignore_errors=True)


def steps_of(queue, run):
    """When it had done how many steps: seconds since 1970, steps."""
    exported = queue.call('runs', 'export', run, '--metric', 'loss', '--format', 'json')
    points = json.loads(exported.stdout)['points'] if exported.returncode == 0 else []
    return [(datetime.datetime.fromisoformat(point['time'].replace('Z', '+00:00')).timestamp(), point['step']) for point in points]


def told_of(queue, number, job):
    """What came of a job: its own last line, and where its steps were when."""
    now = queue.ask('queue', number)['jobs'][0]
    output = queue.call('queue', 'output', number).stdout
    found = re.findall(r'^\{.*\}$', output, re.M)
    row = {'job': job['name'], 'number': number, 'outcome': now.get('outcome'), 'attempts': now['attempt'], 'moves': now.get('moves', 0),
           'out_of_memory': now.get('out_of_memory', 0) + ('out-of-memory' in now.get('outcome', '').replace('_', '-')),
           'result': json.loads(found[-1]) if found else None}
    if job['kind'] == 'service':
        row['p99'] = [float(value) for value in re.findall(r'^plimsoll: metric p99 (\S+)', output, re.M)]
    else:
        row['points'] = steps_of(queue, now['run']) if now.get('run') else []
    return row


def run_day(asked, name, policy, jobs, limit):
    """One pass; its row."""
    store = asked.out / 'stores' / f'{name}.db'
    store.parent.mkdir(exist_ok=True)
    for old in store.parent.glob(f'{name}.db*'):
        old.unlink()
    profiles = asked.out / 'stores' / 'exclusive-0.db'
    if policy == 'queue':
        for path in profiles.parent.glob('exclusive-0.db*'):
            shutil.copy(path, store.parent / path.name.replace('exclusive-0', name))
    if policy == 'exclusive':
        jobs = [job for job in jobs if job['kind'] == 'training']
    states = pathlib.Path(tempfile.mkdtemp())
    queue = Queue(asked, name, store, POLICIES[policy])
    energy = EnergyCounter(int(asked.device))
    began, numbers = time.time(), {}
    try:
        for job in sorted(jobs, key=lambda job: job['arrival_s']):
            time.sleep(max(0, began + job['arrival_s'] - time.time()))
            numbers[job['name']] = queue.submit(job, states / job['name'])
        trainings = [numbers[job['name']] for job in jobs if job['kind'] == 'training']
        others = [number for number in numbers.values() if number not in trainings]
        while any(job['number'] in trainings for job in queue.ask('queue')['jobs']) and time.time() - began < limit:
            time.sleep(0.5)
        late = time.time() - began >= limit
        queue.call('cancel', *(numbers.values() if late else others))
        while queue.ask('queue')['jobs']:
            time.sleep(0.2)
        rows = [told_of(queue, numbers[job['name']], job) for job in jobs]
    finally:
        queue.end()
        energy.over.set()
        energy.join()
    for row, job in zip(rows, jobs):
        if job['kind'] == 'training' and row['result']:
            row['joules'] = energy.between(row['result']['began'], row['result']['ended'])
    return {'pass': name, 'policy': policy, 'began': began, 'late': late, 'jobs': rows,
            'energy': [[t - began, j] for t, j in zip(energy.times, energy.joules)]}


def run_service(asked, job):
    """The service alone for half a minute: its watts."""
    command = [*job['command']]
    command[-2] = '30'
    energy = EnergyCounter(int(asked.device))
    done = subprocess.run(command, cwd=asked.folder, capture_output=True, text=True, check=True)
    time.sleep(0.5)
    energy.over.set()
    energy.join()
    told = json.loads([line for line in done.stdout.splitlines() if line.startswith('{')][-1])
    begin, end = told['began'] + 2, told['ended']
    return {'pass': 'service', 'result': told, 'watts': energy.between(begin, end) / (end - begin)}


def summary(row, jobs, service_watts):
    """span s, mean waiting s, joules, share of the service's seconds, ends by memory, trainings that ended well."""
    by_name = {told['job']: told for told in row['jobs']}
    trainings = [job for job in jobs if job['kind'] == 'training']
    done = [(job['arrival_s'], by_name[job['name']]) for job in trainings if by_name[job['name']]['result']]
    if not done:
        return None
    out = {'done': len(done), 'of': len(trainings), 'out_of_memory': sum(told['out_of_memory'] for told in by_name.values())}
    if row['policy'] == 'exclusive':
        free, waiting = None, []
        for arrival, told in sorted(done, key=lambda one: one[0]):
            begin = arrival if free is None else max(arrival, free)
            first = begin if free is None else first
            waiting.append(begin - arrival)
            free = begin + told['result']['ended'] - told['result']['began']
        out.update(span=free - first, waiting=statistics.mean(waiting), joules=sum(told['joules'] for _, told in done))
        return out
    begin, end = min(told['result']['began'] for _, told in done), max(told['result']['ended'] for _, told in done)
    times, joules = zip(*((row['began'] + t, j) for t, j in row['energy']))
    used = interpolated(times, joules, end) - interpolated(times, joules, begin)
    out.update(span=end - begin, waiting=statistics.mean(told['result']['began'] - row['began'] - arrival for arrival, told in done),
               joules=used - service_watts * (end - begin))
    for job in jobs:
        if job['kind'] == 'service' and by_name[job['name']].get('p99'):
            p99 = by_name[job['name']]['p99']
            out['within'] = sum(value <= job['limit_ms'] / 1e3 for value in p99) / len(p99)
    return out


def kind_of(job):
    return ' '.join(job['command'][1:-1])


def alone_pace(exclusive, jobs):
    """Steps a second of each kind alone: the median of the exclusive passes."""
    paces = collections.defaultdict(list)
    for row in exclusive:
        for job, told in ((job, told) for job in jobs for told in row['jobs'] if told['job'] == job['name']):
            if told['result']:
                paces[kind_of(job)].append(told['result']['steps'] / (told['result']['ended'] - told['result']['began']))
    return {kind: statistics.median(values) for kind, values in paces.items()}


def write_truth(rows, jobs, paces, path):
    """Speeds of the groups that came about, each the mean over the seconds that it was together."""
    sums = collections.defaultdict(lambda: [0, None])
    by_name = {job['name']: job for job in jobs}
    for row in rows:
        if row['policy'] == 'exclusive':
            continue
        services = [job for job in jobs if job['kind'] == 'service']
        spans = [(told['result']['began'], told['result']['ended'], told) for told in row['jobs']
                 if told.get('points') and told['result'] and told['moves'] == 0 and told['attempts'] == 1]
        cuts = sorted({moment for begin, end, _ in spans for moment in (begin, end)})
        for begin, end in zip(cuts, cuts[1:]):
            there = [told for first, last, told in spans if first <= begin and last >= end]
            if end - begin < LEAST_INTERVAL or not there:
                continue
            speeds = []
            for told in there:
                times, steps = zip(*([[told['result']['began'], 0]] + [list(point) for point in told['points']]))
                pace = (interpolated(times, steps, end) - interpolated(times, steps, begin)) / (end - begin)
                kind = kind_of(by_name[told['job']])
                speeds.append((kind, pace / paces[kind]))
            speeds += [(kind_of(job), 1.0) for job in services]
            speeds.sort()
            if any(speed <= 0 for _, speed in speeds):
                continue
            way = 'naive' if row['policy'] == 'naive' else 'mps'
            entry = sums[(way, tuple(kind for kind, _ in speeds))]
            weighted = [speed * (end - begin) for _, speed in speeds]
            entry[1] = weighted if entry[1] is None else [a + b for a, b in zip(entry[1], weighted)]
            entry[0] += end - begin
    with open(path, 'w') as out:
        for (way, kinds), (seconds, total) in sums.items():
            out.write(json.dumps({'kind': 'group', 'workloads': kinds, 'sharing': way, 'speed': [t / seconds for t in total],
                                  'seconds': seconds}) + '\n')
    return len(sums)


def clairvoyant_span(asked, jobs, paces):
    """Of the simulation that is told the measured speeds."""
    described = []
    for job in jobs:
        described.append({key: value for key, value in job.items() if key not in ('save',)})
        described[-1]['workload'] = kind_of(job)
        if job['kind'] == 'training':
            described[-1]['seconds'] = job['steps'] / paces[kind_of(job)]
    path = asked.out / 'simulated.json'
    path.write_text(json.dumps(described))
    done = subprocess.run([asked.program, 'plan', '--simulate', path, '--devices', asked.model_device + ':1', '--policy', 'clairvoyant',
                           '--truth', asked.out / 'truth.jsonl', '--json'], capture_output=True, text=True)
    (asked.out / 'clairvoyant.json').write_text(done.stdout or done.stderr)
    if done.returncode != 0:
        return None
    policies = json.loads(done.stdout)['policies']
    return next((policy['makespan_seconds'] for policy in policies if policy['policy'] == 'clairvoyant'), None)


def tell(asked, jobs, rows):
    service = next(row for row in rows if row['pass'] == 'service') if any(row['pass'] == 'service' for row in rows) else {'watts': 0}
    table, medians = [], {}
    for policy in POLICIES:
        found = [summary(row, jobs, service['watts']) for row in rows if row.get('policy') == policy]
        found = [one for one in found if one]
        if not found:
            continue
        medians[policy] = {key: statistics.median(one[key] for one in found) for key in found[0] if all(key in one for one in found)}
        table.append((policy, len(found), medians[policy]))
    base = medians.get('exclusive')
    print(f"{'policy':<12}{'passes':>7}{'ended':>8}{'span s':>9}{'':>8}{'waiting s':>11}{'':>8}{'kJ':>8}{'':>8}{'service':>9}{'OOM':>5}")
    for policy, passes, one in table:
        def against(key):
            return f"{100 * (one[key] / base[key] - 1):+.1f} %" if base and base[key] > 0 and policy != 'exclusive' else ''
        within = f"{100 * one['within']:.1f} %" if 'within' in one else '-'
        print(f"{policy:<12}{passes:>7}{one['done']:>5.0f}/{one['of']:.0f}{one['span']:>9.1f}{against('span'):>8}{one['waiting']:>11.1f}"
              f"{against('waiting'):>8}{one['joules'] / 1e3:>8.1f}{against('joules'):>8}{within:>9}{one['out_of_memory']:>5.0f}")
    print(f"the service alone: {service['watts']:.0f} W")
    exclusive = [row for row in rows if row.get('policy') == 'exclusive']
    paces = alone_pace(exclusive, jobs) if exclusive else {}
    if base and 'queue' in medians and all(kind_of(job) in paces for job in jobs if job['kind'] == 'training'):
        groups = write_truth([row for row in rows if 'policy' in row], jobs, paces, asked.out / 'truth.jsonl')
        span = clairvoyant_span(asked, jobs, paces)
        if span is None:
            print(f'no simulation: see {asked.out / "clairvoyant.json"}')
        else:
            gain = (base['span'] - medians['queue']['span']) / (base['span'] - span) if base['span'] > span else float('nan')
            print(f'clairvoyant, simulated with {groups} measured groups: {span:.1f} s; the queue has {100 * gain:.0f} % of its gain')


def expected_length(name, rows):
    """Seconds of a pass: as its policy took before, else by the exclusive one."""
    took = {row['pass']: row['took'] for row in rows if 'took' in row}
    policy = name.rsplit('-', 1)[0]
    same = [seconds for other, seconds in took.items() if other.rsplit('-', 1)[0] == policy]
    if same:
        return max(same)
    return SHARED * took['exclusive-0'] if 'exclusive-0' in took else FIRST_GUESS


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('program', type=pathlib.Path)
    parser.add_argument('day', type=pathlib.Path)
    parser.add_argument('out', type=pathlib.Path)
    parser.add_argument('--minutes', type=float, default=9, help='of one call')
    parser.add_argument('--repeat', type=int, default=2)
    parser.add_argument('--device', default='0')
    parser.add_argument('--model-device', default='this')
    parser.add_argument('--only', help='these passes alone: exclusive-0,queue-0')
    parser.add_argument('--limit', type=float, default=500, help='seconds of one pass, at most; what runs then is ended')
    asked = parser.parse_args()
    began = time.time()
    asked.program, asked.out = asked.program.resolve(), asked.out.resolve()
    asked.out.mkdir(parents=True, exist_ok=True)
    asked.folder = asked.out / 'day'  # always the same: a command is known again by its folder
    shutil.copytree(asked.day, asked.folder, dirs_exist_ok=True)
    jobs = json.loads((asked.folder / 'day.json').read_text())
    kept = asked.out / 'passes.jsonl'
    rows = [json.loads(line) for line in kept.read_text().splitlines()] if kept.exists() else []
    wanted = ['service'] if any(job['kind'] == 'service' for job in jobs) else []
    wanted += [f'{policy}-{i}' for i in range(asked.repeat) for policy in ('exclusive', 'queue', 'naive', 'carma')] + ['queue-cold-0']
    if asked.only:
        wanted = [name for name in wanted if name in asked.only.split(',')]
    missing = [name for name in wanted if name not in {row['pass'] for row in rows}]
    for i, name in enumerate(missing):
        if i > 0 and time.time() - began + expected_length(name, rows) > 60 * asked.minutes:
            break
        started = time.time()
        service = [job for job in jobs if job['kind'] == 'service']
        row = run_service(asked, service[0]) if name == 'service' else run_day(asked, name, name.rsplit('-', 1)[0], jobs, asked.limit)
        row['took'] = time.time() - started
        rows.append(row)
        with open(kept, 'a') as out:
            out.write(json.dumps(row) + '\n')
        print(f"{name}: {row['took']:.0f} s", flush=True)
    tell(asked, jobs, rows)
    left = [name for name in wanted if name not in {row['pass'] for row in rows}]
    print('none is missing' if not left else f"missing: {', '.join(left)}; call it again")


if __name__ == '__main__':
    main()
