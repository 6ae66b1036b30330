"""A cache of their own for the tests here, which hold what is in it against what was."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Let nobody else write into the cache meanwhile, precompiled headers neither."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LLTM_INLINE_CACHE", str(tmp_path_factory.mktemp("cache")))
        patch.setenv("LLTM_INLINE_NO_HEADER", "1")
        yield
