"""A store of one run, and one of a hundred thousand: the table shows any part of it."""
import pytest
from conftest import make

FIRST = "document.querySelectorAll('.vtable .space .tr:not(.waits)').length"


@pytest.fixture(params=[0, 1])
def few(request, tmp_path):
    place = make(tmp_path / "store", "sqlite", request.param)
    yield request.param, place
    place.stop()


def test_no_run_and_one(few, page_of):
    runs, place = few
    page = page_of(place)
    if runs == 0:
        page.open("/runs", "document.querySelector('.nothing .empty') && !document.querySelector('.nothing').hidden")
        assert "plimsoll run" in page.text(".nothing")
        page.open("/models", "document.querySelector('.empty')")
    else:
        page.open("/runs", f"{FIRST} === 1")
        page.wait("document.querySelector('.toolbar .count').textContent === '1 run'")
    page.open("/now", "document.querySelector('.machine b').textContent !== ''")
    assert page.errors() == [] and page.axe() == []


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    place = make(tmp_path_factory.mktemp("many") / "store", "sqlite", 100_000)
    yield place
    place.stop()


def test_a_hundred_thousand_are_scrolled(many, page_of):
    page = page_of(many).open("/runs", f"{FIRST} > 20")
    page.wait("document.querySelector('.toolbar .count').textContent === '100 000 runs'")
    for part in (0.5, 0.123, 1):
        page.js("const table = document.querySelector('.vtable'); table.scrollTop = arguments[0] * (table.scrollHeight - table.clientHeight)", part)
        # The row that stands there then, with its contents; each is as high as any other.
        row = round(part * 99_980) if part < 1 else 99_999
        page.wait(f"document.querySelector('.vtable .space .tr[data-i=\"{row}\"]:not(.waits)') && !document.querySelector('.vtable .waits')")
    assert page.js("return document.querySelectorAll('.vtable .space .tr').length") < 100, "only what is seen is there"
    page.picture("sqlite-many-1400-light")
    page.js("const field = document.querySelector('.filter'); field.value = \"metrics.accuracy > 0.7 AND params.model = 'resnet50'\"; field.dispatchEvent(new Event('input', {bubbles: true}))")
    page.wait("document.querySelector('.vtable .space .tr:not(.waits)') && [...document.querySelectorAll('.vtable .space .tr:not(.waits)')].every((row) => row.textContent.includes('resnet50'))")
    assert page.errors() == [] and page.axe() == []
