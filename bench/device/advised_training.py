#!/usr/bin/env python3
"""A training on made-up images whose setting can be poor in several ways, for `plimsoll advise --try`.

usage: advised_training.py [--network resnet50] [--side 224] [--batch 128] [--workers 8] [--costly-input] [--pinned] [--precision fp32|bf16]
       [--layout contiguous|channels-last] [--fused] [--captured] [--resident] [--seconds 40] [--device cuda]

Prints a point of its loss with every tenth step, which is what `plimsoll advise` counts steps by.
"""
import argparse
import contextlib
import time

import torch
import torchvision


class Images(torch.utils.data.Dataset):
    """Drawn anew each time; a costly one is made larger, filtered and made smaller again, as augmentation does."""

    def __init__(self, side, costly):
        self.side, self.costly = side, costly

    def __len__(self):
        return 1 << 20

    def __getitem__(self, number):
        generator = torch.Generator().manual_seed(number)
        image = torch.rand(3, self.side, self.side, generator=generator)
        if self.costly:
            image = torch.nn.functional.interpolate(image[None], scale_factor=3.0, mode="bicubic")
            image = torch.nn.functional.avg_pool2d(image, 3)[0]
        return image, number % 1000


def batches(options):
    if options.resident:  # made once: nothing but the GPU works
        images = torch.rand(options.batch, 3, options.side, options.side, device=options.device)
        labels = torch.randint(1000, (options.batch,), device=options.device)
        while True:
            yield images, labels
    loader = torch.utils.data.DataLoader(Images(options.side, options.costly_input), options.batch, num_workers=options.workers,
                                         pin_memory=options.pinned, drop_last=True, worker_init_fn=lambda _: torch.set_num_threads(1))
    for images, labels in loader:
        yield (images.to(options.device, non_blocking=options.pinned), labels.to(options.device, non_blocking=options.pinned))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--network", default="resnet50")
    parser.add_argument("--side", type=int, default=224)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--precision", choices=("fp32", "bf16"), default="fp32")
    parser.add_argument("--layout", choices=("contiguous", "channels-last"), default="contiguous")
    parser.add_argument("--seconds", type=float, default=40)
    parser.add_argument("--device", default="cuda")
    for flag in ("--costly-input", "--pinned", "--fused", "--captured", "--resident"):
        parser.add_argument(flag, action="store_true")
    options = parser.parse_args()
    torch.manual_seed(1)
    torch.set_num_threads(1)
    # Plain FP32 as it was asked for: no TF32, which PyTorch takes in convolutions.
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    layout = torch.channels_last if options.layout == "channels-last" else torch.contiguous_format
    model = getattr(torchvision.models, options.network)().to(options.device, memory_format=layout)
    optimizer = torch.optim.SGD(model.parameters(), 0.01, 0.9, **({"fused": True} if options.fused else {}))
    kind = torch.device(options.device).type
    autocast = lambda: torch.autocast(kind, torch.bfloat16) if options.precision == "bf16" else contextlib.nullcontext()

    def compute(images, labels):
        with autocast():
            loss = torch.nn.functional.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=False)
        return loss

    step = compute
    source = batches(options)
    if options.captured:
        images, labels = (x.clone() for x in next(source))
        images = images.contiguous(memory_format=layout)
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            for _ in range(3):
                compute(images, labels)
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            kept = compute(images, labels)

        def step(new_images, new_labels):
            images.copy_(new_images)
            labels.copy_(new_labels)
            graph.replay()
            return kept

    begin, number = time.monotonic(), 0
    for images, labels in source:
        loss = step(images.contiguous(memory_format=layout), labels)
        number += 1
        if number % 10 == 0:
            print(f"plimsoll: metric loss {loss.item():.6f} step {number}", flush=True)
            if time.monotonic() - begin > options.seconds:
                break


if __name__ == "__main__":
    main()
