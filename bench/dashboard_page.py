"""How quick the dashboard is in Debian's chromium: dashboard_page.py PLIMSOLL [--runs 100000] [--mlflow PYTHON] > docs/figures/dashboard_page.txt

Measured in the page itself: the time from the call of the address to 50 rows that can be seen, from a key in the search field to its
rows, from an outline of a million points to its picture, script per frame while it is panned, and the page's share of a core with 100
runs under way that change once a second. With --mlflow (a Python that has MLflow), MLflow's own server and page with the same 10,000
runs beside it, each page opened in turn. Needs selenium (tests/peers.txt, group dashboard)."""
import argparse
import json
import os
import pathlib
import random
import sqlite3
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
# Of MLflow's table fewer rows may be elements at a time than 50: it is asked for 20, which is in its favour.
THEIR_ROWS = 20

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
    """The same kind of runs in a database of MLflow's own, whose tables its own store makes."""
    subprocess.run([python, "-c", f"from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore; SqlAlchemyStore('sqlite:///{folder}/mlflow.db', '{folder}/artifacts')"],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    database = sqlite3.connect(folder / "mlflow.db")
    chance, now, rows = random.Random(7), int(time.time() * 1000), range(runs)
    names = [f"{chance.getrandbits(128):032x}" for _ in rows]
    database.executemany("INSERT INTO runs(run_uuid, name, source_type, source_name, entry_point_name, user_id, status, start_time, end_time, source_version, lifecycle_stage, artifact_uri, experiment_id) "
                         "VALUES (?, ?, 'UNKNOWN', '', '', 'ada', 'FINISHED', ?, ?, '', 'active', ?, 0)", [(names[i], f"resnet50-{i}", now - i * 60000, now - i * 60000 + 30000, f"{folder}/artifacts/{names[i]}") for i in rows])
    for key in ("loss", "accuracy"):
        values = [(key, chance.random(), now - i * 60000, names[i]) for i in rows]
        database.executemany("INSERT INTO metrics(key, value, timestamp, run_uuid, step, is_nan) VALUES (?, ?, ?, ?, 0, 0)", values)
        database.executemany("INSERT INTO latest_metrics(key, value, timestamp, run_uuid, step, is_nan) VALUES (?, ?, ?, ?, 0, 0)", values)
    for key, value in {"lr": "0.1", "batch_size": "64", "model": "resnet50", "optimizer": "sgd", "epochs": "10", "seed": "7"}.items():
        database.executemany("INSERT INTO params(key, value, run_uuid) VALUES (?, ?, ?)", [(key, value, name) for name in names])
    for key, value in {"mlflow.user": "ada", "team": "vision"}.items():
        database.executemany("INSERT INTO tags(key, value, run_uuid) VALUES (?, ?, ?)", [(key, value, name) for name in names])
    database.executemany("INSERT INTO tags(key, value, run_uuid) VALUES ('mlflow.runName', ?, ?)", [(f"resnet50-{i}", names[i]) for i in rows])
    database.commit()
    database.close()
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
    parser.add_argument("--only-mlflow", action="store_true")
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
            if not wanted.only_mlflow:
                ourselves(driver, wanted, many, some, told)
            if wanted.mlflow:
                beside_mlflow(driver, wanted, folder, ten, processes)
        finally:
            driver.quit()
            for process in processes:
                process.terminate()
                process.wait(60)


def ourselves(driver, wanted, many, some, told):
    say(f"first 50 rows of {wanted.runs:,} runs", first_rows(driver, many[1] + "/#/runs", ".vtable .space .tr:not(.waits)"), limit=1000)
    for text in ("resnet50", "params.model = 'resnet50'", "metrics.loss < 0.3", "metrics.accuracy > 0.9 AND params.lr = '0.1'"):
        say(f"from a key to the rows of: {text}", search_times(driver, many[1], text), limit=100)
    told_drawing = drawing(driver, some[1], told["million"])
    say(f"a metric of {told_drawing['points']:,} points, from its outline to the picture", told_drawing["draws"], limit=50)
    frames = sorted(told_drawing["frames"])
    for name, at in (("median", 0.5), ("99th percentile", 0.99)):
        say(f"script per frame while it is panned, {name} of {len(frames)}", [frames[int(len(frames) * at)]], limit=8)
    ids = json.loads(urllib.request.urlopen(f"{some[1]}/api/plimsoll/runs?limit=200&filter=attributes.status%3D'RUNNING'").read())["runs"]
    share, rows = live_share(driver, some[1], [run["id"] for run in ids])
    say(f"of a core for the page, {rows} runs that change once a second", [share], "%", 10)


def beside_mlflow(driver, wanted, folder, ten, processes):
    process, address = mlflow_runs(wanted.mlflow, folder, wanted.mlflow_runs)
    processes.append(process)
    theirs, ours = [], []
    for _ in range(3):
        ours += first_rows(driver, ten[1] + "/#/runs", ".vtable .space .tr:not(.waits)", times=1)
        theirs += first_rows(driver, address + "/#/experiments/0/runs", "[role=row] a[href*='/runs/']", rows=THEIR_ROWS, times=1)
    a = say(f"first 50 rows of {wanted.mlflow_runs:,} runs: Plimsoll", ours)
    b = say(f"first {THEIR_ROWS} rows of {wanted.mlflow_runs:,} runs: MLflow's own page", theirs)
    print(f"{'MLflow over Plimsoll':66s} {b / a:9.1f} times   goal 5")


if __name__ == "__main__":
    main()
