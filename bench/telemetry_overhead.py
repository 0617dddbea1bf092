#!/usr/bin/env python3
"""What watching costs: Plimsoll's sampling thread against a Python monitor that reads the same through NVIDIA's own
bindings and psutil, as trackers do. Prints the share of one core that each takes, and their ratio; the last two columns
are of a monitor that reads each source only as often as Plimsoll does.

usage: bench/telemetry_overhead.py BUILD_FOLDER [SECONDS]

On a machine with a GPU both read the driver's library; elsewhere the stand-in of tests/fixtures. The Python packages
(nvidia-ml-py, psutil) are installed into BUILD_FOLDER/telemetry-python on the first run, where they are not there.
"""
import ctypes.util, json, os, resource, subprocess, sys, time

PROCESSES = 8
LIMITS = {10: 0.005, 100: 0.03}  # of one core
MEMORY_LIMIT = 40e6


def monitor(rate, seconds, thrifty):
    """The peer. As monitors are usually written it polls all of it at every beat; a thrifty one would read each source
    only as often as Plimsoll's table does."""
    import psutil, pynvml
    pynvml.nvmlInit()
    gpus = [pynvml.nvmlDeviceGetHandleByIndex(i) for i in range(pynvml.nvmlDeviceGetCount())]
    children = [subprocess.Popen(['sleep', '1000']) for _ in range(PROCESSES)]
    me = psutil.Process()
    watched = {}
    windows = {}

    def guarded(call, *arguments):
        try:
            return call(*arguments)
        except pynvml.NVMLError:
            return None

    def gpm():
        for i, gpu in enumerate(gpus):
            sample = pynvml.nvmlGpmSampleAlloc()
            pynvml.nvmlGpmSampleGet(gpu, sample)
            before = windows.get(i)
            windows[i] = sample
            if before is None:
                continue
            request = pynvml.c_nvmlGpmMetricsGet_t()
            request.version = pynvml.NVML_GPM_METRICS_GET_VERSION
            request.sample1, request.sample2 = before, sample
            ids = [2, 1, 3, 5, 11, 12, 13, 10, 20, 21, 61, 60]
            request.numMetrics = len(ids)
            for place, metric in enumerate(ids):
                request.metrics[place].metricId = metric
            guarded(pynvml.nvmlGpmMetricsGet, request)
            pynvml.nvmlGpmSampleFree(before)

    def tree():
        processes = [me, *me.children(recursive=True)]
        watched.clear()
        watched.update((process.pid, process) for process in processes)

    def each(call):
        for process in list(watched.values()):
            try:
                call(process)
            except psutil.Error:
                pass

    def of_gpus(*calls):
        for gpu in gpus:
            for call in calls:
                guarded(call, gpu)

    sources = [
        (1, tree),
        (0.1, lambda: each(lambda p: (p.cpu_times(), p.memory_info().rss))),
        (1, lambda: each(lambda p: (p.memory_full_info().pss, p.num_threads()))),
        (1, lambda: each(lambda p: p.io_counters())),
        (0.5, psutil.cpu_times), (0.2, psutil.virtual_memory), (0.2, psutil.swap_memory),
        (1, psutil.disk_io_counters), (1, psutil.net_io_counters),
        (0.1, gpm),
        (0.02, lambda: of_gpus(lambda g: pynvml.nvmlDeviceGetFieldValues(g, [186]))),
        (0.1, lambda: of_gpus(pynvml.nvmlDeviceGetTotalEnergyConsumption)),
        (0.05, lambda: of_gpus(pynvml.nvmlDeviceGetMemoryInfo)),
        (0.1, lambda: of_gpus(lambda g: pynvml.nvmlDeviceGetClockInfo(g, pynvml.NVML_CLOCK_SM),
                              lambda g: pynvml.nvmlDeviceGetClockInfo(g, pynvml.NVML_CLOCK_MEM),
                              pynvml.nvmlDeviceGetCurrentClocksThrottleReasons)),
        (0.2, lambda: of_gpus(pynvml.nvmlDeviceGetUtilizationRates)),
        (1, lambda: of_gpus(lambda g: pynvml.nvmlDeviceGetTemperature(g, 0))),
        (0.5, lambda: of_gpus(pynvml.nvmlDeviceGetComputeRunningProcesses,
                              lambda g: pynvml.nvmlDeviceGetProcessUtilization(g, 0))),
    ]
    if not thrifty:
        sources = [(0, read) for _, read in sources]
    due = [0.0] * len(sources)
    began = time.monotonic()
    before = resource.getrusage(resource.RUSAGE_SELF)
    beat = 0
    while beat < rate * seconds:
        elapsed = time.monotonic() - began
        for i, (period, read) in enumerate(sources):
            if elapsed + 0.5 / rate >= due[i]:
                due[i] = max(due[i] + period, elapsed)
                read()
        beat += 1
        time.sleep(max(0.0, began + beat / rate - time.monotonic()))
    after = resource.getrusage(resource.RUSAGE_SELF)
    for child in children:
        child.kill()
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(json.dumps({'cpu_seconds': used, 'peak_memory_bytes': after.ru_maxrss * 1024}))


def environment(build):
    """The stand-in, under the name by which bindings look for the driver's library, where there is no driver."""
    out = dict(os.environ)
    if ctypes.util.find_library('nvidia-ml'):
        return out, 'the driver of this machine'
    folder = os.path.join(build, 'telemetry-nvml')
    os.makedirs(folder, exist_ok=True)
    link = os.path.join(folder, 'libnvidia-ml.so.1')
    if not os.path.lexists(link):
        os.symlink(os.path.abspath(os.path.join(build, 'tests/fixtures/libfake_nvml.so')), link)
    here = os.path.dirname(os.path.abspath(__file__))
    out['LD_LIBRARY_PATH'] = folder
    out['PLIMSOLL_FAKE_NVML'] = os.path.join(here, '../tests/fixtures/two_gpus.txt')
    return out, 'a stand-in for the driver, two GPUs'


def interpreter(build):
    try:
        import psutil, pynvml  # noqa: F401, only whether they are there
        return sys.executable
    except ImportError:
        pass
    folder = os.path.join(build, 'telemetry-python')
    python = os.path.join(folder, 'bin/python')
    if not os.path.exists(python):
        subprocess.run([sys.executable, '-m', 'venv', folder], check=True)
        subprocess.run([python, '-m', 'pip', 'install', '--quiet', 'nvidia-ml-py', 'psutil'], check=True)
    return python


def main(build, seconds):
    variables, what = environment(build)
    python = interpreter(build)
    print(f'{PROCESSES + 1} processes watched for {seconds:g} s; NVML: {what}')
    print(f'{"rate":>8}  {"plimsoll":>10}  {"allowed":>8}  {"memory":>8}  {"Python":>8}  {"ratio":>6}  {"thrifty":>8}  {"ratio":>6}')
    for rate, limit in LIMITS.items():
        ours = json.loads(subprocess.run(
            [os.path.join(build, 'bench/telemetry_bench'), str(rate), str(seconds), str(PROCESSES)],
            env=variables, check=True, capture_output=True).stdout)
        polling, thrifty = (json.loads(subprocess.run([python, __file__, kind, str(rate), str(seconds)], env=variables,
                                                      check=True, capture_output=True).stdout)['cpu_seconds']
                            for kind in ('--monitor', '--thrifty-monitor'))
        share = ours['cpu_seconds'] / seconds
        wrong = ' TOO MUCH' if share > limit or ours['peak_memory_bytes'] > MEMORY_LIMIT else ''
        print(f'{rate:6d}/s  {100 * share:8.2f} %  {100 * limit:6.1f} %  {ours["peak_memory_bytes"] / 1e6:5.1f} MB  '
              f'{100 * polling / seconds:6.2f} %  {polling / ours["cpu_seconds"]:5.1f}x  '
              f'{100 * thrifty / seconds:6.2f} %  {thrifty / ours["cpu_seconds"]:5.1f}x{wrong}')


if __name__ == '__main__':
    if sys.argv[1].endswith('monitor'):
        monitor(int(sys.argv[2]), float(sys.argv[3]), sys.argv[1] == '--thrifty-monitor')
    else:
        main(sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else 10)
