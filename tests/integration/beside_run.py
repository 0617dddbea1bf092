"""What a recorded run did alone corrects its workload: `plimsoll beside MODEL,…,alone=run:ID`. usage: beside_run.py PLIMSOLL"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / 'examples'))
import prepared

program = os.path.abspath(sys.argv[1])
with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    environment = {**os.environ, 'PLIMSOLL_STORE': str(folder / 'runs.db'), 'XDG_DATA_HOME': name}

    def plimsoll(*arguments):
        return subprocess.run([program, *arguments], capture_output=True, text=True, env=environment, cwd=folder)

    prepared.write_mlruns(folder / 'mlruns')  # a step a second, by their numbers
    done = plimsoll('import-mlflow', 'mlruns')
    assert done.returncode == 0, done.stderr
    run = prepared.RUNS[0]
    done = plimsoll('beside', f'resnet50,mode=train,batch=32,alone=run:{run}', '--device', 'h200', '--sharing', 'mps', '--json')
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)['workloads'][0]
    assert told['measured'] and abs(told['alone_seconds'] - 1) < 0.01, told
    listed = folder / 'workloads.toml'
    listed.write_text(f'[[workload]]\nmodel = "resnet50"\nmode = "train"\nbatch = 32\nalone = "run:{run}"\n\n[[workload]]\nmodel = "vgg16"\n'
                      '[workload.alone]\nsteps_per_second = 300\ngract = 0.9\n')
    done = plimsoll('beside', '--workloads', str(listed), '--device', 'h200', '--sharing', 'naive', '--json')
    assert done.returncode == 0, done.stderr
    assert [round(w['alone_seconds'], 3) for w in json.loads(done.stdout)['workloads']] == [1.0, 0.003]
    for text, said in ((f'run:{run}', 'does not say which kernels'), ('resnet50,alone=run:', "is no alone"), ('resnet50,alone=run:ffffffff', 'ffffffff')):
        done = plimsoll('beside', text, '--device', 'h200')
        assert done.returncode == 2 and said in done.stderr, (text, done.stderr)
    for bad in ('[[workload]]\nmodel = 3\n', '[workload]\n', 'x = ', '[[workload]]\nmodel = "resnet50"\nalone = [1]\n', '[]', '{"a": 1}',
                '[{"model": "resnet50", "alone": {"steps_per_second": -1}}]', '[{"model": "resnet50", "batch": 1e30}]', '[{"model": "resnet50", "batch": [[]]}]'):
        file = folder / ('bad.toml' if '=' in bad or bad.startswith('[w') else 'bad.json')
        file.write_text(bad)
        done = plimsoll('beside', '--workloads', str(file), '--device', 'h200')
        assert done.returncode == 2 and done.stderr.startswith('plimsoll: '), (bad, done.returncode, done.stderr)
print('what runs and files say of workloads: as it should be')
