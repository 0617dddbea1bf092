#!/usr/bin/env python3
"""Workloads that share one GPU, measured: each alone and in groups, naively, under MPS and with caps; and a service.

usage: beside_groups.py OUT.jsonl

Needs an NVIDIA GPU, PyTorch, torchvision, transformers and MPS's control program. Each workload is a process of its own that
stays and runs windows when it is told to: trainings eagerly (SGD with momentum, a wait at the end of each step), inference as a
replayed CUDA graph (a wait every few milliseconds), a service as replays at times that a Poisson process gives. cudnn.benchmark is on.
The rows are as in docs/beside.md; bench/beside_truth.py compares them with `plimsoll beside`. Nothing of the GPU's settings is changed.
"""
import ctypes, json, os, random, subprocess, sys, time

WINDOW = 1.6  # s
WORKLOADS = {  # name: model, mode, batch, precision, sequence; none of them among those that figures were found with
    'resnet18/train/b64/fp32': ('resnet18', 'train', 64, 'fp32', None),
    'densenet121/train/b32/fp32': ('densenet121', 'train', 32, 'fp32', None),
    'alexnet/train/b256/fp32': ('alexnet', 'train', 256, 'fp32', None),
    'resnext50_32x4d/train/b32/fp32': ('resnext50_32x4d', 'train', 32, 'fp32', None),
    'vgg11/train/b64/amp': ('vgg11', 'train', 64, 'amp-bf16', None),
    'wide_resnet50_2/train/b64/fp32': ('wide_resnet50_2', 'train', 64, 'fp32', None),
    'bert_large/train/b16/amp': ('bert_large', 'train', 16, 'amp-bf16', 128),
    'mobilenet_v3_large/infer/b8/fp32': ('mobilenet_v3_large', 'infer', 8, 'fp32', None),
    'resnet34/infer/b4/fp32': ('resnet34', 'infer', 4, 'fp32', None),
    'gpt2_medium/infer/b2/bf16': ('gpt2_medium', 'infer', 2, 'bf16', 512),
    'vit_b_16/infer/b32/bf16': ('vit_b_16', 'infer', 32, 'bf16', None),
}
R18, DEN, ALEX, RNX, VGG, WIDE, BL, MOB, R34, GPT, VIT = WORKLOADS
GROUPS = [[WIDE, ALEX], [R18, DEN], [VGG, VIT], [WIDE, MOB], [BL, R34], [ALEX, GPT], [RNX, VIT], [WIDE, VIT, GPT], [R18, ALEX, BL],
          [DEN, VGG, VIT, MOB], [R18, DEN, RNX, BL, R34], [R18, ALEX, WIDE, VIT, GPT, MOB]]
CAPPED = [([WIDE, MOB], [70, 30]), ([ALEX, VIT], [50, 50]), ([VGG, GPT], [40, 60]), ([WIDE, R34, VIT], [50, 20, 30])]
SERVICES = [(R34, 100.0, [WIDE]), (MOB, 100.0, [ALEX]), (GPT, 60.0, [VIT])]  # requests a second beside the others


def worker(name):
    import torch
    torch.backends.cudnn.benchmark = True
    model_name, mode, batch, precision, seq = WORKLOADS[name]
    device = 'cuda'
    torch.manual_seed(0)
    if seq:
        import transformers
        make = {'bert_large': lambda: transformers.BertModel(transformers.BertConfig(hidden_size=1024, num_hidden_layers=24, num_attention_heads=16,
                    intermediate_size=4096, hidden_dropout_prob=0, attention_probs_dropout_prob=0)),
                'gpt2_medium': lambda: transformers.GPT2Model(transformers.GPT2Config(n_embd=1024, n_layer=24, n_head=16, resid_pdrop=0, embd_pdrop=0,
                    attn_pdrop=0, use_cache=False))}[model_name]
        net = make().to(device)
        x = torch.randint(0, 1000, (batch, seq), device=device)
        first = lambda out: out[0]
    else:
        import torchvision
        net = getattr(torchvision.models, model_name)(weights=None).to(device)
        x = torch.randn(batch, 3, 224, 224, device=device)
        first = lambda out: out
    replays = 1
    if mode == 'train':
        net.train()
        optimizer = torch.optim.SGD(net.parameters(), lr=1e-4, momentum=0.9)
        target = torch.randint(0, 1000, (batch,), device=device)
        def step():
            optimizer.zero_grad(set_to_none=True)
            with torch.autocast('cuda', torch.bfloat16, enabled=precision == 'amp-bf16'):
                out = first(net(x))
                loss = out.float().square().mean() if seq else torch.nn.functional.cross_entropy(out, target)
            loss.backward()
            optimizer.step()
        for _ in range(4):
            step()
        torch.cuda.synchronize()
    else:
        net.eval()
        if precision == 'bf16':
            net = net.to(torch.bfloat16)
            x = x if seq else x.to(torch.bfloat16)
        with torch.no_grad():
            side = torch.cuda.Stream()
            with torch.cuda.stream(side):
                for _ in range(4):
                    net(x)
            torch.cuda.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                net(x)
        step = graph.replay
        step(); torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(10):
            step()
        torch.cuda.synchronize()
        replays = max(1, -(-4e-3 // ((time.perf_counter() - begin) / 10)))
    print(json.dumps({'ready': name, 'reserved': torch.cuda.memory_reserved()}), flush=True)
    for line in sys.stdin:
        order = json.loads(line)
        while time.monotonic() < order['begin']:
            time.sleep(1e-4)
        if order.get('rate'):
            latencies = serve(step, order, torch)
            print(json.dumps({'latencies': latencies}), flush=True)
            continue
        steps, begin = 0, time.monotonic()
        while time.monotonic() < order['end']:
            for _ in range(int(replays)):
                step()
            torch.cuda.synchronize()
            steps += int(replays)
        print(json.dumps({'steps_per_second': steps / (time.monotonic() - begin)}), flush=True)


def serve(step, order, torch):
    """Requests come when a Poisson process says; each is replayed and waited for, one after the other."""
    draw, arrival, latencies = random.Random(1), time.monotonic(), []
    while arrival < order['end']:
        arrival += draw.expovariate(order['rate'])
        while time.monotonic() < arrival:
            pass
        step()
        torch.cuda.synchronize()
        latencies.append(time.monotonic() - arrival)
    return latencies


class Activity:
    """What NVML's GPM and its power counter say of the whole GPU between two moments."""
    class Metric(ctypes.Structure):
        _fields_ = [('id', ctypes.c_uint), ('status', ctypes.c_int), ('value', ctypes.c_double), ('names', ctypes.c_char_p * 3)]
    class Metrics(ctypes.Structure):
        pass
    Metrics._fields_ = [('version', ctypes.c_uint), ('count', ctypes.c_uint), ('begin', ctypes.c_void_p), ('end', ctypes.c_void_p), ('metrics', Metric * 512)]
    NAMES = {1: 'gract', 2: 'smact', 3: 'occupancy', 5: 'tensor', 10: 'dram'}

    def __init__(self):
        self.nvml = ctypes.CDLL('libnvidia-ml.so.1')
        self.nvml.nvmlInit_v2()
        self.device = ctypes.c_void_p()
        self.nvml.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(self.device))
        self.samples = [ctypes.c_void_p(), ctypes.c_void_p()]
        for sample in self.samples:
            self.nvml.nvmlGpmSampleAlloc(ctypes.byref(sample))

    def joules(self):
        value = ctypes.c_ulonglong()
        self.nvml.nvmlDeviceGetTotalEnergyConsumption(self.device, ctypes.byref(value))
        return value.value / 1e3

    def between(self, begin, end):
        self.wait(begin + 0.25); self.nvml.nvmlGpmSampleGet(self.device, self.samples[0]); before, at = self.joules(), time.monotonic()
        self.wait(end - 0.1); self.nvml.nvmlGpmSampleGet(self.device, self.samples[1]); after, until = self.joules(), time.monotonic()
        asked = self.Metrics(version=1, count=len(self.NAMES), begin=self.samples[0], end=self.samples[1])
        for i, key in enumerate(self.NAMES):
            asked.metrics[i].id = key
        status = self.nvml.nvmlGpmMetricsGet(ctypes.byref(asked))
        found = {} if status else {name: asked.metrics[i].value / 100 for i, name in enumerate(self.NAMES.values())}
        return {**found, 'watts': (after - before) / (until - at)}

    @staticmethod
    def wait(until):
        time.sleep(max(0, until - time.monotonic()))


class Crew:
    def __init__(self, names, env=(), caps=()):
        self.processes = {}
        for i, name in enumerate(names):
            more = dict(env)
            if caps:
                more['CUDA_MPS_ACTIVE_THREAD_PERCENTAGE'] = str(caps[i])
            self.processes[name] = subprocess.Popen([sys.executable, __file__, '--worker', name], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                                    text=True, env={**os.environ, **more})
        self.reserved = {n: json.loads(p.stdout.readline())['reserved'] for n, p in self.processes.items()}

    def window(self, names, activity, seconds=WINDOW, rates=None):
        begin = time.monotonic() + 0.1
        for name in names:
            order = {'begin': begin, 'end': begin + seconds, 'rate': (rates or {}).get(name)}
            self.processes[name].stdin.write(json.dumps(order) + '\n'); self.processes[name].stdin.flush()
        seen = activity.between(begin, begin + seconds)
        return [json.loads(self.processes[n].stdout.readline()) for n in names], seen

    def end(self):
        for process in self.processes.values():
            process.kill(); process.wait()


def described(name):
    model, mode, batch, precision, seq = WORKLOADS[name]
    row = {'workload': name, 'model': model, 'mode': mode, 'batch': batch, 'precision': precision}
    if seq:
        row['seq'] = seq
    return {**row, 'optimizer': 'momentum'} if mode == 'train' else {**row, 'captured': True}


def main(path):
    activity, out = Activity(), open(path, 'w')
    def write(row):
        out.write(json.dumps(row) + '\n'); out.flush()
        print({k: v for k, v in row.items() if k in ('kind', 'sharing', 'caps', 'cap', 'workload', 'workloads', 'speed', 'service', 'p99', 'median')}, flush=True)
    best, alone_seen = {}, {}
    def alone(crew, sharing, rounds):
        for name in WORKLOADS:
            windows = []
            for _ in range(rounds):
                (result,), seen = crew.window([name], activity)
                windows.append((result['steps_per_second'], seen))
            windows.sort(key=lambda w: w[0])
            rate, seen = windows[-1]
            if sharing == 'exclusive':
                best[name] = rate
            alone_seen[name, sharing] = (windows[0][0], rate)
            steady = windows[0][0] > 0.95 * rate and seen.get('gract', 0) >= 0.8 if sharing == 'exclusive' else alone_seen[name, 'steady']
            if sharing == 'exclusive':
                alone_seen[name, 'steady'] = steady
            write({'kind': 'alone', 'sharing': sharing, 'cap': None, **described(name), 'steps_per_second': rate, 'slowest': windows[0][0],
                   'best_alone': best[name], 'speed': rate / best[name], 'steady': steady, 'reserved_bytes': crew.reserved[name], **seen})
    def together(crew, sharing, names, caps=None):
        results, seen = crew.window(names, activity)
        rates = [r['steps_per_second'] for r in results]
        write({'kind': 'beside', 'sharing': sharing, 'workloads': names, 'caps': caps, 'steps_per_second': rates,
               'speed': [r / best[n] for r, n in zip(rates, names)], 'steady': all(alone_seen[n, 'steady'] for n in names), **seen})
    def service(crew, sharing, name, rate, others):
        for beside in ([], others):
            results, _ = crew.window([name] + beside, activity, seconds=4, rates={name: rate})
            latencies = sorted(results[0]['latencies'])
            write({'kind': 'service', 'sharing': sharing, 'service': name, 'rate': rate, 'workloads': [name] + beside, 'requests': len(latencies),
                   'median': latencies[len(latencies) // 2], 'p99': latencies[int(0.99 * (len(latencies) - 1))],
                   'speed': [r['steps_per_second'] / best[n] for r, n in zip(results[1:], beside)]})
    crew = Crew(WORKLOADS)
    try:
        alone(crew, 'exclusive', 2)
        for names in GROUPS:
            together(crew, 'naive', names)
        for name, rate, others in SERVICES:
            service(crew, 'naive', name, rate, others)
    finally:
        crew.end()
    folder = '/tmp/beside-mps'
    for part in ('pipe', 'log'):
        os.makedirs(f'{folder}/{part}', exist_ok=True)
    env = {'CUDA_MPS_PIPE_DIRECTORY': f'{folder}/pipe', 'CUDA_MPS_LOG_DIRECTORY': f'{folder}/log'}
    subprocess.run(['nvidia-cuda-mps-control', '-d'], env={**os.environ, **env}, check=True)
    try:
        crew = Crew(WORKLOADS, env)
        try:
            alone(crew, 'mps', 1)
            for names in GROUPS:
                together(crew, 'mps', names)
            for name, rate, others in SERVICES:
                service(crew, 'mps', name, rate, others)
        finally:
            crew.end()
        for names, caps in CAPPED:
            crew = Crew(names, env, caps)
            try:
                together(crew, 'mps', names, caps)
            finally:
                crew.end()
    finally:
        subprocess.run(['nvidia-cuda-mps-control'], input='quit\n', text=True, env={**os.environ, **env})


if __name__ == '__main__':
    if sys.argv[1] == '--worker':
        worker(sys.argv[2])
    else:
        main(sys.argv[1])
