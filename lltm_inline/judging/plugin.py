"""A plugin of pytest: `def test_mine(lltm): lltm.right("kernel.py")`. A run of pytest that wants it names it."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

#: Whoever has no pytest never imports this.
pytest: Any = import_module("pytest")


class Judge:
    """What the fixture `lltm` gives to a test."""

    def right(self, path: str | os.PathLike[str], **how: Any) -> Any:
        """Judge a file, and let the test fall with the verdict where it is not right.

        Args:
            path: of it, from the folder in which pytest runs.
            how: as for `lltm_inline.judge`.

        Returns:
            The verdict.
        """
        from .judge import judge

        verdict = judge(path, progress=False, **how)
        if not verdict.ok:
            pytest.fail(str(verdict), pytrace=False)
        return verdict


@pytest.fixture(scope="session")
def lltm() -> Judge:
    """Judge files of kernels: `lltm.right("kernel.py")`."""
    return Judge()
