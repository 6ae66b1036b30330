"""Runs a lesson as a student would who reads all of it first and then does the exercises, and says what went wrong."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbformat import NotebookNode

_ANSI = re.compile(r"\x1b\[[0-9;]*m")
#: Never what a cell is to show, even one that is to raise.
_SLIPS = {"NameError", "SyntaxError", "IndentationError", "ImportError", "ModuleNotFoundError", "UnknownKernelError"}
#: The one block of a solution.
BLOCK = re.compile(r"^```python\n(.*?)\n```$", re.MULTILINE | re.DOTALL)


def tags(cell: NotebookNode) -> tuple[str, ...]:
    """Return the tags of a cell."""
    return tuple(cell.metadata.get("tags", ()))


def exercises(book: NotebookNode) -> list[int]:
    """List where the exercises stand; the solution is the next cell, and the self-check the one behind it."""
    return [index for index, cell in enumerate(book.cells) if "exercise" in tags(cell)]


def said(cell: NotebookNode) -> str:
    """Return what a cell has left on the page, as plain text."""
    parts = []
    for output in cell.outputs:
        if output.output_type == "stream":
            parts.append(output.text)
        elif output.output_type == "error":
            parts.append(_ANSI.sub("", "\n".join(output.traceback)))
        else:
            parts.append(output.data.get("text/plain", ""))
    return "\n".join(parts)


def play(book: NotebookNode, directory: Path) -> list[str]:
    """Run all cells with the exercises unsolved, then each solution and its self-check, in one kernel.

    Args:
        book: the lesson; its cells get their outputs, and its exercises their solutions.
        directory: where the kernel runs.

    Returns:
        What is wrong, a sentence each; nothing for a lesson that is as it should be.
    """
    client = NotebookClient(
        book,
        timeout=300,
        kernel_name="python3",
        shutdown_kernel="immediate",  # an orderly end goes through all of torch, and is tested elsewhere
        resources={"metadata": {"path": str(directory)}},
    )
    with client.setup_kernel():
        return [*_unsolved(client), *_solved(client)]


def _unsolved(client: NotebookClient) -> Iterator[str]:
    for index, cell in enumerate(client.nb.cells):
        if cell.cell_type == "code":
            yield from _run(client, index)
            if "self-check" in tags(cell):
                yield from _judge(cell, "unsolved", "not yet. ")


def _solved(client: NotebookClient) -> Iterator[str]:
    for index in exercises(client.nb):
        exercise, solution, check = client.nb.cells[index : index + 3]
        exercise.source = BLOCK.findall(solution.source)[0]
        # An exercise may begin with a text that does not compile; what solves it may not.
        exercise.metadata.tags = [tag for tag in tags(exercise) if tag != "raises-exception"]
        yield from _run(client, index)
        yield from _run(client, index + 2)
        yield from _judge(check, "solved", "solved. ")


def _run(client: NotebookClient, index: int) -> Iterator[str]:
    cell = client.nb.cells[index]
    try:
        client.execute_cell(cell, index)
    except CellExecutionError as error:
        yield f"{cell.id} raised:\n{_ANSI.sub('', str(error))}"
    else:
        raised = [output.ename for output in cell.outputs if output.output_type == "error"]
        if "raises-exception" in tags(cell) and (not raised or _SLIPS & set(raised)):
            yield f"{cell.id} was to raise and did not, but for {raised}"


def _judge(cell: NotebookNode, state: str, want: str) -> Iterator[str]:
    """Compare what a self-check says with what it should say, a sentence included."""
    if not re.search(rf"^Exercise \d\d\.\d: {want}\w?.{{10,}}", said(cell), re.MULTILINE):
        yield f"{cell.id}, {state}, says {said(cell)!r}, want '{want}' and a sentence"
