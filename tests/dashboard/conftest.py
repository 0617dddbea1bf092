"""Stores that are filled once, servers on them, and one browser for all tests of a file."""
import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile
import types

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[0] / "fixtures")]
from fill import fill  # noqa: E402
from page import Page, start_browser  # noqa: E402
from postgres_server import Postgres, pg_programs  # noqa: E402

serving = importlib.util.module_from_spec(spec := importlib.util.spec_from_file_location("serving", HERE.parent / "serve" / "conftest.py"))
spec.loader.exec_module(serving)


def make(folder, kind, runs, **what):
    """A store of that kind, filled, and its server. PostgreSQL's is a copy of SQLite's."""
    folder.mkdir(parents=True, exist_ok=True)
    seed = folder / "seed.db"
    told = fill(seed, runs, **what)
    store, stop = str(seed), lambda: None
    environment = {"PLIMSOLL_ARTIFACTS": str(folder / "seed-artifacts")}
    if kind == "postgresql":
        if pg_programs() is None:
            pytest.skip("no PostgreSQL here")
        place = tempfile.TemporaryDirectory(prefix="pl")
        server = Postgres(pathlib.Path(place.name))
        store = server.url
        subprocess.run([serving.BINARY, "store", "copy", str(seed), store], check=True, capture_output=True, env={**os.environ, "PLIMSOLL_ARTIFACTS": str(folder / "artifacts")})
        environment = {}

        def stop():
            server.stop()
            place.cleanup()
    served = serving.Served(folder, store=store, environment=environment)
    return types.SimpleNamespace(served=served, url=served.url, told=told, store=store, folder=folder, stop=lambda: (served.stop(), stop()))


@pytest.fixture(scope="session")
def downloads(tmp_path_factory):
    return tmp_path_factory.mktemp("downloads")


@pytest.fixture(scope="session")
def driver(downloads):
    driver = start_browser(downloads)
    yield driver
    driver.quit()


@pytest.fixture(scope="session", params=["sqlite", "postgresql"])
def hundred(request, tmp_path_factory):
    """A hundred runs, hostile ones beside them, a metric of a million points, and three runs under way."""
    place = make(tmp_path_factory.mktemp(request.param) / "store", request.param, 100, hostile=True, million=True, live=3)
    yield place
    place.stop()


@pytest.fixture(scope="session")
def small(tmp_path_factory):
    """Twelve runs that a test may change."""
    place = make(tmp_path_factory.mktemp("small") / "store", "sqlite", 12)
    yield place
    place.stop()


@pytest.fixture
def page_of(driver):
    def open_page(place):
        driver.get("about:blank")
        driver.get_log("browser")
        return Page(driver, place.url).size(1400)

    yield open_page
