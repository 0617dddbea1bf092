"""Two servers on one store: what one has written is in the other's answers at once, whatever that has sent before."""
from test_faults import API, call, new_run


def found(port, **message):
    answer = call(port, "POST", API + "/runs/search", {"experiment_ids": ["0"], **message})
    return {run["info"]["run_id"]: run for run in answer.get("runs", [])}


def data(run, kind):
    return {each["key"]: each["value"] for each in run["data"].get(kind, [])}


def test_a_search_sees_what_another_server_has_written(serve, store):
    first, second = serve(store=store), serve(store=store)
    run, other = new_run(first.port), new_run(second.port)
    assert set(found(first.port)) == set(found(second.port)) == {run, other}
    # Each change by one server, after the other has sent the run.
    for value in range(5):
        call(second.port, "POST", API + "/runs/log-metric",
             {"run_id": run, "key": "loss", "value": value, "timestamp": value, "step": value})
        for port in (first.port, second.port):
            assert data(found(port)[run], "metrics") == {"loss": value}
    call(second.port, "POST", API + "/runs/set-tag", {"run_id": run, "key": "model", "value": "resnet"})
    call(second.port, "POST", API + "/runs/log-parameter", {"run_id": run, "key": "lr", "value": "0.1"})
    call(second.port, "POST", API + "/runs/update", {"run_id": run, "status": "FINISHED", "end_time": 7})
    seen = found(first.port, filter="params.lr = '0.1' and metrics.loss > 3 and tags.model LIKE 'res%'")[run]
    assert seen["info"]["status"] == "FINISHED" and seen["info"]["end_time"] == 7
    assert data(seen, "tags")["model"] == "resnet"
    call(second.port, "POST", API + "/runs/delete", {"run_id": run})
    assert set(found(first.port)) == {other}
    deleted = found(first.port, run_view_type="DELETED_ONLY")[run]
    assert deleted["info"]["lifecycle_stage"] == "deleted"
    call(second.port, "POST", API + "/runs/restore", {"run_id": run})
    assert found(first.port)[run]["info"]["lifecycle_stage"] == "active"
