#!/bin/sh
# tta_study.sh PLIMSOLL [RUNS]: Fashion-MNIST to 87 % on one core of the CPU, two set-ups in turn, 10 runs each; prints what docs/figures/tta_fashion_mnist.txt
# holds, and writes the page beside it. Takes some minutes; the runs are kept in a store of their own.
set -eu
plimsoll=$1
runs=${2:-10}
here=$(dirname "$(readlink -f "$0")")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
train="python3 $here/fashion_training.py --batch 128 --steps 2600 --every 40 --seed {run}"
# shellcheck disable=SC2086
COLUMNS=160 PLIMSOLL_STORE="$folder/study.db" "$plimsoll" tta --target accuracy=0.87 --runs "$runs" --evaluation excluded \
    --compare "$train --network deep-mlp --optimizer momentum --learning-rate 0.02" \
    -- $train --network mlp --optimizer adam --learning-rate 0.001
COLUMNS=160 PLIMSOLL_STORE="$folder/study.db" "$plimsoll" tta --target accuracy=0.87 --filter "attributes.experiment_name = 'tta'" \
    --by plimsoll.tta.setup --clock steps --html "$here/../docs/figures/tta_fashion_mnist.html"
