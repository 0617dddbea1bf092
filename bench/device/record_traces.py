#!/usr/bin/env python3
"""Records the allocations of whole training runs, with addresses, for `plimsoll replay`.

usage: record_traces.py OUT_FOLDER"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../python"))
import workloads
from plimsoll_torch.memory import record_memory

RUNS = {"resnet50-b64-adam": ("resnet50", 64, "fp32", "adam"), "vgg16-b32-amp": ("vgg16", 32, "amp-bf16", "momentum"),
        "gpt2-b4-adamw": ("gpt2", 4, "fp32", "adamw"), "densenet121-b32": ("densenet121", 32, "fp32", "momentum"),
        "swin_t-b48-amp-adam": ("swin_t", 48, "amp-bf16", "adam"), "inception_v3-b32": ("inception_v3", 32, "fp32", "sgd"),
        "bert_base-b16-adam": ("bert_base", 16, "fp32", "adam")}


def main():
    if len(sys.argv) > 2:
        with record_memory(os.path.join(sys.argv[1], sys.argv[2] + ".json.gz")):
            step = workloads.Training(*RUNS[sys.argv[2]])
            for _ in range(4):
                step()
        return
    import subprocess
    for name in RUNS:
        subprocess.run([sys.executable, __file__, sys.argv[1], name], check=True)
        print(name, flush=True)


main()
