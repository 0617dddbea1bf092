#!/usr/bin/env python3
"""`plimsoll beside` against measured groups: errors, which sharing and which partner it would have picked, simple models beside it.

usage: beside_truth.py PLIMSOLL [ROWS.jsonl] [--onnx DIR] [--from-model] [--left-out N] [--bars]

ROWS.jsonl has rows as bench/device/beside_groups.py writes them. A model is DIR/NAME.train.onnx (or .eager.onnx) where that is there, else the
zoo's. Without ROWS.jsonl: those that stand beside the project, with their models; exit code 77 where they are not there. --bars: exit code 1 where an error is
above its bar, an interval holds less than 85 % of 20 rows or more, or picks are worse than they should be. --left-out N: what was fitted to such rows is fitted again with each workload in turn left out: of N draws around the figures that are
built in (each of the fitted ones times up to 1.6 or divided by it) the one with the least error over the groups without the workload is taken,
and tells the groups with it.
"""
import argparse, concurrent.futures, itertools, json, math, os, random, statistics, subprocess, sys, tempfile

BARS = {'naive steady': 5, 'naive': 8, 'mps steady': 9, 'mps': 13, 'combined': 6, 'capped': 10, 'alone capped': 7, 'alone mps': 4, 'watts': 10}  # %
BARS_FROM_MODEL = {'naive steady': 8, 'mps steady': 14, 'capped': 14}
FITTED = {'crowding_memory': 0.6, 'crowding_compute': 0.6, 'crowding_launch': 0.8, 'client_launch': 8e-7, 'client_run': 0.01, 'crowded_launch': 1e-6,
          'client_host': 0.07, 'refill': 5e-5, 'change': 1.7e-4, 'cap_exponent': 1.86, 'cap_compute': 1.75, 'cap_memory': 1.02, 'cap_launch': 0.39}

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument('plimsoll'); parser.add_argument('rows', nargs='?'); parser.add_argument('--onnx', default=''); parser.add_argument('--bars', action='store_true')
parser.add_argument('--from-model', action='store_true'); parser.add_argument('--left-out', type=int, default=0)
asked = parser.parse_args()
if not asked.rows:
    shared = os.environ.get('PLIMSOLL_SHARED') or os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../shared')
    asked.rows, asked.onnx = f'{shared}/data/h200/beside.jsonl', f'{shared}/data/onnx'
    if not os.path.exists(asked.rows):
        print(f'skipped: no measurements at {asked.rows}'); sys.exit(77)
rows = [json.loads(line) for line in open(asked.rows)]
alone = {r['workload']: r for r in rows if r['kind'] == 'alone' and r['sharing'] == 'exclusive'}


def model_of(row):
    for kind in ('train', 'dynamo', 'script') if row['mode'] == 'train' else ('eager', 'dynamo', 'script'):
        path = os.path.join(asked.onnx, f"{row['model']}.{kind}.onnx")
        if asked.onnx and os.path.exists(path):
            return os.path.abspath(path)
    return row['model']


def workload(name):
    row = alone[name]
    out = {key: row[key] for key in ('mode', 'batch', 'seq', 'precision', 'optimizer', 'captured') if row.get(key) is not None}
    out.update(name=name, model=model_of(row), cudnn_benchmark=True)
    if not asked.from_model:
        out['alone'] = {k: row[k] for k in ('gract', 'smact', 'occupancy', 'dram', 'tensor', 'watts', 'reserved_bytes') if k in row}
        out['alone']['steps_per_second'] = row['best_alone']
    return out


def ask(names, sharing, more=(), changes=None):
    jobs = [workload(n) for n in names]
    for job in jobs:
        job.update((changes or {}).get(job['name'], {}))
    with tempfile.NamedTemporaryFile('w', suffix='.json') as file:
        json.dump(jobs, file); file.flush()
        done = subprocess.run([asked.plimsoll, 'beside', '--workloads', file.name, '--device', 'h200', '--sharing', sharing, *more, '--json'],
                              capture_output=True, text=True)
    if done.returncode not in (0, 1):
        sys.exit(f"{names} {sharing}: {done.stderr}")
    return json.loads(done.stdout)


def kind_of(row):
    caps = row.get('caps') or row.get('cap')
    if row['kind'] == 'alone':
        return 'alone capped' if caps else 'alone mps'
    return 'capped' if caps else row['sharing']


measured = [r for r in rows if r['kind'] == 'beside' or (r['kind'] == 'alone' and r['sharing'] == 'mps' and r['steady'])]
def parts(row):
    single = row['kind'] == 'alone'
    names = [row['workload']] if single else row['workloads']
    caps = [row['cap']] if single else row['caps']
    sharing = row['sharing'] + (':' + ','.join(map(str, caps)) if caps and caps[0] else '')
    return names, sharing, [row['speed']] if single else row['speed']


def predict(figures=None):
    more = []
    if figures:
        file = tempfile.NamedTemporaryFile('w', suffix='.json'); json.dump(figures, file); file.flush(); more = ['--figures', file.name]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return list(pool.map(lambda r: ask(*parts(r)[:2], more), measured))


def errors_of(answers, only=lambda row, name: True):
    found = {}
    for row, answer in zip(measured, answers):
        names, _, speeds = parts(row)
        for name, member, speed in zip(names, answer['workloads'], speeds):
            if not only(row, name):
                continue
            groups = [kind_of(row)] + ([kind_of(row) + ' steady'] if row['kind'] == 'beside' and row['steady'] and not row['caps'] else [])
            for group in groups:
                found.setdefault(group, []).append((abs(member['speed'] / speed - 1), member['low'] <= speed <= member['high']))
        if row['kind'] == 'beside' and only(row, None):
            found.setdefault('combined', []).append((abs(answer['combined'] / sum(speeds) - 1), True))
            if answer.get('watts') and row.get('watts'):
                found.setdefault('watts', []).append((abs(answer['watts'] / row['watts'] - 1), True))
    return found


short = []
def show(title, found):
    print(f'\n{title}\n{"":16s} {"rows":>5s} {"mean":>7s} {"median":>7s} {"p90":>7s} {"held":>6s}')
    for group, values in sorted(found.items()):
        e = sorted(v[0] for v in values)
        held = statistics.mean(v[1] for v in values)
        limit = (BARS_FROM_MODEL if asked.from_model else BARS).get(group)
        if limit and (100 * statistics.mean(e) > limit or (len(e) >= 20 and held < 0.85)):
            short.append(f'{title}: {group}')
        print(f'{group:16s} {len(e):5d} {100*statistics.mean(e):6.1f}% {100*statistics.median(e):6.1f}% {100*e[int(.9*(len(e)-1))]:6.1f}% '
              f'{100*statistics.mean(v[1] for v in values):5.0f}%')


def picks(answers):
    """Which of naive and MPS is fairer; which partner is best."""
    of = {(tuple(parts(r)[0]), r['sharing']): (parts(r)[2], [m['speed'] for m in a['workloads']])
          for r, a in zip(measured, answers) if r['kind'] == 'beside' and not r['caps']}
    groups = {names for names, _ in of if (names, 'naive') in of and (names, 'mps') in of}
    regrets, right, always, apart = [], 0, 0, 0
    for names in groups:
        true = {s: min(of[names, s][0]) for s in ('naive', 'mps')}
        told = {s: min(of[names, s][1]) for s in ('naive', 'mps')}
        picked = max(told, key=told.get)
        regrets.append(1 - true[picked] / max(true.values()))
        if abs(true['naive'] / true['mps'] - 1) > 0.05:
            apart += 1; right += picked == max(true, key=true.get); always += max(true, key=true.get) == 'mps'
    if len(groups) >= 20 and (statistics.mean(regrets) > 0.03 or right < 0.9 * apart):
        short.append('fairness: too often the wrong way')
    print(f'\nfairness: {len(groups)} groups, mean regret {100*statistics.mean(regrets):.1f} %; of {apart} that differ by more than 5 % '
          f'{right} named right ({100*right/max(apart,1):.0f} %; always MPS: {100*always/max(apart,1):.0f} %)')
    losses, lowest = [], []
    for sharing in ('naive', 'mps'):
        for name in alone:
            pairs = {next(n for n in names if n != name): of[names, s] for names, s in of if s == sharing and len(names) == 2 and name in names and names[0] != names[1]}
            if len(pairs) < 2:
                continue
            true = {n: sum(v[0]) for n, v in pairs.items()}; told = {n: sum(v[1]) for n, v in pairs.items()}
            losses.append(1 - true[max(told, key=told.get)] / max(true.values()))
            lowest.append(1 - true[min(pairs, key=lambda n: alone[n]['smact'])] / max(true.values()))
    if statistics.mean(losses) > 0.02:
        short.append('the best partner is missed')
    print(f'best partner: loses {100*statistics.mean(losses):.1f} % of the best combined speed in the mean over {len(losses)} choices '
          f'(the lowest SM activity: {100*statistics.mean(lowest):.1f} %)')


def solve(a, b):
    n = len(b); m = [row[:] + [v] for row, v in zip(a, b)]
    for i in range(n):
        p = max(range(i, n), key=lambda r: abs(m[r][i])); m[i], m[p] = m[p], m[i]
        for r in range(n):
            if r != i:
                f = m[r][i] / m[i][i]; m[r] = [x - f * y for x, y in zip(m[r], m[i])]
    return [m[i][n] / m[i][i] for i in range(n)]


def ridge(x, y, weight=0.01):
    k = len(x[0])
    return solve([[sum(r[i] * r[j] for r in x) + (weight * len(x) if i == j else 0) for j in range(k)] for i in range(k)],
                 [sum(r[i] * v for r, v in zip(x, y)) for i in range(k)])


def simple_models():
    print('\nsimple models, mean error of speeds (in brackets with each workload left out)')
    for sharing in ('naive', 'mps'):
        data = [(parts(r)[0], parts(r)[2]) for r in measured if r['kind'] == 'beside' and not r['caps'] and r['sharing'] == sharing]
        equal = [abs((1 / len(n)) / s - 1) for n, speeds in data for s in speeds]
        def features(name, names):
            own, others = alone[name], [alone[n] for n in names if n != name] or [alone[name]]
            keys = ('gract', 'smact', 'occupancy', 'dram')
            total = {k: sum(o[k] for o in others) for k in keys}
            return [1] + [total[k] for k in keys] + [own[k] for k in keys] + [own[k] * total[k] for k in keys]
        samples = [(n, names, features(n, names), math.log(s)) for names, speeds in data for n, s in zip(names, speeds)]
        def regression(train, test):
            w = ridge([s[2] for s in train], [s[3] for s in train])
            return [abs(math.exp(sum(a * b for a, b in zip(w, s[2])) - s[3]) - 1) for s in test]
        within = regression(samples, samples)
        out = [e for n in alone for e in regression([s for s in samples if n not in s[1]], [s for s in samples if s[0] == n])]
        # A table of effects: log speed = what the workload suffers + what the others do, of pairs.
        pairs = [s for s in samples if len(s[1]) == 2 and s[1][0] != s[1][1]]
        names = sorted(alone)
        def effects(s):
            other = next(n for n in s[1] if n != s[0])
            return [1.0 * (n == s[0]) for n in names] + [1.0 * (n == other) for n in names]
        table = []
        for fold in range(5):
            train = [s for i, s in enumerate(pairs) if i // 2 % 5 != fold]; test = [s for i, s in enumerate(pairs) if i // 2 % 5 == fold]
            w = ridge([effects(s) for s in train], [s[3] for s in train], 1e-4)
            table += [abs(math.exp(sum(a * b for a, b in zip(w, effects(s))) - s[3]) - 1) for s in test]
        print(f'  {sharing:6s} equal shares {100*statistics.mean(equal):.1f} %; regression {100*statistics.mean(within):.1f} % ({100*statistics.mean(out):.1f} %); '
              f'table of effects {100*statistics.mean(table):.1f} % on pairs left out (it knows no other workload)')


def services():
    for row in rows:
        if row['kind'] != 'service' or row['sharing'] not in ('naive', 'mps'):
            continue
        answer = ask(row['workloads'], row['sharing'], (), {row['service']: {'arrivals': row['rate']}})
        latency = answer['workloads'][0].get('latency') or {}
        told = ' '.join(f"{k} {1e3*latency[k+'_seconds']:.2f} ms of {1e3*row[k]:.2f} ({100*(latency[k+'_seconds']/row[k]-1):+.0f} %)" for k in ('median', 'p99') if latency)
        print(f"service {row['service']} at {row['rate']:g}/s, {row['sharing']}, beside {', '.join(row['workloads'][1:]) or 'nobody'}: {told}")


def left_out(draws):
    draw = random.Random(7)
    tries = [None] + [{k: v * 1.6 ** draw.uniform(-1, 1) for k, v in FITTED.items()} for _ in range(draws)]
    answers = [predict(figures) for figures in tries]
    def total(found):  # as the bars weigh them: each kind alike
        return sum(statistics.mean(e[0] for e in found[k]) for k in ('naive', 'mps', 'capped', 'alone capped', 'alone mps') if found.get(k))
    pooled = {}
    for name in alone:
        without = lambda row, _: name not in parts(row)[0]
        best = min(range(len(tries)), key=lambda i: total(errors_of(answers[i], without)))
        for group, values in errors_of(answers[best], lambda row, n: n == name).items():
            pooled.setdefault(group, []).extend(values)
    show(f'each workload left out of what was fitted ({draws} draws)', pooled)


answers = predict()
show('errors', errors_of(answers))
picks(answers)
simple_models()
services()
if asked.left_out:
    left_out(asked.left_out)
if asked.bars and short:
    print('\nshort:', '; '.join(short))
    sys.exit(1)
