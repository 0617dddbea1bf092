#!/bin/bash
# On a machine with a GPU: records the allocations of many networks, their graphs, and the workspaces of convolutions.
# usage: bench/device/record_all.sh OUT_FOLDER
set -u
out=$(realpath "${1:?usage: record_all.sh OUT_FOLDER}")
cd "$(dirname "$0")/../.." || exit 1
here=bench/device
work=$(mktemp -d); mkdir -p "$work/traces" "$work/graphs"
export PYTHONPATH=$PWD/python:$PWD/$here HF_HUB_OFFLINE=1 PYTHONUNBUFFERED=1 OMP_NUM_THREADS=2
python3 $here/convolution_workspace.py "$out/convolution_workspace.jsonl" 1600 >"$work/conv.log" 2>&1 &
known="alexnet vgg16 googlenet resnet50 resnet152 mobilenet_v2 efficientnet_b0 squeezenet1_1 convnext_tiny vit_b_16"
others="inception_v3 densenet121 mobilenet_v3_large resnext50_32x4d swin_t regnet_y_1_6gf shufflenet_v2_x1_0 vgg11_bn resnet18 mnasnet1_0 efficientnet_v2_s"
cases="infer:1:fp32 infer:16:fp32 infer:64:fp32 train:8:fp32 train:32:fp32 train:128:fp32 train:32:amp-bf16 train:32:fp32:adam"
language="infer:1:fp32 infer:16:fp32 train:8:fp32 train:32:fp32 train:32:amp-bf16 train:8:fp32:adam"
{
  for m in $known $others; do echo "$m $cases"; done
  for m in bert_base distilbert gpt2 llama_300m; do echo "$m $language"; done
} | xargs -P 7 -L 1 sh -c 'm=$0; timeout 300 python3 bench/device/allocations.py '"$work"'/traces/$m.jsonl.xz $m "$@" 2>&1 | tail -n 12'
wait
tail -n 2 "$work/conv.log"
for m in $others; do
  input=3x224x224; [ $m = inception_v3 ] && input=3x299x299
  for mode in train eval; do
    kind=$mode; [ $mode = eval ] && kind=eager
    echo "$m $input $mode $kind"
  done
done | xargs -P 10 -L 1 sh -c 'timeout 120 python3 -m plimsoll_torch torchvision.models:$0 --input $1 -o '"$work"'/graphs/$0.$3.onnx --mode $2 --exporter script --weights none >/dev/null 2>'"$work"'/graphs/$0.$3.err || tail -n 1 '"$work"'/graphs/$0.$3.err'
for m in bert_base distilbert gpt2 llama_300m; do
  length=128; case $m in gpt2|llama_300m) length=512 ;; esac
  printf 'import workloads\ndef make():\n    return workloads.make("%s")[0]\n' $m >"$work/$m.py"
  for e in script dynamo; do echo "$m $length $e"; done
done | xargs -P 8 -L 1 sh -c 'timeout 200 python3 -m plimsoll_torch '"$work"'/$0.py:make --input input_ids=int64:$1 -o '"$work"'/graphs/$0.$2.onnx --mode train --exporter $2 --weights none >/dev/null 2>'"$work"'/graphs/$0.$2.err || tail -n 1 '"$work"'/graphs/$0.$2.err'
cd "$work" && ls -la traces graphs | head -80
tar czf "$out/graphs.tgz" graphs
# At most 16 MB a file.
ls traces | split -n l/5 - part_
for part in part_*; do tar cf "$out/traces_${part#part_}.tar" -C traces --files-from "$part"; done
ls -la "$out"
