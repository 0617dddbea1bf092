#!/bin/sh
# tta_study.sh PLIMSOLL OUT [RUNS]: Fashion-MNIST to 90 % on one core of the CPU, two set-ups in turn, 10 runs each. The runs go to a store in
# OUT, and the answers, by seconds, steps and epochs, to OUT/tta_fashion_mnist.txt and .html; runs that are there already are judged again.
# Takes about half a minute of one core for each run.
set -eu
mkdir -p "$2"
plimsoll=$(readlink -f "$1") out=$(readlink -f "$2") runs=${3:-10}
here=$(dirname "$(readlink -f "$0")")
export PLIMSOLL_STORE="$out/tta_study.db" COLUMNS=160 OMP_NUM_THREADS=1
train="${PYTHON:-python3} $here/fashion_training.py --optimizer adam --learning-rate 0.001 --batch 128 --steps 4000 --every 100 --seed {run}"
# shellcheck disable=SC2086
[ -e "$PLIMSOLL_STORE" ] || "$plimsoll" tta --target accuracy=0.9 --runs "$runs" --compare "$train --network wide-normalised" \
    -- $train --network wide-convolutions >/dev/null
judge() {
  "$plimsoll" tta --target accuracy=0.9 --filter "attributes.experiment_name = 'tta'" --by network "$@"
}
judge --evaluation excluded --html "$out/tta_fashion_mnist.html"
for clock in "seconds --evaluation excluded" steps epochs; do
  # shellcheck disable=SC2086
  judge --clock $clock
  echo
done >"$out/tta_fashion_mnist.txt"
cat "$out/tta_fashion_mnist.txt"
