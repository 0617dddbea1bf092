"""The dashboard in chromium, as a person has it before them. All waiting is for what becomes visible, with a limit of minutes."""
import importlib.util
import json
import os
import pathlib
import shutil

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

PATIENCE = int(os.environ.get("PLIMSOLL_TEST_PATIENCE", 240))
PICTURES = pathlib.Path(os.environ.get("PLIMSOLL_PICTURES", "pictures"))
AXE = pathlib.Path(importlib.util.find_spec("axe_playwright_python").submodule_search_locations[0]) / "axe.min.js"


def start_browser(downloads=None):
    options = Options()
    options.binary_location = shutil.which("chromium")
    for word in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--no-first-run", "--window-size=1920,1000", "--lang=en-GB",
                 "--disable-background-networking", "--disable-component-update", "--force-prefers-reduced-motion"):
        options.add_argument(word)
    if downloads:
        options.add_experimental_option("prefs", {"download.default_directory": str(downloads), "download.prompt_for_download": False,
                                                  "profile.default_content_setting_values.automatic_downloads": 1})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    driver.set_script_timeout(PATIENCE)
    driver.set_page_load_timeout(PATIENCE)
    return driver


class Page:
    def __init__(self, driver, url):
        self.driver = driver
        self.url = url.rstrip("/")

    def size(self, width, height=900, dark=False):
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]})
        return self

    def open(self, path, ready=None):
        """A view by its address; the page itself is loaded anew."""
        self.driver.get("about:blank")
        self.driver.get(f"{self.url}/#{path}")
        self.wait("document.querySelector('main .view, main .empty') && !document.querySelector('main [aria-busy=true]')")
        if ready:
            self.wait(ready)
        return self

    def js(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def wait(self, condition, *arguments):
        try:
            return WebDriverWait(self.driver, PATIENCE, 0.05).until(lambda _: self.js(f"return {condition}", *arguments))
        except Exception as error:
            raise AssertionError(f"waited in vain for {condition} at {self.driver.current_url}; the page says: {self.text('main')[:600]} {self.text('.notices')}; console: {self.errors()}") from error

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def one(self, selector):
        self.wait("document.querySelector(arguments[0])", selector)
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def button(self, text, within="body"):
        find = "[...document.querySelectorAll(arguments[1] + ' button')].find((one) => (one.textContent.trim() === arguments[0] || one.getAttribute('aria-label') === arguments[0]) && one.offsetParent !== null)"
        self.wait(find, text, within)
        return self.js(f"return {find}", text, within)

    def press(self, text, within="body"):
        self.js("arguments[0].click()", self.button(text, within))

    def keys(self, *keys):
        ActionChains(self.driver).send_keys(*keys).perform()

    def with_alt(self, key):
        ActionChains(self.driver).key_down(Keys.ALT).send_keys(key).key_up(Keys.ALT).perform()

    def text(self, selector="main"):
        return self.js("return document.querySelector(arguments[0])?.innerText ?? ''", selector)

    def errors(self):
        """What the console said that somebody should see, since the last time."""
        return [line["message"] for line in self.driver.get_log("browser") if line["level"] in ("SEVERE", "WARNING")]

    def ran(self):
        """Whether something that was stored ran as a script."""
        return self.js("return window.__ran ?? null")

    def wider_than_window(self):
        return self.js("return document.documentElement.scrollWidth > innerWidth + 1 || document.querySelector('main').scrollWidth > document.querySelector('main').clientWidth + 1")

    def axe(self):
        """Serious and critical findings, as text."""
        self.js("if (!window.axe) { " + AXE.read_text() + " }")
        told = self.driver.execute_async_script("const done = arguments[0]; axe.run(document, {resultTypes: ['violations']}).then((all) => done(all.violations), (error) => done([{impact: 'critical', id: String(error), nodes: []}]))")
        return [f"{one['id']}: {json.dumps([node['html'][:200] + ' ' + str(node.get('failureSummary'))[:200] for node in one['nodes'][:3]])}" for one in told if one["impact"] in ("serious", "critical")]

    def picture(self, name):
        PICTURES.mkdir(parents=True, exist_ok=True)
        self.driver.save_screenshot(str(PICTURES / f"{name}.png"))
