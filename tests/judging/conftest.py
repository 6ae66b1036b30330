"""What the tests of the judge share: the header that most texts begin with is there before they are built."""

from __future__ import annotations

import pytest

from lltm_inline.compiling import header
from lltm_inline.judging.running import ON_CPU, toolchain_for

#: As others write them: none of it is a test.
collect_ignore_glob = ["files/*"]


@pytest.fixture(scope="session", autouse=True)
def _header() -> None:
    """It takes a minute once, and saves half of one for each text."""
    header.wait(toolchain_for("cuda-cpu"), ON_CPU)
