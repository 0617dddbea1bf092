#!/usr/bin/env python3
"""Several processes of a network in one MIG instance of an A100, as `plimsoll beside` tells it and as ParvaGPU's authors measured it.

usage: bench/mps_in_mig.py PLIMSOLL [--bars]

Of every network of the zoo, size of instance, batch of 1, 8 and 32, and 1 to 3 processes that were measured: requests a second, told over measured, and what further processes
gain over one, told over measured. Networks run eagerly, as those that were measured do at small batches, whose times hardly depend on the instance. With
--bars it fails where the mean error of the gain is above 20 %. The measurements stand beside the project (PLIMSOLL_SHARED, else ../shared).
"""
import concurrent.futures, csv, json, os, pathlib, statistics, subprocess, sys

NAMES = {'bert': 'bert_base,seq=128', 'inceptionv3': 'inception_v3', 'mobilenetv2': 'mobilenet_v2'}
NOT_IN_THE_ZOO = ('densenet169', 'densenet201')
PROFILES = {1: '1g.10gb', 2: '2g.20gb', 3: '3g.40gb', 4: '4g.40gb', 7: '7g.80gb'}
data = pathlib.Path(os.environ.get('PLIMSOLL_SHARED', pathlib.Path(__file__).resolve().parents[1] / '../shared')) / 'data/public/parvagpu_profiles.csv'
if not data.exists():
    print(f'no measurements at {data}; PLIMSOLL_SHARED names the folder')
    sys.exit(77)
measured = {(r['model'], int(r['mig_compute_slices']), int(r['batch']), int(r['processes'])): float(r['throughput_total_req_s'])
            for r in csv.DictReader(open(data)) if r['model'] not in NOT_IN_THE_ZOO and int(r['batch']) in (1, 8, 32) and int(r['processes']) <= 3}


def told(key):
    model, size, batch, processes = key
    name = NAMES.get(model, model)
    done = subprocess.run([sys.argv[1], 'beside', *[f'{name},batch={batch}'] * processes, '--device', 'a100-80-sxm',
                           '--sharing', f'mig+mps:{PROFILES[size]}', '--json'], capture_output=True, text=True)
    if done.returncode not in (0, 1):
        sys.exit(f'{key}: {done.stderr}')
    return batch * sum(w['steps_per_second'] for w in json.loads(done.stdout)['workloads'])


with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
    all_told = dict(zip(measured, pool.map(told, measured)))
print(f'{"size":>5} {"batch":>5} {"processes":>9} {"rows":>5} {"rate, told/measured":>20} {"gain measured":>14} {"gain told":>10} {"error of the gain":>18}')
errors = []
for size in PROFILES:
    for batch in (1, 8, 32):
        for processes in (1, 2, 3):
            keys = [k for k in measured if k[1:] == (size, batch, processes) and (*k[:3], 1) in measured]
            if not keys:
                continue
            rate = statistics.median(all_told[k] / measured[k] for k in keys)
            gains = [(measured[k] / measured[(*k[:3], 1)], all_told[k] / all_told[(*k[:3], 1)]) for k in keys]
            off = [abs(t / m - 1) for m, t in gains]
            if processes > 1:
                errors += off
            print(f'{size:>5} {batch:>5} {processes:>9} {len(keys):>5} {rate:>20.2f} {statistics.median(m for m, _ in gains):>14.2f}'
                  f' {statistics.median(t for _, t in gains):>10.2f} {100 * statistics.mean(off):>16.1f} %')
rates = [abs(all_told[k] / measured[k] - 1) for k in measured]
print(f'mean error of the gain over one process: {100 * statistics.mean(errors):.1f} % of {len(errors)} rows, median {100 * statistics.median(errors):.1f} %; '
      f'of the rate: {100 * statistics.mean(rates):.1f} % of {len(rates)} rows')
if '--bars' in sys.argv and statistics.mean(errors) > 0.2:
    sys.exit('the bar does not hold')
