#!/usr/bin/env python3
"""What models that are trained together save, on tasks made from Fashion-MNIST: two families of networks in two depths each, four models a family.

usage: /usr/bin/python3 bench/merge_study.py PLIMSOLL ENGINE OUT [--images 12000] [--seeds 2] [--families vgg,resnet] [--widths 1]
           [--methods plimsoll,greedy,all-at-once,stem] [--target 0.99] [--epochs 16] [--device cpu] [--threads 1] [--lr 1e-3] [--minutes N]

Tasks: ten classes; footwear or not; tops or not; turned by 90 degrees; inverted; shapes that are drawn. Each model is trained alone until its accuracy on 2,000
images that it does not learn from has not risen for three epochs, with a seed of its own. `plimsoll merge --data` decides by those same 2,000 images;
what is told here is of 4,000 others. --widths 0.25 makes networks with a quarter of the channels, of which nothing is to spare. What has been trained, and
every merge that has ended, stands in OUT and is not done again; after --minutes no other is begun. The table goes to OUT/table.txt, rows to OUT/rows.jsonl.
Needs python3's torch and onnx, and dataset-fashion-mnist.
"""
import argparse
import gzip
import json
import os
import pathlib
import subprocess
import sys
import time

import numpy
import onnx
import torch
from onnx import numpy_helper

FASHION = pathlib.Path('/usr/share/datasets/fashion-mnist')
FOOTWEAR, TOPS = (5, 7, 9), (0, 2, 4, 6)
TASKS = {'vgg': [('shallow', 'ten'), ('shallow', 'shapes'), ('deep', 'turned'), ('deep', 'footwear')],
         'resnet': [('shallow', 'inverted'), ('shallow', 'tops'), ('deep', 'ten'), ('deep', 'shapes')]}
TASKS |= {f'{family}-pair': [tasks[0], tasks[2]] for family, tasks in TASKS.items()}  # across depths alone
VALIDATION, HELD_OUT, MOST_EPOCHS, PATIENCE, BATCH = 2000, 4000, 20, 3, 64


def idx(name):
    data = gzip.open(FASHION / (name + '.gz'), 'rb').read()
    dims = [int.from_bytes(data[4 + 4 * i:8 + 4 * i], 'big') for i in range(data[3])]
    return numpy.frombuffer(data, numpy.uint8, offset=4 + 4 * len(dims)).reshape(dims)


def shapes(count, seed):
    """Six kinds of outlines and fillings, anywhere, in noise."""
    rng = numpy.random.default_rng(seed)
    y, x = numpy.mgrid[:28, :28]
    images, labels = numpy.zeros((count, 28, 28), numpy.uint8), rng.integers(0, 6, count)
    for image, label in zip(images, labels):
        r, cy, cx = rng.uniform(4, 9), rng.uniform(10, 18), rng.uniform(10, 18)
        square, round_ = numpy.maximum(abs(y - cy), abs(x - cx)), numpy.hypot(y - cy, x - cx)
        diamond = abs(y - cy) + abs(x - cx)
        distance = (square, round_, diamond)[label % 3]
        inside = distance < r if label < 3 else abs(distance - r) < 1.2
        image[:] = numpy.clip(inside * rng.uniform(90, 200) + rng.normal(40, 30, (28, 28)), 0, 255)
    return images, labels


def of_task(task, images, labels, seed):
    if task == 'shapes':
        return shapes(len(images), seed)
    if task == 'footwear':
        labels = numpy.isin(labels, FOOTWEAR)
    elif task == 'tops':
        labels = numpy.isin(labels, TOPS)
    elif task == 'turned':
        images = numpy.rot90(images, axes=(1, 2))
    elif task == 'inverted':
        images = 255 - images
    return images, labels.astype(numpy.int64)


def splits(task, count, seed):
    """To learn from, to decide by, to tell by: images and labels of each."""
    images, labels = idx('train-images-idx3-ubyte'), idx('train-labels-idx1-ubyte')
    order = numpy.random.default_rng(1000 + seed).permutation(len(images))
    learn, decide = order[:count], order[-VALIDATION:]
    held, held_labels = idx('t10k-images-idx3-ubyte')[:HELD_OUT], idx('t10k-labels-idx1-ubyte')[:HELD_OUT]
    return [of_task(task, a, b, 10 * seed + i) for i, (a, b) in
            enumerate([(images[learn], labels[learn]), (images[decide], labels[decide]), (held, held_labels)])]


class Vgg(torch.nn.Module):
    def __init__(self, depth, classes, width):
        super().__init__()
        a, b, hidden = max(4, int(32 * width)), max(4, int(64 * width)), max(16, int(256 * width))
        twice = 1 if depth == 'shallow' else 2
        conv = lambda i, o: torch.nn.Conv2d(i, o, 3, padding=1)
        self.first = torch.nn.ModuleList([conv(1, a)] + [conv(a, a) for _ in range(twice)])
        self.second = torch.nn.ModuleList([conv(a, b)] + [conv(b, b) for _ in range(twice)])
        self.hidden, self.more = torch.nn.Linear(49 * b, hidden), torch.nn.Linear(hidden, hidden)
        self.head = torch.nn.Linear(hidden, classes)

    def forward(self, x):
        for stage in (self.first, self.second):
            for layer in stage:
                x = torch.relu(layer(x))
            x = torch.nn.functional.max_pool2d(x, 2)
        return self.head(torch.relu(self.more(torch.relu(self.hidden(x.flatten(1))))))


class Block(torch.nn.Module):
    def __init__(self, i, o, stride):
        super().__init__()
        self.one, self.norm1 = torch.nn.Conv2d(i, o, 3, stride, 1, bias=False), torch.nn.BatchNorm2d(o)
        self.two, self.norm2 = torch.nn.Conv2d(o, o, 3, 1, 1, bias=False), torch.nn.BatchNorm2d(o)
        self.short = torch.nn.Conv2d(i, o, 1, stride, bias=False) if stride > 1 or i != o else None

    def forward(self, x):
        out = self.norm2(self.two(torch.relu(self.norm1(self.one(x)))))
        return torch.relu(out + (x if self.short is None else self.short(x)))


class ResNet(torch.nn.Module):
    def __init__(self, depth, classes, width):
        super().__init__()
        sizes, blocks = [max(4, int(c * width)) for c in (16, 32, 64)], 1 if depth == 'shallow' else 2
        self.stem, self.norm = torch.nn.Conv2d(1, sizes[0], 3, 2, 1, bias=False), torch.nn.BatchNorm2d(sizes[0])
        layers, before = [], sizes[0]
        for stage, size in enumerate(sizes):
            for block in range(blocks):
                layers.append(Block(before, size, 2 if stage > 0 and block == 0 else 1))
                before = size
        self.blocks, self.head = torch.nn.Sequential(*layers), torch.nn.Linear(before, classes)

    def forward(self, x):
        return self.head(self.blocks(torch.relu(self.norm(self.stem(x)))).mean((2, 3)))


FAMILIES = {'vgg': Vgg, 'resnet': ResNet}


def accuracy(network, images, labels):
    network.eval()
    with torch.no_grad():
        hits = [(network(torch.tensor(numpy.ascontiguousarray(images[at:at + 500]))[:, None].float() / 255).argmax(1)
                 == torch.from_numpy(labels[at:at + 500])).sum().item() for at in range(0, len(images), 500)]
    return sum(hits) / len(images)


def trained(network, data):
    """Until it has not become better for some epochs; the best."""
    (images, labels), decide, _ = data
    optimizer = torch.optim.Adam(network.parameters(), lr=2e-3)
    best, best_state, since, epochs = 0, None, 0, 0
    while since < PATIENCE and epochs < MOST_EPOCHS:
        network.train()
        order = numpy.random.permutation(len(images))
        for at in range(0, len(images) - BATCH + 1, BATCH):
            chosen = order[at:at + BATCH]
            optimizer.zero_grad()
            x = torch.from_numpy(images[chosen])[:, None].float() / 255
            torch.nn.functional.cross_entropy(network(x), torch.from_numpy(labels[chosen])).backward()
            optimizer.step()
        epochs, since, now = epochs + 1, since + 1, accuracy(network, *decide)
        if now > best:
            best, best_state, since = now, {k: v.clone() for k, v in network.state_dict().items()}, 0
    network.load_state_dict(best_state)
    return epochs


def keep_weights(path, state):
    """The export runs the network once in training mode: statistics of normalisations are put right."""
    model = onnx.load(str(path))
    for tensor in model.graph.initializer:
        if tensor.name in state:
            tensor.CopyFrom(numpy_helper.from_array(state[tensor.name].numpy(), tensor.name))
    onnx.save(model, str(path))


def baseline(folder, family, depth, task, width, seed, asked):
    """An ONNX file with what was learned, its data, and its accuracies; made once."""
    told = folder / 'alone.json'
    if told.exists():
        return json.loads(told.read_text())
    folder.mkdir(parents=True, exist_ok=True)
    data = splits(task, asked.images, seed)
    torch.manual_seed(seed)
    numpy.random.seed(seed)
    network = FAMILIES[family.removesuffix('-pair')](depth, int(data[0][1].max()) + 1, width)
    epochs = trained(network, data)
    out = {'family': family, 'depth': depth, 'task': task, 'width': width, 'seed': seed, 'epochs': epochs,
           'decide': accuracy(network, *data[1]), 'held_out': accuracy(network, *data[2])}
    for name, (images, labels) in zip(('x', 'tx'), data):
        numpy.save(folder / f'{name}.npy', numpy.ascontiguousarray(images)[:, None])
        numpy.save(folder / f"{name.replace('x', 'y')}.npy", labels)
    state = {key: value.clone() for key, value in network.state_dict().items()}
    torch.onnx.export(network, torch.rand(2, 1, 28, 28), str(folder / 'model.onnx'), opset_version=15, do_constant_folding=False,
                      input_names=['input'], dynamic_axes={'input': {0: 'batch'}}, training=torch.onnx.TrainingMode.TRAINING)
    keep_weights(folder / 'model.onnx', state)
    told.write_text(json.dumps(out))
    print(f"{family} {depth} {task}: {100 * out['held_out']:.2f} % after {epochs} epochs", flush=True)
    return out


def held_out_of(path, family, depth, task, width, seed, asked):
    """What a merged file's weights come to, in PyTorch, on images that nothing was decided by."""
    _, _, (images, labels) = splits(task, asked.images, seed)
    weights = {tensor.name: numpy_helper.to_array(tensor) for tensor in onnx.load(str(path)).graph.initializer}
    classes = weights['head.bias'].shape[0]
    network = FAMILIES[family.removesuffix('-pair')](depth, classes, width)
    state = network.state_dict()
    missing = [key for key in state if key not in weights and not key.endswith('num_batches_tracked')]
    if missing:
        sys.exit(f'{path}: no {missing[0]}')
    network.load_state_dict({key: torch.tensor(weights[key]) if key in weights else value for key, value in state.items()})
    return accuracy(network, images, labels)


def merge(asked, folder, family, width, seed, method, alone, models):
    """One merge; its row, made once."""
    done = folder / f'{method}.json'
    if done.exists():
        return json.loads(done.read_text())
    tasks = ''.join(f'[[task]]\nmodel = "{m}"\ndata = "{m.parent / "x.npy"}"\nlabels = "{m.parent / "y.npy"}"\n'
                    f'test = "{m.parent / "tx.npy"}"\ntest-labels = "{m.parent / "ty.npy"}"\n' for m in models)
    (folder / 'tasks.toml').write_text(tasks)
    output = folder / method
    words = [asked.plimsoll, 'merge', *map(str, models), '--data', str(folder / 'tasks.toml'), '--method', method, '--output', str(output), '--target',
             str(asked.target), '--epochs', str(asked.epochs), '--batch', str(BATCH), '--optimizer', 'adam', '--lr', str(asked.lr), '--seed', str(seed),
             '--device', asked.device, '--threads', str(asked.threads), '--json']
    began = time.time()
    ran = subprocess.run(words, capture_output=True, text=True, env={**os.environ, 'PLIMSOLL_ENGINE': asked.engine})
    if ran.returncode not in (0, 1):
        sys.exit(' '.join(words) + '\n' + ran.stderr[-3000:])
    told = json.loads(ran.stdout)
    training = told['training']
    apart = told['plan']['apart_bytes']
    # A merge in which nothing held writes nothing: every model is what it was.
    written = json.loads((output / 'manifest.json').read_text())['models'] if (output / 'manifest.json').exists() else []
    held = [a['held_out'] for a in alone]
    for i, file in enumerate(written):
        held[i] = held_out_of(output / file['file'], family, alone[i]['depth'], alone[i]['task'], width, alone[i]['seed'], asked)
    worst = min(now / a['held_out'] for now, a in zip(held, alone))
    row = {'family': family, 'width': width, 'seed': seed, 'method': method, 'saved': training['saved_bytes'] / apart,
           'ceiling': told['ceiling']['saved_share'], 'stem': told['stem']['saved_share'], 'epochs': training['epochs'],
           'trials': len(training['trials']), 'worst_decided': min(m['accuracy'] / m['own_accuracy'] for m in training['models']),
           'worst_held_out': worst, 'seconds': time.time() - began}
    done.write_text(json.dumps(row))
    return row


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('plimsoll', type=lambda p: str(pathlib.Path(p).resolve()))
    parser.add_argument('engine', type=lambda p: str(pathlib.Path(p).resolve()))
    parser.add_argument('out', type=pathlib.Path)
    parser.add_argument('--images', type=int, default=12000)
    parser.add_argument('--seeds', type=int, default=2)
    parser.add_argument('--families', default='vgg,resnet')
    parser.add_argument('--widths', default='1')
    parser.add_argument('--methods', default='plimsoll,greedy,all-at-once,stem')
    parser.add_argument('--target', type=float, default=0.99)
    parser.add_argument('--epochs', type=int, default=16)
    parser.add_argument('--lr', type=float, default=1e-3)
    parser.add_argument('--device', default='cpu')
    parser.add_argument('--threads', type=int, default=1)
    parser.add_argument('--minutes', type=float, default=1e9)
    asked = parser.parse_args()
    torch.set_num_threads(asked.threads)
    asked.out.mkdir(parents=True, exist_ok=True)
    asked.out = asked.out.resolve()
    began, rows, cut = time.time(), [], False
    for seed in range(asked.seeds):
        for width in map(float, asked.widths.split(',')):
            for family in asked.families.split(','):
                folder = asked.out / f'{family}-{width:g}-{seed}'
                names = [f'{depth}-{task}' for depth, task in TASKS[family]]
                if time.time() - began > 60 * asked.minutes:
                    cut = True
                    continue
                alone = [baseline(folder / name, family, depth, task, width, 100 * seed + i, asked)
                         for i, (name, (depth, task)) in enumerate(zip(names, TASKS[family]))]
                models = [folder / name / 'model.onnx' for name in names]
                for method in asked.methods.split(','):
                    if time.time() - began > 60 * asked.minutes and not (folder / f'{method}.json').exists():
                        cut = True
                        continue
                    rows.append(merge(asked, folder, family, width, seed, method, alone, models))
                    print(json.dumps(rows[-1]), flush=True)
    (asked.out / 'rows.jsonl').write_text(''.join(json.dumps(row) + '\n' for row in rows))
    lines = [f"{'family':<8}{'width':>6}{'seed':>5}  {'method':<12}{'saved':>8}{'ceiling':>9}{'stem':>7}{'epochs':>8}{'trials':>8}{'worst task':>12}{'held out':>10}"]
    for row in rows:
        lines.append(f"{row['family']:<8}{row['width']:>6g}{row['seed']:>5}  {row['method']:<12}{100 * row['saved']:>6.1f} %{100 * row['ceiling']:>7.1f} %"
                     f"{100 * row['stem']:>5.1f} %{row['epochs']:>8}{row['trials']:>8}{100 * row['worst_decided']:>10.2f} %{100 * row['worst_held_out']:>8.2f} %")
    (asked.out / 'table.txt').write_text('\n'.join(lines) + '\n')
    print('\n'.join(lines))
    if cut:
        print('not all was begun: call it again')


if __name__ == '__main__':
    main()
