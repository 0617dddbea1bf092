#!/usr/bin/env python3
"""One training of the collocation study, printing its speed for `plimsoll run`.

usage: [STUDY_MEETING=FOLDER STUDY_MEMBERS=N] [STUDY_STEPS=FOLDER] collocated_training.py small|medium|large SECONDS

Trains on random data made once on the GPU, so that nothing but the GPU is measured. The first steps (cuDNN's search,
memory) are not timed. Where several are one group, all begin to measure together and go on training until
all have measured: they meet in the folder $STUDY_MEETING. (By variables, so that the command is the same alone and
together.) Prints one line per second in the form that Plimsoll picks up, and the
mean at the end.
"""
import argparse
import os
import time

import torch
import torchvision

# As in the published collocation studies: CIFAR-sized, ImageNet at 64, ImageNet at 224.
SIZES = {
    "small": ("resnet18", 128, 32),
    "medium": ("resnet50", 128, 64),
    "large": ("resnet152", 32, 224),
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("size", choices=SIZES)
    parser.add_argument("seconds", type=float)
    options = parser.parse_args()
    name, batch, side = SIZES[options.size]
    torch.backends.cudnn.benchmark = True
    torch.manual_seed(1)
    model = getattr(torchvision.models, name)(weights=None).cuda()
    optimizer = torch.optim.SGD(model.parameters(), 0.01, 0.9)
    loss_of = torch.nn.CrossEntropyLoss()
    images = torch.randn(batch, 3, side, side, device="cuda")
    labels = torch.randint(1000, (batch,), device="cuda")

    def step():
        optimizer.zero_grad()
        loss = loss_of(model(images), labels)
        loss.backward()
        optimizer.step()
        return loss

    def meet(what):
        members = int(os.environ.get("STUDY_MEMBERS", "1"))
        if members == 1:
            return
        folder = os.path.join(os.environ["STUDY_MEETING"], what)
        os.makedirs(folder, exist_ok=True)
        open(os.path.join(folder, str(os.getpid())), "w").close()
        while len(os.listdir(folder)) < members:
            for _ in range(5):
                step()
            torch.cuda.synchronize()

    for _ in range(20):
        step()
    torch.cuda.synchronize()
    meet("begin")
    # For who compares windows of one run: how many steps were done when.
    folder = os.environ.get("STUDY_STEPS")
    notes = open(os.path.join(folder, str(os.getpid())), "w") if folder else None
    begin = last = time.monotonic()
    steps = since = 0
    while time.monotonic() - begin < options.seconds:
        for _ in range(5):
            loss = step()
        torch.cuda.synchronize()
        steps, since, now = steps + 5, since + 5, time.monotonic()
        if notes:
            notes.write(f"{now:.6f} {steps}\n")
        if now - last >= 1:
            print(f"plimsoll: metric steps_per_second {since / (now - last):.4f} step {steps}", flush=True)
            since, last = 0, now
    if notes:
        notes.close()
    rate = steps / (time.monotonic() - begin)
    meet("end")
    print(f"plimsoll: metric loss {loss.item():.5f} step {steps}")
    print(f"plimsoll: metric mean_steps_per_second {rate:.4f} step {steps}", flush=True)


main()
