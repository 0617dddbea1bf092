"""The page's pure modules, called in the browser that runs them."""
import json
import math

import pytest
from page import Page


@pytest.fixture(scope="module")
def call(small, driver):
    page = Page(driver, small.url).open("/nowhere")

    def ask(module, expression):
        told = page.driver.execute_async_script(
            f"const done = arguments[0]; import('/static/{module}.js').then(async (m) => done(JSON.stringify(await ({expression})))).catch((error) => done(JSON.stringify(String(error))))")
        return json.loads(told) if told else None

    return ask


@pytest.mark.parametrize("text, missing", [
    ("", ""), ("resnet", ""), ("metrics.loss < 0.1", ""), ("metrics.loss", ""), ("metrics.loss <", "A value follows <."), ("params.lr = '0.1' AND", "After AND comes another comparison."),
    ("params.lr = '0.1' AND metrics.loss", "A comparison follows metrics.loss."), ("params.lr = '0.", "A quote is not closed yet."), ("params.lr IN ('a', 'b')", ""), ("params.lr IN ('a',", "A value follows IN."),
    ("params.`my key` IS NOT NULL", ""), ("tags.\"my key\" NOT LIKE", "A value follows NOT LIKE."), ("params.x = 'it\\'s'", "")])
def test_what_a_filter_lacks(call, text, missing):
    assert call("filter", f"m.missing({json.dumps(text)})") == missing


@pytest.mark.parametrize("text, sent", [
    (" resnet50 ", "attributes.run_name ILIKE '%resnet50%'"), ("it's", "attributes.run_name ILIKE '%it\\'s%'"), ("metrics.loss < 1", "metrics.loss < 1"), ("", "")])
def test_words_are_looked_for_in_names(call, text, sent):
    assert call("filter", f"m.filterOf({json.dumps(text)})") == sent


def test_suggestions_fit_where_the_caret_is(call):
    facets = {"metrics": ["loss", "val loss"], "params": ["lr"], "tags": ["team"], "users": ["ada"], "experiments": []}

    def texts(text):
        return [one["text"] for one in call("filter", f"m.suggestions(m.contextAt({json.dumps(text)}, {len(text)}), {json.dumps(facets)})")]

    assert texts("lo")[:2] == ["metrics.loss", "metrics.`val loss`"]
    assert texts("metrics.loss ")[0] == "<"
    assert texts("params.lr ")[0] == "="
    assert "'FINISHED'" in texts("status = ")
    assert texts("user_id = ") == ["'ada'"]
    assert texts("metrics.loss < 1 ") == ["AND"]


def test_jobs_beside_each_other_end_when_their_work_is_done(call):
    told = call("arrange", "m.endsOf([{name: 'a', seconds: 10}, {name: 'b', seconds: 30}], async (names) => names.map(() => 0.5))")
    a, b = told
    assert a["end"] == 20 and b["end"] == 40, "b has done 10 of its 30 when a ends, and goes on alone"
    for job, alone in ((a, 10), (b, 30)):
        assert math.isclose(sum((part["to"] - part["from"]) * part["speed"] for part in job["parts"]), alone)
    assert call("arrange", "m.endsOf([], async () => [])") == []


def test_smoothing_keeps_what_is_constant_and_leaves_gaps(call):
    assert call("series", "Array.from(m.smooth(Float64Array.from([3, 3, 3, 3]), 0.9))") == pytest.approx([3, 3, 3, 3])
    first, gap, last = call("series", "Array.from(m.smooth(Float64Array.from([1, NaN, 2]), 0.5), (value) => Number.isNaN(value) ? null : value)")
    assert first == 1 and gap is None and last == pytest.approx((0.25 * 1 + 0.5 * 2) / 0.75)


@pytest.mark.parametrize("expression, text", [
    ("m.seconds(0.0021)", "2.1 ms"), ("m.seconds(59.9)", "59.9 s"), ("m.seconds(3600)", "1 h"), ("m.seconds(90061)", "1 d 1 h"), ("m.bytes(1536)", "1.50 KiB"), ("m.bytes(null)", "–"), ("m.share(0.005)", "0.5 %"),
    ("m.number(NaN)", "NaN"), ("m.number(null)", "–"), ("m.number(-Infinity)", "−∞"), ("m.number(12345)", "12 345"), ("m.number(1e300)", "1e300"), ("m.quantity(2.5e12, 'FLOP/s')", "2.50 TFLOP/s")])
def test_numbers_have_units_and_what_is_not_known_is_a_dash(call, expression, text):
    assert call("format", expression) == text


def test_quartiles(call):
    assert call("compare_plots", "[0, 0.25, 0.5, 0.75, 1].map((q) => m.quantile([1, 2, 3, 4], q))") == [1, 1.75, 2.5, 3.25, 4]


def test_addresses_lead_where_they_did(call):
    assert call("router", "m.resolve(m.parse('#/experiments/7/runs/abc/artifacts'))") == {"view": "run", "run": "abc", "part": "artifacts"}
    assert call("router", "m.resolve(m.parse('#/models/a%2Fb/versions/3'))") == {"view": "models", "model": "a/b", "version": "3"}
    assert call("router", "m.resolve(m.parse('#/compare-runs?runs=%5B%22a%22%2C%22b%22%5D&experiments=%5B%220%22%5D'))") == {"view": "compare", "runs": ["a", "b"]}
    assert call("router", "m.resolve(m.parse('#/%E0%A4%A/x'))")["view"] == "lost"
    assert call("router", "m.parse(m.address(['runs'], {filter: \"metrics.loss < 1 & '#?%'\"})).query.get('filter')") == "metrics.loss < 1 & '#?%'"


def test_tables_of_files_are_read_by_their_quotes(call):
    assert call("run_artifacts", "m.csvRows('a,\"b,\"\"c\"\"\\nd\"\\r\\n1,2\\n', ',')") == [["a", 'b,"c"\nd'], ["1", "2"]]
