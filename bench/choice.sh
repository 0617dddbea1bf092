#!/bin/bash
# How long `plimsoll choose` over the whole catalogue and a sweep of 256 batches on 30 devices take, whole commands, against their
# limits: the least and the median wall time, their ratio to the limit (below 1: within it), and the processor time, since on a busy
# machine the wall time is the others', too.
# usage: bench/choice.sh BUILD_FOLDER [RUNS]
exec python3 - "$@" <<'P'
import json, os, resource, statistics, subprocess, sys, time

program = os.path.join(sys.argv[1], 'apps/plimsoll')
runs = int(sys.argv[2]) if len(sys.argv) > 2 else 15


def processor_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure(title, limit, arguments):
    walls, processor = [], []
    for _ in range(runs):
        before, start = processor_seconds(), time.perf_counter()
        done = subprocess.run([program, *arguments], capture_output=True)
        walls.append(time.perf_counter() - start)
        processor.append(processor_seconds() - before)
        if done.returncode not in (0, 1):
            sys.exit(f'{title} failed: {done.stderr.decode()}')
    print(f'{title:52s} {1e3 * min(walls):6.0f} ms least ({min(walls) / limit:.2f}), {1e3 * statistics.median(walls):6.0f} ms median '
          f'({statistics.median(walls) / limit:.2f}) of {1e3 * limit:5.0f} allowed; processor {1e3 * min(processor):5.0f} ms')


listed = json.loads(subprocess.run([program, 'devices', '--json'], capture_output=True, check=True).stdout)
# The catalogue, and this machine's processor where it makes up the thirty.
ids = [device['id'] for device in listed if device['id'] != 'cpu'][:30]
ids += ['this-cpu'] * (30 - len(ids))
print(f'{runs} runs each, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}')
measure('choose resnet50, all devices', 0.1, ['choose', 'resnet50', '--max-latency', '20ms'])
measure('choose mobilenet_v1, 3 depths, a scene of patches', 0.1,
        ['choose', 'mobilenet_v1', '--depth', '0.25,0.5,1', '--scene', '4512x4512', '--max-latency', '4.42s', '--max-power', '5W'])
sweep = ['estimate', 'resnet50', '--device', ','.join(ids), '--sweep', 'batch=1..256']
measure(f'sweep resnet50, 256 batches x {len(ids)} devices', 1, sweep)
measure('the same, every point as JSON', 1, sweep + ['--json'])
measure('the same by datasheets alone', 1, sweep + ['--calibration', 'none'])
measure('the same, a training step', 1, sweep + ['--mode', 'train', '--optimizer', 'adam'])
P
