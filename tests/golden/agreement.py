#!/usr/bin/env python3
"""What two commands say about the same thing is the same figure: inspect, weigh, estimate, choose, training, measure and zoo,
as JSON and as text, over a seeded sample of models, devices and settings.

usage: agreement.py PLIMSOLL [STAND_IN_FOR_NVML] [--seed N] [--cases N]
"""
import argparse, json, os, random, re, subprocess, sys, tempfile

parser = argparse.ArgumentParser()
parser.add_argument('program', type=os.path.abspath)
parser.add_argument('nvml', nargs='?', type=os.path.abspath)
parser.add_argument('--seed', type=int, default=17)
parser.add_argument('--cases', type=int, default=9)
arguments = parser.parse_args()
fixtures = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../fixtures')
environment = {**os.environ, 'XDG_DATA_HOME': '/nonexistent', 'PLIMSOLL_NVML_LIBRARY': '/nonexistent', 'COLUMNS': '200'}
problems = []
asked = {}

MODELS = ['alexnet', 'squeezenet1_1', 'resnet18', 'mobilenet_v2', 'mobilenet_v1:alpha=0.25', 'gpt2:layers=2', 'bert_base:layers=2',
          'tiny.onnx', 'one_image.onnx']
DEVICES = ['t4', 'a100-80-sxm', 'h200', 'rtx-4090', 'l4', 'v100-16-sxm2', 'h100-sxm', 'k80', 'mi250x']
UNITS = {'B': 1, 'KiB': 2**10, 'MiB': 2**20, 'GiB': 2**30, 'TiB': 2**40, 'ns': 1e-9, 'µs': 1e-6, 'ms': 1e-3, 's': 1, 'min': 60, 'h': 3600,
         'nJ': 1e-9, 'µJ': 1e-6, 'mJ': 1e-3, 'J': 1, 'kJ': 1e3, 'MMAC': 1e6, 'GMAC': 1e9, 'kMAC': 1e3, 'TMAC': 1e12, 'MAC': 1,
         'k': 1e3, 'M': 1e6, 'G': 1e9, '%': 0.01, '': 1}


def say(*words, extra=None, code=(0, 1)):
    """What the command prints; each is run once."""
    key = (words, tuple(sorted((extra or {}).items())))
    if key not in asked:
        done = subprocess.run([arguments.program, *words], cwd=fixtures, env={**environment, **(extra or {})}, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=120)
        if done.returncode not in code:
            sys.exit(f'{" ".join(words)}: {done.stderr or done.returncode}')
        asked[key] = done.stdout
    return asked[key]


def ask(*words, **options):
    return json.loads(say(*words, '--json', **options))


def same(what, first, second, near=0.0):
    """Both figures, by the names of who says them."""
    (a_name, a), (b_name, b) = first, second
    if isinstance(a, float) and isinstance(b, (int, float)) and near:
        equal = abs(a - b) <= near * max(abs(a), abs(b))
    else:
        equal = a == b
    if not equal:
        problems.append(f'{what}: {a_name} says {a!r:.120}, {b_name} says {b!r:.120}')


def shown(what, text, pattern, value):
    """The figure that the pattern finds in the text is the value, rounded to the digits that are shown."""
    found = re.search(pattern, text)
    if not found:
        return problems.append(f'{what}: the text has nothing like {pattern!r}:\n{text}')
    number, unit = found.group(1).replace(',', ''), (found.group(2) if found.re.groups > 1 else '') or ''
    digits = len(number.split('.')[1]) if '.' in number else 0
    scale = UNITS[unit.strip()]
    if abs(float(number) * scale - value) > (0.5 * 10**-digits + 1e-9) * scale * 1.0001:
        problems.append(f'{what}: the text says {found.group(0)!r}, the JSON {value!r}')


FIGURE = r'(\d[\d,.]*) ?(\S+)'


def compare_memory(what, weighed, estimated):
    device, memory = weighed['devices'][0], estimated['memory']
    for key, value in device['memory'].items():
        same(f'{what}, memory.{key}', ('weigh', value), ('estimate', memory[key]))
    same(f'{what}, need', ('weigh', device['minimum_device_bytes']), ('estimate', memory['minimum_device_bytes']))
    same(f'{what}, memory of the device', ('weigh', device['memory_bytes']), ('estimate', memory['capacity_bytes']))
    same(f'{what}, fits', ('weigh', device['fits']), ('estimate', memory['fits']))
    same(f'{what}, sum of the parts', ('parts', sum(p['bytes'] for p in memory['parts'])), ('need', memory['minimum_device_bytes']))
    same(f'{what}, sum of the shares', ('shares', sum(p['share'] for p in memory['parts'])), ('all', 1), near=1e-9)


def compare_texts(what, words, weighed, estimated):
    memory = estimated['memory']
    text = re.sub(r'\n(?=\S)', ' ', say('estimate', *words))  # the headline may be wrapped
    shown(f'{what}, headline', text, rf'needs {FIGURE}', memory['minimum_device_bytes'])
    shown(f'{what}, capacity', text, rf'needs [\d.]+ \S+ of {FIGURE}[,:]', memory['capacity_bytes'])
    shown(f'{what}, list', text, rf'needs at least +{FIGURE}', memory['minimum_device_bytes'])
    if memory['device_used_bytes'] > memory['minimum_device_bytes']:
        shown(f'{what}, with room', text, rf'with room to spare +{FIGURE}', memory['device_used_bytes'])
    shown(f'{what}, peak', text, rf'peak allocated +{FIGURE};', memory['peak_allocated_bytes'])
    for part in memory['parts']:
        row = rf'\S {re.escape(part["part"])} +'
        shown(f'{what}, {part["part"]}', text, row + FIGURE, part['bytes'])
        shown(f'{what}, {part["part"]}', text, row + r'[\d.]+ \S+ +([\d.]+) (%)', part['share'])
    page = say('weigh', *words)
    shown(f'{what}, page', page, rf'  memory +{FIGURE} ±', memory['minimum_device_bytes'])
    for part in sorted(memory['parts'], key=lambda p: -p['bytes'])[:1]:
        shown(f'{what}, page, {part["part"]}', page, rf'{re.escape(part["part"])} ([\d.]+) (%)', part['share'])
    shown(f'{what}, page, parameters', page, rf'(\d[\d.]*) ?([kMG]?) ?parameters', weighed['parameters'])
    shown(f'{what}, page, MACs', page, r'(\d[\d.]*) ([kMGT]?MAC) per', weighed['macs'] / weighed['batch'])
    if estimated['time']:
        shown(f'{what}, time', text, rf'time +{FIGURE} a (?:pass|step)', estimated['time']['seconds'])
        shown(f'{what}, page, time', page, rf'  time +{FIGURE} a (?:pass|step)', estimated['time']['seconds'])
    if estimated['energy'] and estimated['energy']['joules']:
        shown(f'{what}, energy', text, rf'energy +{FIGURE} a', estimated['energy']['joules'])
        shown(f'{what}, page, energy', page, rf'· {FIGURE} a (?:pass|step) · bound', estimated['energy']['joules'])


def compare_case(case):
    model, device, mode, precision, batch = case
    words = [model, '--device', device, '--mode', mode, '--precision', precision, '--batch', str(batch)]
    if mode == 'train':
        words += ['--optimizer', 'adam']
    what = ' '.join(words)
    weighed, estimated = ask('weigh', *words), ask('estimate', *words)
    inspected = ask('inspect', model, '--mode', mode, '--batch', str(batch))
    for key in ('parameters', 'macs', 'flops', 'dimensions'):
        same(f'{what}, {key}', ('inspect', inspected[key]), ('weigh', weighed[key]))
    same(f'{what}, batch', ('weigh', weighed['batch']), ('estimate', estimated['batch']))
    compare_memory(what, weighed, estimated)
    for key in ('time', 'energy'):
        same(f'{what}, {key}', ('weigh', weighed['devices'][0][key]), ('estimate', estimated[key]))
    if weighed['devices'][0]['cost']:
        cost = weighed['devices'][0]['cost']
        same(f'{what}, seconds of the work', ('weigh', cost['seconds']), ('estimate', estimated['time']['seconds'] * cost['passes']), near=1e-9)
    compare_texts(what, words, weighed, estimated)
    return words, weighed, estimated


def compare_chosen(model, device, precision):
    """choose takes the batch that suits the device; estimate is asked for the same."""
    chosen = ask('choose', model, '--device', device, '--precision', precision, '--max-latency', '1s')
    for candidate in chosen['candidates']:
        what = f'choose {model} --device {device} --precision {precision}, batch {candidate["batch"]}'
        estimated = ask('estimate', model, '--device', device, '--precision', precision, '--batch', str(candidate['batch']))
        for key, name in (('value', 'seconds'), ('low', 'low_seconds'), ('high', 'high_seconds')):
            same(f'{what}, {name}', ('choose', candidate['pass'][key]), ('estimate', estimated['time'][name]))
        for limit in candidate['limits']:
            if limit['limit'] == 'memory':
                same(f'{what}, need', ('choose', limit['figure']['value']), ('estimate', estimated['memory']['minimum_device_bytes']))
                same(f'{what}, memory of the device', ('choose', limit['bar']), ('estimate', estimated['memory']['capacity_bytes']))
                same(f'{what}, fits', ('choose', limit['verdict'] == 'met'), ('estimate', estimated['memory']['fits']))


def compare_largest(words, weighed, estimated):
    what = ' '.join(words) + ' --max-batch'
    answer = ask('estimate', *words, '--max-batch')
    largest = answer['memory']['largest_batch']
    same(f'{what}', ('weigh', weighed['devices'][0]['largest_batch']), ('estimate', largest['batch']))
    same(f'{what}, time beside it', ('with --max-batch', answer['time']), ('without', estimated['time']))
    alone = ask('estimate', *words[:words.index('--batch')], '--batch', str(largest['batch']), *words[words.index('--batch') + 2:])
    same(f'{what}, time', ('of the largest batch', largest['time']), ('of that batch alone', alone['time']))
    same(f'{what}, need', ('of the largest batch', largest['minimum_device_bytes']), ('of that batch alone', alone['memory']['minimum_device_bytes']))
    shown(f'{what}, text', say('estimate', *words, '--max-batch'), r'largest batch +([\d,]+)', largest['batch'])


def compare_training(model, device, batch):
    trained = ask('training', model, '--device', device, '--batch', str(batch), '--dataset-size', str(10 * batch), '--optimizer', 'momentum')
    estimated = ask('estimate', model, '--device', device, '--batch', str(batch), '--mode', 'train', '--optimizer', 'momentum')
    same(f'training {model} --device {device} --batch {batch}, step', ('training', trained['rows'][0]['step_seconds']),
         ('estimate', estimated['time']['seconds']), near=1e-9)


def compare_sweep(model, devices, batch):
    swept = ask('estimate', model, '--device', ','.join(devices), '--sweep', f'batch={batch}..{batch}')
    for row in swept['devices']:
        alone, point = ask('estimate', model, '--device', row['device'], '--batch', str(batch)), row['points'][0]
        what = f'estimate {model} --sweep batch={batch}..{batch}, {row["device"]}'
        for key in ('seconds', 'low_seconds', 'high_seconds', 'eager_seconds'):
            same(f'{what}, {key}', ('the sweep', point[key]), ('the batch alone', alone['time'][key]))
        for key in ('peak_allocated_bytes', 'device_used_bytes', 'fits'):
            same(f'{what}, {key}', ('the sweep', point[key]), ('the batch alone', alone['memory'][key]))


def compare_zoo():
    for entry in ask('zoo'):
        if entry['name'] not in ('resnet18', 'gpt2', 'bert_base', 'ssd300_vgg16'):
            continue
        inspected = ask('inspect', entry['name'])
        for key in ('parameters', 'macs'):
            same(f'{entry["name"]}, {key}', ('zoo', entry[key]), ('inspect', inspected[key]))


def compare_devices():
    """The memory that devices lists is the memory that others compare with."""
    for device in DEVICES:
        listed = ask('devices', device)['figures']
        usable = listed.get('usable memory') or listed['memory']
        capacity = ask('estimate', 'tiny.onnx', '--device', device)['memory']['capacity_bytes']
        same(f'{device}, memory', ('devices', round(usable['value'])), ('estimate', capacity))


def compare_cpu():
    """The id that devices lists this machine's processor with names it."""
    for command in ('weigh', 'estimate'):
        same(f'{command} tiny.onnx', ('--device cpu', ask(command, 'tiny.onnx', '--device', 'cpu')),
             ('--device this-cpu', ask(command, 'tiny.onnx', '--device', 'this-cpu')))


def compare_measured():
    """Beside a measurement stands what estimate says of this machine, here one whose GPU and engine are made up."""
    if not arguments.nvml:
        return
    with tempfile.TemporaryDirectory() as folder:
        machine = os.path.join(folder, 'gpus.txt')
        with open(machine, 'w', encoding='utf-8') as file:
            file.write('gpu NVIDIA H200\nmemory 1048576 150754820096\n')
        extra = {'PLIMSOLL_NVML_LIBRARY': arguments.nvml, 'PLIMSOLL_FAKE_NVML': machine, 'PLIMSOLL_ENGINE': './fake_engine.py',
                 'PLIMSOLL_FAKE_ENGINE_UUID': 'GPU-00000000-0000-0000-0000-000000000000'}
        for model, batch in (('tiny.onnx', 4), ('resnet18', 2), ('gpt2:layers=1', 1)):
            options = ['--random-weights'] if model != 'tiny.onnx' else []
            measured = ask('measure', model, '--batch', str(batch), '--device', 'cuda:0', '--energy', '0', *options, extra=extra)
            estimated = ask('estimate', model, '--batch', str(batch), '--device', 'this', extra=extra)
            row = measured['rows'][0]
            same(f'measure {model}, batch', ('measure', row['batch']), ('estimate', estimated['batch']))
            if not row['estimate']:
                problems.append(f'measure {model} --batch {batch}: no estimate beside it')
                continue
            for key, value in row['estimate'].items():
                same(f'measure {model} --batch {batch}, {key}', ('measure', value), ('estimate', estimated['memory'][key]))


chance = random.Random(arguments.seed)
for number in range(arguments.cases):
    mode = chance.choice(['infer', 'infer', 'train'])
    model = MODELS[number % len(MODELS)]
    case = (model, chance.choice(DEVICES), mode, chance.choice(['fp32', 'fp32', 'fp16'] if mode == 'infer' else ['fp32', 'amp-fp16']),
            1 if model == 'one_image.onnx' else chance.choice([1, 3, 16]))
    words, weighed, estimated = compare_case(case)
    if number % 4 == 0 and model != 'one_image.onnx':
        compare_largest(words, weighed, estimated)
for model, device, precision in (('squeezenet1_1', 'h200', 'fp32'), ('resnet18', 't4', 'fp16'), ('gpt2:layers=2', 'a100-80-sxm', 'fp32')):
    compare_chosen(model, device, precision)
compare_training('squeezenet1_1', chance.choice(DEVICES), 8)
compare_sweep('alexnet', chance.sample(DEVICES, 3), chance.choice([1, 5]))
compare_zoo()
compare_devices()
compare_cpu()
compare_measured()
for problem in problems:
    print(problem)
print(f'{len(asked)} commands, {len(problems)} disagreements (seed {arguments.seed})')
sys.exit(1 if problems else 0)
