"""Which IPython runs here: asked without importing it."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import pytest

from lltm_inline.base.shell import in_notebook, running_shell


@pytest.mark.parametrize(
    ("shell", "found"), [(None, False), (SimpleNamespace(), False), (SimpleNamespace(kernel=1), True)]
)
def test_a_notebook_is_a_shell_with_a_kernel(monkeypatch: pytest.MonkeyPatch, shell: object, found: bool) -> None:
    """No IPython, one in a terminal, and one that serves a notebook are told apart."""
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    assert running_shell() is shell and in_notebook() is found


def test_asking_imports_nothing() -> None:
    """A script that never uses IPython does not pay for it."""
    code = "import sys; from lltm_inline.base.shell import in_notebook; assert not in_notebook() and 'IPython' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
