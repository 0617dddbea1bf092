"""The pictures of docs/dashboard.md: make_dashboard_pictures.py PLIMSOLL, with selenium (tests/peers.txt, group dashboard) and chromium."""
import os
import pathlib
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "dashboard"))
os.environ["PLIMSOLL_BINARY"] = sys.argv[1]
os.environ["PLIMSOLL_PICTURES"] = str(ROOT / "docs" / "figures" / "dashboard")

import page as pages  # noqa: E402
from conftest import make  # noqa: E402

ROWS = "document.querySelectorAll('.vtable .space .tr:not(.waits)').length > 5"


def main():
    with tempfile.TemporaryDirectory() as name:
        place = make(pathlib.Path(name) / "store", "sqlite", 60, live=2)
        driver = pages.start_browser()
        try:
            page = pages.Page(driver, place.url).size(1200, 640)
            page.open("/runs", ROWS).wait("/run/.test(document.querySelector('.toolbar .count').textContent)")
            page.picture("runs")
            page.open("/runs?columns=status~name~metrics.accuracy~hardware.energy~params.model~params.lr&order=metrics.accuracy DESC", ROWS)
            for i in range(12):
                page.js("document.querySelector(`.vtable .space .tr[data-i='${arguments[0]}'] input`).click()", i)
            page.press("Compare", ".marked-bar")
            page.wait("document.querySelector('table.side tbody tr')")
            page.js("document.querySelector('section[aria-label=Values]').scrollIntoView()")
            page.wait("document.querySelector('section[aria-label=Values] canvas').width > 300")
            page.picture("task_energy")
            run = place.told["first"]
            page.open(f"/runs/{run}/verdict", "document.querySelector('.verdict h3')")
            page.picture("task_slow")
            page.open("/share", "document.querySelectorAll('.jobs tbody tr').length === 3")
            page.press("Pairs")
            page.wait("document.querySelector('.answers canvas')")
            page.picture("task_share")
            page.press("Plan")
            page.wait("document.querySelectorAll('.gantt .bar').length === 3")
            page.js("document.querySelector('.gantt .bar').focus()")
            row = page.js("return [...document.querySelectorAll('.gantt-row')].findIndex((row) => row.contains(document.activeElement))")
            page.with_alt(pages.Keys.ARROW_UP if row else pages.Keys.ARROW_DOWN)
            page.wait("/done after/.test(document.querySelector('.answers [role=status]').textContent)")
            page.picture("task_plan")
        finally:
            driver.quit()
            place.stop()


if __name__ == "__main__":
    main()
