#!/usr/bin/env python3
"""Runs one golden case: a command line in, text out. Prints what was expected and what differs.

usage: run_golden.py PLIMSOLL CASE.test

A case is a text file:
    # why it is there
    env PLIMSOLL_ENGINE=./fake_engine.py    a variable of the environment (optional)
    plimsoll inspect tiny.onnx --layers     the command, run in tests/fixtures
    head 12                                 only the first 12 lines of standard output (optional)
    exit 0
    ---- stdout
    ---- stderr                             left out where it is empty
PLIMSOLL_UPDATE_GOLDEN=1 writes what the program says now into the case; review the difference before committing it.
"""
import difflib, os, shlex, subprocess, sys

program, path = sys.argv[1:3]
program = os.path.abspath(program)
fixtures = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../fixtures')


def read_case(path):
    with open(path, encoding='utf-8', newline='') as file:
        lines = file.read().split('\n')
    case = {'comments': [], 'env': {}, 'head': None, 'exit': 0, 'stdout': [], 'stderr': []}
    part = None
    for line in lines:
        if line in ('---- stdout', '---- stderr'):
            part = line[5:]
        elif part:
            case[part].append(line)
        elif line.startswith('#'):
            case['comments'].append(line)
        elif line.startswith('env '):
            name, _, value = line[4:].partition('=')
            case['env'][name] = value
        elif line.startswith('plimsoll '):
            case['command'] = line
        elif line.startswith('head '):
            case['head'] = int(line[5:])
        elif line.startswith('exit '):
            case['exit'] = int(line[5:])
        elif line:
            sys.exit(f'{path}: cannot read the line: {line}')
    for part in ('stdout', 'stderr'):
        # The last newline of the file belongs to the file.
        text = '\n'.join(case[part])
        case[part] = text if text.endswith('\n') or not text else text + '\n'
    return case


def run(case):
    arguments = shlex.split(case['command'])[1:]
    # Nothing of the terminal, the language or the person's settings may show in the answer.
    # Wide, so that tables show all they have; widths.py looks at narrow ones, and a case may set COLUMNS.
    environment = {'PATH': os.environ.get('PATH', '/usr/bin:/bin'), 'HOME': '/nonexistent', 'LANG': 'C.UTF-8',
                   'COLUMNS': '1000'}
    for name in ('LD_LIBRARY_PATH', 'ASAN_OPTIONS', 'TMPDIR'):
        if name in os.environ:
            environment[name] = os.environ[name]
    environment |= case['env']
    done = subprocess.run([program] + arguments, cwd=fixtures, env=environment, stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=300)
    # CSV ends its lines with CR LF; a case shows the CR, so that it can be seen and edited.
    out = done.stdout.decode('utf-8').replace('\r\n', '␍\n')
    if case['head'] is not None:
        out = ''.join(out.splitlines(keepends=True)[:case['head']])
    return {'stdout': out, 'stderr': done.stderr.decode('utf-8'), 'exit': done.returncode}


def write_case(path, case, got):
    text = ''.join(line + '\n' for line in case['comments'])
    text += ''.join(f'env {name}={value}\n' for name, value in case['env'].items()) + case['command'] + '\n'
    if case['head'] is not None:
        text += f"head {case['head']}\n"
    text += f"exit {got['exit']}\n---- stdout\n{got['stdout']}"
    if got['stderr']:
        text += f"---- stderr\n{got['stderr']}"
    with open(path, 'w', encoding='utf-8', newline='') as file:
        file.write(text)


case = read_case(path)
got = run(case)
if os.environ.get('PLIMSOLL_UPDATE_GOLDEN', '') not in ('', '0'):
    write_case(path, case, got)
    print(f'{path}: written')
    sys.exit(0)
wrong = [part for part in ('exit', 'stdout', 'stderr') if case[part] != got[part]]
if wrong:
    print('\n'.join(case['comments']))
    print(f"$ {case['command']}")
    if 'exit' in wrong:
        print(f"expected exit code {case['exit']}, got {got['exit']}")
    for part in ('stdout', 'stderr'):
        if part in wrong:
            print(f'== expected on {part}:\n{case[part]}== difference (- expected, + got):')
            sys.stdout.writelines(difflib.unified_diff(case[part].splitlines(True), got[part].splitlines(True),
                                                       'expected', 'got'))
    print('If the new answer is the right one: PLIMSOLL_UPDATE_GOLDEN=1 ctest -L golden, and review the difference.')
    sys.exit(1)
