"""What the tutorial shows in Python runs as it stands there."""

import re
from pathlib import Path

import pytest
from conftest import run

PAGE = Path(__file__).resolve().parents[3] / "docs/tutorials/numpy.md"


@pytest.mark.skipif(not PAGE.exists(), reason="the documentation is not beside the package")
def test_every_block_runs():
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert blocks
    said = run("\n".join(blocks))
    assert said.strip()
