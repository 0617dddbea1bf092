#!/usr/bin/env python3
"""How far estimates of time are off on this machine's CPU, calibrated here: `plimsoll weigh --measure` of five networks.

usage: bench/weigh_cpu.py PLIMSOLL [--calibration FILE] [--batch N,…] [--rounds R] [NETWORK…]

Without --calibration one is taken first (`plimsoll probe cpu --calibrate`, some minutes). NETWORK: an ONNX file or a zoo
name. Each is weighed in R rounds (3), one network after the other, so that what else the machine does meanwhile is spread
over all; the median of the rounds counts. An error above the limit of 15 % is marked, and the exit code is then 1. The machine
should have nothing else to do: what the measurements themselves find doubtful is printed below the table.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

LIMIT = 0.15
NETWORKS = ['resnet18', 'resnet50', 'mobilenet_v2', 'vgg16', 'bert_base']
SEQUENCE = 128


def weigh(program, network, batch, calibration):
    command = [program, 'weigh', network, '--batch', str(batch), '--device', 'this-cpu', '--calibration', calibration,
               '--measure', '--json']
    if 'bert' in os.path.basename(network):
        command += ['--seq', str(SEQUENCE)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f'{" ".join(command)}: {done.stderr.strip()}')
    device = json.loads(done.stdout)['devices'][0]
    if device['time'] is None or device['measured']['seconds'] is None:
        sys.exit(f'{network}: no time: {device["measured"]}')
    return device


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('plimsoll')
    parser.add_argument('networks', nargs='*', default=NETWORKS)
    parser.add_argument('--calibration')
    parser.add_argument('--batch', default='1')
    parser.add_argument('--rounds', type=int, default=3)
    options = parser.parse_args()
    program = os.path.abspath(options.plimsoll)
    folder = tempfile.TemporaryDirectory(prefix='weigh_cpu')
    calibration = options.calibration
    if not calibration:
        calibration = os.path.join(folder.name, 'cpu.json')
        subprocess.run([program, 'probe', 'cpu', '--calibrate', '-o', calibration], check=True, stdout=sys.stderr)
    cases = [(network, int(batch)) for network in options.networks for batch in options.batch.split(',')]
    rounds = {case: [] for case in cases}
    for _ in range(options.rounds):
        for case in cases:
            rounds[case].append(weigh(program, *case, calibration))
    failed, doubts, errors = False, set(), []
    print(f'{"network":<16}{"batch":>6}{"estimate":>12}{"interval":>22}{"measured":>12}{"error":>9}{"memory":>9}')
    for (network, batch), found in rounds.items():
        time = found[0]['time']
        measured = statistics.median(d['measured']['seconds'] for d in found)
        memory = found[0]['measured']['error']['peak_allocated']
        error = time['seconds'] / measured - 1
        errors.append(abs(error))
        failed = failed or abs(error) > LIMIT
        interval = f'{1e3 * time["low_seconds"]:.1f} to {1e3 * time["high_seconds"]:.1f} ms'
        print(f'{os.path.basename(network):<16}{batch:>6}{1e3 * time["seconds"]:>9.1f} ms{interval:>22}{1e3 * measured:>9.1f} ms'
              f'{100 * error:>+7.1f} %{100 * memory:>+7.1f} %{"  above the limit" if abs(error) > LIMIT else ""}')
        doubts.update(f'{os.path.basename(network)}: {doubt}' for d in found for doubt in d['measured']['doubts'])
    print(f'mean {100 * statistics.mean(errors):.1f} %, largest {100 * max(errors):.1f} %; limit {100 * LIMIT:.0f} %')
    for doubt in sorted(doubts):
        print(f'doubtful: {doubt}')
    sys.exit(1 if failed else 0)


if __name__ == '__main__':
    main()
