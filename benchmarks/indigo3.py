"""Recall and false alarms on a public suite with planted bugs: the CUDA codes of Indigo3 on device cuda-cpu, in check mode.

The suite (https://github.com/burtscher/Indigo3Suite, BSD-3) is not part of this repository: its folder is the argument. It is
a set of templates whose tags choose alternatives, and the tags that were chosen say which bugs a variant has. What makes the
variants of the templates is written here; it follows from the templates themselves:

* `/*@A@*/ x /*@B@*/ y` in one line: one of both, which all lines with these tags agree upon.
* `/*@+A@*/ ... /*@-A@*/`: what lies between is there where A was chosen; with `/*@+or@*/` where one of several was.
* `suppress`: there is no such variant. `declare`: nothing. Of `ReadWrite` with `Determ`, no template has the code.

A variant runs on four small graphs. It is reported by a message of cuda-cpu; or by its numbers, which are not those of the
algorithm; or because it does not end. Each of the three is what `li.check` tells its user.
"""

from __future__ import annotations

import argparse
import heapq
import itertools
import json
import os
import random
import re
import resource
import signal
import struct
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import Any

from common import Results, li

from lltm_inline.base.device import DEVICES

#: Variants of one text: a compiler takes most of its time for what stands around them.
TOGETHER = 12
#: Seconds of the processor for one variant on one graph, after which it counts as endless.
LIMIT = 20
SEED = 3

TAG = re.compile(r"/\*@([+-]?)(\w+)@\*/")
#: Those that every variant here has: 64 bits would only double the number of them.
TYPES = {"IntType", "FloatType"}
NO_BUG = "none"

#: How the suite's own `main` calls each algorithm, by vertices and by edges; what the call fills, and what stands for the result.
CALLS = {
    "BFS": ("GPUbfs_vertex(0, d_g, y.data())", "GPUbfs_edge(0, d_g, y.data(), host.sp.data())"),
    "CC": ("GPUcc_vertex(d_g, y.data())", "GPUcc_edge(d_g, y.data(), host.sp.data())"),
    "MIS": (
        "GPUmis_vertex(d_g, std::vector<int>(d_g.nodes).data(), y.data())",
        "GPUmis_edge(d_g, d_sp, std::vector<int>(d_g.nodes).data(), y.data())",
    ),
    "MST": ("GPUmst(d_g, (bool*)y.data())", "GPUmst(d_g, d_sp, (bool*)y.data())"),
    "PR": ("PR_GPU(host.graph(), y.data(), host.degree.data())",),
    "SSSP": ("GPUsssp_vertex(0, d_g, y.data())", "GPUsssp_edge(0, d_g, y.data(), host.sp.data())"),
    "TC": (
        "GPUtc_vertex(y.data(), d_g.nodes, d_g.nindex, d_g.nlist)",
        "GPUtc_edge(y.data(), d_g.edges, d_g.nindex, d_g.nlist, d_sp)",
    ),
}
ELEMENTS = {"MST": "char", "PR": "float"}

#: Before all variants: what stands in the place of libcu++, which cuda-cpu has not, and of the suite's reading of files. A graph comes
#: as one tensor: how many nodes and edges, where the edges of each node begin, where they lead, their weights.
HEAD = r"""
#include <ATen/ATen.h>
#include <torch/types.h>
#include <cuda_runtime.h>
#include <limits.h>
#include <sys/time.h>
#include <vector>

namespace cuda {
enum memory_order { memory_order_relaxed, memory_order_acquire, memory_order_release, memory_order_acq_rel, memory_order_seq_cst };
template <class T>
struct atomic {
  T value;
  atomic() = default;
  __host__ __device__ atomic(T first) : value(first) {}
  __device__ T load(memory_order = memory_order_seq_cst) const { return atomicCAS(const_cast<T*>(&value), T(0), T(0)); }
  __device__ void store(T next, memory_order = memory_order_seq_cst) { atomicExch(&value, next); }
  __device__ operator T() const { return load(); }
  __device__ T operator=(T next) { store(next); return next; }
  __device__ T operator++(int) { return atomicAdd(&value, T(1)); }
  __device__ T operator+=(T by) { return atomicAdd(&value, by) + by; }
  __device__ T fetch_add(T by, memory_order = memory_order_seq_cst) { return atomicAdd(&value, by); }
  __device__ T fetch_min(T with, memory_order = memory_order_seq_cst) { return atomicMin(&value, with); }
  __device__ T fetch_max(T with, memory_order = memory_order_seq_cst) { return atomicMax(&value, with); }
  __device__ bool compare_exchange_strong(T& compare, T next, memory_order = memory_order_seq_cst) {
    const T old = atomicCAS(&value, compare, next);
    const bool is_same = old == compare;
    compare = old;
    return is_same;
  }
};
}  // namespace cuda

ECLGRAPH

struct Host {
  std::vector<int> nindex, nlist, eweight, sp, degree;

  explicit Host(const at::Tensor& x) {
    const float* from = x.data_ptr<float>();
    const int nodes = int(*from++), edges = int(*from++);
    for (auto [into, count] : {std::pair(&nindex, nodes + 1), std::pair(&nlist, edges), std::pair(&eweight, edges)}) {
      for (int i = 0; i < count; ++i) into->push_back(int(*from++));
    }
    for (int i = 0; i < nodes; ++i) {
      degree.push_back(nindex[i + 1] - nindex[i]);
      sp.insert(sp.end(), degree[i], i);
    }
  }
  ECLgraph graph() {
    return {int(degree.size()), int(nlist.size()), nindex.data(), nlist.data(), eweight.data()};
  }
};

static int* on_device(const std::vector<int>& values) {
  int* to = nullptr;
  cudaMalloc((void**)&to, values.size() * sizeof(int));
  cudaMemcpy(to, values.data(), values.size() * sizeof(int), cudaMemcpyHostToDevice);
  return to;
}
"""

RUN = """
at::Tensor run(const at::Tensor& x) {{
  Host host(x);
  ECLgraph d_g = host.graph();
  d_g.nindex = on_device(host.nindex);
  d_g.nlist = on_device(host.nlist);
  d_g.eweight = on_device(host.eweight);
  [[maybe_unused]] int* const d_sp = on_device(host.sp);
  std::vector<{element}> y(d_g.edges + d_g.nodes, {first});
  {call};
  at::Tensor result = at::zeros({{x.numel()}}, x.options());
  for (int i = 0; i < d_g.edges + d_g.nodes; ++i) result.data_ptr<float>()[i] = float(y[i]);
  return result;
}}
"""


@dataclass(frozen=True)
class Variant:
    """One code of a template: the tags that were chosen say its style and its bugs."""

    template: Path
    chosen: tuple[str, ...]

    @property
    def algorithm(self) -> str:
        """Return the problem: BFS, CC, MIS, MST, PR, SSSP or TC."""
        return self.template.stem.partition("_")[0]

    @property
    def bugs(self) -> list[str]:
        """Name the bugs that it has."""
        bugs = [tag for tag in self.chosen if tag.endswith("Bug") and not tag.startswith("No")]
        return [bug.replace("Nbor", "Nbr") for bug in bugs]

    @property
    def bug(self) -> str:
        """Name its bug, or say that there is none."""
        return "+".join(self.bugs) or NO_BUG

    @property
    def name(self) -> str:
        """Name the template, its style, and its bug."""
        styles = [tag for tag in self.chosen if not tag.endswith("Bug") and tag not in (*TYPES, "Init")]
        return " ".join([self.template.stem.replace("_CUDA", ""), *styles, *self.bugs])

    def without_bug(self) -> Variant:
        """Return the variant of the same style that has no bug."""
        (bug,) = (tag for tag in self.chosen if Variant(self.template, (tag,)).bugs)
        (group,) = (group for group in groups(self.template.read_text()) if bug in group)
        right = f"No{bug}" if f"No{bug}" in group else next(tag for tag in group if tag != bug)
        return Variant(self.template, tuple(right if tag == bug else tag for tag in self.chosen))

    def text(self, library: Path) -> str:
        """Make a text: the variant, what its own header has besides reading files, and a function of a tensor."""
        code = "\n".join(lines(self.template.read_text(), frozenset(self.chosen)))

        def header(match: re.Match[str]) -> str:
            return cleared(library / match[1])

        code = re.sub(r'^#include "(indigo_.*)"$', header, code, flags=re.MULTILINE)
        code = re.sub(r"^.*#include <.*$", "", code, flags=re.MULTILINE)
        code = re.sub(r"^ *printf\(.*\);$", "", code, flags=re.MULTILINE)
        calls = CALLS[self.algorithm]
        call = calls["_E" in self.template.stem and len(calls) > 1]
        element = ELEMENTS.get(self.algorithm, "int")
        first = "1.0f / d_g.nodes" if self.algorithm == "PR" else "0"
        return code + RUN.format(element=element, first=first, call=call)


def cleared(header: Path) -> str:
    """Take a header of the suite without what reads files and the command line, and with the atomics that it includes."""
    text = header.read_text()
    atomics = (header.parent / "cuda_atomic.h").read_text()
    own = atomics[atomics.index("#else") + len("#else") : atomics.index("#endif")]
    text = re.sub(r"^int main\(.*?^}$", "", text, flags=re.MULTILINE | re.DOTALL)
    return own + re.sub(r"^#include.*$", "", text, flags=re.MULTILINE)


@lru_cache
def groups(text: str) -> list[list[str]]:
    """List the choices of a template: tags that stand in one line are alternatives."""
    found: list[list[str]] = []
    for row in text.split("\n"):
        tags = [tag for sign, tag in TAG.findall(row) if not sign]
        met = [group for group in found if set(group) & set(tags)]
        if tags:
            merged = list(dict.fromkeys(itertools.chain(*met, tags)))
            found = [group for group in found if group not in met] + [merged]
    return found


def lines(text: str, chosen: frozenset[str]) -> Iterator[str]:
    """Yield the lines of a variant."""
    alternatives = {tag: group for group in groups(text) for tag in group}
    frames: list[str] = []
    for row in text.split("\n"):
        tags = TAG.findall(row)
        for sign, tag in tags:
            if sign == "+":
                frames.append(tag)
            elif sign == "-":
                # Two templates close a frame by the name of its alternative.
                named = [frame for frame in (tag, *alternatives.get(tag, ())) if frame in frames]
                frames.remove(named[0])
        if any(sign for sign, _ in tags):
            continue
        there = [frame in chosen for frame in frames if frame != "or"]
        if there and not (any(there) if "or" in frames else all(there)):
            continue
        if not tags:
            yield row
            continue
        _, *parts = TAG.split(row)
        taken = (part for tag, part in zip(parts[1::3], parts[2::3], strict=True) if tag in chosen)
        yield from (part for part in taken if part.strip() != "declare")


def squeezed(rows: Iterable[str]) -> str:
    """Return lines without blanks."""
    return "".join("".join(rows).split())


def variants_of(template: Path) -> list[Variant]:
    """List the variants of a template that have one bug at most."""
    text = template.read_text()
    choices = [[tag for tag in group if tag in TYPES] or group for group in groups(text)]
    found = []
    for chosen in itertools.product(*choices):
        variant = Variant(template, chosen)
        if len(variant.bugs) > 1 or {"ReadWrite", "Determ"} <= {*chosen}:
            continue
        rows = [*lines(text, frozenset(chosen))]
        if any("suppress" in row for row in rows):
            continue
        if variant.bugs and squeezed(rows) == squeezed(lines(text, frozenset(variant.without_bug().chosen))):
            continue  # this style has not the lines of the bug
        found.append(variant)
    return found


def sampled(suite: Path, count: int) -> tuple[list[Variant], dict[str, int]]:
    """Choose variants with a bug, the same ones each time: bugs, algorithms and templates take turns. Say how many there are of each."""
    draw = random.Random(SEED)
    by_bug: dict[str, dict[str, dict[Path, list[Variant]]]] = {}
    there: Counter[str] = Counter()
    for template in sorted((suite / "codeGen" / "cuda").glob("*/*.idg")):
        for variant in variants_of(template):
            there[variant.bug] += 1
            if variant.bug != NO_BUG:
                of_algorithms = by_bug.setdefault(variant.bug, {})
                of_algorithms.setdefault(variant.algorithm, {}).setdefault(template, []).append(variant)
    queues = [mixed(draw, of_algorithms) for _, of_algorithms in sorted(by_bug.items())]
    return in_turns(queues)[:count], dict(sorted(there.items()))


def mixed(draw: random.Random, values: Any) -> list[Any]:
    """Return values in another order; where there are several kinds, these take turns."""
    if not isinstance(values, dict):
        return draw.sample(values, len(values))
    kinds = [*values.values()]
    return in_turns([mixed(draw, kind) for kind in draw.sample(kinds, len(kinds))])


def in_turns(queues: Sequence[Sequence[Any]]) -> list[Any]:
    """Take the first one of each, then the second one of each.

    >>> in_turns(["abc", "de"])
    ['a', 'd', 'b', 'e', 'c']
    """
    return [value for row in itertools.zip_longest(*queues) for value in row if value is not None]


@dataclass(frozen=True)
class Graph:
    """A graph of the suite: where the edges of each node begin, where they lead, and their weights."""

    name: str
    nindex: tuple[int, ...]
    nlist: tuple[int, ...]

    @classmethod
    def read(cls, path: Path) -> Graph:
        """Read a file of the suite: numbers of 32 bits. None of its small graphs has weights."""
        nodes, _, *rest = (number for (number,) in struct.iter_unpack("<i", path.read_bytes()))
        # One of them says that it has 32 edges more than its nodes have.
        return cls(path.stem, tuple(rest[: nodes + 1]), tuple(rest[nodes + 1 : nodes + 1 + rest[nodes]]))

    @property
    def nodes(self) -> int:
        """Return the number of nodes."""
        return len(self.nindex) - 1

    @cached_property
    def weights(self) -> list[int]:
        """Make the weights that the suite's own `main` makes."""
        return [1 + node * other % self.nodes for node in range(self.nodes) for other in self.others(node)]

    def others(self, node: int) -> tuple[int, ...]:
        """Return where the edges of a node lead."""
        return self.nlist[self.nindex[node] : self.nindex[node + 1]]

    @property
    def flat(self) -> list[float]:
        """Return all in one row, as `Host` of the text reads it."""
        return [self.nodes, len(self.nlist), *self.nindex, *self.nlist, *self.weights]

    def distances(self, weights: Sequence[int]) -> list[float]:
        """Return how far each node is from the first one."""
        far = [2.0**31] * self.nodes  # INT_MAX in single precision
        far[0] = 0
        queue = [(0.0, 0)]
        while queue:
            distance, node = heapq.heappop(queue)
            for edge in range(self.nindex[node], self.nindex[node + 1]):
                if (next_one := distance + weights[edge]) < far[self.nlist[edge]]:
                    far[self.nlist[edge]] = next_one
                    heapq.heappush(queue, (next_one, self.nlist[edge]))
        return far

    def forest(self) -> tuple[list[int], int]:
        """Return the least node of each node's component, and what a minimum spanning forest weighs."""
        root = list(range(self.nodes))

        def root_of(node: int) -> int:
            while root[node] != node:
                node = root[node]
            return node

        total = 0
        edges = ((node, edge) for node in range(self.nodes) for edge in range(self.nindex[node], self.nindex[node + 1]))
        for weight, node, other in sorted((self.weights[edge], node, self.nlist[edge]) for node, edge in edges):
            low, high = sorted((root_of(node), root_of(other)))
            if low != high:
                root[high] = low
                total += weight
        return [root_of(node) for node in range(self.nodes)], total

    def is_right(self, algorithm: str, y: Sequence[float]) -> bool:
        """Whether the numbers are those of an algorithm."""
        of_nodes = [*y[: self.nodes]]
        if algorithm in ("BFS", "SSSP"):
            return of_nodes == self.distances(self.weights if algorithm == "SSSP" else [1] * len(self.nlist))
        if algorithm == "CC":
            return of_nodes == self.forest()[0]
        if algorithm == "MST":
            return sum(weight for weight, is_in in zip(self.weights, y, strict=False) if is_in) == self.forest()[1]
        if algorithm == "TC":
            near = [set(self.others(node)) for node in range(self.nodes)]
            pairs = ((node, other) for node in range(self.nodes) for other in near[node] if other < node)
            return y[0] == sum(third < other for node, other in pairs for third in near[node] & near[other])
        if algorithm == "MIS":  # 1 is in the set
            chosen = {node for node, status in enumerate(of_nodes) if status == 1}
            return all((node in chosen) != bool(chosen & set(self.others(node))) for node in range(self.nodes))
        # PageRank: one more step changes little.
        incoming = [0.0] * self.nodes
        for node in range(self.nodes):
            for other in self.others(node):
                incoming[other] += of_nodes[node] / len(self.others(node))
        steps = (0.15 / self.nodes + 0.85 * more - score for more, score in zip(incoming, of_nodes, strict=True))
        return sum(map(abs, steps)) < 1e-3


def apart(work: Any) -> tuple[str, str]:
    """Run in a process of its own, which may crash, or never end: return how it ended, and what it said."""
    reading, writing = os.pipe()
    if (child := os.fork()) == 0:
        os.close(reading)
        resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time()) + LIMIT, resource.RLIM_INFINITY))
        try:
            said = work()
        except RuntimeError as error:
            said = ("report", str(error))
        os.write(writing, json.dumps(said).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as file:
        data = file.read()
    _, status = os.waitpid(child, 0)
    if data:
        how, said = json.loads(data)
        return how, said
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU:
        return "endless", f"it does not end within {LIMIT} s"
    return "crash", f"the process ended: {os.waitstatus_to_exitcode(status)}"


def built(suite: Path, variants: Sequence[Variant]) -> tuple[Any, list[str]]:
    """Put variants into one text and build it in check mode; return what runs one of them, and the lines of the text."""
    graph = re.search(
        r"^typedef struct ECLgraph.*?ECLgraph;$", (suite / "lib" / "ECLgraph.h").read_text(), re.MULTILINE | re.DOTALL
    )
    assert graph, "lib/ECLgraph.h has no ECLgraph"
    text = HEAD.replace("ECLGRAPH", graph[0])
    for number, variant in enumerate(variants):
        text += f"namespace variant_{number} {{\n{variant.text(suite / 'lib')}}}\n"
    calls = "".join(f"  if (which == {number}) return variant_{number}::run(x);\n" for number in range(len(variants)))
    text += f"at::Tensor forward(const at::Tensor& x, int64_t which) {{\n{calls}  return x;\n}}\n"
    kernel = li.Kernel("indigo3/some", cuda=text)
    function = li.load(kernel, device="cuda-cpu", cflags=DEVICES["cuda-cpu"].check_flags, trust=True)
    return lambda x, number: function.forward(x, number)[0], text.split("\n")


@dataclass(frozen=True)
class Said:
    """What was said of a variant on one graph: `kind` is a word or two, `key` the message with the code of its lines."""

    graph: str
    kind: str
    message: str
    key: str

    @classmethod
    def of(cls, graph: Graph, how: str, message: str, text: Sequence[str]) -> Said:
        """Keep a message without numbers of lines, which say nothing of the suite's own files."""
        kind = how
        if how == "report":
            told = re.match(r"(?:indigo3/some: )?([a-z ]+):", message)
            kind = (
                told[1]
                if told
                else "barrier"
                if re.search("barrier|__sync", message)
                else "warp"
                if "shuffle" in message
                else "other"
            )

        def code(match: re.Match[str]) -> str:
            return "".join(text[int(match[1]) - 1].split())

        key = re.sub(r"\(\d+, \d+, \d+\)|lane \d+", "", message)
        key = re.sub(r"(?:indigo3/some:|line )(\d+)", code, key)
        return cls(graph.name, kind, re.sub(r"(?:line )?indigo3/some:\d+|line \d+", "a line", message), key)


def judged(run: Any, number: int, variant: Variant, graph: Graph) -> tuple[str, str]:
    """Run a variant on a graph, and look at its numbers."""
    import torch

    y = run(torch.tensor(graph.flat, dtype=torch.float32), number).tolist()
    return ("", "") if graph.is_right(variant.algorithm, y) else ("numbers", "the numbers are wrong")


def examined(suite: Path, variants: Sequence[Variant], graphs: Sequence[Graph]) -> dict[Variant, list[Said]]:
    """Run variants on all graphs, but for those behind one on which it does not end."""
    found: dict[Variant, list[Said]] = {}
    for first in range(0, len(variants), TOGETHER):
        some = variants[first : first + TOGETHER]
        run, text = built(suite, some)
        for number, variant in enumerate(some):
            found[variant] = []
            for graph in graphs:
                how, message = apart(partial(judged, run, number, variant, graph))
                if how:
                    found[variant].append(Said.of(graph, how, message, text))
                if how == "endless":
                    break
            what = ", ".join(dict.fromkeys(said.kind for said in found[variant])) or "-"
            print(f"  {first + number + 1}/{len(variants)} {variant.name}: {what}", file=sys.stderr, flush=True)
    return found


def main() -> None:
    """Count what is found, what is missed, and what is said of variants without a bug."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().partition("\n")[0])
    parser.add_argument("folder", type=Path, help="of the suite: with codeGen/cuda, lib and inputs")
    parser.add_argument("--quick", action="store_true", help="ten variants: to see that it runs, not to quote")
    parser.add_argument(
        "--sample", type=int, default=70, metavar="N", help="variants with a bug (default: %(default)s)"
    )
    given = parser.parse_args()
    suite = given.folder
    op = li.Op(
        "indigo3", "(Tensor x, int which) -> Tensor y", lambda x, which: x, {"x": "...", "y": "..."},
        inputs=lambda randn, N: (randn(N), 0), dtypes=("float32",),
    )  # fmt: skip
    li.registry.register(op)
    results = Results("indigo3", given.quick, script="indigo3.py FOLDER")
    graphs = sorted((Graph.read(path) for path in (suite / "inputs").glob("*.egr")), key=lambda graph: len(graph.nlist))
    wrong, there = sampled(suite, 10 if given.quick else given.sample)
    right = {variant: variant.without_bug() for variant in wrong}
    found = examined(suite, [*dict.fromkeys(itertools.chain(*right.items()))], graphs)
    results.more |= {"unit": "variants", "graphs": [graph.name for graph in graphs], **counted(right, found, there)}
    results.save()
    print(table(results.more["bugs"], results.more[NO_BUG]))


def counted(
    right: Mapping[Variant, Variant], found: Mapping[Variant, Sequence[Said]], there: Mapping[str, int]
) -> dict[str, Any]:
    """Count of each bug what was found, and list the variants. Found is what is not said of the variant without the bug, too."""
    bugs: dict[str, dict[str, Any]] = {}
    variants: list[dict[str, Any]] = []
    for variant, twin in right.items():
        row = {"there": there[variant.bug], "run": 0, "found": 0, "hidden": 0, "missed": 0, "by": {}}
        row = bugs.setdefault(variant.bug, row)
        before = {(said.graph, said.key) for said in found[twin]}
        own = [said for said in found[variant] if (said.graph, said.key) not in before]
        how = "found" if own else "hidden" if found[variant] else "missed"
        row["run"] += 1
        row[how] += 1
        if own:
            row["by"][own[0].kind] = row["by"].get(own[0].kind, 0) + 1
        variants.append({"name": variant.name, "bug": variant.bug, "how": how, **told(own or found[variant])})
    clean = [*dict.fromkeys(right.values())]
    variants += [{"name": one.name, "bug": NO_BUG, **told(found[one])} for one in clean]
    said = dict(Counter(found[one][0].kind for one in clean if found[one]).most_common())
    of_clean = {"there": there[NO_BUG], "run": len(clean), "said": sum(said.values()), "by": said}
    return {"bugs": dict(sorted(bugs.items())), NO_BUG: of_clean, "variants": variants}


def told(all_said: Sequence[Said]) -> dict[str, str]:
    """Return the first message, without its advice."""
    if not all_said:
        return {}
    first = all_said[0]
    return {"graph": first.graph, "kind": first.kind, "message": first.message.partition(". ")[0]}


def table(bugs: dict[str, dict[str, Any]], clean: dict[str, Any]) -> str:
    """Write how many were found.

    Hidden is what runs into something before, which is told of the same variant without its bug, too.
    """

    def by(row: dict[str, Any]) -> str:
        return ", ".join(f"{kind} {count}" for kind, count in row["by"].items())

    lines = [f"{'bug':<18}{'run':>5}{'found':>7}{'hidden':>8}{'missed':>8}  by"]
    for bug, row in bugs.items():
        lines.append(f"{bug:<18}{row['run']:>5}{row['found']:>7}{row['hidden']:>8}{row['missed']:>8}  {by(row)}")
    lines.append(f"{NO_BUG:<18}{clean['run']:>5}{clean['said']:>7} of which something is said: {by(clean)}")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
