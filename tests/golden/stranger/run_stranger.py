#!/usr/bin/env python3
"""A new user's first hour: commands, right and wrong, with the first lines of each answer, at three widths.

usage: run_stranger.py PLIMSOLL STAND_IN_FOR_NVML SCRIPT.txt

The script is a text file. A line `$ plimsoll …` is a command, run by bash in a folder with the files and runs of
tests/examples/prepared.py; what follows it is what must come of it:
    exit 2                    its exit code
    > text                    the first lines on standard output
    ! text                    the first lines on standard error
    at 60 columns             what follows is of this width alone; else it is the same at 60, 80 and 120
    wider than 60: 97         standard output has a line of 97 columns, which is too wide
Lines with # and empty ones are for the reader. PLIMSOLL_UPDATE_GOLDEN=1 writes what the program says now into the
script; review the difference before committing it.
"""
import difflib, os, pathlib, re, subprocess, sys, tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / 'examples'))
import prepared

program, nvml, path = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), sys.argv[3]
WIDTHS = (60, 80, 120)
LINES = 6  # of an answer that are looked at


def read(path):
    """Comments and commands, each with the lines that are expected."""
    parts = []
    with open(path, encoding='utf-8', newline='') as file:
        for line in file.read().splitlines():
            if line.startswith('$ '):
                parts.append([line, []])
            elif line.startswith('#') or not line:
                if parts and isinstance(parts[-1], list) and not line:
                    continue  # the empty line that ends an answer
                parts.append(line)
            elif parts and isinstance(parts[-1], list):
                parts[-1][1].append(line)
            else:
                sys.exit(f'{path}: cannot read the line: {line}')
    return parts


def answer(command, width, work, environment, folder):
    done = subprocess.run(['bash', '-c', command[2:]], cwd=work, env=environment | {'COLUMNS': str(width), 'TZ': 'UTC'},
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=300)
    lines = [f'exit {done.returncode}']
    out = done.stdout.decode('utf-8').replace(folder + '/home', '~').replace(folder + '/', '')
    error = done.stderr.decode('utf-8').replace(folder + '/home', '~').replace(folder + '/', '')
    widest = max((len(line) for line in out.splitlines()), default=0)
    if widest > width and not command.endswith('--json'):
        lines.append(f'wider than {width}: {widest}')
    lines += [('> ' + line).rstrip() for line in out.splitlines()[:LINES]]
    lines += [('! ' + line).rstrip() for line in error.splitlines()[:LINES]]
    return lines


def record(answers):
    """One list of lines for all widths, or one for each."""
    if all(answers[width] == answers[WIDTHS[0]] for width in WIDTHS):
        return answers[WIDTHS[0]]
    return [line for width in WIDTHS for line in (f'at {width} columns', *answers[width])]


parts = read(path)
commands = [part[0] for part in parts if isinstance(part, list)]
if len(commands) < 60:
    sys.exit(f'{path}: has {len(commands)} commands, fewer than 60')
if len(set(commands)) < len(commands):
    sys.exit(f'{path}: has a command twice')
got = {command: {} for command in commands}
for width in WIDTHS:
    with tempfile.TemporaryDirectory() as folder:
        work, environment = prepared.prepare(folder, program, nvml)
        for command in commands:
            got[command][width] = answer(command, width, work, environment, folder)
if os.environ.get('PLIMSOLL_UPDATE_GOLDEN', '') not in ('', '0'):
    text = ''
    for part in parts:
        text += part + '\n' if isinstance(part, str) else '\n'.join((part[0], *record(got[part[0]]), '', ''))
    with open(path, 'w', encoding='utf-8', newline='') as file:
        file.write(text)
    print(f'{path}: written')
    sys.exit(0)
wrong = 0
for part in parts:
    if isinstance(part, str):
        continue
    now = record(got[part[0]])
    if any(line in ('exit 4', 'exit 139', 'exit 134') for line in now):
        wrong += 1
        print(f'{part[0]}\n  a defect: {now}')
    elif now != part[1]:
        wrong += 1
        print(part[0])
        print('\n'.join(difflib.unified_diff(part[1], now, 'expected', 'got', lineterm='')))
print(f'{len(commands)} commands, {wrong} with another answer')
if wrong:
    print('If the new answers are the right ones: PLIMSOLL_UPDATE_GOLDEN=1 ctest -R golden.stranger, and review the difference.')
sys.exit(1 if wrong else 0)
