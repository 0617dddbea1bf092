"""Stores to look at: fill.py STORE RUNS [--hostile] [--million] writes a store of so many runs, as `plimsoll run` and MLflow's
client would leave them, straight into the tables of SQLite; `plimsoll store copy` brings it into PostgreSQL. Everything in it
follows from its number, so that two fillings are equal but for the time at which they were made."""
import argparse
import json
import math
import os
import pathlib
import random
import sqlite3
import struct
import subprocess
import time
import zlib

BINARY = os.environ.get("PLIMSOLL_BINARY", "plimsoll")
SECOND = 1_000_000  # times in the store are microseconds

# What people, and those who are after them, write into names and values.
HOSTILE = [
    "<script>window.__ran = 1</script>", "<img src=x onerror=\"window.__ran = 2\">", "javascript:window.__ran=3",
    "\"><svg onload=window.__ran=4>", "{{constructor.constructor('window.__ran=5')()}}", "${window.__ran=6}",
    "</title></style></textarea><script>window.__ran=7</script>", "' OR 1=1; DROP TABLE run; --",
    "مرحبا بالعالم – تجربة", "שלום \u202egnp.exe\u202c", "🏋️‍♀️🚀 emoji 🇩🇰", "x" * 10_000, "z̴̢͠a̵̡͝l̶̛̕g̷̨͘o̸̧͝ " * 20,
    "line\nbreak\ttab", "   ", "=cmd|' /C calc'!A0", "__proto__", "constructor", "ﷺ" * 300, "a/b/../../c?d#e&f=%41",
]


def varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def zigzag(value):
    return ((value << 1) ^ (value >> 63)) & 0xFFFFFFFFFFFFFFFF


def chunk(points):
    """docs/store.md, "Points"."""
    body = bytearray()
    before = difference = 0
    for i, (moment, _, _) in enumerate(points):
        step = moment - before
        body += varint(zigzag(step - difference))
        difference = step if i else 0
        before = moment
    before = 0
    for _, step, _ in points:
        body += varint(zigzag(step - before))
        before = step
    before, words = 0, []
    for _, _, value in points:
        bits = struct.unpack("<Q", struct.pack("<d", value))[0]
        words.append(bits ^ before)
        before = bits
    raw = struct.pack(f">{len(words)}Q", *words)
    for plane in range(8):
        body += raw[plane::8]
    head = b"\x01" + (b"\x01" if len(points) >= 64 else b"\x00") + varint(len(points))
    if len(points) < 64:
        return head + bytes(body)
    packed = zlib.compress(bytes(body), 1)
    if len(packed) + 10 >= len(body):
        return b"\x01\x00" + varint(len(points)) + bytes(body)
    return head + varint(len(body)) + packed


def summary(points):
    out = b""
    for i in range(0, len(points), 128):
        block = points[i:i + 128]
        values = [value for _, _, value in block]
        out += struct.pack("<qqqqdddqqqqd", block[0][0], block[-1][0], block[0][1], block[-1][1], min(values), max(values), sum(values),
                           len(block), len(block), block[0][0], block[0][1], block[0][2])
    return out


def make_store(path):
    """A server makes the store before it says where it serves."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PLIMSOLL_TOKEN")}
    server = subprocess.Popen([BINARY, "serve", "--port", "0", "--json", "--store", str(path)], stdout=subprocess.PIPE, env=clean)
    server.stdout.readline()
    server.terminate()
    server.communicate()


class Filling:
    def __init__(self, path, seed=7):
        self.path = pathlib.Path(path)
        make_store(path)
        self.db = sqlite3.connect(path, isolation_level=None)
        self.db.execute("PRAGMA synchronous = OFF")
        self.db.execute("BEGIN")
        self.metric = self.db.execute("SELECT coalesce(max(id), 0) FROM metric").fetchone()[0]
        self.number = self.db.execute("SELECT coalesce(max(number), 0) FROM run").fetchone()[0]
        self.random = random.Random(seed)
        self.now = int(time.time()) * SECOND
        self.rows = {name: [] for name in ("run", "param", "tag", "metric", "chunk", "summary")}

    def experiment(self, name):
        found = self.db.execute("SELECT id FROM experiment WHERE name = ?", (name,)).fetchone()
        if found:
            return found[0]
        return self.db.execute("INSERT INTO experiment(name, created, changed) VALUES (?, ?, ?)", (name, self.now, self.now)).lastrowid

    def run(self, name, experiment=0, status="FINISHED", start=None, seconds=600, user="ada", params=None, tags=None, deleted=0):
        self.number += 1
        run = f"{self.random.getrandbits(128):032x}"
        start = self.now - 3600 * SECOND if start is None else start
        end = None if status == "RUNNING" else start + int(seconds * SECOND)
        self.rows["run"].append((self.number, run, experiment, name, status, start, end, deleted, user, self.now if deleted else None, 1))
        self.rows["param"] += [(self.number, key, value) for key, value in (params or {}).items()]
        self.rows["tag"] += [(self.number, key, value) for key, value in {"mlflow.runName": name, "mlflow.user": user, **(tags or {})}.items()]
        return self.number, run, start

    def history(self, run, name, points, unit="", source="", host=""):
        self.metric += 1
        last = max(points, key=lambda p: (p[1], p[0]))
        sequence = 0
        for i in range(0, len(points), 4096):
            part = points[i:i + 4096]
            self.rows["chunk"].append((self.metric, sequence, len(part), min(p[0] for p in part), max(p[0] for p in part), chunk(part)))
            if len(part) >= 128:
                self.rows["summary"].append((self.metric, sequence, summary(part)))
            sequence += 1
        full = len(points) // 4096
        self.rows["metric"].append((self.metric, run, name, unit, source, last[0], last[1], None if math.isnan(last[2]) else last[2], len(points), full, sequence, host))

    def flush(self):
        many = self.db.executemany
        rows = self.rows
        many('INSERT INTO run(number, id, experiment, name, status, start, "end", deleted, user_name, deleted_at, version) VALUES (?,?,?,?,?,?,?,?,?,?,?)', rows["run"])
        many("INSERT INTO param VALUES (?,?,?)", rows["param"])
        many("INSERT INTO tag VALUES (?,?,?)", rows["tag"])
        many("INSERT INTO metric(id, run, name, unit, source, latest_time, latest_step, latest_value, points, full_chunks, chunks, host) VALUES (?,?,?,?,?,?,?,?,?,?,?,?)", rows["metric"])
        many("INSERT INTO chunk(metric, sequence, points, first, last, bytes) VALUES (?,?,?,?,?,?)", rows["chunk"])
        many("INSERT INTO summary VALUES (?,?,?)", rows["summary"])
        for kept in rows.values():
            kept.clear()

    def close(self):
        self.flush()
        self.db.execute("COMMIT")
        self.db.close()

    def artifacts(self, run):
        folder = self.path.with_name(self.path.stem + "-artifacts") / run
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        folder.parent.chmod(0o700)
        return folder


def curve(filling, start, seconds, count, value):
    return [(start + int(seconds * SECOND * (i + 1) / count), i, value(i / count) + filling.random.gauss(0, 0.004)) for i in range(count)]


def training(filling, i, experiment, *, points=200, hardware=True, status="FINISHED", name=None, seconds=None, start=None):
    """A training with parameters, its own metrics, and what the hardware did."""
    r = filling.random
    lr, batch, model = r.choice([0.3, 0.1, 0.03, 0.01, 0.003]), r.choice([32, 64, 128, 256]), r.choice(["resnet18", "resnet50", "vit-b16", "convnext-t"])
    best = 0.93 - 0.05 * abs(math.log10(lr / 0.05)) - 0.0001 * batch + 0.01 * ("50" in model)
    activity = 0.25 + 0.15 * math.log2(batch / 16)
    seconds = seconds or 300 + 90 * r.random() * (3 if "vit" in model else 1)
    start = filling.now - int((i * 1800 + seconds) * SECOND) if start is None else start
    number, run, start = filling.run(name or f"{model}-lr{lr}-b{batch}", experiment, status, start, seconds, user=r.choice(["ada", "grace", "linus"]),
                                     params={"lr": str(lr), "batch_size": str(batch), "model": model, "optimizer": r.choice(["sgd", "adamw"]), "epochs": "10", "seed": str(i)},
                                     tags={"plimsoll.command": json.dumps(["python", "train.py", "--lr", str(lr)]), "plimsoll.host": "node1", "plimsoll.host.cores": "32",
                                           "plimsoll.mode": "alone", "plimsoll.python": "3.11.7", "team": r.choice(["vision", "speech"])})
    filling.history(number, "loss", curve(filling, start, seconds, points, lambda x: 0.2 + 2.1 * math.exp(-5 * x) + (1 - best)))
    filling.history(number, "accuracy", curve(filling, start, seconds, max(2, points // 20), lambda x: best * (1 - math.exp(-4 * x))))
    if hardware:
        filling.history(number, "epoch", [(start + int(seconds * SECOND * (e + 1) / 10), e, float(e)) for e in range(10)])
        gpu = lambda name, unit, value, source: filling.history(number, name, curve(filling, start, seconds, points, value), unit, source, "node1")
        gpu("system/gpu/0/sm_activity", "1", lambda x: max(0, activity + 0.05 * math.sin(40 * x)), "GPM")
        gpu("system/gpu/0/utilization", "1", lambda x: 0.98, "NVML")
        gpu("system/gpu/0/power", "W", lambda x: 120 + 480 * activity + 20 * math.sin(40 * x), "NVML")
        gpu("system/gpu/0/memory_used", "B", lambda x: (6 + batch / 16) * 2**30, "NVML")
        gpu("system/gpu/0/temperature", "°C", lambda x: 40 + 25 * activity, "NVML")
        gpu("system/run/gpu/0/energy", "J", lambda x: (120 + 480 * activity) * seconds * x, "NVML")
        gpu("system/run/gpu/0/sm_activity", "1", lambda x: max(0, activity), "GPM")
        if status != "RUNNING":
            for key, unit, value in (("gpu_energy", "J", (120 + 480 * activity) * seconds), ("sm_activity_mean", "1", activity), ("gpu_memory_peak", "B", (6 + batch / 16) * 2**30)):
                filling.history(number, f"summary/{key}", [(start + int(seconds * SECOND), 0, value)], unit, "from the run's samples")
        gpu("system/run/cpu", "cores", lambda x: 3.5 + math.sin(20 * x), "/proc/PID/stat")
    return number, run, start, seconds


PNG = bytes.fromhex("89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c4944415408d763f8cfc0000003010100c9fe92ef0000000049454e44ae426082")


def files(filling, run):
    folder = filling.artifacts(run)
    (folder / "output.log").write_text("".join(f"epoch {i // 100} step {i} loss {2.3 * math.exp(-i / 900):.4f}\n" for i in range(5000)) + "<script>window.__ran = 8</script>\n")
    (folder / "environment.json").write_text(json.dumps({"python": "3.11.7", "packages": {"torch": "2.11.0"}}))
    (folder / "confusion.csv").write_text("class,precision,recall\ncat,0.93,0.91\ndog,0.95,0.96\n<b>bird</b>,0.88,0.9\n")
    (folder / "plots").mkdir(exist_ok=True)
    (folder / "plots" / "samples.png").write_bytes(PNG)
    (folder / "page.html").write_text("<h1>A page</h1><script>parent.window.__ran = 9; window.__ran = 9</script>")
    (folder / "picture.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg" width="80" height="40"><script>window.__ran = 10</script><rect width="80" height="40" fill="teal"/></svg>')


def models(filling, run):
    """Registered models, with versions and aliases."""
    for name in ("resnet", "<b>model<img src=x onerror=window.__ran> \u202e🏋️", "x" * 200):
        model = filling.db.execute("INSERT INTO registered_model(name, created, changed, description, last_version) VALUES (?,?,?,?,3)",
                                   (name, filling.now, filling.now, f"{name}: <script>window.__ran = 12</script>")).lastrowid
        for version in (1, 2, 3):
            filling.db.execute("INSERT INTO model_version(model, version, created, changed, description, user_name, stage, source, location, run, run_link, logged_model, status, status_message) VALUES (?,?,?,?,?,?,'None',?,?,?,'','','READY','')",
                               (model, version, filling.now, filling.now, "<img src=x onerror=window.__ran=13>", "ada", f"mlflow-artifacts:/1/{run}/artifacts/model", "", run))
        filling.db.execute("INSERT INTO model_alias VALUES (?, 'champion', 3)", (model,))


def fill(path, runs, hostile=False, million=False, live=0, points=200):
    """Writes the store; returns the ids of runs that tests ask for, by what is special about them."""
    filling = Filling(path)
    vision, language = filling.experiment("vision"), filling.experiment("language models")
    told = {}
    detailed = min(runs, 100)
    for i in range(detailed):
        _, run, _, _ = training(filling, i, vision if i % 3 else language, points=points, status=["FINISHED", "FINISHED", "FAILED", "KILLED"][i % 4] if i else "FINISHED")
        if i == 0:
            told["first"] = run
            files(filling, run)
            models(filling, run)
    for i in range(detailed, runs):
        training(filling, i, vision if i % 3 else language, points=2, hardware=False)
        if i % 5000 == 0:
            filling.flush()
    for i in range(live):
        _, run, _, _ = training(filling, i, vision, points=50, status="RUNNING", name=f"live-{i}")
        told.setdefault("live", run)
    if hostile:
        bad = filling.experiment("<script>window.__ran = 11</script>")
        for i, text in enumerate(HOSTILE):
            key = "".join(c if c.isprintable() else "_" for c in text)[:200] or "empty"
            number, run, start = filling.run(text, bad, user=text[:200], params={key: text[:6000], "lr": "0.1"}, tags={"note": text[:8000], "mlflow.note.content": text[:8000], key: text[:100]})
            filling.history(number, "loss", curve(filling, start, 60, 50, lambda x: 1 / (1 + x)))
            filling.history(number, key, curve(filling, start, 60, 5, lambda x: x), unit="<b>" if i == 0 else "")
            filling.history(number, "strange", [(start + k * SECOND, k, v) for k, v in enumerate([0.0, math.nan, math.inf, -math.inf, 1e300, -1e-300, 5.0])])
            told.setdefault("hostile", run)
    if million:
        number, run, start = filling.run("a million points", vision, seconds=100_000)
        points = [(start + i * SECOND // 10, i, math.sin(i / 50_000) + 0.2 * math.sin(i / 300) + (i * 7919 % 1000) / 5000) for i in range(1_000_000)]
        filling.history(number, "loss", points)
        told["million"] = run
    filling.close()
    return told


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("store")
    parser.add_argument("runs", type=int)
    parser.add_argument("--hostile", action="store_true")
    parser.add_argument("--million", action="store_true")
    parser.add_argument("--live", type=int, default=0)
    wanted = parser.parse_args()
    print(json.dumps(fill(wanted.store, wanted.runs, wanted.hostile, wanted.million, wanted.live)))


if __name__ == "__main__":
    main()
