"""Says within thirty seconds whether an edit has felled something that stood: `make quick`.

    python -m tests.loop                                what was edited since the last commit
    python -m tests.loop lltm_inline/diagnosis          a room, or modules
    python -m tests.loop tests/run/test_check.py::...   tests, with what has been compiled before
    python -m tests.loop --seconds 120 --list           another limit; only say what would run, in this order

A table says which tests a room breaks first. Those that fell last time run first, then those that name the module (of a section of
the check, the kernels planted for it), then the others, the cheapest of each file in turns; when the time is up, it is said what
did not run. What compilers make and say is kept in build/quick, by text, flags and version of the compiler: so the first run
for a room has no limit and takes minutes. This is no `make test`: it finds what an edit breaks first, not all that it breaks.
"""

from __future__ import annotations

import argparse
import atexit
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, Pipe, wait
from pathlib import Path
from typing import Any, NoReturn

import pytest

ROOT = Path(__file__).resolve().parents[1]
#: What outlives a run: kernels, logs of compilers, and what each test took and said last.
KEPT = Path(os.environ.get("LLTM_INLINE_TEST_CACHE") or ROOT / "build" / "quick")
SECONDS = 30
#: Of a run, for its end: workers leave, caches are written. What runs then still is interrupted after the first of these.
_LAST_SECONDS = 3.0
_TOO_LONG_SECONDS = 1.5
#: A machine that is so many times slower than it was does not hang yet.
_BUSY = 5
#: How many tests run at a time, and how many of one file a lane takes at once, as neighbours share what they need.
_LANES, _CHUNK = 2, 8
#: Of a test that has never run with all that it compiles already there.
_UNKNOWN_SECONDS = 1.0

#: What an edit breaks first: files below tests/, by module or room of lltm_inline/. The longest name that fits counts.
#: With a star behind it, those too that `make test` leaves to `make test-all`.
ROWS = {
    line.split()[0]: tuple(line.split()[1:])
    for line in """
cpp                    test_cpp test_signature test_template test_launchers extension/test_reading
diagnosis              compiling/test_diagnostics* compiling/test_nvcc
diagnosis/nvcc_log.py  compiling/test_nvcc compiling/test_diagnostics
base                   properties/test_verbs properties/test_definitions properties/test_results test_cli
base/above.py          test_html test_values test_import
base/device.py         compiling/test_nvcc test_doctor test_template run/test_cuda_cpu
base/files.py          export/test_write test_journal run/test_timings
base/flags.py          compiling/test_toolchain compiling/test_integrity properties/test_definitions
base/loaded.py         run/worker/test_symbolize run/worker/test_recorder compiling/test_compiler
base/packages.py       test_doctor compiling/test_toolchain compiling/test_nvcc
base/progress.py       run/test_watch* compiling/test_killed run/worker/test_client
base/shell.py          test_shell notebook/test_magics_parts test_doctor
base/stop.py           test_stop run/worker/test_client compiling/test_killed
base/trace.py          run/worker/test_surroundings run/worker/test_client notebook/test_magics
base/verbs.py          test_cli notebook/test_magics_parts lab/test_lab_folder
errors.py              test_values properties/test_definitions compiling/test_diagnostics test_html
model                  test_registry properties/test_definitions test_shapes test_values
model/op.py            properties/test_definitions test_registry test_signature run/test_contract run/test_sizes
model/own_file.py      test_registry extension/test_files extension/test_exported
model/reserved.py      properties/test_definitions test_signature
model/shapes.py        test_shapes run/test_sizes properties/test_definitions
native                 run/test_guard run/worker/test_recorder run/test_load test_roofline
native/follow.cpp      run/test_follow
native/follow_memory.h run/test_follow
native/follow_index.h  run/test_follow
native/follow_trace.h  run/test_traced
native/guard.cpp       run/test_guard run/test_safety
native/guard_blocks.h  run/test_guard run/test_safety
native/bridge.cpp      run/test_load run/test_operator* run/test_gradients*
native/bridge_node.h   run/test_load run/test_operator* run/test_gradients*
native/meter.cpp       run/test_memory
native/roofs.cpp       test_roofline
cuda_cpu               run/test_cuda_cpu run/test_counts ops/test_shared_memory
cuda_cpu/rewrite.py    run/test_cuda_cpu test_launchers
cuda_cpu/counts.h      run/test_counts* run/test_traced run/test_cuda_cpu
cuda_cpu/book.h        lab/test_cuda_labs
cuda_cpu/module.h      judging/test_judge
cuda_cpu/memory.h      run/test_cuda_cpu run/test_counts
source                 test_signature test_template test_launchers test_custom_classes compiling/test_traps
source/binding.py      run/test_load test_template test_signature run/test_contract compiling/test_traps
source/custom_classes.py  test_custom_classes export/test_custom_class
source/launchers.py    test_launchers
source/template.py     test_template compiling/test_parts test_signature compiling/test_integrity
compiling              compiling/test_compiler compiling/test_integrity compiling/test_cache compiling/test_toolchain compiling/test_traps
compiling/cache.py     compiling/test_cache compiling/test_integrity compiling/test_killed
compiling/header.py    compiling/test_compiler compiling/test_linkers* compiling/test_killed compiling/test_cache
compiling/header_process.py  compiling/test_compiler compiling/test_killed
compiling/nvcc.py      compiling/test_nvcc compiling/test_toolchain test_doctor
compiling/compiler.py  compiling/test_compiler compiling/test_parts compiling/test_integrity compiling/test_killed
compiling/light.py     compiling/test_light
compiling/toolchain.py  compiling/test_toolchain compiling/test_integrity compiling/test_linkers test_doctor
compiling/watch.py     compiling/test_killed compiling/test_cache test_stop
compiling/environment.py  compiling/test_toolchain compiling/test_integrity compiling/test_compiler
tables                 run/test_timings run/test_memory test_history run/test_sweep properties/test_results test_html
tables/counts.py       run/test_counts notebook/test_plot_counts test_html test_values
tables/trace.py        run/test_traced test_html test_values properties/test_results
tables/history.py      test_history
tables/memory.py       run/test_memory notebook/test_plot_memory properties/test_results
tables/sweep.py        run/test_sweep notebook/test_plot_sweep properties/test_results
workers                run/worker/test_client run/worker/test_surroundings run/worker/test_black_box run/test_isolated
workers/limits.py      run/worker/test_client run/test_check_hog properties/test_verbs
workers/safe_pickle.py lab/test_locked run/worker/test_client test_values
workers/black_box.py   run/worker/test_black_box run/worker/test_recorder run/worker/test_client
workers/steps.py       run/worker/test_client run/worker/test_recorder run/test_check_hog
autopsy                run/worker/test_crash run/worker/test_symbolize run/worker/test_recorder run/worker/test_crashes
autopsy/lines.py       run/worker/test_symbolize run/worker/test_recorder
run                    run/test_load run/test_check run/test_contract run/test_call run/test_isolated run/test_once
run/cases       run/test_cases run/test_check_rare run/test_sizes run/test_check run/test_contract run/test_gradients* ops/test_axpy
run/compare.py         run/test_check_rare run/test_check run/test_contract run/test_pictures run/test_gradients*
run/fake.py            run/test_operator* export/test_python run/test_load
run/function.py        run/test_load run/test_operator* run/test_isolated run/test_call
run/setting.py         run/test_setting properties/test_verbs run/test_isolated test_cli
checking               run/test_check_rare run/test_check run/test_contract run/test_safety run/test_sizes run/test_check_hog
checking/check_many.py run/test_check ops/test_axpy test_cli
checking/derivatives.py  run/test_check_rare run/test_check run/test_gradients* ops/test_cube ops/test_sin_add run/test_sizes
checking/explain.py    run/test_check_rare run/test_check run/test_contract run/test_perturb extension/test_declared
checking/guard.py      run/test_guard run/test_safety run/test_follow
checking/follow.py     run/test_follow
checking/interface.py  run/test_check_rare run/test_check run/test_contract run/test_check_first_kernel ops/test_conv2d ops/test_bad_input
checking/large.py      run/test_check_rare run/test_check_hog run/test_safety
checking/opcheck.py    run/test_check_rare run/test_check run/test_gradients* run/test_operator*
checking/postmortem.py run/test_check_hog run/test_safety run/test_isolated run/worker/test_crashes
checking/perturb.py    run/test_perturb run/test_check_rare
checking/purity.py     run/test_check_rare run/test_check run/test_contract ops/test_axpy ops/test_conv_bn ops/test_d_sigmoid
checking/variants.py   run/test_perturb
checking/safety.py     run/test_safety run/test_guard run/test_check
measure                run/test_benchmark run/test_timings run/test_watch* run/test_sweep
measure/counts.py      run/test_counts run/test_traced
measure/trace.py       run/test_traced
measure/machine.py     test_roofline run/test_benchmark run/test_timings
measure/memory.py      run/test_memory
measure/stats.py       run/test_timings run/test_benchmark
measure/sweep.py       run/test_sweep
analysis               test_assembly test_roofline
analysis/roofline.py   test_roofline
calling.py             run/test_load run/test_call run/test_isolated
ops                    ops/test_axpy ops/test_linear ops/test_cube test_registry ops/test_bad_input
export                 export/test_python export/test_cpp export/test_kinds export/test_builds export/test_arguments
export/cpp.py          export/test_cpp export/test_kinds export/test_custom_class
export/exported.py     extension/test_exported export/test_write export/test_arguments
export/fake.py         export/test_python run/test_contract
export/kernel_file.py  extension/test_exported extension/test_round_trip export/test_cpp
export/python.py       export/test_python export/test_reference export/test_kinds export/test_builds
export/reference.py    export/test_reference export/test_python
export/write.py        export/test_write export/test_arguments
extension              extension/test_inline extension/test_matching extension/test_reading extension/test_exported extension/test_files
extension/classic.py   extension/test_classic extension/test_matching extension/test_setup_py
extension/inline.py    extension/test_inline extension/test_declared
extension/matching.py  extension/test_matching extension/test_classic
extension/reading.py   extension/test_reading extension/test_matching
extension/setup_py.py  extension/test_setup_py extension/test_classic
nn.py                  test_nn run/test_training
journal                test_journal test_history
lesson.py              test_lesson notebooks/test_answers
doctor.py              test_doctor test_cli
show                   test_html run/test_pictures notebook/test_display*
show/views             test_html notebook/test_display* run/test_timings
notebook               notebook/test_magics_parts notebook/test_magics notebook/test_live
notebook/access.py     notebook/test_plot_counts run/test_traced notebook/test_plot notebook/test_plot_memory
notebook/cell.py       notebook/test_magics notebook/test_magics_parts notebook/test_panel_session*
notebook/figure.py     notebook/test_plot notebook/test_plot_memory notebook/test_plot_sweep
notebook/inline_cell.py  notebook/test_magics extension/test_inline notebook/test_magics_parts
notebook/live.py       notebook/test_live
notebook/panel         notebook/test_panel_parts notebook/test_panel_session* notebook/test_bundle notebook/test_bundle_page
notebook/options.py    notebook/test_magics_parts notebook/test_panel_parts
notebook/verbs.py      notebook/test_magics_parts notebook/test_magics
notebook/completion.py  notebook/test_magics_parts notebook/test_magics
notebook/panel/js      notebook/test_bundle notebook/test_bundle_editor* notebook/test_bundle_page* browser/test_panel
notebook/pipeline.py   notebook/test_panel_session* notebook/test_magics run/test_once
notebook/plot.py       notebook/test_plot notebook/test_plot_counts notebook/test_plot_memory notebook/test_plot_sweep
notebook/roofs.py      test_roofline notebook/test_plot
judging                judging/test_judge* judging/test_agents
lab                    lab/test_grading lab/test_judge lab/test_lab_folder lab/test_submissions lab/test_reports lab/test_selftest
lab/doctor.py          lab/test_enclosure lab/test_defences
lab/enclosure.py       lab/test_enclosure lab/test_locked
lab/cells.py           lab/test_submissions lab/test_hostile lab/test_lab_folder lab/test_nbgrader*
lab/command.py         lab/test_lab_folder lab/test_grading lab/test_selftest test_cli
lab/inside.py          lab/test_locked lab/test_defences lab/test_judge lab/test_cuda_labs
lab/judge.py           lab/test_judge lab/test_locked lab/test_no_false_alarm* lab/test_cuda_labs*
lab/builder.py         lab/test_machine lab/test_defences lab/test_preprocessed
lab/locked.py          lab/test_locked
lab/making.py          lab/test_lab_folder lab/test_labs lab/test_nbgrader*
lab/sandbox.py         lab/test_defences lab/test_judge lab/test_locked
lab/selftesting.py     lab/test_selftest lab/test_no_false_alarm*
lab/grades.py          lab/test_reports lab/test_hostile
lab/reporting.py       lab/test_reports lab/test_hostile
lab/submissions.py     lab/test_submissions lab/test_hostile
lab/symbols.py         lab/test_symbols lab/test_preprocessed lab/test_defences lab/test_judge lab/test_cuda_labs
lab/timing.py          lab/test_speed* lab/test_locked
demo.py                test_demo
version.py             test_project test_import
__init__.py            test_import properties/test_results test_values
__main__.py            test_cli export/test_command_line
py.typed               test_project
""".strip().splitlines()
}
#: The word of tests for a module or for all of a row, where it is not the own name of a module; sections of planted kernels are such words.
WORDS = {
    "derivatives": "gradcheck",
    "compare": "parity",
    "run/cases": "parity",
    "explain": "parity",
    "diagnosis": "mistake",
}


def changed(root: Path = ROOT) -> list[str]:
    """List the files of package and tests that differ from the last commit, or are new."""
    listings = (["diff", "--name-only", "-z", "HEAD"], ["ls-files", "-z", "--others", "--exclude-standard"])
    names: list[str] = []
    for listing in listings:
        done = subprocess.run(["git", "-C", str(root), *listing], capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(
                f"quick: git does not say what was edited ({done.stderr.strip()}). Name it: ARGS=lltm_inline/..."
            )
        names += done.stdout.split("\0")
    return sorted({name for name in names if name.startswith(("lltm_inline/", "tests/"))})


def row(name: str) -> str:
    """Name the row of a file or room of lltm_inline/.

    >>> row("lltm_inline/checking/purity.py"), row("lltm_inline/checking/report.py"), row("lltm_inline/lab")
    ('checking/purity.py', 'checking', 'lab')
    """
    parts = name.removeprefix("lltm_inline/").rstrip("/").split("/")
    for end in range(len(parts), 0, -1):
        if (found := "/".join(parts[:end])) in ROWS:
            return found
    raise SystemExit(f"quick: no row of tests/loop.py names tests for {name}. Add one to ROWS")


@dataclass(frozen=True)
class Chosen:
    """What is to run for an edit.

    Attributes:
        places: files and folders with tests and examples, or single tests, the first ones first.
        whole: places of which those marked `full` run too.
        words: of which a test holds one that runs before the others.
    """

    places: tuple[str, ...]
    whole: frozenset[str]
    words: frozenset[str]


def choose(names: Iterable[str]) -> Chosen:
    """Choose the tests for edited files, rooms, or tests.

    >>> choose(["lltm_inline/lab/locked.py"]).places
    ('lltm_inline/lab/locked.py', 'tests/lab/test_locked.py')
    """
    places: dict[str, bool] = {}
    words: set[str] = set()
    for name in names:
        if name.startswith("lltm_inline") and ((ROOT / name).is_dir() or name.endswith(".py")):
            places[name] = True  # the examples of its docstrings, which take no time
    for name in names:
        if name.startswith("lltm_inline"):
            found = row(name)
            for place in ROWS[found]:
                path = f"tests/{place.rstrip('*')}.py"
                places[path] = places.get(path, False) or place.endswith("*")
            op = name.split("/")[2] if name.startswith("lltm_inline/ops/") and name.count("/") > 1 else ""
            for own in (ROOT / "tests" / "ops").glob(f"test_{op}*.py") if op else ():
                places[f"tests/ops/{own.name}"] = True
            stem = Path(name).stem
            words.add(WORDS.get(stem) or WORDS.get(found, stem))
        elif "::" in name or Path(name).name.startswith("test_"):
            places[name] = True
    whole = frozenset(place for place, full in places.items() if full)
    there = tuple(place for place in places if (ROOT / place.partition("::")[0]).exists())
    return Chosen(there, whole, frozenset(words - {"__init__"}))


@dataclass(frozen=True)
class Candidate:
    """A test that may run.

    Attributes:
        name: of the test, as pytest has it.
        named: it holds the word of an edited module.
    """

    name: str
    named: bool = False

    @property
    def file(self) -> str:
        return self.name.partition("::")[0]


class Record:
    """What each test took, and whether it stood, when it last ran.

    Args:
        path: of the file that keeps it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows: dict[str, tuple[float | None, bool]] = {}
        if path.exists():
            self.rows = {name: (took, stood) for name, (took, stood) in json.loads(path.read_text()).items()}

    def seconds(self, name: str) -> float:
        """Say what a test will take."""
        took = self.rows.get(name, (None, True))[0]
        return _UNKNOWN_SECONDS if took is None else took

    def fell(self, name: str) -> bool:
        """Whether it fell when it last ran."""
        return not self.rows.get(name, (None, True))[1]

    def note(self, name: str, took: float, stood: bool) -> None:
        """Note a run. Of the first one the time says nothing, as it compiled; a machine may be busy, so times rise slowly."""
        if name not in self.rows:
            self.rows[name] = (None, stood)
            return
        before = self.rows[name][0]
        self.rows[name] = (round(took if before is None or took < before else (took + before) / 2, 2), stood)

    def write(self) -> None:
        """Keep it."""
        part = self.path.with_suffix(".part")
        part.write_text(json.dumps(self.rows, indent=0))
        part.replace(self.path)


def order(candidates: Sequence[Candidate], record: Record, seconds: float) -> list[str]:
    """Put tests in the order in which they run: what fell, what is named, the others; of each the files in turns, by what they took.

    Args:
        candidates: the tests.
        record: of earlier runs.
        seconds: of work for which there will be time. Of the tests that fit, those of one kind stay in the order of their files,
            as neighbours share what they need; behind them come the others.
    """

    def rank(one: Candidate) -> int:
        return 0 if record.fell(one.name) else 1 if one.named else 2

    ahead: list[Candidate] = []
    for place in range(3):
        files: defaultdict[str, list[Candidate]] = defaultdict(list)
        for one in candidates:
            if rank(one) == place:
                files[one.file].append(one)
        for few in files.values():
            few.sort(key=lambda one: record.seconds(one.name), reverse=True)
        spent = dict.fromkeys(files, 0.0)
        while spent:
            file = min(spent, key=lambda name: spent[name])
            ahead.append(files[file].pop())
            spent[file] += record.seconds(ahead[-1].name)
            if not files[file]:
                del spent[file]
    fits: set[str] = set()
    for one in ahead:
        seconds -= record.seconds(one.name)
        if seconds < 0:
            break
        fits.add(one.name)
    ranks = {one.name: rank(one) for one in candidates}
    neighbours = sorted((one.name for one in candidates if one.name in fits), key=ranks.__getitem__)
    return [*dict.fromkeys([*neighbours, *(one.name for one in ahead)])]


def is_named(item: pytest.Item, words: Iterable[str]) -> bool:
    """Whether a test holds one of these words: in its name, or as the section for which a kernel is planted."""
    values = item.callspec.params.values() if hasattr(item, "callspec") else ()
    sections = {getattr(value, "section", "") for value in values}
    return any(word in sections or word in item.name for word in words)


# As a plugin of pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Take what `main` hands over."""
    group = parser.getgroup("loop")
    group.addoption("--loop", help="what was edited, as JSON")
    group.addoption("--loop-until", type=float, default=float("inf"), help="when it is to end, in seconds since 1970")
    group.addoption("--loop-seconds", type=float, default=float("inf"), help="of work until then")


def pytest_configure(config: pytest.Config) -> None:
    """Begin."""
    if config.getoption("loop"):
        config.pluginmanager.register(Loop(config), "loop of edits")


class Loop:
    """Orders the tests, has two lanes run them, notes what each took, and says at the end what fell and what did not run."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.chosen = choose(json.loads(config.getoption("loop")))
        self.record = Record(KEPT / "times.json")
        self.until: float = config.getoption("loop_until")
        self.names: list[str] = []
        self.took: Counter[str] = Counter()
        self.begun: dict[str, float] = {}
        self.hung: set[str] = set()
        self.ended: set[str] = set()
        self.fell: set[str] = set()

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Leave out what is not meant, and order the others."""
        whole = tuple(self.chosen.whole)
        kept = {
            item.nodeid: item
            for item in items
            if item.nodeid.startswith(whole) or item.get_closest_marker("full") is None
        }
        candidates = [Candidate(name, is_named(item, self.chosen.words)) for name, item in kept.items()]
        self.names = order(candidates, self.record, self.config.getoption("loop_seconds"))
        items[:] = [kept[name] for name in self.names]

    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        """Run the tests in two copies of this process, which has imported all of them, and pass on what they report."""
        if session.config.option.collectonly:
            return None
        chunks, end = os.pipe()
        for start in range(0, len(session.items), _CHUNK):
            os.write(end, start.to_bytes(4, "little"))
        os.close(end)
        sys.stdout.flush()
        lanes, running = dict[Connection, int](), dict[Connection, str]()
        for _ in range(_LANES):
            receiving, sending = Pipe(duplex=False)
            pid = os.fork()
            if pid == 0:
                Lane(session, self, chunks, sending).run()
            sending.close()
            lanes[receiving] = pid
        os.close(chunks)
        while lanes:
            for link in wait(list(lanes), timeout=1) or lanes:
                if not link.poll() and os.waitpid(lanes[link], os.WNOHANG)[0] == 0:
                    continue
                try:
                    hook, told = link.recv()
                except EOFError:
                    with suppress(ChildProcessError):  # it was waited for above
                        os.waitpid(lanes[link], 0)
                    del lanes[link]
                    if link in running:
                        self._lane_is_over(running[link])
                    break
                if hook == "logstart":
                    running[link] = told["nodeid"]
                if hook == "logreport":
                    told = {
                        "report": session.config.hook.pytest_report_from_serializable(config=self.config, data=told)
                    }
                getattr(session.config.hook, f"pytest_runtest_{hook}")(**told)
        session.testsfailed += len(self.hung)
        return True

    def _lane_is_over(self, last: str) -> None:
        """Note whether its last test died, or took so long until it was interrupted that no busy machine explains it."""
        now = time.time()
        if last not in self.ended and (
            now < self.until + _TOO_LONG_SECONDS
            or now - self.begun[last] > _BUSY * (self.record.seconds(last) + _LAST_SECONDS)
        ):
            self.hung.add(last)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """See a test begin."""
        self.begun[nodeid] = time.time()

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """See a test end."""
        self.ended.add(nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add up the parts of a test."""
        self.took[report.nodeid] += report.duration
        if report.failed:
            self.fell.add(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        """Keep what was learnt."""
        for name in self.ended:
            self.record.note(name, self.took[name], name not in self.fell)
        self.record.write()

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Say it."""
        left = Counter(name.partition("::")[0] for name in self.names if name not in self.begun)
        say = terminalreporter.write_line
        say("")
        say(f"quick: {len(self.fell)} of {len(self.begun)} fell" if self.begun else "quick: nothing ran")
        for name in sorted(self.hung):
            say(f"quick: {name} did not come to its end: it took far longer than before, or its process died")
        for name in sorted(self.begun.keys() - self.ended - self.hung):
            say(f"quick: {name} was interrupted, as the time was up")
        if left:
            most = ", ".join(f"{file} {count}" for file, count in left.most_common())
            say(f"quick: {left.total()} did not run, as the time was up: {most}")


class Lane:
    """Runs tests while there is time, in a copy of the process that has collected them, and tells of each."""

    def __init__(self, session: pytest.Session, loop: Loop, chunks: int, link: Connection) -> None:
        self.session, self.loop, self.chunks, self.link = session, loop, chunks, link
        self.runs = False

    def run(self) -> NoReturn:
        """Run, and end the process."""
        manager = self.session.config.pluginmanager
        for plugin in (self.loop, manager.getplugin("terminalreporter")):
            manager.unregister(plugin)
        manager.register(self)
        capture = manager.getplugin("capturemanager")  # with files of its own
        capture.stop_global_capturing()
        capture.start_global_capturing()
        capture.suspend_global_capture()
        if self.loop.until < float("inf"):
            clock = threading.Timer(max(self.loop.until + _TOO_LONG_SECONDS - time.time(), 0), self._interrupt)
            clock.daemon = True
            clock.start()
        with suppress(KeyboardInterrupt):
            self._run_all()
        with suppress(KeyboardInterrupt):
            self.session._setupstate.teardown_exact(None)
            atexit._run_exitfuncs()
        self.link.close()
        os._exit(0)

    def _interrupt(self) -> None:
        """Have a test that takes far longer than it did, as an edit can make it, end as by Ctrl-C."""
        if self.runs:
            os.kill(os.getpid(), signal.SIGINT)

    def _run_all(self) -> None:
        todo = self._todo()
        item = next(todo, None)
        while item is not None:
            after = next(todo, None)
            if time.time() + self.loop.record.seconds(item.nodeid) <= self.loop.until:
                self.session._setupstate.teardown_exact(item)  # of what would be needed by a test that was left out
                self.runs = True
                self.session.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
                self.runs = False
            item = after

    def _todo(self) -> Iterator[pytest.Item]:
        while start := os.read(self.chunks, 4):
            first = int.from_bytes(start, "little")
            yield from self.session.items[first : first + _CHUNK]

    def pytest_runtest_logstart(self, nodeid: str, location: Any) -> None:
        """Tell that a test begins."""
        self.link.send(("logstart", {"nodeid": nodeid, "location": location}))

    def pytest_runtest_logfinish(self, nodeid: str, location: Any) -> None:
        """Tell that a test has ended."""
        self.link.send(("logfinish", {"nodeid": nodeid, "location": location}))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Tell what came of a part of a test."""
        config = self.session.config
        self.link.send(("logreport", config.hook.pytest_report_to_serializable(config=config, report=report)))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what an edit breaks first, and return pytest's status.

    Args:
        arguments: of the command line.
    """
    began = time.time()
    parser = argparse.ArgumentParser(prog="python -m tests.loop", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "names", nargs="*", help="modules, rooms or tests; without one, what was edited since the last commit"
    )
    parser.add_argument("--seconds", type=float, help=f"in place of {SECONDS}")
    parser.add_argument("--list", action="store_true", help="only say what would run, in which order")
    given = parser.parse_args(arguments)
    for name in given.names:
        if not name.startswith(("lltm_inline/", "tests/")) or not (ROOT / name.partition("::")[0]).exists():
            raise SystemExit(f"quick: no file or folder {name!r} below lltm_inline/ or tests/, as seen from {ROOT}")
    names = given.names or changed()
    places = choose(names).places
    if not places:
        print(
            "quick: nothing below lltm_inline/ or tests/ was edited since the last commit that has tests. Name it: ARGS=lltm_inline/..."
        )
        return 0
    KEPT.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.environ["LLTM_INLINE_TEST_CACHE"] = str(KEPT)
    known = {name.partition("::")[0] for name in Record(KEPT / "times.json").rows}
    new = [place for place in places if place.startswith("tests/") and place.partition("::")[0] not in known]
    seconds = given.seconds if given.seconds is not None else float("inf") if new else SECONDS
    print(f"quick: {', '.join(names)}", flush=True)
    if new and not given.list:
        print(
            f"quick: the first run of {', '.join(new)}, which compiles for minutes; later ones end in {SECONDS} s",
            flush=True,
        )
    how = ["--collect-only"] if given.list else []
    return int(
        pytest.main(
            [
                *("-p", "tests.loop", "-p", "no:cacheprovider", "-q", "--tb=short", "--rootdir", str(ROOT)),
                *("--loop", json.dumps(names), f"--loop-until={began + seconds - _LAST_SECONDS}"),
                *(f"--loop-seconds={seconds}", *how, *(str(ROOT / place) for place in places)),
            ]
        )
    )


if __name__ == "__main__":
    sys.exit(main())
