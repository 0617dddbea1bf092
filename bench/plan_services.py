#!/usr/bin/env python3
"""`plimsoll plan services`: GPUs against the bound and seconds, of ParvaGPU's six scenarios and of larger ones drawn from its profiles.

usage: plan_services.py PLIMSOLL [--draws N]

Every plan is checked here once more: placements by NVIDIA's table, rates, limits. Exit code 1 where one does not hold or a scenario takes more GPUs
than its bound; 77 where the measurements that stand beside the project are not there.
"""
import argparse, csv, json, os, random, statistics, subprocess, sys, tempfile, time

STARTS = {1: (range(7), 1), 2: ((0, 2, 4), 2), 3: ((0, 4), 4), 4: ((0,), 4), 7: ((0,), 8)}
BOUNDS = [2, 3, 5, 7, 12, 15]
parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument('plimsoll'); parser.add_argument('--draws', type=int, default=20)
options = parser.parse_args()
data = os.path.join(os.environ.get('PLIMSOLL_SHARED', os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../shared')), 'data/public')
if not os.path.exists(f'{data}/parvagpu_slo.csv'):
    print(f'no measurements at {data}'); sys.exit(77)
ROWS = list(csv.DictReader(open(f'{data}/parvagpu_profiles.csv')))
known = {(r['model'], int(r['mig_compute_slices']), int(r['batch']), int(r['processes'])): (float(r['throughput_total_req_s']), float(r['latency_s'])) for r in ROWS}
wrong = []


def planned(services):
    started = time.perf_counter()
    done = subprocess.run([options.plimsoll, 'plan', 'services', services, '--profiles', f'{data}/parvagpu_profiles.csv', '--json'], capture_output=True, text=True)
    seconds = time.perf_counter() - started
    if done.returncode != 0:
        sys.exit(done.stderr)
    scenarios = json.loads(done.stdout)['scenarios']
    for scenario in scenarios:
        check(scenario)
    return scenarios, seconds


def check(scenario):
    services = {service['name']: service for service in scenario['services']}
    carried = dict.fromkeys(services, 0.0)
    for number, gpu in enumerate(scenario['gpus']):
        taken, compute = set(), 0
        for instance in gpu:
            size = int(instance['profile'][0])
            starts, parts = STARTS[size]
            place = set(range(instance['start'], instance['start'] + parts))
            service = services[instance['service']]
            rate, latency = known[service['model'], size, instance['batch'], instance['processes']]
            if instance['start'] not in starts or place & taken or not latency < 0.45 * service['limit_seconds']:
                wrong.append(f"{scenario['scenario']}: GPU {number}: {instance}")
            taken |= place; compute += size; carried[instance['service']] += rate
        if compute > 7:
            wrong.append(f"{scenario['scenario']}: GPU {number}: {compute} compute parts")
    wrong.extend(f"{scenario['scenario']}: {name} carries {carried[name]}" for name in services if carried[name] < services[name]['requests_per_second'])


times = []
for _ in range(5):
    scenarios, seconds = planned(f'{data}/parvagpu_slo.csv')
    times.append(seconds)
print('scenario  services  compute  memory  bound  GPUs  proven')
for scenario in scenarios:
    bound = scenario['bound']
    print(f"{scenario['scenario']:>8}  {len(scenario['services']):8}  {bound['compute_parts']:7}  {bound['memory_parts']:6}  {bound['gpu_count']:5}  {scenario['gpu_count']:4}  {scenario['proven']}")
if [scenario['gpu_count'] for scenario in scenarios] != BOUNDS:
    wrong.append('a scenario takes more than its bound')
print(f'all six, reading included: median of 5 {statistics.median(times):.3f} s, slowest {max(times):.3f} s\n')

random.seed(1)
models = sorted({row['model'] for row in ROWS})
print(f'{options.draws} draws each\nservices  rates up to  GPUs (median)  at the bound  most above  median s  slowest s')
for count, highest in ((5, 1000), (10, 3000), (20, 3000), (50, 3000), (100, 3000), (300, 3000), (3, 100000)):
    answers = []
    for _ in range(options.draws):
        with tempfile.NamedTemporaryFile('w', suffix='.csv') as file:
            file.write('service,model,request_rate_req_s,latency_slo_ms\n')
            for number in range(count):
                model = random.choice(models)
                limit = random.uniform(200, 6000 if model == 'bert' else 500)
                file.write(f's{number},{model},{random.uniform(10, highest):.1f},{limit:.1f}\n')
            file.flush()
            (scenario,), seconds = planned(file.name)
        answers.append((scenario['gpu_count'], scenario['gpu_count'] - scenario['bound']['gpu_count'], seconds))
    gpus, above, seconds = zip(*answers)
    print(f'{count:8}  {highest:11}  {statistics.median(gpus):13.0f}  {above.count(0):6}/{options.draws:<5}  {max(above):10}  {statistics.median(seconds):8.3f}  {max(seconds):9.3f}')
print('\n'.join(wrong) if wrong else '\nevery placement, rate and limit holds')
sys.exit(1 if wrong else 0)
