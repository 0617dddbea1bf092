"""How quick the dashboard is in Debian's chromium: dashboard_page.py PLIMSOLL [--runs 100000] [--mlflow PYTHON] > docs/figures/dashboard_page.txt

Measured in the page itself: the time from the call of the address to 50 rows that can be seen, from a key in the search field to its
rows, from an outline of a million points to its picture, script per frame while it is panned, and the page's share of a core with 100
runs under way that change once a second. With --mlflow (a Python that has MLflow), MLflow's own server and page with the same 10,000
runs beside it, each page opened in turn. Needs selenium (tests/peers.txt, group dashboard)."""
import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "dashboard"))
TIMES = 5

# In every document before its own scripts: when so many rows were there, by the clock of the navigation.
WATCH = """
(() => {
  const wanted = %d;
  const seen = () => {
    const rows = document.querySelectorAll(%s);
    if (rows.length >= wanted) { requestAnimationFrame(() => requestAnimationFrame(() => { window.__seen = performance.now(); })); return; }
    setTimeout(seen, 4);
  };
  seen();
})();
"""


def say(name, samples, unit="ms", limit=None):
    middle = statistics.median(samples)
    print(f"{name:66s} {middle:9.1f} {unit:4s} {'(' + ', '.join(f'{s:.1f}' for s in samples) + ')'}{'' if limit is None else f'   goal {limit:g} ' + unit}", flush=True)
    return middle


def free_port():
    import socket
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def serve(binary, store):
    process = subprocess.Popen([binary, "serve", "--store", str(store), "--port", "0", "--json"], stdout=subprocess.PIPE, text=True)
    return process, json.loads(process.stdout.readline())["url"].rstrip("/")


def tall(driver):
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": 1600, "height": 2200, "deviceScaleFactor": 1, "mobile": False})


def first_rows(driver, address, selector, rows=50, times=TIMES, cold=True):
    out = []
    script = driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": WATCH % (rows, json.dumps(selector))})
    for _ in range(times):
        driver.get("about:blank")
        if cold:
            driver.execute_cdp_cmd("Network.clearBrowserCache", {})
        driver.get(address)
        end = time.monotonic() + 120
        while driver.execute_script("return window.__seen ?? null") is None and time.monotonic() < end:
            time.sleep(0.02)
        out.append(driver.execute_script("return window.__seen ?? NaN"))
    driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", script)
    return out


def search_times(driver, address, text):
    driver.get("about:blank")
    driver.get(address + "/#/runs")
    time.sleep(3)
    return driver.execute_async_script("""
      const [text, times, done] = arguments;
      const field = document.querySelector('.filter');
      const table = document.querySelector('.vtable');
      const out = [];
      const put = (value) => { field.value = value; field.dispatchEvent(new Event('input', { bubbles: true })); };
      const one = () => {
        put('');
        setTimeout(() => {
          performance.clearMeasures();
          const begun = performance.now();
          put(text);
          const look = () => {
            if (performance.getEntriesByName('plimsoll search').length === 0) { setTimeout(look, 1); return; }
            requestAnimationFrame(() => { out.push(performance.now() - begun); out.length < times ? one() : done(out); });
          };
          look();
        }, 1500);
      };
      one();
    """, text, TIMES)


def drawing(driver, address, run):
    """The chart's own drawing, in the page, over an outline that is there; and frames of panning."""
    driver.get("about:blank")
    driver.get(f"{address}/#/runs/{run}")
    time.sleep(4)
    return driver.execute_async_script("""
      const [run, done] = arguments;
      (async () => {
        const { LineChart } = await import('/static/line_chart.js');
        const { Series } = await import('/static/series.js');
        const { Window } = await import('/static/window.js');
        const answer = await fetch(`api/plimsoll/outline?run_id=${run}&metric_key=loss&max_results=2000`);
        const text = await answer.text();
        const draws = [];
        for (let i = 0; i < 9; i += 1) {
          const shown = new Window();
          const chart = new LineChart({ title: 'loss', unit: '', window: shown });
          document.querySelector('main').prepend(chart.root);
          chart.width = chart.root.clientWidth;
          const begun = performance.now();
          const series = new Series({ name: 'loss', spans: JSON.parse(text).spans });
          shown.setWhole(...series.ends('time'));
          chart.setSeries([series]);
          chart.draw();
          chart.canvas.getContext('2d').getImageData(0, 0, 1, 1);
          draws.push(performance.now() - begun);
          if (i < 8) { chart.root.remove(); continue; }
          shown.show(shown.whole[1] * 0.2, shown.whole[1] * 0.7);
          const frames = [];
          let k = 0;
          const step = () => {
            const from = performance.now();
            shown.pan(k % 60 < 30 ? 0.01 : -0.01);
            chart.draw();
            frames.push(performance.now() - from);
            k += 1;
            if (k < 240) requestAnimationFrame(step);
            else { chart.root.remove(); done({ draws, frames, points: series.points, spans: series.count }); }
          };
          requestAnimationFrame(step);
        }
      })();
    """, run)


def live_share(driver, address, ids, seconds=20):
    """The share of a core of the page's own thread while 100 runs change once a second."""
    stop = threading.Event()

    def log():
        step = 1000
        while not stop.is_set():
            begun = time.monotonic()
            for run in ids:
                body = json.dumps({"run_id": run, "key": "loss", "value": 1 / step, "timestamp": int(time.time() * 1000), "step": step}).encode()
                urllib.request.urlopen(urllib.request.Request(f"{address}/api/2.0/mlflow/runs/log-metric", body, {"Content-Type": "application/json"})).read()
            step += 1
            stop.wait(max(0, 1 - (time.monotonic() - begun)))

    thread = threading.Thread(target=log)
    thread.start()
    try:
        driver.get("about:blank")
        driver.get(f"{address}/#/now")
        time.sleep(5)
        driver.execute_cdp_cmd("Performance.enable", {"timeDomain": "threadTicks"})
        figures = lambda: {one["name"]: one["value"] for one in driver.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]}
        before, begun = figures(), time.monotonic()
        time.sleep(seconds)
        after, spent = figures(), time.monotonic() - begun
        rows = driver.execute_script("return document.querySelectorAll('.now-runs tbody tr').length")
        return 100 * (after["TaskDuration"] - before["TaskDuration"]) / spent, rows
    finally:
        stop.set()
        thread.join()


def mlflow_runs(python, folder, runs):
    """The same kind of runs in a database of MLflow's own, by its own store."""
    code = f'''
import random, time
from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore
from mlflow.entities import Metric, Param, RunTag
store = SqlAlchemyStore("sqlite:///{folder}/mlflow.db", "{folder}/artifacts")
r = random.Random(7)
for i in range({runs}):
    now = int(time.time() * 1000) - i * 1000
    run = store.create_run("0", "ada", now, [], f"resnet50-{{i}}")
    store.log_batch(run.info.run_id, [Metric("loss", r.random(), now, 0), Metric("accuracy", r.random(), now, 0)],
                    [Param("lr", "0.1"), Param("batch_size", "64"), Param("model", "resnet50"), Param("optimizer", "sgd"), Param("epochs", "10"), Param("seed", str(i))], [RunTag("team", "vision")])
    store.update_run_info(run.info.run_id, "FINISHED", now + 60000, None) if False else None
'''
    subprocess.run([python, "-c", code], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    port = free_port()
    process = subprocess.Popen([python, "-m", "mlflow", "server", "--backend-store-uri", f"sqlite:///{folder}/mlflow.db", "--port", str(port), "--host", "127.0.0.1", "--workers", "1"],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    end = time.monotonic() + 120
    while time.monotonic() < end:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=2)
            return process, f"http://127.0.0.1:{port}"
        except OSError:
            time.sleep(0.5)
    raise SystemExit("MLflow's server does not answer")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("plimsoll")
    parser.add_argument("--runs", type=int, default=100_000)
    parser.add_argument("--mlflow")
    parser.add_argument("--mlflow-runs", type=int, default=10_000)
    wanted = parser.parse_args()
    os.environ["PLIMSOLL_BINARY"] = wanted.plimsoll
    from fill import fill
    from page import start_browser
    processes = []
    print(f"# {time.strftime('%Y-%m-%d')}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the start; {subprocess.run(['chromium', '--version'], capture_output=True, text=True).stdout.strip()}")
    print("# median of the times in brackets; from the call of an empty page's address, cache emptied")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        fill(folder / "many.db", wanted.runs)
        told = fill(folder / "some.db", 10, million=True, live=100)
        fill(folder / "ten.db", wanted.mlflow_runs)
        many = serve(wanted.plimsoll, folder / "many.db")
        some = serve(wanted.plimsoll, folder / "some.db")
        ten = serve(wanted.plimsoll, folder / "ten.db")
        processes += [many[0], some[0], ten[0]]
        driver = start_browser()
        try:
            tall(driver)
            say(f"first 50 rows of {wanted.runs:,} runs", first_rows(driver, many[1] + "/#/runs", ".vtable .space .tr:not(.waits)"), limit=1000)
            for text in ("resnet50", "params.model = 'resnet50'", "metrics.loss < 0.3", "metrics.accuracy > 0.9 AND params.lr = '0.1'"):
                say(f"from a key to the rows of: {text}", search_times(driver, many[1], text), limit=100)
            told_drawing = drawing(driver, some[1], told["million"])
            say(f"a metric of {told_drawing['points']:,} points, from its outline to the picture", told_drawing["draws"], limit=50)
            frames = sorted(told_drawing["frames"])
            say("script per frame while it is panned, median, 99th percentile, most", [frames[len(frames) // 2], frames[int(len(frames) * 0.99)], frames[-1]], limit=8)
            ids = json.loads(urllib.request.urlopen(f"{some[1]}/api/plimsoll/runs?limit=200&filter=attributes.status%3D'RUNNING'").read())["runs"]
            share, rows = live_share(driver, some[1], [run["id"] for run in ids])
            say(f"of a core for the page, {rows} runs that change once a second", [share], "%", 10)
            if wanted.mlflow:
                process, address = mlflow_runs(wanted.mlflow, folder, wanted.mlflow_runs)
                processes.append(process)
                # MLflow's table draws rows one by one as they come; a cell with a run's link is one row.
                theirs, ours = [], []
                for _ in range(3):
                    ours += first_rows(driver, ten[1] + "/#/runs", ".vtable .space .tr:not(.waits)", times=1)
                    theirs += first_rows(driver, address + "/#/experiments/0/runs", "[role=row] a[href*='/runs/'], .ag-row a[href*='/runs/']", rows=wanted_rows(driver), times=1)
                a = say(f"first 50 rows of {wanted.mlflow_runs:,} runs: Plimsoll", ours)
                b = say(f"first rows ({wanted_rows(driver)}) of {wanted.mlflow_runs:,} runs: MLflow's own page", theirs)
                print(f"{'MLflow over Plimsoll':66s} {b / a:9.1f} times   goal 5")
        finally:
            driver.quit()
            for process in processes:
                process.terminate()
                process.wait(60)


def wanted_rows(_driver):
    """Of MLflow's table fewer rows may be elements at a time than Plimsoll's 50: it is asked for 20, which is in its favour."""
    return 20


if __name__ == "__main__":
    main()
