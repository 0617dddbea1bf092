"""The same training in PyTorch: same first weights, same examples in the same order, same schedule."""
import gzip
import math

import numpy
import torch

FASHION = "/usr/share/datasets/fashion-mnist"
MASK = (1 << 64) - 1


def mixed(z):
    z = (z + 0x9e3779b97f4a7c15) & MASK
    z = ((z ^ (z >> 30)) * 0xbf58476d1ce4e5b9) & MASK
    z = ((z ^ (z >> 27)) * 0x94d049bb133111eb) & MASK
    return z ^ (z >> 31)


def shuffled(count, seed, epoch):
    """As src/dataset/split.hpp has it: SplitMix64, and Fisher and Yates from the end."""
    state, order = mixed(mixed(mixed(seed) ^ epoch)), list(range(count))
    for i in range(count, 1, -1):
        state = (state + 0x9e3779b97f4a7c15) & MASK
        j = (mixed(state) * i) >> 64
        order[i - 1], order[j] = order[j], order[i - 1]
    return order


def some_of(count, most, seed):
    """Numbers of the examples that --examples takes."""
    return list(range(count)) if most >= count else sorted(shuffled(count, seed, (1 << 62) + 1)[:most])


def fashion(part):
    """Images, bytes, and labels of "train" or "t10k"."""
    with gzip.open(f"{FASHION}/{part}-images-idx3-ubyte.gz") as file:
        images = torch.from_numpy(numpy.frombuffer(file.read(), numpy.uint8, offset=16).copy()).reshape(-1, 1, 28, 28)
    with gzip.open(f"{FASHION}/{part}-labels-idx1-ubyte.gz") as file:
        labels = torch.from_numpy(numpy.frombuffer(file.read(), numpy.uint8, offset=8).astype(numpy.int64))
    return images, labels


def lenet():
    nn = torch.nn
    return nn.Sequential(nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(),
                         nn.MaxPool2d(2), nn.Flatten(), nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(),
                         nn.Linear(84, 10))


class Block(torch.nn.Module):
    def __init__(self, inside, out, stride):
        super().__init__()
        nn = torch.nn
        self.conv1, self.bn1 = nn.Conv2d(inside, out, 3, stride, 1, bias=False), nn.BatchNorm2d(out)
        self.conv2, self.bn2 = nn.Conv2d(out, out, 3, 1, 1, bias=False), nn.BatchNorm2d(out)
        self.short = nn.Identity() if stride == 1 and inside == out else nn.Sequential(
            nn.Conv2d(inside, out, 1, stride, bias=False), nn.BatchNorm2d(out))

    def forward(self, x):
        y = self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x)))))
        return torch.relu(y + self.short(x))


class ResNet18(torch.nn.Module):
    """As for small images: a first convolution of 3 x 3 that keeps the size, no pooling behind it."""

    def __init__(self, width=64):
        super().__init__()
        nn = torch.nn
        self.conv, self.bn = nn.Conv2d(1, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width)
        blocks, inside = [], width
        for stage in range(4):
            for i in range(2):
                blocks.append(Block(inside, width << stage, 2 if stage > 0 and i == 0 else 1))
                inside = width << stage
        self.blocks, self.head = nn.Sequential(*blocks), nn.Linear(inside, 10)

    def forward(self, x):
        return self.head(self.blocks(torch.relu(self.bn(self.conv(x)))).mean((2, 3)))


class Attention(torch.nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.scale = heads, (width // heads) ** -0.5
        self.query, self.key = torch.nn.Linear(width, width), torch.nn.Linear(width, width)
        self.value, self.out = torch.nn.Linear(width, width), torch.nn.Linear(width, width)

    def forward(self, x):
        batch, tokens, width = x.shape
        split = lambda y: y.reshape(batch, tokens, self.heads, width // self.heads).transpose(1, 2)
        scores = torch.softmax(split(self.query(x)) @ split(self.key(x)).transpose(2, 3) * self.scale, -1)
        return self.out((scores @ split(self.value(x))).transpose(1, 2).reshape(batch, tokens, width))


class Layer(torch.nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        nn = torch.nn
        self.norm1, self.attention, self.norm2 = nn.LayerNorm(width), Attention(width, heads), nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class VisionTransformer(torch.nn.Module):
    """Patches of 4 x 4; the mean over all tokens is classified."""

    def __init__(self, width=64, depth=4, heads=4):
        super().__init__()
        nn = torch.nn
        self.patches, self.positions = nn.Conv2d(1, width, 4, 4), nn.Parameter(torch.randn(1, 49, width) * 0.02)
        self.layers = nn.Sequential(*(Layer(width, heads) for _ in range(depth)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 10)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2) + self.positions
        return self.head(self.norm(self.layers(x)).mean(1))


def export(module, path, batch, side=28):
    """With its weights; as it trains."""
    state = {name: value.clone() for name, value in module.state_dict().items()}
    torch.onnx.export(module.train(), torch.randn(batch, 1, side, side), str(path), opset_version=15, do_constant_folding=False,
                      input_names=["input"], training=torch.onnx.TrainingMode.TRAINING)
    module.load_state_dict(state)  # exporting runs the module, which moves a normalisation's statistics


def learn(module, examples, test, *, epochs, batch, rate, seed, most, optimizer="adamw"):
    """With a cosine over all steps. Losses by step and accuracies by epoch."""
    images, labels = examples
    mean, deviation = (images / 255.0).double().mean().item(), (images / 255.0).double().std(unbiased=False).item()
    ready = lambda x: (x / 255.0 - mean) / deviation
    chosen = torch.tensor(some_of(len(images), most, seed))
    steps = epochs * (len(chosen) // batch)
    optimizer = {"adamw": lambda p: torch.optim.AdamW(p, lr=rate, weight_decay=0.01),
                 "momentum": lambda p: torch.optim.SGD(p, lr=rate, momentum=0.9)}[optimizer](module.parameters())
    losses, accuracies = [], []
    for epoch in range(epochs):
        module.train()
        order = torch.tensor(shuffled(len(chosen), seed, epoch))
        for b in range(len(chosen) // batch):
            optimizer.param_groups[0]["lr"] = rate / 2 * (1 + math.cos(math.pi * len(losses) / steps))
            which = chosen[order[b * batch:(b + 1) * batch]]
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(module(ready(images[which])), labels[which])
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        module.eval()
        with torch.no_grad():
            right = sum((module(ready(test[0][i:i + 500])).argmax(1) == test[1][i:i + 500]).sum().item()
                        for i in range(0, len(test[0]), 500))
        accuracies.append(right / len(test[0]))
    return losses, accuracies
