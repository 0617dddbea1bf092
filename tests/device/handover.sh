#!/bin/bash
# On a machine with a GPU and a current PyTorch: describes the machine, and hands over modules of torchvision and
# transformers to plimsoll, by both exporters, in training and in evaluation mode. For each it compares the parameters
# and prints GMACs.
#
# usage: tests/device/handover.sh PLIMSOLL
set -uo pipefail
plimsoll=$(realpath "${1:?usage: tests/device/handover.sh PLIMSOLL}")
cd "$(dirname "$0")/../.." || exit 1
export PYTHONPATH=$PWD/python HF_HUB_OFFLINE=1
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
python3 -c 'import torch; print("PyTorch", torch.__version__)'
"$plimsoll" devices this
"$plimsoll" weigh resnet50 --device this,this-cpu,h200

cat >"$work/models.py" <<'P'
def bert():
    from transformers import BertConfig, BertModel
    return BertModel(BertConfig())
def gpt2():
    from transformers import GPT2Config, GPT2LMHeadModel
    return GPT2LMHeadModel(GPT2Config())
P
passed=0; failed=0
try() {  # SPEC INPUT MODE EXPORTER
  local out=$work/model.onnx report
  rm -f "$out"
  if ! report=$(python3 -m plimsoll_torch "$1" --input "$2" -o "$out" --mode "$3" --exporter "$4" --weights none --json 2>"$work/err"); then
    failed=$((failed + 1)); echo "FAILED $1 $3 $4: $(tail -n 1 "$work/err")"; return
  fi
  if ! "$plimsoll" inspect "$out" --json >"$work/answer.json" 2>"$work/err"; then
    failed=$((failed + 1)); echo "FAILED to inspect $1 $3 $4: $(tail -n 2 "$work/err")"; return
  fi
  python3 - "$1" "$3" "$4" "$report" "$work/answer.json" <<'P' && passed=$((passed + 1)) || failed=$((failed + 1))
import json, sys
name, mode, exporter = sys.argv[1:4]
report, answer = json.loads(sys.argv[4]), json.load(open(sys.argv[5]))
same = report['parameters'] == answer['parameters']
print(f"{'same' if same else 'DIFFER'}  {name:36s} {mode:5s} {exporter:6s} parameters {report['parameters']} / {answer['parameters']}, "
      f"{answer['macs'] / 1e9:.4f} GMACs, {answer['coverage']['counted']} of {answer['coverage']['nodes']} operators counted")
sys.exit(0 if same else 1)
P
}
for exporter in script dynamo; do
  for mode in train eval; do
    try torchvision.models:resnet50 3x224x224 $mode $exporter
    try torchvision.models:vit_b_16 3x224x224 $mode $exporter
    try torchvision.models:mobilenet_v3_large 3x224x224 $mode $exporter
    try "$work/models.py:bert" input_ids=int64:128 $mode $exporter
    try "$work/models.py:gpt2" input_ids=int64:128 $mode $exporter
  done
done
echo "$passed passed, $failed failed"
