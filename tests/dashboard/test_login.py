"""The way in where the server asks for a token."""
import pytest
from conftest import serving
from fill import fill

TOKEN = "a-token-of-thirty-two-characters"


@pytest.fixture(scope="module")
def locked(tmp_path_factory):
    folder = tmp_path_factory.mktemp("locked")
    fill(folder / "store.db", 3)
    served = serving.Served(folder, environment={"PLIMSOLL_TOKEN": TOKEN})
    yield served
    served.stop()


@pytest.mark.parametrize("width, dark", [(360, False), (800, True), (1920, False)])
def test_the_page_asks_for_the_token_and_goes_where_one_wanted(locked, page_of, width, dark):
    page = page_of(locked).size(width, 900, dark)
    page.driver.delete_all_cookies()
    page.open("/models", "document.querySelector('.login input')")
    page.picture(f"sqlite-login-{width}-{'dark' if dark else 'light'}")
    assert page.axe() == [] and page.errors() == []
    page.one(".login input").send_keys("a-wrong-token-of-many-characters")
    page.press("Log in")
    page.wait("!document.querySelector('.login .bad').hidden")
    page.errors()  # the browser notes the 401
    field = page.one(".login input")
    field.clear()
    field.send_keys(TOKEN)
    page.press("Log in")
    page.wait("document.querySelector('main .view')?.classList.contains('models')")
    assert TOKEN not in page.js("return document.cookie + JSON.stringify(localStorage) + JSON.stringify(sessionStorage) + location.href")
    page.open("/runs", "document.querySelectorAll('.vtable .space .tr:not(.waits)').length === 3")
    page.js("document.querySelector('.vtable .space .tr input').click()")
    page.press("Delete")
    page.wait("document.querySelector('.toolbar .count').textContent === '2 runs'")
    page.press("Restore", ".notices")
    page.wait("document.querySelector('.toolbar .count').textContent === '3 runs'")
    assert page.errors() == []
    page.press("Log out")
    page.wait("document.querySelector('.login input')")


