#!/usr/bin/env python3
"""How long six whole commands take, start of the process included, against their limits.

usage: bench/command_speed.py PLIMSOLL [RUNS]

Of RUNS (30) runs of each, in turn, the least wall and the least processor time (user and system, all threads). On a machine that is
busy the wall time is the others', too; with one thread the processor time is what the command would take alone. Ratios are to the
limit: below 1 is within it.
"""
import json
import os
import subprocess
import sys
import tempfile
import time


def thirty_devices(program):
    """The catalogue, and this machine's processor where it makes up the thirty."""
    listed = json.loads(subprocess.run([program, 'devices', '--json'], capture_output=True, check=True).stdout)
    ids = [device['id'] for device in listed if device['id'] != 'cpu'][:30]
    return ','.join(ids + ['this-cpu'] * (30 - len(ids)))


def many_workloads():
    """28 of them, in a file."""
    models = ('resnet18', 'resnet50', 'vgg16', 'mobilenet_v2', 'squeezenet1_1', 'alexnet', 'densenet121')
    listed = [{'model': m, **more} for m in models for more in ({'mode': 'train', 'batch': 32}, {'mode': 'train', 'batch': 128}, {'captured': True},
                                                                 {'captured': True, 'batch': 32})]
    file = tempfile.NamedTemporaryFile('w', suffix='.json', delete=False)
    json.dump(listed, file); file.close()
    return file.name


def cases(program):
    train = ['--mode', 'train', '--device', 'h200', '--json']
    return [('ResNet-50 training, batch 32, H200', 0.020, ['estimate', 'resnet50', '--batch', '32', *train]),
            ('GPT-2 training, batch 8, H200', 0.100, ['estimate', 'gpt2', '--batch', '8', *train]),
            ('choose ResNet-50, the whole catalogue', 0.100, ['choose', 'resnet50', '--max-latency', '20ms', '--json']),
            ('sweep ResNet-50, 256 batches, 30 devices', 1.0,
             ['estimate', 'resnet50', '--device', thirty_devices(program), '--sweep', 'batch=1..256', '--json']),
            ('beside: ResNet-50 and VGG-16 training, MPS', 0.050,
             ['beside', 'resnet50,mode=train,batch=32', 'vgg16,mode=train,batch=32', '--device', 'h200', '--sharing', 'mps', '--json']),
            ('beside: a matrix of 28 workloads, MPS', 2.0,
             ['beside', '--workloads', many_workloads(), '--device', 'h200', '--matrix', '--json'])]


def times(command):
    """Wall and processor seconds of one run."""
    start = time.perf_counter()
    quiet = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    child = os.posix_spawn(command[0], command, os.environ, file_actions=quiet)
    _, status, used = os.wait4(child, 0)
    wall = time.perf_counter() - start
    if os.waitstatus_to_exitcode(status) not in (0, 1):  # 1: the answer is no
        sys.exit(f'failed: {" ".join(command)}')
    return wall, used.ru_utime + used.ru_stime


def main():
    program = os.path.abspath(sys.argv[1])
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 30
    measured = [(title, limit, [program, *arguments], []) for title, limit, arguments in cases(program)]
    for _ in range(runs):
        for _, _, command, seen in measured:
            seen.append(times(command))
    print(f'{runs} runs each, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}')
    print(f'{"":42s}{"limit":>9s}{"wall":>11s}{"ratio":>7s}{"processor":>12s}{"ratio":>7s}')
    for title, limit, _, seen in measured:
        wall, processor = (min(column) for column in zip(*seen))
        print(f'{title:42s}{1e3 * limit:6.0f} ms{1e3 * wall:8.1f} ms{wall / limit:7.2f}{1e3 * processor:9.1f} ms{processor / limit:7.2f}')


if __name__ == '__main__':
    main()
