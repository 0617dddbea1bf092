#!/bin/bash
# Estimates the smallest allocator capacity of some trainings, as CASES.json for capacity_limits.py.
# usage: capacity_cases.sh PLIMSOLL GRAPHS_FOLDER… >CASES.json
plimsoll=$1; shift
graph() {  # MODEL: its training graph
  local folder kind
  for folder in "$@"; do for kind in train dynamo; do
    [ -e "$folder/$model.$kind.onnx" ] && { echo "$folder/$model.$kind.onnx"; return; }
  done; done
}
separator='['
while read -r model batch precision optimizer; do
  loss=cross-entropy; case $model in bert_base|gpt2|llama_300m|distilbert) loss=mean-square ;; esac
  minimum=$("$plimsoll" estimate "$(graph "$@")" --device h200 --mode train --batch "$batch" --precision "$precision" \
    --optimizer "$optimizer" --loss $loss --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["memory"]["minimum_reserved_bytes"])')
  printf '%s{"model": "%s", "batch": %s, "precision": "%s", "optimizer": "%s", "minimum_reserved_bytes": %s}' \
    "$separator" "$model" "$batch" "$precision" "$optimizer" "$minimum"
  separator=$',\n'
done <<'CASES'
resnet50 64 fp32 adam
vgg16 32 fp32 adam
vit_b_16 32 amp-bf16 adam
mobilenet_v2 128 fp32 momentum
efficientnet_b0 64 fp32 adam
densenet121 64 fp32 momentum
bert_base 32 fp32 adamw
gpt2 8 fp32 adamw
convnext_tiny 64 amp-bf16 adam
resnet152 32 fp32 adam
alexnet 128 fp32 momentum
googlenet 128 fp32 momentum
swin_t 32 fp32 adam
llama_300m 8 fp32 adamw
CASES
echo ']'
