#!/usr/bin/env python3
"""Stands in for a training of the day (queue_day.py) where there is no GPU: it sleeps its steps, and saves as the real one does.

usage: job.py MODEL BATCH SIZE PRECISION STEPS
"""
import json
import os
import signal
import sys
import time

asked = False


def ask(*_):
    global asked
    asked = True


signal.signal(signal.SIGUSR1, ask)
steps, state = int(sys.argv[5]), os.environ.get('JOB_STATE')
done, began = 0, time.time()
if state and os.path.exists(state):
    done, began = json.load(open(state))
while done < steps:
    time.sleep(0.01)
    done += 1
    if done % 50 == 0 or done == steps:
        print(f'plimsoll: metric loss {1 / done:.5f} step {done}', flush=True)
    if asked and state:
        with open(state + '.new', 'w') as out:
            json.dump([done, began], out)
        os.replace(state + '.new', state)
        print(f'plimsoll: saved step {done}', flush=True)
        asked = False
print(json.dumps({'job': sys.argv[1:], 'began': began, 'ended': time.time(), 'steps': steps, 'reserved': 0}), flush=True)
