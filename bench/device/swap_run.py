#!/usr/bin/env python3
"""Ten cases of bench/swap_grid.py for real: `plimsoll swap --run` beside what the simulator says of the same frames (docs/swapping.md).

usage: swap_run.py PLIMSOLL [--small] [--device DEVICE] [--seconds N] [--case N]… [--json FILE]

Each case is run with weights of each model's own and with merged ones, N seconds of frames each (15; at most 40). On a machine with a GPU,
where plimsoll-engine is built (scripts/device builds it; PLIMSOLL_ENGINE names one that is elsewhere). --small: small networks and two
seconds, to try it on a CPU (--device cpu). --case: these alone, from 1.

What must hold is told at the end, and is the exit code: frames met and bytes moved within 5 % of the simulator's, which has the times of
layers and copies from the engine; copies at 90 % or more of the pinned bandwidth that the device's calibration has, where there is one;
outputs bit for bit as without swapping; the allocator's peak and bytes as the policy accounts for them; with merged weights no fewer frames.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

HEADS = {'vgg': ['features.*', 'classifier.0.*', 'classifier.3.*'], 'resnet': ['conv1.*', 'bn1.*', 'layer*'], 'mobilenet': ['features.*']}
FAMILIES = {'vgg': ('vgg16', 'vgg19'), 'resnet': ('resnet50', 'resnet101')}
SMALL = {'vgg': ('mobilenet_v2',), 'resnet': ('resnet18',)}
# Family, pattern, frames a second of each model, memory, policy: where copies limit, where computing does, and where neither does.
CASES = [
    ('vgg', 'steady', 5, 'largest', 'belady-block'), ('vgg', 'steady', 5, '50%', 'lru'), ('vgg', 'steady', 10, '75%', 'belady-block'),
    ('vgg', 'bursty', 5, '50%', 'expected-block'), ('vgg', 'bursty', 10, '75%', 'lru'),
    ('resnet', 'steady', 10, 'largest', 'lru'), ('resnet', 'steady', 30, '50%', 'belady-block'), ('resnet', 'bursty', 10, 'largest', 'belady-block'),
    ('resnet', 'bursty', 10, '50%', 'belady-model'), ('resnet', 'bursty', 30, '75%', 'expected-block'),
]
WITHIN, LEAST_BANDWIDTH, MOST_SECONDS = 0.05, 0.9, 40


def models(family, small):
    """As in bench/swap_grid.py: four models of each network, which differ in their heads."""
    text = ''
    for network in (SMALL if small else FAMILIES)[family]:
        names = [f'{network}-{i + 1}' for i in range(4)]
        text += ''.join(f'[[model]]\nname = "{name}"\nmodel = "{network}"\n' for name in names)
        tensors = HEADS['mobilenet' if network.startswith('mobilenet') else family]
        text += f'[[shared]]\nmodels = {json.dumps(names)}\ntensors = {json.dumps(tensors)}\n'
    return text


def run(arguments, family, pattern, rate, memory, policy):
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, 'models.toml')
        file.write_text(models(family, arguments.small))
        done = subprocess.run([arguments.plimsoll, 'swap', str(file), '--device', arguments.device, '--fps', str(rate), '--memory', memory, '--pattern', pattern,
                               '--policy', policy, '--seconds', str(arguments.seconds), '--deadline', '1s' if arguments.small else '100ms', '--run',
                               *(['--threads', '1'] if arguments.small else []), '--json'], capture_output=True, text=True)
    if done.returncode not in (0, 4):
        return done.stderr.strip() or f'exit code {done.returncode}'
    return json.loads(done.stdout)


def within(ratio):
    return ratio is None or abs(ratio - 1) <= WITHIN


def judge(document):
    """What does not hold of a case."""
    rows = document['run']['policies']
    for row in rows:
        which = row['weights']
        if not within(row['ratio']['frames_met']):
            yield f'{which}: {row["frames_met"]} frames met, {row["simulated"]["frames_met"]} simulated'
        if not within(row['ratio']['moved_bytes']):
            yield f'{which}: {row["moved_bytes"] / 2**30:.2f} GiB moved, {row["simulated"]["moved_bytes"] / 2**30:.2f} simulated'
        if row['outputs_differing']:
            yield f'{which}: {row["outputs_differing"]} runs with other outputs'
        if row['moved_bytes'] != row['decided_bytes'] or row['peak_bytes'] != row['decided_peak_bytes'] or row['peak_bytes'] > document['weights_memory_bytes']:
            yield f'{which}: the allocator and the policy do not agree'
        link = document['link']
        if link and link['provenance'] == 'measured' and row['copies'] and row['copy_bytes_per_second'] < LEAST_BANDWIDTH * link['bytes_per_second']:
            yield f'{which}: copies at {row["copy_bytes_per_second"] / 1e9:.1f} GB/s of {link["bytes_per_second"] / 1e9:.1f}'
    by_weights = {row['weights']: row for row in rows}
    if len(by_weights) == 2 and by_weights['merged']['frames_met'] < by_weights['separate']['frames_met']:
        yield 'fewer frames with merged weights'


def tell(rows):
    for row in rows:
        def milliseconds(of, key='p99_seconds'):
            return '-' if of[key] is None else f'{1e3 * of[key]:.2f}'
        print(f'    {row["weights"]:9}{row["frames_met"]:7} of {row["frames"]:5}{row["simulated"]["frames_met"]:10}{row["moved_bytes"] / 2**30:11.2f}'
              f'{row["simulated"]["moved_bytes"] / 2**30:10.2f}{milliseconds(row, "p50_seconds"):>9}{milliseconds(row):>9}{milliseconds(row["simulated"]):>11}'
              f'{row["copy_bytes_per_second"] / 1e9:8.1f}{row["link"]["bytes_per_second"] / 1e9:8.1f}{row["peak_bytes"] / 2**20:9.0f}')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('plimsoll')
    parser.add_argument('--small', action='store_true')
    parser.add_argument('--device', default='this')
    parser.add_argument('--seconds', type=float)
    parser.add_argument('--case', type=int, action='append')
    parser.add_argument('--json')
    arguments = parser.parse_args()
    arguments.seconds = min(arguments.seconds or (2 if arguments.small else 15), MOST_SECONDS)
    broken, documents = [], []
    for number, case in enumerate(CASES, 1):
        if arguments.case and number not in arguments.case:
            continue
        family, pattern, rate, memory, policy = case
        print(f'{number:2} {family}, {pattern}, {rate} frames a second each, memory for {memory}, {policy}', flush=True)
        document = run(arguments, *case)
        if isinstance(document, str):
            broken.append(f'{number}: {document}')
            continue
        documents.append({'case': case, **document})
        print(f'    {"weights":9}{"frames met":>16}{"simulated":>10}{"moved GiB":>11}{"simulated":>10}{"p50 ms":>9}{"p99 ms":>9}{"simulated":>11}{"GB/s":>8}{"link":>8}{"held MiB":>9}')
        tell(document['run']['policies'])
        broken += [f'{number}: {what}' for what in judge(document)]
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(documents, indent=1))
    print('\n'.join(broken) if broken else f'all of {len(documents)} cases hold')
    sys.exit(1 if broken else 0)


main()
