#!/bin/bash
# Makes the pictures of the README anew, from what the program prints: a page of `weigh`, a timeline of memory, the
# report of a run.
#
# usage: docs/figures/make_readme_pictures.sh [PLIMSOLL]        default: build/release/apps/plimsoll
# Needs chromium and python3; pngquant makes the files smaller where it is there.
set -euo pipefail
cd "$(dirname "$0")/../.."
plimsoll=$(realpath "${1:-build/release/apps/plimsoll}")
out=$PWD/docs/figures
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
# Nothing of this user's shows.
export HOME=$work/home XDG_DATA_HOME=$work/data PLIMSOLL_STORE=$work/runs.db LANG=C.UTF-8 PLIMSOLL_NVML_LIBRARY=/nonexistent
mkdir -p "$HOME"

picture() {  # PAGE NAME WIDTH HEIGHT SCALE
  chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --hide-scrollbars --virtual-time-budget=5000 \
    --user-data-dir="$work/browser" --force-device-scale-factor="$5" --window-size="$3,$4" --screenshot="$work/$2.png" \
    "file://$1" >/dev/null 2>&1
  if command -v pngquant >/dev/null; then
    pngquant --force --output "$out/$2.png" 128 "$work/$2.png"
  else
    cp "$work/$2.png" "$out/$2.png"
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
"$plimsoll" estimate resnet50 --mode train --batch 128 --device t4 --timeline timeline.html >/dev/null
picture "$work/timeline.html" readme_timeline 1100 550 1

# The report of a run: a training beside another under MPS, as it was recorded on an H200 (collocation_h200_points.csv.xz).
python3 - "$out/collocation_h200_points.csv.xz" <<'PYTHON'
import collections, csv, datetime, lzma, os, sys
RUN = "771429a897a03619280b4541a15ce74d"
points = collections.defaultdict(list)
with lzma.open(sys.argv[1], "rt") as file:
    for row in csv.DictReader(file):
        if row["run"] == RUN:
            time = datetime.datetime.fromisoformat(row["time"].replace("Z", "+00:00"))
            points[row["metric"]].append((int(time.timestamp() * 1000), row["value"], row["step"] or 0))
times = [time for series in points.values() for time, _, _ in series]
def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
write("mlruns/0/meta.yaml", "artifact_location: x\nexperiment_id: '0'\nlifecycle_stage: active\nname: collocation\n")
run = f"mlruns/0/{RUN}"
write(f"{run}/meta.yaml", f"artifact_uri: x\nexperiment_id: '0'\nlifecycle_stage: active\nrun_id: {RUN}\nrun_name: large, beside small\n"
      f"run_uuid: {RUN}\nstart_time: {min(times)}\nend_time: {max(times)}\nstatus: 3\nuser_id: ''\n")
for name, value in {"device.0.name": "NVIDIA H200", "mode": "mps", "workload": "small + large",
                    "command": "python3 bench/device/collocated_training.py large 20"}.items():
    write(f"{run}/tags/plimsoll.{name}", value)
for metric, series in points.items():
    write(f"{run}/metrics/{metric}", "".join(f"{time} {value} {step}\n" for time, value, step in series))
PYTHON
"$plimsoll" import-mlflow mlruns >/dev/null
"$plimsoll" report 771429a8 --html report.html >/dev/null 2>&1
picture "$work/report.html" readme_report 1100 1320 1
