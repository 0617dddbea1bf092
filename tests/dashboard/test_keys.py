"""Everything by keyboard: views, the table, the dialog of keys, columns, themes."""
from selenium.webdriver.common.keys import Keys

ROWS = "document.querySelectorAll('.vtable .space .tr:not(.waits)').length"


def test_views_by_keys_and_a_list_of_keys(small, page_of):
    page = page_of(small).open("/runs", f"{ROWS} === 12")
    for key, view in {"n": "now", "c": "compare", "w": "network", "s": "share", "m": "models", "r": "runs"}.items():
        page.keys("g", key)
        page.wait("document.querySelector('main .view')?.classList.contains(arguments[0])", view)
    page.keys("?")
    page.wait("document.querySelector('dialog.keys')")
    assert page.axe() == []
    page.keys(Keys.ESCAPE)
    page.wait("!document.querySelector('dialog')")
    page.keys("/")
    page.wait("document.activeElement.classList.contains('filter')")
    assert page.errors() == []


def test_rows_are_gone_through_marked_and_opened(small, page_of):
    page = page_of(small).open("/runs", f"{ROWS} === 12")
    page.js("document.querySelector('.vtable .space .tr[data-i=\"0\"]').focus()")
    page.keys(Keys.ARROW_DOWN, Keys.ARROW_DOWN, " ", Keys.END, "x")
    page.wait("document.querySelector('.marked-bar').textContent.includes('2 marked')")
    assert page.js("return document.activeElement.dataset.i") == "11"
    page.keys(Keys.HOME, Keys.ENTER)
    page.wait("document.querySelector('.run-head h1')")
    page.keys("2")
    page.wait("document.querySelector('.verdict h3')")
    assert page.errors() == []


def test_columns_are_moved_by_keys(small, page_of):
    page = page_of(small).open("/runs?columns=status~name~user", f"{ROWS} === 12")
    page.keys("k")
    page.wait("document.querySelectorAll('.order-list .name').length === 3")
    page.js("document.querySelectorAll('.order-list .name')[2].focus()")
    page.with_alt(Keys.ARROW_UP)
    page.wait("document.activeElement.textContent.includes('User') && document.querySelector('.order-list li:nth-child(2)').contains(document.activeElement)")
    page.press("Show these")
    page.wait("[...document.querySelectorAll('.vtable .th')].map((one) => one.textContent.trim()).slice(1, 4).join() === 'Status,User,Name'")
    page.js("localStorage.clear()")
    assert page.errors() == []


def test_the_theme_is_switched_and_kept(small, page_of):
    page = page_of(small).open("/runs", f"{ROWS} === 12")
    page.press("Appearance")
    page.press("Dark", ".menu")
    assert page.js("return document.documentElement.dataset.theme") == "dark"
    page.open("/models")
    assert page.js("return document.documentElement.dataset.theme") == "dark"
    page.js("localStorage.clear()")
