"""A folder with all that the examples name: models, scripts, logs, jobs, a trace, and a store with runs."""
import json, math, os, pathlib, shutil, subprocess, sys

FIXTURES = pathlib.Path(__file__).resolve().parent.parent / 'fixtures'
# Ids that the examples name by their first digits.
RUNS = ['3f2a91c0', '81bc0000', '1f3a0000', '9c020000']
SECONDS = 180  # of each run, so that a part of it can be asked for

TRAIN = '''import sys, time
print("plimsoll: param lr 0.1")
print("plimsoll: metric loss 0.05 step 1")
print("plimsoll: metric accuracy 0.95 step 1")


def make_model():
    import torch
    return torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(1),
                               torch.nn.Flatten(), torch.nn.Linear(8, 10))
'''
JOBS = '''experiment = "vision"
[[workload]]
name = "sweep"
  [[workload.job]]
  name = "first"
  command = ["python", "train.py"]
'''
NIGHT = '''[[job]]
name = "first"
command = ["python", "train.py"]
need = "1GiB"
'''


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def write_mlruns(folder):
    """Runs as MLflow's file store keeps them; import-mlflow leaves them their ids."""
    start = 1_700_000_000_000
    write(folder / '1' / 'meta.yaml', 'artifact_location: ""\nexperiment_id: "1"\nlifecycle_stage: active\nname: vision\n')
    for number, first in enumerate(RUNS):
        run = first + f'{number:024x}'
        at = folder / '1' / run
        write(at / 'meta.yaml', f'''artifact_uri: ""
end_time: {start + SECONDS * 1000}
entry_point_name: ""
experiment_id: "1"
lifecycle_stage: active
run_id: {run}
run_name: run {number}
run_uuid: {run}
source_name: ""
source_type: 4
source_version: ""
start_time: {start}
status: 3
tags: []
user_id: somebody
''')
        points = ''.join(f'{start + second * 1000} {1 / (2 + second)} {second}\n' for second in range(0, SECONDS, 3))
        write(at / 'metrics' / 'loss', points)
        write(at / 'metrics' / 'accuracy', points)
        write(at / 'params' / 'lr', '0.1')
        write(at / 'tags' / 'plimsoll.workload', 'sweep')


def write_registry(folder):
    """A registered model beside the runs: its first version is a file of one of them, its second is elsewhere."""
    start = 1_700_000_000_000
    run = RUNS[0] + f'{0:024x}'
    (folder / '1' / run / 'artifacts' / 'model').mkdir(parents=True)
    shutil.copy(FIXTURES / 'tiny.onnx', folder / '1' / run / 'artifacts' / 'model' / 'model.onnx')
    net = folder / 'models' / 'tiny'
    write(net / 'meta.yaml', f'creation_timestamp: {start}\ndescription: four filters\nlast_updated_timestamp: {start}\nname: tiny\n')
    write(net / 'tags' / 'team', 'vision')
    write(net / 'aliases' / 'champion', '1')
    for number, source in ((1, f'mlflow-artifacts:/1/{run}/artifacts/model'), (2, 's3://bucket/tiny')):
        write(net / f'version-{number}' / 'meta.yaml', f'''creation_timestamp: {start + number}
current_stage: {'Production' if number == 1 else 'None'}
description: null
last_updated_timestamp: {start + number}
name: tiny
run_id: {run if number == 1 else 'null'}
run_link: null
source: {source}
status: READY
status_message: null
storage_location: {source}
user_id: null
version: {number}
''')


def write_weights(path):
    """Those of tiny.onnx, as safetensors: the length of a header, the header, the numbers."""
    header, at = {}, 0
    for name, shape in (('w', [4, 3, 3, 3]), ('b', [4]), ('v', [4, 5])):
        size = 4 * math.prod(shape)
        header[name] = {'dtype': 'F32', 'shape': shape, 'data_offsets': [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, 'little') + text + bytes(at))


def prepare(folder, program, nvml=None):
    """Fills `folder`; gives the environment in which programs are to run there."""
    folder = pathlib.Path(folder)
    work, home, tools = folder / 'work', folder / 'home', folder / 'bin'
    for made in (work, home, tools, folder / 'run'):
        made.mkdir()
    os.chmod(folder / 'run', 0o700)
    os.symlink(program, tools / 'plimsoll')
    os.symlink(sys.executable, tools / 'python')
    if not shutil.which('jq'):
        write(tools / 'jq', f'#!{sys.executable}\nimport json, sys\njson.load(sys.stdin)\nprint("something")\n')
        os.chmod(tools / 'jq', 0o755)
    for source, name in (('tiny.onnx', 'tiny.onnx'), ('tiny.onnx', 'model.onnx'), ('oom.log', 'training.log'), ('oom.log', 'train.log'),
                         ('calibrated.json', 'monday.json'), ('calibrated_again.json', 'tuesday.json'),
                         ('traces/resnet50-b64-adam.json.gz', 'trace.json.gz'),
                         ('services/slo.csv', 'slo.csv'), ('services/models.csv', 'models.csv'), ('services/rows.csv', 'rows.csv'),
                         ('plan/trainings.toml', 'trainings.toml'), ('cluster/pods.csv', 'pods.csv'), ('cluster/nodes.csv', 'nodes.csv'),
                         ('swap/cameras.toml', 'cameras.toml')):
        shutil.copy(FIXTURES / source, work / name)
    subprocess.run(['gunzip', '-k', 'trace.json.gz'], cwd=work, check=True)
    write_weights(work / 'model.safetensors')
    write(work / 'train.py', TRAIN)
    write(work / 'jobs.toml', JOBS)
    write(work / 'night.toml', NIGHT)
    write(work / 'jobs.csv', 'Experiment,Workload,Command\nvision,sweep,python train.py\n')
    write(work / 'times.json', json.dumps({'setups': [{'name': 'a', 'times': [61, 64, 58, 66]}, {'name': 'b', 'times': [71, 70, 75, 79]}]}))
    write_mlruns(work / 'mlruns')
    write_registry(work / 'mlruns')
    # Nothing of the person's own settings, terminal or language.
    environment = {'PATH': f'{tools}:/usr/bin:/bin', 'HOME': str(home), 'LANG': 'C.UTF-8',
                   'XDG_RUNTIME_DIR': str(folder / 'run'),
                   'PLIMSOLL_ENGINE': str(FIXTURES / 'fake_engine.py'),
                   'PLIMSOLL_NVML_LIBRARY': str(nvml or '/nonexistent'),
                   'PLIMSOLL_QUEUE': str(folder / 'queue'),
                   'PLIMSOLL_FAKE_NVML': str(FIXTURES / 'two_gpus.txt')}
    for name in ('LD_LIBRARY_PATH', 'ASAN_OPTIONS', 'TMPDIR'):
        if name in os.environ:
            environment[name] = os.environ[name]
    subprocess.run([program, 'import-mlflow', 'mlruns', '--json'], cwd=work, env=environment, check=True,
                   stdout=subprocess.DEVNULL)
    return work, environment
