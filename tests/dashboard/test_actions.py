"""What people do: search, mark, compare, tag, delete, restore, choose columns, order, group, zoom, save."""
import json
import pathlib
import time
import urllib.request

from conftest import serving
from selenium.webdriver.common.keys import Keys

ROWS = "document.querySelectorAll('.vtable .space .tr:not(.waits)').length"


def type_filter(page, text):
    page.js("const field = document.querySelector('.filter'); field.value = arguments[0]; field.setSelectionRange(field.value.length, field.value.length); field.dispatchEvent(new Event('input', {bubbles: true}))", text)


def count(page, text):
    page.wait("document.querySelector('.toolbar .count').textContent === arguments[0]", text)


def test_search_by_name_and_by_filter(small, page_of):
    page = page_of(small).open("/runs", f"{ROWS} === 12")
    type_filter(page, "metrics.accuracy > 0.5 AND params.model = 'resnet50'")
    page.wait("[...document.querySelectorAll('.vtable .space .tr:not(.waits)')].every((row) => row.textContent.includes('resnet50')) && document.querySelector('.vtable').ariaRowCount !== '13'")
    assert "filter=metrics.accuracy" in page.driver.current_url
    type_filter(page, "no run has this name")
    page.wait("document.querySelector('.nothing .empty') && !document.querySelector('.nothing').hidden")
    page.press("Show all runs")
    count(page, "12 runs")
    type_filter(page, "metrics.loss <")
    page.wait("document.querySelector('.problem:not([hidden])')?.textContent.includes('A value follows')")
    assert page.errors() == [], "what is not whole is not asked for"
    type_filter(page, "metrics.loss < 'a text'")
    page.wait("document.querySelector('.problem:not([hidden])') && !document.querySelector('.problem').textContent.includes('follows')")
    page.errors()  # the browser notes the 400


def test_suggestions_are_taken_by_keys(small, page_of):
    page = page_of(small).open("/runs", f"{ROWS} === 12")
    field = page.one(".filter")
    field.send_keys("accur")
    page.wait("document.querySelector('.suggestions li')?.textContent.includes('metrics.accuracy')")
    field.send_keys(Keys.ARROW_DOWN, Keys.ENTER)
    assert page.js("return document.querySelector('.filter').value") == "metrics.accuracy "
    page.wait("document.querySelector('.suggestions li')?.textContent.startsWith('<')")
    field.send_keys(">0 AND model")
    page.wait("document.querySelector('.suggestions li')?.textContent.includes('params.model')")
    field.send_keys(Keys.ARROW_DOWN, Keys.ENTER, "= ")
    page.wait("[...document.querySelectorAll('.suggestions li')].some((one) => one.textContent.includes(\"'resnet\") || one.textContent.includes(\"'vit\") || one.textContent.includes(\"'convnext\"))")


def test_order_and_columns_are_kept(small, page_of):
    page = page_of(small).open("/runs?columns=name~metrics.accuracy~hardware.energy", f"{ROWS} === 12")
    page.js("[...document.querySelectorAll('.vtable .sort')].find((one) => one.textContent.startsWith('accuracy')).click()")
    page.wait("document.querySelector('.vtable [aria-sort=descending]')")
    values = page.js("return [...document.querySelectorAll('.vtable .space .tr')].sort((a, b) => a.dataset.i - b.dataset.i).map((row) => Number(row.children[2].textContent))")
    assert values == sorted(values, reverse=True)
    page.press("Columns")
    page.one("dialog input[type=search]").send_keys("batch_size")
    page.js("[...document.querySelectorAll('.pick-list button')].find((one) => one.textContent.includes('batch_size')).click()")
    page.press("Show these")
    page.wait("[...document.querySelectorAll('.vtable .th')].some((one) => one.textContent.includes('batch_size'))")
    page.open("/runs", "[...document.querySelectorAll('.vtable .th')].some((one) => one.textContent.includes('batch_size'))")
    page.js("localStorage.clear()")


def test_marked_runs_are_tagged_deleted_and_restored(small, page_of):
    page = page_of(small).open("/runs?columns=name~tags.verdict", f"{ROWS} === 12")
    for i in (0, 1):
        page.js("document.querySelector(`.vtable .space .tr[data-i='${arguments[0]}'] input`).click()", i)
    page.wait("document.querySelector('.marked-bar').textContent.includes('2 marked')")
    page.press("Tag…")
    page.one("dialog input").send_keys("verdict")
    page.one("dialog textarea").send_keys("<b>good</b>")
    page.press("Set the tag")
    page.wait("[...document.querySelectorAll('.vtable .space .td')].filter((one) => one.textContent === '<b>good</b>').length === 2")
    for i in (0, 1):
        page.js("document.querySelector(`.vtable .space .tr[data-i='${arguments[0]}'] input`).click()", i)
    page.press("Delete")
    count(page, "10 runs")
    page.press("Restore", ".notices")
    count(page, "12 runs")
    assert page.errors() == []


def test_the_best_accuracy_with_the_least_energy(small, page_of):
    page = page_of(small).open("/runs?columns=name~metrics.accuracy~hardware.energy&order=metrics.accuracy DESC", f"{ROWS} === 12")
    for i in range(6):
        page.js("document.querySelector(`.vtable .space .tr[data-i='${arguments[0]}'] input`).click()", i)
    page.press("Compare", ".marked-bar")
    page.wait("document.querySelector('table.side tbody tr')")
    assert page.text("h1") == "6 runs"
    chosen = page.js("return [...document.querySelectorAll('section[aria-label=Values] select')].map((one) => one.selectedOptions[0].textContent)")
    assert chosen[:2] == ["energy", "accuracy"], "the question most people have is there at once"
    assert "★" in page.text("table.side")


def test_charts_zoom_together_and_save(small, page_of, downloads):
    page = page_of(small).open(f"/runs/{small.told['first']}", "document.querySelectorAll('.legend b').length > 3")
    page.wait("[...document.querySelectorAll('.legend b')].slice(0, 3).every((one) => one.textContent !== '')")
    canvas = page.one("canvas.plot")
    page.js("arguments[0].focus()", canvas)
    page.keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT, "+")
    page.wait("[...document.querySelectorAll('.chart-tools button')].some((one) => one.textContent === 'Show all' && !one.hidden)")
    page.keys("0")
    page.wait("[...document.querySelectorAll('.chart-tools button')].every((one) => one.textContent !== 'Show all' || one.hidden)")
    for kind in ("SVG", "PNG", "CSV"):
        page.js("document.querySelector('figure[data-title=loss] figcaption button').click()")
        page.press(f"Save as {kind}")
    serving.wait_for(lambda: all((downloads / f"loss.{kind}").exists() for kind in ("svg", "png", "csv")))
    assert (downloads / "loss.svg").read_text().startswith("<svg")
    assert (downloads / "loss.png").read_bytes()[:4] == b"\x89PNG"
    assert (downloads / "loss.csv").read_text().splitlines()[0] == "line,seconds,step,mean,lowest,highest"
    page.js("document.querySelector('figure[data-title=loss] figcaption button').click()")
    page.press("Show as a table")
    page.wait("document.querySelectorAll('figure[data-title=loss] tbody tr').length > 100")
    for axis in ("Step", "Epoch", "Time"):
        page.press(axis)
        page.wait("[...document.querySelectorAll('.chart-tools [aria-pressed=true]')].some((one) => one.textContent === arguments[0])", axis)
    assert page.errors() == []


def test_logs_are_searched(small, page_of):
    page = page_of(small).open(f"/runs/{small.told['first']}/logs", "document.querySelector('.log')?.textContent.includes('step 4999')")
    page.one("[data-key=filter]").send_keys("step 777 ")
    page.wait("document.querySelectorAll('.matches button').length === 1")
    page.js("document.querySelector('.matches button').click()")
    page.wait("document.querySelector('.log mark')?.textContent === 'step 777 '")
    assert page.errors() == []


def test_a_run_under_way_is_followed(small, page_of):
    
    def call(path, body):
        request = urllib.request.Request(f"{small.url}/api/2.0/mlflow/{path}", json.dumps(body).encode(), {"Content-Type": "application/json"})
        return json.load(urllib.request.urlopen(request))

    run = call("runs/create", {"experiment_id": "0", "run_name": "followed", "start_time": int(time.time() * 1000)})["run"]["info"]["run_id"]
    log = lambda step: call("runs/log-metric", {"run_id": run, "key": "loss", "value": 1 / (1 + step), "timestamp": int(time.time() * 1000) + step, "step": step})
    log(0)
    page = page_of(small).open(f"/runs/{run}", "document.querySelector('.legend b')?.textContent === '1'")
    log(3)
    page.wait("document.querySelector('.legend b')?.textContent === '0.25'")
    page.open("/now", "document.querySelector('.now-runs tbody')?.textContent.includes('followed')")
    call("runs/update", {"run_id": run, "status": "FINISHED", "end_time": int(time.time() * 1000)})
    page.wait("document.querySelectorAll('.now-runs tbody tr').length === 0")
    call("runs/delete", {"run_id": run})
    assert page.errors() == []


def test_sharing_a_gpu_is_foretold(small, page_of):
    page = page_of(small).open("/share", "document.querySelectorAll('.jobs tbody tr').length === 3")
    page.press("All on one GPU")
    page.wait("document.querySelectorAll('.answers table tbody tr').length >= 3")
    page.press("Pairs")
    page.wait("document.querySelector('.answers canvas')")
    page.js("document.querySelector('.answers figcaption button').click()")
    page.press("Show as a table")
    page.wait("document.querySelectorAll('.answers tbody tr').length === 3")
    page.press("Plan")
    page.wait("document.querySelectorAll('.gantt .bar').length === 3")
    before = page.js("const bar = document.querySelector('.gantt .bar'); bar.focus(); return [...document.querySelectorAll('.gantt-row')].findIndex((row) => row.contains(bar))")
    page.with_alt(Keys.ARROW_UP if before else Keys.ARROW_DOWN)
    page.wait("/done after/.test(document.querySelector('.answers [role=status]').textContent)")
    assert page.errors() == []


def test_a_model_file_is_weighed(small, page_of):
    files = sorted(pathlib.Path(__file__).parents[1].glob("fixtures/**/*.onnx"))
    page = page_of(small).open("/network", "document.querySelector('.drop')")
    page.one("#model-file").send_keys(str(files[0]))
    page.wait("document.querySelector('main dl') || document.querySelector('main .bad')")
    assert "Parameters" in page.text("main"), page.text("main")
