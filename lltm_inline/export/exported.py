"""What an export wrote, and what to type next."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..above import Shown
from .plan import Plan

#: What builds and tests leave behind.
_IGNORED = """\
build/
dist/
*.egg-info/
*.so
__pycache__/
.pytest_cache/
"""


@dataclass(frozen=True)
class Exported(Shown):
    """A kernel that was written out as a project of its own; shows itself.

    Attributes:
        path: the directory.
        kernel: its label.
        how: what builds it.
        name: of the package and of the namespace in `torch.ops`.
        files: what was written, as paths below `path`.
        commands: (what it does, the command line), in the order in which one types them.
        notes: what the person should know.
        backup: where the files are that were there before, or None.
    """

    path: Path
    kernel: str
    how: str
    name: str
    files: tuple[str, ...]
    commands: tuple[tuple[str, str], ...]
    notes: tuple[str, ...] = ()
    backup: Path | None = None

    @property
    def headline(self) -> str:
        """One sentence: what went where."""
        return f"{self.kernel} is in {self.path}: package {self.name}, {len(self.files)} files, built by {self.how}"

    def __str__(self) -> str:
        lines = [self.headline, *self.notes]
        if self.backup is not None:
            lines.append(f"What was there before is in {self.backup}")
        for what, command in self.commands:
            lines += ["", f"# {what}", command]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return str(self)


def files_of(plan: Plan) -> dict[str, str]:
    """Write all files of an export: text by path."""
    from .cpp import cpp_files
    from .origin import origin_file
    from .project import build_files
    from .python import python_files

    csrc = cpp_files(plan)
    files = csrc | build_files(plan, csrc) | python_files(plan) | origin_file(plan)
    return dict(sorted({**files, ".gitignore": _IGNORED}.items()))
