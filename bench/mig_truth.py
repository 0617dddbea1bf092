#!/usr/bin/env python3
"""`plimsoll beside --sharing mig:…` against speeds that MISO's authors measured on slices of an A100 (docs/beside.md).

usage: mig_truth.py PLIMSOLL miso_speeds.csv

Which variants of the networks they ran is not said; those tried are below, and of each network the one is told
whose time on the whole GPU (7g: a step times the share of it in which the GPU was busy) grows with the batch as the estimate does.
"""
import collections, csv, json, math, statistics, subprocess, sys, tempfile

VARIANTS = {
    'resnet': [dict(model=f'{m}:classes=10,input=3x{s}x{s}') for m in ('resnet18', 'resnet34', 'resnet50', 'resnet101') for s in (32, 64)],
    'mobilenet': [dict(model=f'{m}:classes=10,input=3x{s}x{s}') for m in ('mobilenet_v2', 'mobilenet_v3_large', 'mobilenet_v3_small') for s in (32, 64)],
    'bert': [dict(model='bert_base', seq=s, optimizer='adamw', precision=p) for s in (128, 256, 384, 512) for p in ('fp32', 'tf32', 'fp32-strict')],
}
plimsoll, path = sys.argv[1:]
steps, util = collections.defaultdict(dict), {}
for row in csv.DictReader(open(path)):
    if row['mode'] == 'mig' and row['model'] in VARIANTS:
        steps[row['model'], int(row['batch'])][row['share']] = float(row['mean_step_s'])
        util[row['model'], int(row['batch'])] = float(row['util_sm_pct']) / 100


def ask(workload, profile):
    with tempfile.NamedTemporaryFile('w', suffix='.json') as file:
        json.dump([workload], file); file.flush()
        done = subprocess.run([plimsoll, 'beside', '--workloads', file.name, '--device', 'a100-40-sxm', '--sharing', f'mig:{profile}', '--json'],
                              capture_output=True, text=True)
    return json.loads(done.stdout)['workloads'][0] if done.returncode in (0, 1) else sys.exit(done.stderr)


errors, told = collections.defaultdict(list), []
for network, variants in VARIANTS.items():
    batches = sorted(b for n, b in steps if n == network)
    def apart(variant):  # by how much the GPU's own time, by rows of the whole GPU, is another multiple of the estimate at each batch
        more = [f'--{k}={v}' for k, v in variant.items() if k != 'model']
        ratios = []
        for batch in batches:
            done = subprocess.run([plimsoll, 'estimate', variant['model'], '--device', 'a100-40-sxm', '--mode', 'train', '--batch', str(batch), *more, '--json'],
                                  capture_output=True, text=True)
            ratios.append(math.log(util[network, batch] * steps[network, batch]['7g.40gb'] / json.loads(done.stdout)['time']['seconds']))
        return statistics.pstdev(ratios), statistics.mean(ratios)
    best = min(variants, key=lambda v: apart(v)[0])
    print(f'{network}: {best}: on 7g the GPU is busy for {math.exp(apart(best)[1]):.2f} of the estimate, ±{100*apart(best)[0]:.0f} % from batch to batch')
    for batch in batches:
        of = steps[network, batch]
        base = {**best, 'mode': 'train', 'batch': batch}
        for kind, alone in (('from the model', None), ('measured on 7g', {'steps_per_second': 1 / of['7g.40gb'], 'gract': min(1, util[network, batch])})):
            workload = {**base, **({'alone': alone} if alone else {})}
            whole = ask(workload, '7g.40gb')['speed']
            for share, seconds in of.items():
                if share == '7g.40gb':
                    continue
                got, want = ask(workload, share)['speed'] / whole, of['7g.40gb'] / seconds
                errors[kind, network].append(abs(got / want - 1)); errors[kind, 'all'].append(abs(got / want - 1))
                if '-v' in sys.argv or kind != 'from the model':
                    told.append(f'  {network} batch {batch} {share}: {got:.2f} of {want:.2f}')
print('\n'.join(told))
for key, values in errors.items():
    print(f'{key[0]}, {key[1]}: mean error {100*statistics.mean(values):.1f} % of {len(values)}')
