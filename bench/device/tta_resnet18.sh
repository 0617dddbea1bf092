#!/bin/bash
# On a machine with a GPU: ResNet-18 on Fashion-MNIST at 64 pixels to 93 %, ten seeds, by `plimsoll train`; then what `plimsoll tta` says of
# them: variation, survival curve, energy. What the store in OUT holds already is not run again, so that it may be called until all are there.
# usage: bench/device/tta_resnet18.sh PLIMSOLL OUT [RUNS] [DATA]
set -eu
plimsoll=$(realpath "$1"); mkdir -p "$2"; out=$(realpath "$2"); runs=${3:-10}; data=${4:-/usr/share/datasets/fashion-mnist}
export PLIMSOLL_STORE="$out/tta_resnet18.db" XDG_CACHE_HOME="$out/cache" COLUMNS=160
for seed in $(seq 1 "$runs"); do
  done_already=0
  if [ -e "$PLIMSOLL_STORE" ]; then
    done_already=$("$plimsoll" runs --json --filter "attributes.experiment_name = 'tta-resnet18' and attributes.status = 'FINISHED' and params.seed = '$seed'" |
      python3 -c 'import json, sys; runs = json.load(sys.stdin); print(len(runs["runs"] if isinstance(runs, dict) else runs))')
  fi
  [ "$done_already" = 0 ] || continue
  # All epochs are run, so that the threshold can be moved; a run that never reaches it is censored at their end.
  "$plimsoll" train resnet18:input=1x64x64,classes=10 --data "$data" --image-size 64 --normalize --crop 4 --flip --epochs 15 --batch 128 \
    --optimizer momentum --lr 0.1 --weight-decay 0.0005 --schedule one-cycle --precision amp-bf16 --channels-last --device cuda --seed "$seed" \
    --experiment tta-resnet18
done
judge=("$plimsoll" tta --target accuracy=0.93 --filter "attributes.experiment_name = 'tta-resnet18' and attributes.status = 'FINISHED'")
"${judge[@]}" --evaluation excluded --html "$out/tta_resnet18.html"
"${judge[@]}" --evaluation excluded | tee "$out/tta_resnet18.txt"
"${judge[@]}" | tee -a "$out/tta_resnet18.txt"
"${judge[@]}" --clock epochs | tee -a "$out/tta_resnet18.txt"
"${judge[@]}" --json >"$out/tta_resnet18.json"
