#!/usr/bin/env python3
"""`plimsoll plan cluster` on Alibaba's openb trace, beside the published shares of GPUs allocated (docs/commands/plan-cluster.md).

usage: plan_cluster.py PLIMSOLL [--bars]

Ten orders of arrival per policy and trace, seeds 0 to 9; seconds are of one replay, reading the files included. With --bars it fails
where a bar does not hold, and tells no seconds. The data stand beside the project (PLIMSOLL_SHARED, else ../shared).
"""
import csv, json, os, pathlib, subprocess, sys, time

SEEDS = 10
PUBLISHED = {'random': '01-Random', 'dot-product': '02-DotProd', 'clustering': '03-GpuClustering', 'packing': '04-GpuPacking',
             'best-fit': '05-BestFit', 'fragmentation': '06-FGD', 'plimsoll': None}
# points: how far from the published a policy may be; and what Plimsoll's own reaches at least
REPRODUCED = {'default': ('best-fit', 'packing', 'dot-product'), 'gpushare100': ('best-fit',)}
LEAST = {'default': 95.0, 'gpushare100': 86.4}

bars = '--bars' in sys.argv
plimsoll = sys.argv[1]
data = pathlib.Path(os.environ.get('PLIMSOLL_SHARED', pathlib.Path(__file__).resolve().parents[1] / '../shared')) / 'data/public'
if not (data / 'openb_pod_list_default.csv').exists():
    print(f'no measurements in {data}; PLIMSOLL_SHARED names the folder')
    sys.exit(77)
published = {(row['trace'].removeprefix('openb_pod_list_'), row['policy']): row for row in csv.DictReader(open(data / 'fgd_expected_alloc.csv'))}
broken = []
for trace in LEAST:
    print(f'{trace}: share of GPUs allocated where the requests that arrived reach all GPUs, mean of {SEEDS} orders')
    print(f'{"policy":14} {"allocated":>9} {"±":>5} {"published":>9} {"±":>5} {"points":>6} {"at 130 %":>8} {"published":>9} {"refused":>8} {"fragments":>9}'
          + ('' if bars else f' {"seconds":>8}'))
    got = {}
    for policy, name in PUBLISHED.items():
        start = time.perf_counter()
        done = subprocess.run([plimsoll, 'plan', 'cluster', data / f'openb_pod_list_{trace}.csv', '--nodes', data / 'openb_node_list_all_node.csv',
                               '--policy', policy, '--seeds', str(SEEDS), '--json'], capture_output=True, text=True)
        seconds = (time.perf_counter() - start) / SEEDS
        if done.returncode != 0:
            sys.exit(done.stderr)
        of = json.loads(done.stdout)['policies'][0]
        got[policy] = 100 * of['allocated']
        row = published.get((trace, name))
        known = float(row['gpu_alloc_pct_at_100pct_arrived']) if row else None
        beside = (f'{known:9.2f} {float(row["sd_100"]):5.2f} {got[policy] - known:+6.2f}' if row else f'{"–":>9} {"–":>5} {"–":>6}')
        later = f'{float(row["gpu_alloc_pct_at_130pct_arrived"]):9.2f}' if row else f'{"–":>9}'
        print(f'{policy:14} {got[policy]:9.2f} {100 * of["standard_deviation"]:5.2f} {beside} {100 * of["curve"][-1]["allocated"]:8.2f} {later}'
              f' {of["refused_pods"]:8.1f} {100 * of["fragmentation"]:9.2f}' + ('' if bars else f' {seconds:8.3f}'))
        if policy in REPRODUCED[trace] and abs(got[policy] - known) > 0.5:
            broken.append(f'{trace}: {policy} is {got[policy]:.2f}, published {known:.2f}')
    if got['plimsoll'] < max(LEAST[trace], got['fragmentation']):
        broken.append(f'{trace}: plimsoll is {got["plimsoll"]:.2f}, below {max(LEAST[trace], got["fragmentation"]):.2f}')
    print()
if bars:
    print('\n'.join(broken) or 'all bars hold')
    sys.exit(bool(broken))
