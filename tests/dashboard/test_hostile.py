"""What was stored to do harm is text: in names, keys, values, files and logs. And answers of the server that are no answers."""
from fill import HOSTILE


def test_each_hostile_run_is_shown_as_text(hundred, page_of):
    page = page_of(hundred)
    rows = page.open("/runs?filter=attributes.experiment_name LIKE '%script%'", "document.querySelectorAll('.vtable .space .tr:not(.waits)').length > 10").js(
        "return fetch('api/plimsoll/runs?limit=100&filter=' + encodeURIComponent(\"attributes.experiment_name LIKE '%script%'\")).then((answer) => answer.json()).then(({runs}) => runs)")
    assert len(rows) == len(HOSTILE)
    assert page.ran() is None
    for row in rows:
        for part in ("", "/details"):
            page.open(f"/runs/{row['id']}{part}", "document.querySelector('.run-head h1 bdi')")
            assert page.ran() is None, row["name"][:80]
            assert not page.wider_than_window(), row["name"][:80]
        if row["name"].strip():
            shown = page.js("return document.querySelector('.run-head h1 bdi').textContent")
            assert row["name"].startswith(shown.rstrip("…")), "the name stands there as it is"
    assert page.errors() == []


def test_a_filter_on_a_hostile_name_is_a_text(hundred, page_of):
    page = page_of(hundred).open("/runs", "document.querySelectorAll('.vtable .space .tr:not(.waits)').length > 5")
    for text in HOSTILE[:8]:
        field = page.one(".filter")
        page.js("arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('input', {bubbles: true}))", field, text)
        page.wait("document.querySelector('.problem:not([hidden])') || /run/.test(document.querySelector('.toolbar .count').textContent)")
        assert page.ran() is None, text
    page.errors()  # a filter that cannot be read is answered 400, which the browser notes


def test_all_hostile_runs_side_by_side(hundred, page_of):
    page = page_of(hundred).open("/runs", "document.querySelectorAll('.vtable .space .tr:not(.waits)').length > 5")
    ids = page.js("return fetch('api/plimsoll/runs?limit=100&filter=' + encodeURIComponent(\"attributes.experiment_name LIKE '%script%'\")).then((answer) => answer.json()).then(({runs}) => runs.map(({id}) => id).join(','))")
    page.open(f"/compare?runs={ids}", "document.querySelector('table.side tbody tr') && document.querySelectorAll('.legend b').length > 5")
    assert page.ran() is None and page.errors() == [] and not page.wider_than_window()


def test_files_are_shown_where_nothing_of_them_runs(hundred, page_of):
    page = page_of(hundred).open(f"/runs/{hundred.told['first']}/artifacts", "document.querySelectorAll('.tree li').length > 3")
    for name, there in {"confusion.csv": ".preview td", "environment.json": ".preview pre", "output.log": ".preview pre", "picture.svg": ".preview img", "page.html": ".preview iframe"}.items():
        button = page.js("return [...document.querySelectorAll('.tree button')].find((one) => one.textContent.includes(arguments[0]))", name)
        page.js("arguments[0].click()", button)
        page.wait("document.querySelector('.preview b')?.textContent === arguments[0] && document.querySelector(arguments[1])", name, there)
        if "img" in there:
            page.wait("document.querySelector('.preview img').complete && document.querySelector('.preview img').naturalWidth > 0")
    assert "<b>bird</b>" in page.js("return fetch('get-artifact?run_uuid=' + arguments[0] + '&path=confusion.csv').then((answer) => answer.text())", hundred.told["first"])
    assert page.ran() is None
    frame = page.one(".preview iframe")
    assert frame.get_attribute("sandbox") == ""
    page.driver.switch_to.frame(frame)
    assert page.js("return window.__ran ?? null") is None
    page.driver.switch_to.default_content()
    page.errors()  # the sandbox says that it kept a script from running


def test_what_is_saved_opens_no_formula(hundred, page_of, downloads):
    page = page_of(hundred)
    text = page.open("/runs").driver.execute_async_script(
        "const done = arguments[0]; import('/static/figure.js').then(({csvText}) => done(csvText({head: ['a'], rows: [[\"=cmd|' /C calc'!A0\"], ['-1+1'], [-1.5]]})))")
    assert text.splitlines()[1:] == ["'=cmd|' /C calc'!A0", "'-1+1", "-1.5"]
