#!/usr/bin/env python3
"""Peak memory of DenseNet-121's inference in PyTorch, written as torchvision's module is: each layer joins its features in a
local variable. usage: densenet_peer.py BATCH…"""
import sys

import torch
from torch import nn


class Layer(nn.Module):
    def __init__(self, channels, growth=32, width=4):
        super().__init__()
        self.norm1, self.relu1 = nn.BatchNorm2d(channels), nn.ReLU(inplace=True)
        self.conv1 = nn.Conv2d(channels, width * growth, 1, bias=False)
        self.norm2, self.relu2 = nn.BatchNorm2d(width * growth), nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(width * growth, growth, 3, padding=1, bias=False)

    def bottleneck(self, inputs):
        joined = torch.cat(inputs, 1)
        return self.conv1(self.relu1(self.norm1(joined)))

    def forward(self, inputs):
        return self.conv2(self.relu2(self.norm2(self.bottleneck(inputs))))


class Block(nn.Module):
    def __init__(self, layers, channels):
        super().__init__()
        self.layers = nn.ModuleList(Layer(channels + 32 * i) for i in range(layers))

    def forward(self, x):
        features = [x]
        for layer in self.layers:
            features.append(layer(features))
        return torch.cat(features, 1)


class DenseNet(nn.Module):
    def __init__(self):
        super().__init__()
        parts = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)]
        channels = 64
        for i, layers in enumerate((6, 12, 24, 16)):
            parts.append(Block(layers, channels))
            channels += 32 * layers
            if i < 3:
                parts += [nn.Sequential(nn.BatchNorm2d(channels), nn.ReLU(inplace=True),
                                        nn.Conv2d(channels, channels // 2, 1, bias=False), nn.AvgPool2d(2, 2))]
                channels //= 2
        self.features = nn.Sequential(*parts, nn.BatchNorm2d(channels))
        self.classifier = nn.Linear(channels, 1000)

    def forward(self, x):
        out = torch.relu_(self.features(x))
        return self.classifier(torch.flatten(nn.functional.adaptive_avg_pool2d(out, 1), 1))


model = DenseNet().cuda().eval()
with torch.no_grad():
    for batch in map(int, sys.argv[1:]):
        x = torch.randn(batch, 3, 224, 224, device="cuda")
        for _ in range(2):
            y = model(x)
            del y
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        y = model(x)
        torch.cuda.synchronize()
        print("pytorch", batch, torch.cuda.max_memory_allocated(), flush=True)
        del x, y
        torch.cuda.empty_cache()
