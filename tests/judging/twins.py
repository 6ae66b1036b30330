"""Solutions of `files/bench/relu.py` that differ from a plain one in a few lines: `files/bench/relu.txt` has these, each with its verdict.

They are written beside their model, as others write them, with what is expected of each in its first lines.
"""

from __future__ import annotations

import atexit
import shutil
import tempfile
from pathlib import Path

from tests.texts import Text, texts_in

BENCH = Path(__file__).with_name("files") / "bench"


def _file(text: Text, plain: dict[str, str]) -> str:
    """Write one solution."""
    body = plain[text.said.get("of", "plain")]
    for old, new in text.edits:
        assert body.count(old) == 1, (text.name, old)
        body = body.replace(old, new)
    said = {key: value for key, value in text.said.items() if key != "of"}
    return "".join(f"# {value}\n" if key == "why" else f"# {key}: {value}\n" for key, value in said.items()) + body


def written(folder: Path) -> Path:
    """Write all solutions to a folder, with their model and the one that has none of these differences."""
    all_of_them = [*texts_in(BENCH / "relu.txt", (), ["verdict", "cheat", "says", "line", "device", "why", "of"])]
    plain = {text.name: text.body for text in all_of_them if "verdict" not in text.said}
    for text in all_of_them:
        if text.name not in plain:
            (folder / f"{text.name}.py").write_text(_file(text, plain))
    for name in ("relu.py", "relu_new.py"):
        shutil.copy(BENCH / name, folder / name)
    return folder


#: The folder of this process.
TWINS = written(Path(tempfile.mkdtemp(prefix="lltm_inline-twins-")))
atexit.register(shutil.rmtree, TWINS, ignore_errors=True)
