#!/usr/bin/env python3
"""Stands in for the service of the day (queue_day.py) where there is no GPU.

usage: service.py MODEL SIZE RATE SECONDS LIMIT_MS
"""
import json
import sys
import time

seconds = float(sys.argv[4])
began = time.time()
while time.time() - began < seconds:
    time.sleep(1)
    print(f'plimsoll: metric p99 0.005 step {int(time.time() - began)}', flush=True)
print(json.dumps({'service': sys.argv[1:], 'began': began, 'ended': time.time(), 'requests': 0, 'p50': 0.004, 'p99': 0.005,
                  'seconds_within_limit': 1}), flush=True)
