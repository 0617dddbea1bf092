#!/usr/bin/env python3
"""No line of any answer is wider than the terminal: every command that prints tables, at 60, 80 and 120 columns.

usage: widths.py PLIMSOLL STAND_IN_FOR_NVML
"""
import os, shutil, subprocess, sys, tempfile, unicodedata

program, stand_in = map(os.path.abspath, sys.argv[1:3])
fixtures = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), '../fixtures'))
WIDTHS = (60, 80, 120)
problems = []
narrowed = set()  # the commands whose tables left a column out at 60 columns

RUNS = (
    # parameters, metrics and a name that are longer than a table likes
    ['--name', 'a-run-with-a-name-that-nobody-would-type-twice', '--experiment', 'an experiment of many words', '--',
     'sh', '-c', 'for i in 1 2 3; do echo "plimsoll: metric validation/top5_accuracy 0.$i"; done; '
     'echo "plimsoll: param optimizer_schedule cosine-annealing-with-warm-restarts-and-a-long-tail"'],
    ['--name', 'short', '--', 'sh', '-c', 'echo "plimsoll: metric loss 0.25"; echo "RuntimeError: '
     'a message that goes on and on, /with/a/path/that/is/longer/than/many/a/line/of/sixty/columns/model.py" >&2; exit 3'],
)
TABLES = (
    'weigh resnet50 --device t4', 'weigh resnet50 --device t4,h200 --mode train --batch 64 --optimizer adam',
    'weigh resnet50 --device h200 --floors',
    'estimate resnet50 --device t4 --mode train --batch 256 --optimizer adam',
    'estimate resnet50 --device h200 --batch 8 --layers', 'estimate gpt2 --seq 128 --batch 8,16 --device a100-80-sxm,h200',
    'estimate gpt2 --seq 128 --mode train --device h200 --max-batch', 'estimate LONG --device t4',
    'estimate resnet50 --device h200,l4,t4 --sweep batch=1..64x2',
    'choose resnet50 --max-latency 20ms --max-power 75W', 'choose resnet50 --max-latency 20ms --max-price 1/h --all --why',
    'choose mobilenet_v1 --depth 0.25,0.5,1 --scene 4512x4512 --period 95.65min --images 80 --downlink 1Mbit/s '
    '--relevant 5% --max-power 5W --max-mass 150g --max-size 10x70x80mm --all --why',
    'devices', 'devices h200', 'devices h200 --all', 'devices coral-dev-mini',
    'devices compare calibrated.json calibrated_again.json',
    'inspect resnet50', 'inspect resnet50 --layers', 'inspect data_decides.onnx', 'inspect vgg16 vgg19',
    'inspect vgg16 vgg19 --layers', 'inspect LONG tiny.onnx', 'inspect unknown.onnx --allow-unknown',
    'measure tiny.onnx --batch 1,2,4', 'measure tiny.onnx LONG --batch 1,2,4,8,16', 'measure tiny.onnx --batch 2 --layers',
    'zoo', 'zoo resnet50', 'runs', 'runs --columns metrics.loss,params.optimizer_schedule,tags.plimsoll.command',
    'runs show FIRST', 'runs show SECOND', 'runs compare FIRST SECOND', 'runs compare FIRST SECOND --all',
    'report FIRST', 'report SECOND', 'report FIRST SECOND', 'top --once',
    'probe vecadd --quick --millions 0.05', 'probe matmul --quick --sizes 64',
    'cost --tflops', 'cost --list',
    'cost --device h200 --time 62ms --energy 35J --batch 128 --dataset-size 1281167 --country DNK',
    'training --parameters 175e9 --tokens 300e9 --devices 1024 --rate 140e12 --device a100-80-sxm',
    'training --step-time 62ms --batch 128 --dataset-size 1281167 --epochs 90 --devices 1,2,4,8 --gradients 102MB '
    '--link 450GB/s --scaling weak',
    'training --step-time 2.4s --batch 64 --devices 16 --tensor 2 --pipeline 4 --micro-batches 8 --gradients 1GB '
    '--link 100GB/s --tensor-sums 10MB --between-stages 8MB --overlap full',
    'ideal vgg16 --device k80,h200', 'store copy STORE OTHER', 'oom oom.log', 'oom oom_fragmented.log',
    'oom oom.log --model resnet50 --mode train --batch 256 --device t4',
    'plan layouts --device a100-40 --double-memory', 'plan services services/slo.csv --profiles services/rows.csv --scenario 2',
    'plan services services/slo.csv --profiles services/rows.csv',
    'swap swap/cameras.toml --memory largest --device h200', 'swap swap/cameras.toml --memory 500MiB --device h200',
    'precision --published', 'merge vgg16 vgg19', 'merge resnet18 resnet34 resnet50 --method stem', 'merge tiny.onnx LONG', 'merge bert-base bert-base --all',
    'replay traces/vgg16-b32-amp.json.gz', 'replay traces/vgg16-b32-amp.json.gz --capacity 2 --expandable-segments',
)
NARROWED = ('estimate gpt2', 'choose', 'devices', 'inspect resnet50 --layers', 'zoo', 'runs', 'cost', 'probe')


def columns(line):
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in 'WF' else 1 for c in line)


def ask(environment, *words):
    return subprocess.run([program, *words], cwd=fixtures, env=environment, stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=120)


def checked(command, words, environment):
    for width in WIDTHS:
        done = ask({**environment, 'COLUMNS': str(width)}, *words)
        out = done.stdout.decode('utf-8')
        if done.returncode not in (0, 1) or not out:
            problems.append(f'{command}: exit code {done.returncode}, {done.stderr.decode()}')
            return
        for line in out.splitlines():
            if columns(line) > width:
                problems.append(f'{command} at {width}: {columns(line)} columns: {line}')
                break
        if f'Left out at {width} columns' in ' '.join(out.split()):
            narrowed.add(command)


def check_all(folder):
    deep = os.path.join(folder, 'a-folder-with-a-long-name', 'and-another-one-that-is-no-shorter', 'of-models')
    os.makedirs(deep)
    long = os.path.join(deep, 'a_model_whose_file_name_says_all_of_it.onnx')
    shutil.copy(os.path.join(fixtures, 'tiny.onnx'), long)
    store = os.path.join(deep, 'store.db')
    environment = {'PATH': os.environ.get('PATH', '/usr/bin:/bin'), 'HOME': folder, 'LANG': 'C.UTF-8', 'PLIMSOLL_STORE': store,
                   'PLIMSOLL_ENGINE': os.path.join(fixtures, 'fake_engine.py'),
                   'PLIMSOLL_CUDA': os.path.join(fixtures, 'fake_cuda.py'), 'PLIMSOLL_FAKE_CUDA_SECONDS': '0.6',
                   'PLIMSOLL_NVML_LIBRARY': stand_in, 'PLIMSOLL_FAKE_NVML': os.path.join(fixtures, 'two_gpus.txt')}
    for name in ('LD_LIBRARY_PATH', 'ASAN_OPTIONS', 'TMPDIR'):
        if name in os.environ:
            environment[name] = os.environ[name]
    for run in RUNS:
        ask(environment, 'run', *run)
    listed = ask(environment, 'runs', '--csv').stdout.decode().splitlines()[1:]
    ids = [line.split(',')[0] for line in reversed(listed)]
    if len(ids) != len(RUNS):
        sys.exit(f'expected {len(RUNS)} recorded runs, got {listed}')
    places = {'LONG': long, 'STORE': store, 'OTHER': os.path.join(deep, 'other.db'), 'FIRST': ids[0], 'SECOND': ids[1]}
    for command in TABLES:
        checked(command, [places.get(word, word) for word in command.split()], environment)
    for command in NARROWED:
        if not any(done.startswith(command) for done in narrowed):
            problems.append(f'{command}: expected a line that says what was left out at 60 columns')


with tempfile.TemporaryDirectory() as folder:
    check_all(folder)
if problems:
    print('Expected no line wider than the terminal. Got:')
    sys.exit('\n'.join(problems))
print(f'{len(TABLES)} commands at {", ".join(map(str, WIDTHS))} columns: no line is wider')
