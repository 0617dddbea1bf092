#!/usr/bin/env python3
"""The fields of --json that programs rely on: names, types, and that the parts add up.

usage: contract.py PLIMSOLL [STAND_IN_FOR_NVML]
"""
import json, os, subprocess, sys, tempfile

program = os.path.abspath(sys.argv[1])
fixtures = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../fixtures')
number, integer, text = (int, float), int, str
problems = []
os.environ['XDG_DATA_HOME'] = '/nonexistent'  # no calibration of whoever runs this

WORK = {'macs': integer, 'flops': integer, 'bytes_read': integer, 'bytes_written': integer}
INSPECT = {'model': text, 'parameters': integer, 'weight_bytes': integer, **WORK, 'arithmetic_intensity': number,
           'activation_bytes': integer, 'backward': WORK,
           'inputs': [{'name': text, 'type': text, 'shape': list}], 'outputs': [{'name': text, 'type': text}],
           'dimensions': [{'name': text, 'value': integer, 'assumed': bool}],
           'unknowns': [{'name': text, 'low': integer, 'origin': text}],
           'conventions': {'flops_per_mac': integer, 'bias': bool, 'batch_norm': bool, 'halve_causal': bool},
           'coverage': {'nodes': integer, 'counted': integer, 'uncounted': [{'op': text, 'nodes': integer}]},
           'heaviest_layers': dict, 'notes': [text],
           'by_op': {'*': {'nodes': integer, 'macs': integer, 'flops': integer, 'parameters': integer}},
           'layers': [{'name': text, 'op': text, 'output_shape': list, 'parameters': integer, **WORK}]}
DIFFERENCE = {'models': [text], 'totals': {'*': [integer]}, 'by_op': dict, 'layers': [{'name': text}]}

MEMORY = {'weights_bytes': integer, 'peak_allocated_bytes': integer, 'low_bytes': integer, 'high_bytes': integer,
          'peak_reserved_bytes': integer, 'device_used_bytes': integer, 'minimum_reserved_bytes': integer,
          'minimum_device_bytes': integer, 'fits': bool, 'at_peak': [{'tensor': text, 'bytes': integer}]}
ESTIMATE = {'model': text, 'device': text, 'load': {'bytes': integer}, 'memory': MEMORY,
            'time': {'seconds': number, 'low_seconds': number, 'high_seconds': number, 'eager_seconds': number},
            'energy': {'joules': number, 'low_joules': number, 'high_joules': number, 'watts': number}}
MAYBE = (int, float, type(None))
SWEEP = {'model': text, 'mode': text, 'precision': text, 'batches': [integer],
         'devices': [{'device': text, 'name': text, 'capacity_bytes': MAYBE, 'provenance': text, 'best_batch': MAYBE, 'knee_batch': MAYBE,
                      'last_batch_that_fits': MAYBE, 'first_batch_too_large': MAYBE, 'largest_batch': (dict, type(None)),
                      'points': [{'batch': integer, 'peak_allocated_bytes': integer, 'device_used_bytes': integer, 'seconds': MAYBE,
                                  'low_seconds': MAYBE, 'high_seconds': MAYBE, 'eager_seconds': MAYBE, 'samples_per_second': MAYBE,
                                  'joules': MAYBE, 'low_joules': MAYBE, 'high_joules': MAYBE, 'share_of_peak': MAYBE}]}]}


def check(value, wanted, where):
    if isinstance(wanted, dict):
        if not isinstance(value, dict):
            return problems.append(f'{where}: expected an object, got {value!r:.60}')
        for key, inner in wanted.items():
            for name in value if key == '*' else [key]:
                if name not in value:
                    problems.append(f'{where}.{name}: expected, but not there')
                else:
                    check(value[name], inner, f'{where}.{name}')
    elif isinstance(wanted, list):
        if not isinstance(value, list):
            return problems.append(f'{where}: expected a list, got {value!r:.60}')
        for n, item in enumerate(value):
            check(item, wanted[0], f'{where}[{n}]')
    elif not isinstance(value, wanted) or (isinstance(value, bool) and wanted is not bool):
        problems.append(f'{where}: expected {wanted}, got {value!r:.60}')


def expect(condition, what):
    if not condition:
        problems.append(what)


def ask(*arguments, code=0):
    done = subprocess.run([program, *arguments], cwd=fixtures, stdin=subprocess.DEVNULL, capture_output=True, timeout=300)
    where = ' '.join(arguments)
    expect(done.returncode == code, f'{where}: expected exit code {code}, got {done.returncode}: {done.stderr.decode()}')
    expect(done.stderr == b'', f'{where}: expected nothing on standard error, got {done.stderr.decode()}')
    lines = done.stdout.decode('utf-8').splitlines()
    expect(len(lines) == 1, f'{where}: expected one document on one line, got {len(lines)} lines')
    return json.loads(lines[0]) if lines else {}


def inspect(*arguments):
    got = ask('inspect', *arguments, '--json')
    check(got, INSPECT, 'inspect ' + ' '.join(arguments))
    expect(got['coverage']['counted'] + sum(u['nodes'] for u in got['coverage']['uncounted']) == got['coverage']['nodes'],
           f'{arguments}: counted and uncounted nodes make up all')
    expect(len(got['layers']) == got['coverage']['nodes'], f'{arguments}: a layer per node')
    for key in ('macs', 'flops', 'parameters'):
        expect(sum(k[key] for k in got['by_op'].values()) == got[key], f'{arguments}: by_op adds up to {key}')
        expect(sum(layer[key] for layer in got['layers']) == got[key], f'{arguments}: layers add up to {key}')
    return got


tiny = inspect('tiny.onnx', '--batch', '2')
expect(tiny['parameters'] == 4 * 27 + 4 + 20, 'tiny: expected 132 parameters')
expect(tiny['weight_bytes'] == 4 * 132, 'tiny: expected 528 bytes of weights')
expect(tiny['macs'] == 2 * (4 * 36 * 27 + 20), 'tiny: expected 2 x (4 x 6 x 6 x 27 + 4 x 5) MACs')
# 2 per MAC; bias, relu and pool one each for 2 x 4 x 6 x 6 values
expect(tiny['flops'] == 2 * tiny['macs'] + 3 * 288, 'tiny: expected 2 x MACs + 3 x 288 FLOPs')
expect(tiny['dimensions'] == [{'name': 'batch', 'value': 2, 'assumed': False}], 'tiny: batch 2, as asked')
expect(tiny['layers'][0]['output_shape'] == [2, 4, 6, 6], 'tiny: output_shape of the convolution')
for model in ('alexnet', 'mobilenet_v2', 'gpt2'):
    inspect(model)
check(ask('inspect', 'vgg16', 'vgg19', '--json'), DIFFERENCE, 'inspect vgg16 vgg19')

unknown = ask('inspect', 'unknown.onnx', '--allow-unknown', '--json')
expect(unknown['coverage']['uncounted'] == [{'op': 'my.own.Mystery', 'nodes': 1}], 'the unknown operator is listed')
decided = ask('inspect', 'data_decides.onnx', '--batch', '2', '--json')
expect(decided['unknowns'][0]['high'] == 12, 'NonZero of 2 x 6 values finds at most 12')

weighed = ask('weigh', 'resnet50', '--device', 't4,h200', '--json')
check(weighed, {'devices': [dict]}, 'weigh')
expect(len(weighed.get('devices', [])) == 2, 'weigh: a device for each that was named')
unknown_too = (int, float, type(None))
WEIGHED = {'id': text, 'name': text, 'this_machine': bool, 'memory_bytes': unknown_too, 'minimum_device_bytes': unknown_too, 'fits': bool,
           'largest_batch': unknown_too, 'compute_floor_seconds': unknown_too, 'memory_floor_seconds': unknown_too, 'binds': text,
           'time': (dict, type(None)), 'energy': (dict, type(None)), 'cost': (dict, type(None)), 'measured': (dict, type(None))}
check(weighed, {'batch': integer, 'devices': [{**WEIGHED, 'time': {'seconds': number, 'low_seconds': number, 'provenance': text},
                                               'energy': {'joules': number, 'low_joules': number, 'high_joules': number}, 'cost': {'dollars': number, 'date': text, 'source': text}}]}, 'weigh')
expect([d['measured'] for d in weighed['devices']] == [None, None], 'weigh: nothing is measured unless asked for')
ask('weigh', 'gpt3', '--device', 't4', '--json', code=1)
for mode in ('infer', 'train'):
    answer = ask('estimate', 'resnet50', '--mode', mode, '--batch', '8', '--device', 'h200', '--json')
    check(answer, ESTIMATE, f'estimate {mode}')
    memory = answer['memory']
    expect(memory['low_bytes'] <= memory['peak_allocated_bytes'] <= memory['high_bytes'], f'estimate {mode}: the peak lies in its interval')
    expect(memory['peak_allocated_bytes'] <= memory['peak_reserved_bytes'] <= memory['device_used_bytes'], f'estimate {mode}: allocated <= reserved <= used')
    expect(memory['minimum_reserved_bytes'] <= memory['peak_reserved_bytes'], f'estimate {mode}: minimum <= natural')
    energy = answer['energy']
    expect(energy['low_joules'] < energy['joules'] < energy['high_joules'], f'estimate {mode}: the joules lie in their interval')
several = ask('estimate', 'resnet18', '--batch', '1,2', '--device', 't4', '--json')
check(several, {'estimates': [ESTIMATE]}, 'estimate of two batches')
ask('estimate', 'gpt3', '--device', 't4', '--json', code=1)
swept = ask('estimate', 'resnet18', '--device', 'h200,t4,stm32n6', '--sweep', 'batch=1..8x2', '--json')
check(swept, SWEEP, 'estimate --sweep')
expect(swept['batches'] == [1, 2, 4, 8], 'estimate --sweep: by a factor of two')
expect([device['points'][0]['fits'] for device in swept['devices']] == [True, True, None], 'estimate --sweep: what fits, null where unknown')
for device in swept['devices']:
    expect([point['batch'] for point in device['points']] == [1, 2, 4, 8], 'estimate --sweep: every point of every device')
single = ask('estimate', 'resnet18', '--device', 'h200', '--batch', '4', '--json')
point = swept['devices'][0]['points'][2]
expect(point['seconds'] == single['time']['seconds'], 'estimate --sweep: the same time as of the batch alone')
expect(point['device_used_bytes'] == single['memory']['device_used_bytes'], 'estimate --sweep: the same memory as of the batch alone')
expect(0 < single['time']['share_of_peak'] < 1, 'estimate: a share of the peak')
os.environ.update(PLIMSOLL_ENGINE='./fake_engine.py', PLIMSOLL_NVML_LIBRARY='/nonexistent')
MEASURE = {'device': text, 'load': {'seconds': number, 'bytes': integer},
           'rows': [{'batch': integer, 'seconds': {'median': number, 'low': number, 'high': number, 'samples': [number]},
                     'peak_allocated_bytes': integer, 'peak_reserved_bytes': (int, type(None)), 'device_used_bytes': (int, type(None)),
                     'joules': (float, type(None)), 'estimate': (dict, type(None)), 'error': (dict, type(None))}]}
measured = ask('measure', 'tiny.onnx', '--batch', '1,2,4', '--device', 'cpu', '--json')
check(measured, MEASURE, 'measure')
expect([row['batch'] for row in measured['rows']] == [1, 2, 4], 'measure: a row for each batch')
check(ask('measure', 'tiny.onnx', 'resnet18', '--batch', '1', '--device', 'cpu', '--json'), {'measurements': [MEASURE]},
      'measure of two models')
weighed = ask('weigh', 'tiny.onnx', '--batch', '2', '--device', 'this-cpu', '--measure', '--json')['devices'][0]
check(weighed, {**WEIGHED, 'measured': {'seconds': number, 'peak_allocated_bytes': integer, 'error': {'peak_allocated': number}, 'doubts': [text]}},
      'weigh --measure')
expect(weighed['time'] is None and weighed['measured']['error']['seconds'] is None, 'weigh: nobody has calibrated this CPU')
# A calibration of this machine lies in the user's data folder; one of another machine is passed over, a broken one is named.
with tempfile.TemporaryDirectory() as folder:
    os.environ['XDG_DATA_HOME'] = folder
    place = os.path.join(folder, 'plimsoll', 'calibrations', 'cpu.json')
    os.makedirs(os.path.dirname(place))
    this = ask('devices', 'this-cpu', '--json')
    with open(os.path.join(fixtures, 'calibrated.json'), encoding='utf-8') as file:
        mine = json.load(file)
    mine.update(id='cpu', name=this['name'], kind='cpu', aliases=[], reported_names=[], well_known=False)
    del mine['compute_capability']
    mine['multiprocessors']['value'] = this['figures']['multiprocessors']['value'] if 'multiprocessors' in this['figures'] else 1
    if 'multiprocessors' not in this['figures']:
        del mine['multiprocessors']
    for name, provenance in ((this['name'], 'calibrated'), ('another', None)):
        with open(place, 'w', encoding='utf-8') as file:
            json.dump({**mine, 'name': name}, file)
        for command, key in (('weigh', 'devices'), ('estimate', None)):
            answer = ask(command, 'tiny.onnx', '--batch', '2', '--device', 'this-cpu', '--json')
            time = (answer[key][0] if key else answer)['time']
            expect((time or {}).get('provenance') == provenance, f'{command}: this machine\'s calibration, of {name}: {time}')
    expect(any('another' in note for note in ask('weigh', 'tiny.onnx', '--device', 'this-cpu', '--json')['notes']), 'weigh: passed over with a note')
    with open(place, 'w', encoding='utf-8') as file:
        file.write('{"version": 1')
    broken = subprocess.run([program, 'weigh', 'tiny.onnx', '--device', 'this-cpu'], cwd=fixtures, capture_output=True, text=True, timeout=300)
    expect(broken.returncode == 2 and place in broken.stderr and '--calibration none' in broken.stderr, f'weigh: a broken calibration: {broken.stderr}')
    ask('weigh', 'tiny.onnx', '--device', 'this-cpu', '--calibration', 'none', '--json')
    os.environ['XDG_DATA_HOME'] = '/nonexistent'
# Without an engine: the page that there can be, the one command that is missing, and exit code 3.
os.environ['PLIMSOLL_ENGINE'] = '/nonexistent/engine'


def lacking(*arguments):
    done = subprocess.run([program, *arguments], cwd=fixtures, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)
    where = ' '.join(arguments)
    expect(done.returncode == 3, f'{where}: expected exit code 3, got {done.returncode}: {done.stderr}')
    expect('`make engine`' in done.stderr and done.stderr.count('\n') == 2, f'{where}: expected the command that is missing: {done.stderr}')
    return done.stdout


for options in (['--json'], []):
    page = subprocess.run([program, 'weigh', 'tiny.onnx', '--device', 'this-cpu', *options], cwd=fixtures, capture_output=True, text=True, timeout=300)
    expect(page.returncode == 0 and lacking('weigh', 'tiny.onnx', '--device', 'this-cpu', '--measure', *options) == page.stdout,
           'weigh --measure without an engine: the page without it')
expect('# needs `make engine`' in page.stdout, 'weigh: its hint says what it needs')
planned = json.loads(lacking('measure', 'tiny.onnx', '--batch', '1,2', '--device', 'cpu', '--json'))
check(planned, {'measured': bool, 'reason': text, 'planned': [{'model': text, 'device': text, 'batch': integer, 'estimate': dict}]}, 'measure without an engine')
expect([p['batch'] for p in planned['planned']] == [1, 2] and planned['planned'][0]['estimate']['peak_allocated_bytes'] > 0,
       f'measure without an engine: what would run: {planned}')
for variable in ('PLIMSOLL_ENGINE', 'PLIMSOLL_NVML_LIBRARY'):
    del os.environ[variable]
check(ask('zoo', '--json'), [{'name': text, 'parameters': integer, 'macs': integer}], 'zoo')
check(ask('zoo', 'resnet50', '--json'), {'name': text, 'options': [{'name': text}]}, 'zoo resnet50')
ask('devices', 'h200', '--json')
ask('devices', '--json')

FIGURE = (dict, type(None))
CANDIDATE = {'device': text, 'network': text, 'precision': text, 'batch': integer, 'pass': FIGURE, 'image': FIGURE, 'energy': FIGURE,
             'accuracy': FIGURE, 'meets': integer, 'fails': integer, 'unknown': integer, 'front': bool,
             'limits': [{'limit': text, 'verdict': text, 'figure': FIGURE, 'fails_by': (float, int, type(None))}]}
CHOICE = {'model': text, 'imaging': {'patches': integer, 'budget_seconds': number}, 'energy_ceiling_joules': number, 'certain': bool,
          'recommended': CANDIDATE, 'reason': text, 'candidates': [CANDIDATE]}
chosen = ask('choose', 'mobilenet_v1', '--depth', '0.25,1', '--scene', '4512x4512', '--period', '24h', '--images', '320', '--max-power', '5W',
             '--max-mass', '150g', '--json', code=1)
check(chosen, CHOICE, 'choose')
expect(chosen['energy_ceiling_joules'] == 1350, 'choose: 5 W for 270 s')
expect(len({c['device'] for c in chosen['candidates']}) == len(ask('devices', '--json')) - 1, 'choose: the whole catalogue, not this machine')
for c in chosen['candidates']:
    expect(c['meets'] + c['fails'] + c['unknown'] == len(c['limits']), f"choose: {c['device']}: every limit has a verdict")
    for limit in c['limits']:
        if limit['limit'] in ('latency', 'power', 'mass') and limit['figure'] is None:
            expect(limit['verdict'] == 'unknown', f"choose: {c['device']}: a missing {limit['limit']} is unknown")
        if limit['figure']:
            expect(limit['figure']['source'] and limit['figure']['provenance'], f"choose: {c['device']}: figures have sources")
# Known to meet all that was asked: exit code 0.
ask('choose', 'mobilenet_v1', '--depth', '1', '--min-accuracy', '91%', '--device', 'coral-dev-mini', '--json')
rates = ask('cost', '--tflops', '--json')
check(rates, {'money_per_rate': [{'offer': text, 'arithmetic': text, 'dollars_per_teraflops': number, 'date': text, 'source': text}]}, 'cost')
check(ask('cost', '--list', '--json'), {'offers': [{'offer': text, 'dollars': number, 'date': text, 'source': text}]}, 'cost --list')
check(ask('cost', '--device', 'h200', '--time', '1s', '--energy', '1J', '--country', 'DNK', '--json'),
      {'dollars_per_pass': number, 'basis': text, 'date': text, 'energy': {'kilowatt_hours': number, 'carbon_kilograms': number}}, 'cost')
check(ask('training', '--flops', '1e20', '--rate', '1e14', '--json'), {'seconds': number, 'device_hours': number}, 'training')
check(ask('training', '--step-time', '1s', '--batch', '8', '--json'), {'rows': [{'devices': integer, 'step_seconds': number}]}, 'training')
modelled = ask('training', 'resnet18', '--device', 'h200', '--batch', '64', '--dataset-size', '6400', '--devices', '1,4', '--json')
check(modelled, {'rows': [{'devices': integer, 'step_seconds': number, 'epoch_seconds': number}]}, 'training MODEL')
expect(modelled['rows'][0]['gradients_seconds'] == 0 < modelled['rows'][1]['gradients_seconds'], 'training: one device sums nothing')
swapped = ask('swap', 'swap/cameras.toml', '--memory', '50%', '--device', 'h200', '--policy', 'lru,belady-block', '--json')
SWAPPED = {'policy': text, 'weights': text, 'possible': bool, 'frames': integer, 'frames_met': integer, 'moved_bytes': integer, 'p50_seconds': number,
           'p99_seconds': number, 'missed_for_copies': integer, 'missed_for_computing': integer, 'accuracy_lost': number,
           'models': [{'name': text, 'frames': integer, 'frames_met': integer, 'moved_bytes': integer}]}
check(swapped, {'simulated': bool, 'device': text, 'memory_bytes': integer, 'weights_memory_bytes': integer, 'activation_bytes': integer,
                'block_bytes': integer, 'link': {'bytes_per_second': number, 'latency_seconds': number, 'provenance': text, 'source': text},
                'frames': integer, 'weight_bytes': integer, 'merged_weight_bytes': integer, 'order': {'models': [text], 'exact': bool},
                'policies': [SWAPPED], 'best': integer, 'findings': [text], 'round': [{'model': text, 'moved_bytes': integer, 'end_seconds': number}]}, 'swap')
expect(len(swapped['policies']) == 4 and swapped['weights_memory_bytes'] + swapped['activation_bytes'] <= swapped['memory_bytes'], 'swap: within its memory')
for row in swapped['policies']:
    expect(sum(model['moved_bytes'] for model in row['models']) == row['moved_bytes'], 'swap: what models move is what is moved')
    expect(sum(model['frames'] for model in row['models']) == row['frames'] == 3000, 'swap: every frame is a model\'s')
    expect(row['frames_met'] + row['missed_for_copies'] + row['missed_for_computing'] == row['frames'], 'swap: every miss has a reason')
check(ask('ideal', 'vgg16', '--device', 'k80', '--json'), {'macs': integer, 'rows': [{'arithmetic': text, 'seconds': number}]}, 'ideal')

known = (int, float, type(None))
TOP = {'time_microseconds': integer, 'watched_seconds': number,
       'host': {'name': text, 'cores': integer, 'cpu_cores': known, 'memory_used_bytes': known, 'memory_total_bytes': known},
       'gpus': [{'gpu': integer, 'name': text, 'sm_activity': known, 'utilization': known, 'memory_used_bytes': known,
                 'memory_total_bytes': known, 'power_watts': known, 'energy_joules': known, 'temperature_celsius': known,
                 'processes': [{'pid': integer, 'memory_bytes': known, 'time_share': known}]}]}
STAND_IN = os.path.abspath(sys.argv[2]) if len(sys.argv) > 2 else None  # for NVIDIA's library
with tempfile.TemporaryDirectory() as folder:
    os.environ['PLIMSOLL_STORE'] = os.path.join(folder, 'runs.db')
    os.environ['PLIMSOLL_NVML_LIBRARY'] = STAND_IN or '/nonexistent'
    os.environ['PLIMSOLL_FAKE_NVML'] = os.path.join(fixtures, 'two_gpus.txt')
    top = ask('top', '--json')
    check(top, TOP, 'top')
    expect(top['runs'] == [], 'top: an empty store has no runs')
    if STAND_IN:
        first, second = top['gpus']
        expect((first['sm_activity'], first['utilization']) == (0.31, 1.0), 'top: activity is not utilization')
        expect(first['power_watts'] == 412.5 and first['energy_joules'] > 100, 'top: 412.5 W for a second')
        expect([p['memory_bytes'] for p in first['processes']] == [40802189312, 20401094656], 'top: processes by their memory')
        expect(second['sm_activity'] == 0 and second['clocks_low_because'] == ['idle'], 'top: the second GPU is idle')
        del os.environ['PLIMSOLL_FAKE_NVML']
        top = ask('top', '--json')
    expect(top['gpus'] == [] and top['no_gpu'], 'top: without a GPU it says why')
    for variable in ('PLIMSOLL_STORE', 'PLIMSOLL_NVML_LIBRARY'):
        del os.environ[variable]

OOM = {'requested_bytes': integer, 'gpu': integer, 'total_bytes': integer, 'free_bytes': integer, 'allocated_bytes': integer,
       'unallocated_bytes': integer, 'reserved_bytes': integer, 'process_bytes': integer, 'context_bytes': integer,
       'others_bytes': integer, 'unexplained_bytes': integer, 'fragmentation': number,
       'processes': [{'pid': integer, 'bytes': integer}], 'advice': [{'kind': text, 'text': text}]}
oom = ask('oom', 'oom.log', '--json')
check(oom, OOM, 'oom')
expect(sum(oom[key] for key in ('reserved_bytes', 'context_bytes', 'others_bytes', 'free_bytes')) == oom['total_bytes'],
       'oom: reserved, context, others and free make up the GPU')
simulated = ask('oom', 'oom.log', '--model', 'tiny.onnx', '--batch', '4', '--mode', 'train', '--json')
check(simulated, {**OOM, 'model': text, 'batch': integer, 'memory': {'peak_allocated_bytes': integer, 'remedies': [dict]}},
      'oom --model')
expect(simulated['beyond_estimate_bytes'] > 12 * 2**30, 'oom: a tiny model does not explain 12 GiB')

for problem in problems:
    print(problem)
print(f'{len(problems)} problems')
sys.exit(1 if problems else 0)
