"""`specdec serve` without its extra says what to install."""

from __future__ import annotations

from importlib.util import find_spec

import pytest
from click.testing import CliRunner

from explorer.cli.commands.serve import command
from explorer.cli.errors import Problem


@pytest.mark.skipif(find_spec("textual_serve") is not None, reason="the extra is installed")
def test_a_missing_extra_is_named() -> None:
    result = CliRunner().invoke(command, [])
    assert isinstance(result.exception, Problem)
    assert "specdec-explorer[serve]" in str(result.exception)
