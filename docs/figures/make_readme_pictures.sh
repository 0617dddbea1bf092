#!/bin/bash
# Makes the pictures of the README anew, from what the program prints: a page of `weigh`, a timeline of memory, the
# report of a run.
#
# usage: docs/figures/make_readme_pictures.sh [PLIMSOLL]        default: build/release/apps/plimsoll
# Needs chromium, ImageMagick's convert, and python3; pngquant makes the files smaller where it is there.
set -euo pipefail
cd "$(dirname "$0")/../.."
plimsoll=$(realpath "${1:-build/release/apps/plimsoll}")
out=$PWD/docs/figures
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
# Nothing of this user's shows; the run is a real one, on this machine's CPU.
export HOME=$work/home XDG_DATA_HOME=$work/data PLIMSOLL_STORE=$work/runs.db LANG=C.UTF-8 PLIMSOLL_NVML_LIBRARY=/nonexistent
mkdir -p "$HOME"

picture() {  # PAGE NAME WIDTH HEIGHT SCALE
  chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --hide-scrollbars --virtual-time-budget=5000 \
    --user-data-dir="$work/browser" --force-device-scale-factor="$5" --window-size="$3,$4" --screenshot="$work/$2.png" \
    "file://$1" >/dev/null 2>&1
  if command -v pngquant >/dev/null; then
    pngquant --force --output "$out/$2.png" 128 "$work/$2.png"
  else
    convert "$work/$2.png" -colors 128 -define png:compression-level=9 "PNG8:$out/$2.png"
  fi
  echo "$out/$2.png: $(stat -c %s "$out/$2.png") bytes"
}

# A page of `weigh`, as a terminal shows it.
cd "$work"
COLUMNS=100 "$plimsoll" weigh resnet50 --mode train --batch 64 --device t4,h200 >weigh.txt
python3 - <<'PYTHON'
import html
text = html.escape(open("weigh.txt", encoding="utf-8").read().rstrip())
command = "$ plimsoll weigh resnet50 --mode train --batch 64 --device t4,h200"
lines = text.count("\n") + 3
open("weigh.html", "w", encoding="utf-8").write(
    '<meta charset="utf-8"><style>body{margin:0;background:#14181d;color:#d7dde4}'
    'pre{margin:0;padding:18px 22px;font:14px/1.35 "DejaVu Sans Mono",monospace}b{color:#8fd3a6;font-weight:600}</style>'
    f"<pre><b>{command}</b>\n{text}</pre>")
open("weigh.height", "w").write(str(round(lines * 14 * 1.35) + 22))
PYTHON
picture "$work/weigh.html" readme_weigh 900 "$(cat weigh.height)" 1

# Memory over one training step.
"$plimsoll" estimate resnet50 --mode train --batch 64 --device t4 --timeline timeline.html >/dev/null
picture "$work/timeline.html" readme_timeline 1100 640 1

# The report of a run: 40 seconds of a training that waits for its data now and then.
cat >train.py <<'PYTHON'
import math, time
print("plimsoll: param lr 0.1\nplimsoll: param batch 64", flush=True)
end = time.time() + 40
step = 0
while time.time() < end:
    # A step of work, and a wait for data in every fourth.
    until = time.time() + 0.15
    while time.time() < until:
        sum(i * i for i in range(1000))
    if step % 4 == 3:
        time.sleep(0.2)
    print(f"plimsoll: metric loss {2.3 * math.exp(-step / 60) + 0.02 * math.sin(step):.4f} step {step}", flush=True)
    print(f"plimsoll: metric accuracy {1 - 0.9 * math.exp(-step / 45):.4f} step {step}", flush=True)
    if step % 40 == 0:
        print(f"plimsoll: epoch {step // 40 + 1}", flush=True)
    step += 1
PYTHON
"$plimsoll" run --quiet --name "first training" -- python3 train.py >/dev/null
run=$("$plimsoll" runs --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["runs"][0]["id"])')
"$plimsoll" report "$run" --html report.html >/dev/null
picture "$work/report.html" readme_report 1100 900 1
