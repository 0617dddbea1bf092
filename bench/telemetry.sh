#!/bin/bash
# What watching costs, against a Python monitor of the same sources.
# usage: bench/telemetry.sh BUILD_FOLDER
exec python3 "$(dirname "$0")/telemetry_overhead.py" "$1"
