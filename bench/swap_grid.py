#!/usr/bin/env python3
"""`plimsoll swap` over a grid: frames met and bytes moved by each policy, with and without merged weights (docs/swapping.md).

usage: swap_grid.py PLIMSOLL [--bars]

Simulated, not run: 3,000 frames, 5, 10 and 30 a second from each of eight models, 100 ms for an answer, memory for the largest model, for 50 % and for
75 % of all weights, steady and bursty (seed 0). On an H200 with its measured link, and on a T4 with a link of 12 GB/s, which is assumed.
With --bars only what must hold is told: for the same sequence of runs (every frame runs, late or not) belady-block moves no more bytes than any other
policy; and with merged weights every policy meets as many frames as without, and more wherever copies caused misses.
"""
import itertools, json, subprocess, sys, tempfile

FAMILIES = {
    # Four pairs of cameras whose models have heads of their own.
    'vgg': [('vgg16', 4, ['features.*', 'classifier.0.*', 'classifier.3.*']), ('vgg19', 4, ['features.*', 'classifier.0.*', 'classifier.3.*'])],
    'resnet': [('resnet50', 4, ['conv1.*', 'bn1.*', 'layer*']), ('resnet101', 4, ['conv1.*', 'bn1.*', 'layer*'])],
}
DEVICES = [('h200', []), ('t4', ['--link', '12GB/s'])]
RATES, BUDGETS, PATTERNS = (5, 10, 30), ('largest', '50%', '75%'), ('steady', 'bursty')


def models(family):
    text = ''
    for network, count, tensors in FAMILIES[family]:
        names = [f'{network}-{i + 1}' for i in range(count)]
        text += ''.join(f'[[model]]\nname = "{name}"\nmodel = "{network}"\n' for name in names)
        text += f'[[shared]]\nmodels = {json.dumps(names)}\ntensors = {json.dumps(tensors)}\n'
    return text


def swap(program, file, device, link, rate, budget, pattern, late):
    done = subprocess.run([program, 'swap', file, '--device', device, *link, '--fps', str(rate), '--memory', budget, '--pattern', pattern, '--late', late,
                           '--frames', '3000', '--deadline', '100ms', '--json'], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return json.loads(done.stdout)


def main():
    program, bars = sys.argv[1], '--bars' in sys.argv
    broken, cases, fewer, gained, missed_copies = [], 0, 0, 0, 0
    for family, (device, link) in itertools.product(FAMILIES, DEVICES):
        with tempfile.NamedTemporaryFile('w', suffix='.toml') as file:
            file.write(models(family))
            file.flush()
            for pattern, rate, budget in itertools.product(PATTERNS, RATES, BUDGETS):
                cases += 1
                where = f'{family} on {device}, {pattern}, {rate}/s, {budget}'
                every = swap(program, file.name, device, link, rate, budget, pattern, 'run')
                rows = {(row['policy'], row['weights']): row for row in every['policies']}
                for (policy, weights), row in rows.items():
                    best = rows['belady-block', weights]
                    if row['frames_run'] != 3000 or best['moved_bytes'] > row['moved_bytes']:
                        broken.append(f'{where}, {weights}: belady-block moves {best["moved_bytes"]}, {policy} {row["moved_bytes"]}')
                    fewer += best['moved_bytes'] < row['moved_bytes']
                timely = swap(program, file.name, device, link, rate, budget, pattern, 'drop')
                met = {(row['policy'], row['weights']): row for row in timely['policies']}
                for (policy, weights), row in met.items():
                    if weights == 'merged':
                        continue
                    merged = met[policy, 'merged']
                    missed_copies += row['missed_for_copies'] > 0
                    gained += merged['frames_met'] > row['frames_met']
                    if merged['frames_met'] < row['frames_met'] + (row['missed_for_copies'] > 0):
                        broken.append(f'{where}, {policy}: {merged["frames_met"]} frames with merged weights, {row["frames_met"]} without')
                if not bars:
                    tell(family, device, pattern, rate, budget, timely, met, rows)
    print(f'{cases} cases; belady-block moved fewer bytes than another policy in {fewer} comparisons, more in none' if not broken else '\n'.join(broken))
    print(f'copies caused misses without merged weights in {missed_copies} of the {cases * 5} runs of a policy; merged weights met more frames in {gained}')
    sys.exit(1 if broken else 0)


def tell(family, device, pattern, rate, budget, timely, met, every):
    print(f'\n{family} on {device}, {pattern}, {rate} frames a second each, memory for {budget}: {timely["weights_memory_bytes"] / 2**20:.0f} MiB'
          f' of {timely["weight_bytes"] / 2**20:.0f} MiB, merged {timely["merged_weight_bytes"] / 2**20:.0f} MiB')
    print(f'{"policy":16} {"weights":9} {"frames met":>10} {"moved GiB":>10} {"p50 ms":>8} {"p99 ms":>8} {"for copies":>10} {"computing":>10} {"every frame run: GiB":>21}')
    for (policy, weights), row in met.items():
        def milliseconds(of):
            return '-' if row[of] is None else f'{1e3 * row[of]:.2f}'
        print(f'{policy:16} {weights:9} {row["frames_met"]:10} {row["moved_bytes"] / 2**30:10.1f} {milliseconds("p50_seconds"):>8} {milliseconds("p99_seconds"):>8}'
              f' {row["missed_for_copies"]:10} {row["missed_for_computing"]:10} {every[policy, weights]["moved_bytes"] / 2**30:21.1f}')


main()
