"""Every view on both stores, at three widths, in both themes: it is there, nothing is wrong in the console, axe-core finds nothing
serious, it is no wider than the window, and a picture is kept."""
import pytest

WIDTHS = [360, 800, 1920]


def views(told):
    run = told["first"]
    ids = ",".join([run, told["hostile"], told["live"], told["million"]])
    return {
        "runs": ("/runs", "document.querySelectorAll('.vtable .space .tr:not(.waits)').length > 5 && /runs/.test(document.querySelector('.toolbar .count').textContent)"),
        "groups": ("/runs?group=params.model", "document.querySelectorAll('.vtable .tr.group').length > 0"),
        "run": (f"/runs/{run}", "document.querySelectorAll('.legend b').length >= 2 && !/judged/.test(document.querySelector('.strip').textContent)"),
        "verdict": (f"/experiments/0/runs/{run}/verdict", "document.querySelector('.verdict h3')"),
        "logs": (f"/runs/{run}/logs", "(document.querySelector('.log')?.textContent ?? '').includes('epoch 49')"),
        "files": (f"/runs/{run}/artifacts", "document.querySelectorAll('.tree li').length > 3"),
        "details": (f"/runs/{run}/details", "document.querySelectorAll('.pairs').length > 2"),
        "million": (f"/runs/{told['million']}", "/loss/.test(document.querySelector('.legend')?.textContent ?? '')"),
        "compare": (f"/compare?runs={ids}", "document.querySelector('table.side tbody tr') && document.querySelectorAll('.legend b').length > 2"),
        "compare shares": (f"/compare?axis=share&runs={ids}", "document.querySelector('table.side tbody tr') && document.querySelectorAll('.legend b').length > 2"),
        "nothing to compare": ("/compare", "document.querySelector('.empty')"),
        "now": ("/now", "document.querySelectorAll('.now-runs tbody tr').length === 3"),
        "network": ("/network?model=resnet50", "document.querySelectorAll('main table tbody tr').length > 5"),
        "layers": ("/network?model=resnet18&part=inspect", "document.querySelectorAll('main table tbody tr').length > 20"),
        "on a device": ("/network?model=resnet18&part=estimate&batch=8&mode=train", "document.querySelectorAll('main dl dt').length > 5"),
        "choose": ("/network?model=resnet18&part=choose", "document.querySelectorAll('main table tbody tr').length > 5"),
        "share": ("/share", "document.querySelectorAll('.jobs tbody tr').length === 3"),
        "models": ("/models", "document.querySelectorAll('main tbody tr').length === 3"),
        "model": ("/models/resnet", "document.querySelectorAll('main tbody tr').length === 3"),
        "version": ("/models/resnet/versions/3", "document.querySelector('main dl')"),
        "nowhere": ("/nowhere/at/all", "document.querySelector('.empty')"),
    }


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_every_view(hundred, page_of, width, dark):
    page = page_of(hundred).size(width, 900, dark)
    wrong = []
    store = "postgresql" if hundred.store.startswith("postgres") else "sqlite"
    for name, (path, ready) in views(hundred.told).items():
        page.open(path, ready)
        if name == "share" and store == "sqlite":
            page.press("Pairs")
            page.wait("document.querySelector('.answers canvas')")
            if width == 800:  # planning takes seconds
                page.picture(f"{store}-pairs-{width}-{'dark' if dark else 'light'}")
                page.press("Plan")
                page.wait("document.querySelectorAll('.gantt .bar').length === 3")
        page.picture(f"{store}-{name.replace(' ', '_')}-{width}-{'dark' if dark else 'light'}")
        # Elements are the same whatever the store; axe-core takes half of the time.
        findings = page.axe() if store == "sqlite" else []
        wrong += [f"{name}: {what}" for what in findings + page.errors()]
        if page.ran() is not None or page.wider_than_window():
            wrong.append(f"{name}: a script ran ({page.ran()}), or it is wider than the window")
        assert page.js("return document.documentElement.dataset.theme") == ("dark" if dark else "light")
    assert wrong == [], "\n".join(wrong)


def test_mlflows_links_lead_to_the_run(hundred, page_of):
    run = hundred.told["first"]
    page = page_of(hundred).open(f"/experiments/1/runs/{run}", "document.querySelector('.run-head h1')")
    assert run[:12] in page.text(".facts")
    page.open("/experiments/1", "document.querySelectorAll('.vtable .space .tr:not(.waits)').length > 5")
    assert page.errors() == []
