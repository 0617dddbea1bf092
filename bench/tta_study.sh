#!/bin/sh
# tta_study.sh PLIMSOLL [RUNS]: Fashion-MNIST to 84 % on one core of the CPU, two set-ups in turn, 10 runs each; prints the answers
# and writes a page, tta_study.html. Takes some minutes; the runs are kept in a store of their own.
set -eu
plimsoll=$1
runs=${2:-10}
here=$(dirname "$(readlink -f "$0")")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
train="${PYTHON:-python3} $here/fashion_training.py --batch 128 --steps 600 --every 15 --test-images 3000 --images 20000 --seed {run}"
# shellcheck disable=SC2086
COLUMNS=160 PLIMSOLL_STORE="$folder/study.db" "$plimsoll" tta --target accuracy=0.84 --runs "$runs" --evaluation excluded \
    --compare "$train --network deep-mlp --optimizer momentum --learning-rate 0.02" \
    -- $train --network mlp --optimizer adam --learning-rate 0.001
COLUMNS=160 PLIMSOLL_STORE="$folder/study.db" "$plimsoll" tta --target accuracy=0.84 --filter "attributes.experiment_name = 'tta'" \
    --by plimsoll.tta.setup --clock steps --html tta_study.html
