#!/usr/bin/env python3
"""What bash offers when somebody presses the tab key: the script is really sourced, and COMPREPLY is read.

usage: completion.py PLIMSOLL
"""
import os, subprocess, sys, tempfile

import prepared

program = os.path.abspath(sys.argv[1])
problems = []
SCRIPT = '''
source <(plimsoll completion bash)
declare -F _plimsoll > /dev/null || exit 9
COMP_LINE=$1 COMP_POINT=${#1}
read -ra COMP_WORDS <<< "$1"
COMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 ))
_plimsoll
printf '%s\\n' "${COMPREPLY[@]}"
'''


def offered(line):
    done = subprocess.run(['bash', '-c', SCRIPT, 'bash', line], env=environment, cwd=work, capture_output=True, text=True)
    if done.returncode != 0 or done.stderr:
        problems.append(f'{line}: ended with {done.returncode}: {done.stderr}')
    return [reply for reply in done.stdout.split('\n') if reply]


def expect(line, *some, exactly=False, without=()):
    got = offered(line)
    for reply in some:
        if reply not in got:
            problems.append(f'{line}: {reply} is not offered, but {got[:20]}')
    if exactly and sorted(got) != sorted(some):
        problems.append(f'{line}: expected {sorted(some)}, got {got[:40]}')
    for reply in without:
        if reply in got:
            problems.append(f'{line}: {reply} is offered')


with tempfile.TemporaryDirectory() as folder:
    work, environment = prepared.prepare(folder, program)
    (work / 'models').mkdir()
    (work / 'models' / 'deep.onnx').write_bytes(b'')
    (work / 'models' / 'notes.txt').write_bytes(b'')
    expect('plimsoll ', 'weigh', 'runs', 'completion', without=('cuda-facts', 'complete-words', 'check-line'))
    expect('plimsoll we', 'weigh', exactly=True)
    expect('plimsoll weigh resnet5', 'resnet50', exactly=True)
    expect('plimsoll queue ', 'start', 'stop', 'output')
    expect('plimsoll submit --save', '--save', '--save-patience', exactly=True)
    expect('plimsoll queue start --policy c', 'carma', exactly=True)
    expect('plimsoll weigh ', 'resnet50', 'gpt2', 'model.onnx', 'tiny.onnx', 'train.py', 'models/', without=('training.log',))
    expect('plimsoll weigh models/', 'models/deep.onnx', exactly=True)
    expect('plimsoll weigh resnet50 --ba', '--batch', '--batch-norm', exactly=True)
    expect('plimsoll weigh resnet50 --', '--batch', '--device', '--help', '--color')
    expect('plimsoll weigh resnet50 --device h', 'h100-sxm', 'h200')
    expect('plimsoll weigh resnet50 --device t4,h2', 't4,h200', exactly=True)
    expect('plimsoll weigh resnet50 --device=h20', 'h200', exactly=True)  # bash breaks words at '='
    expect('plimsoll weigh resnet50 --precision amp-', 'amp-bf16', 'amp-fp16', exactly=True)
    expect('plimsoll weigh resnet50 --mode ', 'infer', 'train', exactly=True)
    expect('plimsoll estimate resnet50 --optimizer a', 'adam', 'adamw', exactly=True)
    expect('plimsoll choose resnet50 --precision fp16,int', 'fp16,int8', exactly=True)
    expect('plimsoll measure resnet50 --device c', 'cpu', 'cuda', 'cuda:0', exactly=True)
    expect('plimsoll training resnet50 --device h20', 'h200', exactly=True)
    expect('plimsoll cost --country DN', 'DNK', exactly=True)
    expect('plimsoll devices h20', 'h200', exactly=True)
    expect('plimsoll zoo vgg1', 'vgg11', 'vgg13', 'vgg16', 'vgg19')
    expect('plimsoll completion ', 'bash', 'zsh', 'fish', exactly=True)
    expect('plimsoll store ', 'copy', exactly=True)
    expect('plimsoll runs ', 'show', 'compare', 'delete')
    expect('plimsoll runs show --j', '--json', exactly=True)
    ids = [run + f'{number:024x}' for number, run in enumerate(prepared.RUNS)]
    expect('plimsoll report ', 'last', *ids, exactly=True)
    expect('plimsoll runs show 3f', ids[0], exactly=True)
    expect(f'plimsoll runs compare {ids[0]} 9', ids[3], exactly=True)
    expect('plimsoll run --mode m', 'mps', exactly=True)
    expect('plimsoll run -- py', exactly=True)  # another program's words: bash completes files
    # Quietly where there is no store, or none that can be read.
    for store in ('/nonexistent/runs.db', str(work / 'model.onnx'), 'postgresql://nowhere.invalid/runs'):
        environment['PLIMSOLL_STORE'] = store
        expect('plimsoll report ', exactly=True)
for problem in problems:
    print(problem)
print(f'{len(problems)} problems')
sys.exit(1 if problems else 0)
