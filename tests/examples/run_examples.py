#!/usr/bin/env python3
"""Runs the examples that a new user copies, and finds those that do not work.

usage: run_examples.py PLIMSOLL STAND_IN_FOR_NVML readme|docs|help

An example is a line with `plimsoll` in a block of README.md or docs/commands/*.md, or under "Examples:" of a --help. It
runs in bash, in a folder with the files and runs that the examples name; plimsoll-engine and the GPU's driver are
stand-ins, and MLflow servers are a `plimsoll serve` of the test's own. It must end with 0 or 1 (the answer is no) and
say something. What cannot be run here is in NOT_RUN with its reason; its command line is checked all the same.
"""
import os, pathlib, re, shlex, signal, subprocess, sys, tempfile

import prepared

program, nvml, source = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), sys.argv[3]
root = pathlib.Path(__file__).resolve().parent.parent.parent
# Why an example is not run: the first expression that is found in it.
NOT_RUN = [
    (r'postgresql://', 'there is no PostgreSQL server'),
    (r'plimsoll probe', 'it computes for minutes; the tests of probe run it with --quick'),
    (r'plimsoll (attach|stop)', 'no run goes on; tests/run/test_supervision.py has some'),
    (r'plimsoll queue (start|stop)', 'one runs all the while, for the others'),
    (r'plimsoll train ', 'it trains for minutes; tests/engine/train_command.py does on little data'),
    (r'plimsoll merge .*--data', 'it trains for minutes; tests/merge/joint_training.py does on little data'),
    (r'plimsoll precision .*--data', 'it measures for minutes; tests/precision/small_networks.py does on little data'),
    (r'--accuracy measured\.json', 'of such a measurement; the same test has one'),
    (r'plimsoll swap .*--run', 'it runs as long as its frames come; tests/swap/runs.py does on small models'),
    (r'--mlflow-ui', 'there is no MLflow; tests/serve/test_mlflow_pages.py has one'),
    (r'bashrc', 'it changes the settings of the shell'),
    (r'completion (fish|zsh)', 'the shell may not be here'),
]
SERVER = re.compile(r'https?://(host|127\.0\.0\.1|mlflow\.example\.org)(:5000)?')
FAILS = 'python train.py 2>&1'  # what the README's script does not do: it runs out of memory
problems = []


def joined(lines):
    """Lines that end with a backslash, and the next, as one."""
    out, begun = [], ''
    for line in lines:
        if line.endswith('\\'):
            begun += line[:-1].rstrip() + ' '
        else:
            out.append(begun + (line.strip() if begun else line))
            begun = ''
    return out


def is_example(line):
    return re.search(r'(^|[|(=] ?|\S=\S+ )plimsoll( [a-z-]|$)', line) is not None and not line.startswith('#')


def without_comment(line):
    return re.sub(r'\s+#( .*)?$', '', line)


def of_page(path):
    """The examples in a page's blocks. The first block of a command's page is its synopsis: its options must be real."""
    blocks, block, fenced = [], [], False
    for line in path.read_text(encoding='utf-8').splitlines() + ['The end']:
        if line.startswith('```'):
            fenced = not fenced
        elif fenced or line.startswith('    '):
            block.append(line if fenced else line[4:])
            continue
        elif not line and block and not fenced:
            continue
        if block:
            blocks.append(block)
            block = []
    if path.parent.name == 'commands':
        check_synopsis(path, blocks.pop(0))
    return [re.sub(r'^\$ ', '', line) for block in blocks for line in joined(block) if is_example(re.sub(r'^\$ ', '', line))]


def help_of(*words):
    return subprocess.run([program, *words, '--help'], capture_output=True, text=True, check=True,
                          env={'COLUMNS': '80', 'LANG': 'C.UTF-8'}).stdout


def check_synopsis(path, block):
    # A command with much to tell has several pages: plan-mig is of plan.
    command = path.stem if path.stem in verbs_of() else path.stem.split('-')[0]
    known = help_of(command) + ''.join(help_of(command, verb) for verb in verbs_of(command))
    for option in re.findall(r'(?<![\w-])--?[a-z][a-z-]*', ' '.join(block).replace(f'plimsoll {command}', '')):
        if not re.search(re.escape(option) + r'(?![\w-])', known):
            problems.append(f'{path.name}: the synopsis names {option}, which `plimsoll {command} --help` does not')


def verbs_of(*words):
    text = help_of(*words)
    section = re.search(r'\nCommands:\n((?:  .*\n)+)', text)
    return re.findall(r'^  (\S+)', section.group(1), re.M) if section else []


def of_help():
    out = []
    pages = [()] + [(command,) for command in verbs_of()]
    pages += [(command[0], verb) for command in pages[1:] for verb in verbs_of(*command)]
    for words in pages:
        text = help_of(*words)
        for line in text.splitlines():
            if len(line) > 80:
                problems.append(f"plimsoll {' '.join(words)} --help: wider than 80 columns: {line}")
        for raw in (r'\{false\}', r'\(1x\)', r'Excludes:', r'\.\.\.(?!\.)'):
            if found := re.search(raw, text):
                problems.append(f"plimsoll {' '.join(words)} --help: {found.group(0)!r} is the parser's word, not ours")
        section = re.search(r'\nExamples?:\n((?:  .*\n)+)', text)
        if not section:
            problems.append(f"plimsoll {' '.join(words)} --help: has no example")
            continue
        mine = [line.strip() for line in joined(section.group(1).splitlines())]
        name = ' '.join(('plimsoll', *words))
        if not any(name in line for line in mine):
            problems.append(f'{name} --help: none of its examples is of it')
        out += [line for line in mine if is_example(line)]
    return out


def commands_in(line):
    """The words of each plimsoll in a line, for a check of them alone."""
    for part in re.findall(r'plimsoll ([^|;<>&)#]*)', line):
        try:
            words = shlex.split(part)
        except ValueError:
            continue
        if words and re.fullmatch('[a-z-]+', words[0]):
            yield words


def check_line(line, environment, work):
    for words in commands_in(without_comment(line)):
        done = subprocess.run([program, 'check-line', *words], env=environment, cwd=work, capture_output=True, text=True)
        if done.returncode != 0:
            problems.append(f'{line}\n  is not a right command line: {done.stderr.strip()}')


def run_serve(line, environment, work):
    """It serves until it is interrupted; at a port that is free."""
    process = subprocess.Popen([program, *shlex.split(without_comment(line).rstrip(' &'))[1:], '--port', '0'], env=environment, cwd=work,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    first = process.stdout.readline()
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=120)
    if not first.startswith('Serving') or process.returncode not in (0, 130):
        problems.append(f'{line}\n  said {first!r} and ended with {process.returncode}: {error}')


def run(line, environment, work, server):
    check_line(line, environment, work)
    for expression, why in NOT_RUN:
        if re.search(expression, without_comment(line)):
            return print(f'not run ({why}): {line}')
    if 'train.py:' in line and 'PLIMSOLL_PYTHON' not in environment:
        return print(f'not run (there is no PyTorch): {line}')
    if re.match(r'plimsoll (serve|ui)\b', line):
        return run_serve(line, environment, work)
    done = subprocess.run(['bash', '-o', 'pipefail', '-c', SERVER.sub(server, line).replace('…', 'secret').replace(FAILS, 'cat training.log')], env=environment, cwd=work,
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=300)
    out, error = done.stdout.decode(), done.stderr.decode()
    if done.returncode not in (0, 1) or 'internal error' in error or 'Traceback' in error:
        problems.append(f'{line}\n  ended with {done.returncode}: {error.strip()}')
    elif not out.strip() and not error.strip() and '<(' not in line:
        problems.append(f'{line}\n  said nothing')


def queue_of_examples(environment, work):
    """A daemon, and twenty jobs, so that those that the examples name are there: 12 has run."""
    def call(*words):
        return subprocess.run([program, *words], env=environment, cwd=work, check=True, capture_output=True)
    call('queue', 'start', '--quiet')
    call('submit', '--hold', '--array', '20', '--', 'echo', 'something')
    call('release', '12')
    call('queue', 'output', '12', '--follow')


if source == 'readme':
    examples = of_page(root / 'README.md')
elif source == 'docs':
    examples = [line for page in sorted((root / 'docs' / 'commands').glob('*.md')) for line in of_page(page)]
else:
    examples = of_help()
examples = list(dict.fromkeys(without_comment(line) for line in examples))
least = {'readme': 20, 'docs': 60, 'help': 50}[source]
if len(examples) < least:
    problems.append(f'only {len(examples)} examples were found, fewer than {least}: they are not read rightly')
with tempfile.TemporaryDirectory() as folder:
    work, environment = prepared.prepare(folder, program, nvml)
    for python in (sys.executable, '/usr/bin/python3'):
        if os.path.exists(python) and subprocess.run([python, '-c', 'import torch, onnx'], capture_output=True).returncode == 0:
            environment['PLIMSOLL_PYTHON'] = python
    serving = subprocess.Popen([program, 'serve', '--port', '0', '--store', os.path.join(folder, 'server.db'), '--json'], env=environment,
                               stdout=subprocess.PIPE, text=True)
    queue_of_examples(environment, work)
    try:
        server = re.search(r'http://[^"\s]+', serving.stdout.readline()).group(0).rstrip('/')
        for line in examples:
            run(line, environment, work, server)
    finally:
        serving.send_signal(signal.SIGINT)
        serving.wait(timeout=120)
        subprocess.run([program, 'cancel', '1-1000'], env=environment, capture_output=True)
        subprocess.run([program, 'queue', 'stop'], env=environment, check=True, stdout=subprocess.DEVNULL)
for problem in problems:
    print(problem)
print(f'{len(examples)} examples, {len(problems)} problems')
sys.exit(1 if problems else 0)
