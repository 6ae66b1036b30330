"""Inline kernels in the styles that people publish: each as its author would give it to `load_inline`, written anew.

A file for each family; `every()` lists them all. A snippet is a text that says before itself what else `load_inline` gets, a reference,
example inputs, and an edit that makes it wrong, which a check must find: Python all of it, with the names of `references`, but for
`about` and `refused`. Behind its first text stand the others, as `cpp_sources` and `cuda_sources`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any

from tests.texts import Text, texts_in
from tests.wild import references

SOURCES = ("cpp_sources", "cuda_sources")


@dataclass(frozen=True)
class Wild:
    """One snippet.

    Attributes:
        name: of the row in the table.
        given: the arguments of `load_inline`, as published.
        reference: what it computes, in PyTorch.
        inputs: example inputs, or what makes them.
        wrong: a text that stands once in the sources, and what makes the kernel wrong in its place.
        more: other arguments of `from_load_inline`: `gradient=`, `differentiable=`.
        shim: lines that its owner has to write beside a reference.
        refused: part of the message of one that cannot go in.
    """

    name: str
    given: dict[str, Any]
    reference: Callable[..., Any] | dict[str, Any] | None
    inputs: tuple[Any, ...] | dict[str, Any] | Callable[..., Any]
    wrong: tuple[str, str] = ("", "")
    more: dict[str, Any] = field(default_factory=dict)
    shim: int = 0
    refused: str = ""

    @property
    def device(self) -> str:
        """Where it runs in the tests."""
        return "cuda-cpu" if self.given.get("cuda_sources") else "cpu"

    def planted(self) -> dict[str, Any]:
        """Return the arguments of `load_inline` with the mistake."""
        old, new = self.wrong
        changed = {
            key: text.replace(old, new)
            for key in ("cpp_sources", "cuda_sources")
            if isinstance(text := self.given.get(key), str) and text.count(old) == 1
        }
        assert len(changed) == 1, f"{self.name}: {old!r} does not stand in one place"
        return {**self.given, **changed}


def _read(texts: list[Text]) -> Wild:
    """Make a snippet of its texts, the first of which says all."""
    first = texts[0]
    assert "inputs" in first.said, f"{first.name} does not say its inputs"
    said = {
        key: value if key in ("about", "refused") else eval(value, vars(references))
        for key, value in first.said.items()
    }
    given: dict[str, Any] = {"name": first.name}
    for text, key in zip(texts, [SOURCES[0], *(text.name for text in texts[1:])], strict=True):
        # A line alone is a declaration, which people write without its end.
        body = text.body.removesuffix("\n") if text.body.count("\n") == 1 else text.body
        given[key] = [*given.get(key, []), body] if key in said.get("lists", ()) else body
    of_wild = {name: said.pop(name) for name in [one.name for one in fields(Wild)] if name in said and name != "name"}
    others = {key: value for key, value in said.items() if key not in ("about", "lists")}
    given |= {"functions": [first.name]} | others
    if given["functions"] is None:
        del given["functions"]
    return Wild(first.name, given, **of_wild)


@cache
def families() -> dict[str, list[Wild]]:
    """Read all snippets, by family."""

    def snippets(path: Path) -> Iterator[Wild]:
        texts: list[Text] = []
        for text in texts_in(path):
            if texts and text.name not in SOURCES:
                yield _read(texts)
                texts = []
            texts.append(text)
        yield _read(texts)

    return {path.stem: list(snippets(path)) for path in sorted(Path(__file__).parent.glob("*.cu"))}


def every() -> list[Wild]:
    """List all snippets."""
    return [snippet for snippets in families().values() for snippet in snippets]


def table() -> str:
    """Write the table of docs/wild.md: what each snippet is, and whether it works as it is."""
    rows = ["| snippet | family | device | backward | works as it is |", "|---|---|---|---|---|"]
    for family, snippet in ((family, snippet) for family, snippets in families().items() for snippet in snippets):
        backward = "yes" if has_backward(snippet) else "no"
        works = f"no: {snippet.refused}" if snippet.refused else "yes"
        works += f", with {snippet.shim} more lines" * bool(snippet.shim)
        rows.append(f"| `{snippet.name}` | {family.replace('_', ' ')} | {snippet.device} | {backward} | {works} |")
    return "\n".join(rows) + "\n"


#: Kinds of kernels that people write, and a snippet of each on the CPU, in CUDA and with a backward; none where no gradient makes sense.
KINDS = {
    "elementwise": ("my_gelu", "leaky_relu_cuda", "fused_bias_tanh"),
    "reductions": ("row_max", "reduce_sum", "masked_mean_fwd"),
    "softmax": ("log_softmax_rows", "softmax_cuda", "softmax_forward"),
    "layer norm": ("fused_add_rms_norm", "layer_norm_cuda", "layernorm_fw"),
    "matmul tiles": ("matmul_cpu", "matmul", "linear_relu"),
    "attention": ("attention_cpu", "flash_attention", "sdpa_forward"),
    "embeddings": ("embedding_forward", "gather_rows", "embedding_forward"),
    "histograms": ("weighted_histogram", "histogram", ""),
    "sampling": ("gumbel_argmax", "sample_rows", ""),
    "quantisation": ("quantize_rows", "dequantize", "fake_quant"),
    "RoPE": ("rope_forward", "rotary_embedding", "rope_forward"),
    "optimiser steps in place": ("sgd_step_", "fused_adam", ""),
    "RoI and NMS": ("nms", "roi_align_forward", "roi_align_forward"),
    "losses": ("cross_entropy_forward", "mse_loss_cuda", "smooth_l1"),
    "graph ops": ("spmm_csr", "scatter_sum", "propagate_forward"),
}


def table_of_kinds() -> str:
    """Write the other table of docs/wild.md: for each kind one snippet on the CPU, one in CUDA and one with a backward."""
    rows = ["| kind | CPU | CUDA | with a backward |", "|---|---|---|---|"]
    rows += [
        f"| {kind} | {' | '.join(f'`{name}`' if name else '' for name in names)} |" for kind, names in KINDS.items()
    ]
    return "\n".join(rows).replace("|  |", "| |") + "\n"


def has_backward(snippet: Wild) -> bool:
    """Tell whether a snippet has a function that computes gradients."""
    text = f"{snippet.given['cpp_sources']}{snippet.given.get('cuda_sources', '')}"
    return re.search(r"\b(?:\w+_)?(?:backward|bwd|bw|grad)\s*\(", text) is not None
