"""The machine, and sessions of `tune`."""

import os
import sys

import pytest

import firsttouch

ALLOCATE = "import numpy; [numpy.ones(1 << 21).sum() for _ in range(5)]"


def test_topology_is_the_status_document():
    document = firsttouch.topology()
    assert document["schema_version"] == 1
    online = {cpu["id"] for cpu in document["machine"]["cpus"] if cpu["online"]}
    assert os.sched_getaffinity(0) <= online
    assert any(ability["what"] == "thp" for ability in document["can"])


def test_a_session_has_a_document(tmp_path, capsys):
    profile = tmp_path / "best.toml"
    result = firsttouch.tune(
        [sys.executable, "-c", ALLOCATE], configs="thp", quick=True, max_runs=2, seed=7, save=profile, budget=60
    )
    assert result.to_dict()["seed"] == 7 and result.to_dict()["command"][0] == sys.executable
    names = [one["name"] for one in result.document["configurations"]]
    assert "thp" in names and len(names) == 2
    assert (result.ratio is None) == (result.winner is None) == (result.verdict is None)
    assert "thp" in repr(result)
    html = result._repr_html_()
    assert html.startswith("<header>") and html.endswith("</main>") and "<svg" in html and "<script" not in html
    assert result.html.startswith("<!DOCTYPE html>")
    assert capsys.readouterr().err


def test_failures_say_why(capsys):
    for command, words in [
        (["no such program"], "no such program"),
        ([sys.executable, "-c", "raise SystemExit(3)"], "exit status 3"),
    ]:
        with pytest.raises(firsttouch.TuneError) as error:
            firsttouch.tune(command, configs="thp", quick=True, max_runs=2, progress=False)
        assert words in str(error.value) and error.value.status and error.value.hint, error.value
    assert not capsys.readouterr().err
    with pytest.raises(firsttouch.TuneError) as error:
        firsttouch.tune(["true"], configs="no-such-pages", progress=False)
    assert error.value.status == 2
    for command in ["python3 model.py", []]:
        with pytest.raises(firsttouch.ArgumentError) as error:
            firsttouch.tune(command)
        assert error.value.hint
