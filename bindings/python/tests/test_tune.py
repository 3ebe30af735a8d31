"""The machine, and sessions of `tune`."""

import os
import signal
import subprocess
import sys

import numpy as np
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
    assert (result.recommended is None) == (result.state is None) == (not result.best)
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


def test_no_command_is_needed(tmp_path, monkeypatch):
    # One that is found would fail.
    command = tmp_path / "firsttouch"
    command.write_text("#!/bin/sh\nexit 9\n")
    command.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr("sysconfig.get_path", lambda name: str(tmp_path))
    result = firsttouch.tune(["true"], configs="thp", quick=True, max_runs=2, progress=False)
    assert len(result.document["configurations"]) == 2


def test_the_callers_memory_is_not_the_programs():
    mine = np.ones(256 << 20, np.uint8)
    result = firsttouch.tune(["true"], configs="thp", quick=True, max_runs=2, progress=False)
    peaks = [run["max_rss_bytes"] for one in result.document["configurations"] for run in one["runs"]]
    assert len(peaks) == 4 and max(peaks) < mine.nbytes // 4, peaks


def test_values_are_varied(tmp_path):
    log = tmp_path / "log"
    script = f"echo $N >> {log}"
    result = firsttouch.tune(
        ["env", "N={n}", "sh", "-c", script],
        vary={"n": [1, "x y"]},
        configs="mine:thp,via=glibc",
        setup=f"echo setup >> {log}",
        warmup=2,
        quick=True,
        max_runs=2,
        progress=False,
    )
    configurations = result.document["configurations"]
    assert [one["name"] for one in configurations] == ["baseline n=1", "mine n=1", "n=x y", "mine n=x y"]
    assert [one["varied"] for one in configurations] == [{"n": "1"}] * 2 + [{"n": "x y"}] * 2
    assert configurations[2]["command"] == ["env", "N=x y", "sh", "-c", script]
    lines = log.read_text().splitlines()
    assert lines[0] == "setup" and lines.count("1") >= 2 * 4 and lines.count("x y") >= 2 * 4
    for vary, words in [({"m": [1, 2]}, "{m}"), ({"n": []}, "no values"), ({"n": [1, 1]}, "twice"), ({"n o": [1]}, "name")]:
        with pytest.raises(firsttouch.TuneError) as error:
            firsttouch.tune(["echo", "{n}"], vary=vary, progress=False)
        assert error.value.status == 2 and words in str(error.value), error.value


def test_arguments_are_checked():
    for name, value in [("precision", "much"), ("same", "nearly"), ("budget", "soon"), ("max_runs", 1), ("warmup", 0), ("seed", -1), ("baseline", "")]:
        with pytest.raises(firsttouch.TuneError) as error:
            firsttouch.tune(["true"], configs="thp", progress=False, **{name: value})
        assert error.value.status == 2, (name, error.value)


def test_words_that_are_no_text_reach_the_program(tmp_path):
    name = os.fsdecode(b"caf\xe9")
    (tmp_path / name).write_text("")
    words = ["ls", str(tmp_path / name)]
    assert firsttouch.tune(words, configs="thp", quick=True, max_runs=2, progress=False).document["command"][0] == "ls"


def test_an_interrupt_ends_the_program_and_the_session(tmp_path):
    started, program = tmp_path / "started", tmp_path / "program"
    os.mkfifo(started)
    os.mkfifo(program)
    # It tells that it runs, and then waits for what never comes.
    script = f"echo $$ > {started}; exec cat {program}"
    source = f"import firsttouch; firsttouch.tune(['sh', '-c', {script!r}], configs='thp', progress=False)"
    caller = subprocess.Popen([sys.executable, "-c", source], stderr=subprocess.PIPE, text=True)
    pid = int(started.read_text())
    # To that process alone, as notebooks do.
    caller.send_signal(signal.SIGINT)
    _, said = caller.communicate(timeout=300)
    assert caller.returncode == -signal.SIGINT and "KeyboardInterrupt" in said, said
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_what_a_program_says_is_judged():
    says = "import os; print('rate', 1000 + os.getpid() % 7)"
    options = {"configs": "thp", "quick": True, "max_runs": 2, "progress": False}
    result = firsttouch.tune([sys.executable, "-c", says], metric=r"stdout:rate (\d+)", higher_is_better=True, **options)
    assert result.document["metric"] == r"stdout:rate (\d+)" and result.document["higher_is_better"]
    assert all(1000 <= one["judged"]["mean"] < 1007 for one in result.document["configurations"])
    for metric, status in [("nonsense", 2), ("stdout:rate", 2), ("stdout:pace ([0-9]+)", 1)]:
        with pytest.raises(firsttouch.TuneError) as error:
            firsttouch.tune([sys.executable, "-c", says], metric=metric, **options)
        assert error.value.status == status and error.value.hint, error.value
