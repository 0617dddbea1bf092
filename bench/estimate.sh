#!/bin/bash
# How long `plimsoll estimate` takes, whole command, against its limits: the least wall time of 15 runs.
# usage: bench/estimate.sh BUILD_FOLDER
exec python3 - "$1/apps/plimsoll" "${PLIMSOLL_SHARED:-$(dirname "$0")/../../shared}/data/onnx" <<'P'
import os, subprocess, sys, time
program, graphs = sys.argv[1:3]
CASES = [('ResNet-50 training, batch 32', 'resnet50', 'resnet50.train.onnx', ['--batch', '32'], 20),
         ('GPT-2 training, batch 8 x 512', 'gpt2', 'gpt2.dynamo.onnx', ['--batch', '8', '--loss', 'mean-square'], 100),
         ('ResNet-50, largest batch', 'resnet50', 'resnet50.train.onnx', ['--max-batch'], 200),
         ('GPT-2, largest batch', 'gpt2', 'gpt2.dynamo.onnx', ['--max-batch', '--loss', 'mean-square'], 1000)]
for title, name, file, options, limit in CASES:
    model = os.path.join(graphs, file) if os.path.exists(os.path.join(graphs, file)) else name
    command = [program, 'estimate', model, '--mode', 'train', '--optimizer', 'adam', '--device', 'h200', '--json', *options]
    times = []
    for _ in range(15):
        start = time.perf_counter()
        done = subprocess.run(command, capture_output=True)
        times.append(1e3 * (time.perf_counter() - start))
    print(f'{title:32s} {min(times):7.1f} ms of {limit:5d} allowed ({min(times) / limit:.2f}){"" if done.returncode == 0 else "  FAILED"}')
P
