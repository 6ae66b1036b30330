"""The diagnostics: wrong texts that are really compiled, and logs of tools that this machine may not have."""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lltm_inline.diagnosis import compiler_log
from lltm_inline.diagnosis.compiler_log import demangle, demangle_name, plain_name
from lltm_inline.diagnosis.diagnostics import Diagnostic, describe, excerpt_of, parse
from lltm_inline.diagnosis.names import is_near
from lltm_inline.diagnosis.source_text import bracket_fault, mask, strange_character
from tests.compiling import mistakes_in_one_line
from tests.compiling.logs import Logs
from tests.compiling.mistakes import MISTAKES as COMMON
from tests.compiling.mistakes import STUDENTS, Mistake
from tests.needs import needs

MISTAKES = COMMON + STUDENTS
COMPILERS = [name for name in ("g++", "clang++") if shutil.which(name)]
each_compiler = pytest.mark.parametrize(
    "compiler", [*COMPILERS[:1], *(pytest.param(name, marks=pytest.mark.full) for name in COMPILERS[1:])]
)
LABEL = "lltm/fused@2"


@pytest.fixture(scope="session")
def logs() -> Logs:
    """Compile texts of the corpus, when they are asked for."""
    return Logs(Path(os.environ["LLTM_INLINE_CACHE"], "mistakes"))


def found_in(mistake: Mistake, log: str) -> tuple[Diagnostic, ...]:
    """Parse a log of a text of the corpus."""
    return parse(log, label=LABEL, sources={"lltm/fused": mistake.text, "lltm/fused (binding)": mistake.binding})


def mistake_named(name: str) -> Mistake:
    """Find a text of the corpus."""
    return next(mistake for mistake in MISTAKES if mistake.name == name)


def test_corpus_is_wide() -> None:
    """The corpus has more than twice the twenty commonest mistakes, under distinct names."""
    assert len(MISTAKES) >= 50
    assert len({mistake.name for mistake in MISTAKES}) == len(MISTAKES)


def marks_of(mistake: Mistake, compiler: str) -> list[pytest.MarkDecorator]:
    """What is common is tried with the first compiler at once; the rest, and students' mistakes, have their turn."""
    return [pytest.mark.full] * (mistake in STUDENTS or compiler != COMPILERS[0])


@pytest.mark.parametrize(
    ("mistake", "compiler"),
    [
        pytest.param(mistake, compiler, marks=marks_of(mistake, compiler), id=f"{mistake.name}-{compiler}")
        for mistake in MISTAKES
        for compiler in COMPILERS
        if mistake.only in ("", compiler)
    ],
)
def test_mistake_is_told_at_its_line_with_its_cure(mistake: Mistake, compiler: str, logs: Logs) -> None:
    """The first diagnostic of a wrong text points to the wrong line and says what mends it; each points into the user's text."""
    log = logs.of(mistake, compiler)
    diagnostics = found_in(mistake, log)
    assert diagnostics, f"nothing found in:\n{log}"
    first = diagnostics[0]
    told = f"{first}\n--- log ---\n{log[:4000]}"
    assert (first.file, first.line) == ("lltm/fused", mistake.line), told
    words = (mistake.clang if compiler == "clang++" else ()) or mistake.help
    assert all(word in first.help for word in words), told
    assert first.severity == "error" or mistake.warns or "WHITE" in first.help or "NO-BREAK" in first.help, told
    assert f"-> {mistake.line} | " in first.excerpt
    assert "did you mean" not in first.message and "\\U" not in first.message
    assert first.help.endswith((".", "?"))
    assert len(first.help) < 220, "help is a sentence, not a page"
    for item in diagnostics:
        if item.file == "lltm/fused" and item.excerpt:
            assert item.column <= len(mistake.text.split("\n")[item.line - 1]) + 1, item
        assert not any("/include/" in note.split(": ")[0] for note in item.notes), item


@each_compiler
def test_a_comment_is_no_division(compiler: str, logs: Logs) -> None:
    """`//` takes the ';' of its line along, and the compiler misses that at the next one."""
    text = "int f(int n) {\n  const int m = n // 2 + 1;\n  return m;\n}\n"
    log = logs.of_text(text, compiler, tensors=False)
    found = parse(log, label=LABEL, sources={"lltm/fused": text})[0]
    assert found.line == 2 and found.help.startswith("// begins a comment: whole numbers are divided by one /")


@each_compiler
@pytest.mark.parametrize("of", ["numbers", "tensors"])
def test_mistakes_in_one_line(of: str, compiler: str, logs: Logs) -> None:
    """Of many mistakes in one text each is told in its line, with its cure."""
    here = mistakes_in_one_line
    head, lines = (here.HEAD, here.LINES) if of == "numbers" else (here.HEAD_OF_TENSORS, here.LINES_OF_TENSORS)
    text = head + "".join(f"{line}\n" for line, _ in lines)
    all_of_them = ["-ferror-limit=0"] if compiler == "clang++" else []
    log = logs.of_text(text, compiler, *all_of_them, tensors=of == "tensors")
    said: dict[int, str] = {}
    number = 0
    for row in log.splitlines(keepends=True):
        if begins := re.match(r"lltm/fused:(\d+):(?:\d+:)? (?:fatal error|error|warning): ", row):
            number = int(begins[1])
        said[number] = said.get(number, "") + row
    for number, (line, words) in enumerate(lines, head.count("\n") + 1):
        found = parse(said.get(number, ""), label=LABEL, sources={"lltm/fused": text})
        fits = found and words in found[0].help and found[0].line == number
        assert fits if words else not found, f"{line}\n{found[:1]}"


@each_compiler
def test_each_thing_is_said_once(compiler: str, logs: Logs) -> None:
    """The body of an AT_DISPATCH is compiled for two dtypes, and its error appears once."""
    mistake = mistake_named("misspelt variable in a dispatch")
    assert logs.of(mistake, compiler).count("'cuont'") == 2
    assert len(found_in(mistake, logs.of(mistake, compiler))) == 1


PINNED = {
    "misspelt function of std": """\
lltm/fused@2:5:20: 'tanhh' is not a member of 'std'. Did you mean 'tanh'?
     4 | float forward(float z) {
  -> 5 |   return (1 + std::tanhh(z / 2)) / 2;
       |                    ^~~~~""",
    "missing semicolon": """\
lltm/fused@2:5:21: expected ',' or ';' before 'for'. A ';' is missing at the end of this statement.
     4 | void forward(const float* x, float* y, int n) {
  -> 5 |   float scale = 2.0f
       |                     ^""",
    "missing closing brace": """\
lltm/fused@2:6:31: this '{' is never closed. Add the missing '}' at the end of this block.
     5 |   float sum = 0;
  -> 6 |   for (int i = 0; i < n; ++i) {
       |                               ^""",
    "no-break space": """\
lltm/fused@2:5:12: extended character   is not valid in an identifier. \
Column 12 holds U+00A0 NO-BREAK SPACE, which is no part of C++, perhaps pasted from a web page: type it anew.
     4 | float forward(float x) {
  -> 5 |   float y =\N{NO-BREAK SPACE}x;
       |            ^""",
    "function that is nowhere, at load": """\
lltm/fused@2:7:10: 'gate(float)' is declared and used, but defined nowhere. \
Write its body, with exactly these parameter types, or link the library that has it.
     6 | float forward(float z) {
  -> 7 |   return gate(z);
       |          ^~~~""",
}


@needs("g++", "c++filt")  # the texts are theirs
@pytest.mark.parametrize("name", PINNED)
def test_text_is_pinned(name: str, logs: Logs) -> None:
    """What is printed for these mistakes changes only on purpose."""
    mistake = mistake_named(name)
    text = str(found_in(mistake, logs.of(mistake, "g++"))[0])
    # g++ versions print the character itself or its code point.
    assert text.replace("extended character \N{NO-BREAK SPACE} ", "extended character   ") == PINNED[name]


@each_compiler
def test_warning_comes_after_the_errors(compiler: str, logs: Logs) -> None:
    """A deprecation before the error in the log stands behind it in the result."""
    severities = [
        item.severity
        for item in found_in(
            mistake_named("type() in a dispatch"), logs.of(mistake_named("type() in a dispatch"), compiler)
        )
    ]
    assert severities[0] == "error" and severities == sorted(severities)


@each_compiler
def test_error_in_a_header_keeps_its_place_as_a_note(compiler: str, logs: Logs) -> None:
    """An error inside a header is moved to the user's line, and a note still says where it was."""
    name = "sort of things without an order, an error inside a header"
    first = found_in(mistake_named(name), logs.of(mistake_named(name), compiler))[0]
    assert first.notes[0].startswith("the error itself is in ") and "predefined_ops.h" in first.notes[0]


@each_compiler
def test_error_in_the_binding_is_the_fault_of_forward(compiler: str, logs: Logs) -> None:
    """A call in the generated binding that does not fit is shown at forward itself, the call in a note."""
    name = "forward with another number of arguments"
    first = found_in(mistake_named(name), logs.of(mistake_named(name), compiler))[0]
    assert (first.file, first.column) == ("lltm/fused", 12)
    assert "lltm/fused (binding):2: called here" in first.notes


SOURCE = "#include <cmath>\nfloat forward(float alpha) {\n  return gate(alpha);\n}\n"


def parse_one(log: str, text: str = SOURCE) -> Diagnostic:
    """Parse a log that holds one error."""
    [item] = parse(log, label=LABEL, sources={"lltm/fused": text, "lltm/fused (binding)": ""})
    return item


LAUNCH = """template <class T> __global__ void k(const T* x, int n) {}
void forward(const at::Tensor& x) {
  k<float><<<1, 32>>>(
      x.data_ptr(), 3);
}
"""


@pytest.mark.parametrize(
    ("text", "log", "line", "words"),
    [
        (
            LAUNCH,
            'lltm/fused(3): error: no instance of function template "k" matches the argument list\n'
            "            argument types are: (void *, int)\n    k<float><<<1, 32>>>(\n    ^\n"
            'lltm/fused(1): note #3326-D: function template "k" does not match because argument #1 does not match parameter\n',
            4,
            "write data_ptr<T>()",
        ),
        ("int i = cuda.grid(1);", "lltm/fused(1): error: a namespace name is not allowed\n", 1, "blockIdx.x *"),
        ("int i = cuda.threadIdx.x;", "lltm/fused(1): error: a namespace name is not allowed\n", 1, "threadIdx alone"),
        ("cuda.syncthreads();", "lltm/fused(1): error: a namespace name is not allowed\n", 1, "__syncthreads()"),
        ("cuda.atomic.add(y, i, v);", "lltm/fused(1): error: a namespace name is not allowed\n", 1, "atomicAdd(&y[i]"),
        ("auto t = cuda.shared.array(9);", "lltm/fused(1): error: a namespace name is not allowed\n", 1, "__shared__"),
        ("int i = tl.program_id(0);", 'lltm/fused(1): error: identifier "tl" is undefined\n', 1, "blockIdx.x"),
        (
            "template <class T> __global__ void k(at::PackedTensorAccessor64<T> x) {}",
            'lltm/fused(1): error: too few arguments for alias template "at::PackedTensorAccessor64"\n',
            1,
            "PackedTensorAccessor64<float, 2>",
        ),
    ],
)
def test_what_nvcc_says_of_a_launch_and_of_other_languages(text: str, log: str, line: int, words: str) -> None:
    """An argument is shown in its own line; the names of Numba and Triton get those of CUDA C++."""
    item = parse_one(log, text)
    assert item.line == line and words in item.help, str(item)


@pytest.mark.parametrize(
    "log",
    [
        "/usr/bin/ld: main.o: in function `forward(float)':\nmain.cpp:(.text+0x15): undefined reference to "
        "`gate(float)'\n"
        "collect2: error: ld returned 1 exit status",
        "ld.lld: error: undefined symbol: gate(float)\n>>> referenced by main.cpp\n>>>               "
        "main.o:(forward(float))\n"
        "clang: error: linker command failed with exit code 1 (use -v to see invocation)",
        "mold: error: undefined symbol: gate(float)\n>>> referenced by main.cpp\n>>>               "
        "main.o:(forward(float))",
        "lltm/fused:3: error: undefined reference to 'gate(float)'\ncollect2: error: ld returned 1 exit status",
        "OSError: /somewhere/library.so: undefined symbol: _Z4gatef",
        "ImportError: /somewhere/library.so: undefined symbol: _Z4gatef",
    ],
    ids=["ld", "lld", "mold", "gold", "ctypes", "import"],
)
def test_undefined_symbol_of_every_linker(log: str) -> None:
    """Each linker and loader says it in its own words; all of them lead to the line that calls the function."""
    item = parse_one(log)
    assert (item.file, item.line, item.column) == ("lltm/fused", 3, 10)
    assert item.message in (
        "'gate(float)' is declared and used, but defined nowhere",
        "'gate' is declared and used, but defined nowhere",
    )


def test_symbol_of_torch_is_not_the_users_fault() -> None:
    """A missing symbol of PyTorch is told as such, without a line of the user's."""
    item = parse_one("OSError: library.so: undefined symbol: _ZN2at7missingERKNS_6TensorE")
    assert item.line == 0 and item.help.startswith("It belongs to PyTorch")
    assert str(item).startswith("lltm/fused@2: 'at::missing")


def test_stable_kernel_is_kept_from_aten() -> None:
    """On the stable ABI the cure for a missing at:: function is not ATen's header."""
    log = "lltm/fused:3:14: error: 'relu' is not a member of 'at'"
    assert "torch::stable::" in parse_one(log, "using torch::stable::Tensor;\n\n  return at::relu(x);\n").help


@pytest.mark.parametrize(
    "log",
    [
        "In file included from /somewhere/outer.h:4,\n                 from lltm/fused:37:\n"
        "/somewhere/inner.h:1:10: fatal error: omp.h: No such file or directory\n    1 | #include <omp.h>\n",
        "In file included from lltm/fused:37:\nIn file included from /somewhere/outer.h:4:\n"
        "/somewhere/inner.h:1:10: fatal error: 'omp.h' file not found\n#include <omp.h>\n",
    ],
    ids=["g++", "clang++"],
)
def test_error_in_a_header_is_put_at_its_include(log: str) -> None:
    """An error in a header that nothing of the text instantiates is put at the line that includes it, not at the header's line."""
    item = parse_one(log, "\n" * 36 + '#include "outer.h"\n')
    assert (item.file, item.line) == ("lltm/fused", 37) and "the error itself is in /somewhere/inner.h:1" in item.notes
    assert item.help.startswith("The header of this line includes <omp.h> in its turn")
    assert '-> 37 | #include "outer.h"' in item.excerpt


def test_several_definitions() -> None:
    """A function that two objects define is told once, at its line."""
    item = parse_one(
        "/usr/bin/ld: b.o: in function `gate':\nb.cpp:(.text+0x0): multiple definition of `gate(float)'; "
        "a.o:a.cpp:(.text+0x0): first defined here"
    )
    assert item.line == 3 and item.message == "'gate(float)' is defined several times"


@pytest.mark.parametrize(
    ("log", "help"),
    [
        ("g++: fatal error: Killed signal terminated program cc1plus\ncompilation terminated.", "ran out of memory"),
        ("cc1plus: out of memory allocating 65536 bytes", "ran out of memory"),
        ("/usr/bin/ld: cannot find -lcudart: No such file or directory", "-lcudart"),
        ("g++: error: unrecognized command-line option '-fast'", "does not know that flag"),
        ("clang: error: unknown argument: '-fast'", "does not know that flag"),
        ("lltm/fused:3:1: internal compiler error: Segmentation fault", "compiler itself failed"),
    ],
)
def test_failure_of_the_machine(log: str, help: str) -> None:
    """A compiler that is killed, a missing library or a wrong flag are told as what they are."""
    assert help in parse_one(log).help


def test_lines_of_ninja_are_passed_over() -> None:
    """Commands, progress and summaries of ninja are no diagnostics."""
    log = (
        "ninja: entering directory '.'\n[1/2] c++ -MMD -MF main.o.d -DNAME=\\\"error: x\\\" -c main.cpp -o main.o \n"
        "FAILED: [code=1] main.o \nc++ -MMD -MF main.o.d -c main.cpp -o main.o \n"
        "lltm/fused: In function 'float forward(float)':\n"
        "lltm/fused:3:10: error: 'gate' was not declared in this scope\nninja: build stopped: subcommand failed.\n"
    )
    assert parse_one(log).message == "'gate' was not declared in this scope"


@pytest.mark.parametrize(
    ("name", "guess"),
    [
        ("alpah", "isalpha"),
        ("share", "unshare"),
        ("close_cell", "clone"),
        ("forward", "std::forward"),
        ("sort", "sqrt"),
    ],
)
def test_guess_that_lies_is_dropped(name: str, guess: str) -> None:
    """The compiler's 'did you mean' is repeated only when the name can be a slip of the pen."""
    log = f"lltm/fused:3:10: error: '{name}' was not declared in this scope; did you mean '{guess}'?"
    item = parse_one(log, SOURCE.replace("gate", name).replace("alpha", "x"))
    assert guess not in f"{item.message} {item.help}".replace("std::sort", "")


def test_quotes_of_another_locale_are_read() -> None:
    """Typographic quotes of a UTF-8 locale are the same quotes."""
    item = parse_one("lltm/fused:3:10: error: \u2018gate\u2019 was not declared in this scope")
    assert item.message == "'gate' was not declared in this scope"


def test_without_a_log_there_is_nothing() -> None:
    """An empty log has no diagnostics."""
    assert parse("", label=LABEL, sources={}) == ()


def test_json_round_trip() -> None:
    """A diagnostic survives the cache, where it is kept as JSON."""
    item = parse_one(
        "lltm/fused:3:10: error: 'gate' was not declared in this scope\nlltm/fused:2:7: note: seen from here"
    )
    assert Diagnostic.from_dict(json.loads(json.dumps(item.to_dict()))) == item
    assert item.notes == ("lltm/fused:2: seen from here",)


STYLE = """\
kernel 'lltm/fused@2' did not compile (g++ 12.2, torch 2.13)
  lltm/fused@2:14:34: 'tanhh' is not a member of 'std'. Did you mean 'tanh'?
     13 |     const scalar_t z = gates[b][s];
  -> 14 |     const scalar_t i = (1 + std::tanhh(z / 2)) / 2;
        |                                  ^~~~~
  1 line differs from lltm/fused@1: li.diff("lltm/fused@1", "lltm/fused@2").  Full log: .log of this error, 2 lines"""


def test_build_error_is_worth_printing() -> None:
    """The message has the example's form: place, cause, cure, two lines of source, the edit, the log."""
    text = "\n" * 12 + "    const scalar_t z = gates[b][s];\n    const scalar_t i = (1 + std::tanhh(z / 2)) / 2;\n"
    log = (
        "lltm/fused: In function 'f':\nlltm/fused:14:34: error: 'tanhh' is not a member of 'std'; did you "
        "mean 'tanh'?\n"
    )
    items = parse(log, label=LABEL, sources={"lltm/fused": text})
    about = {"compiler": "g++ 12.2.0", "torch_version": "2.13.0+cpu", "log": log}
    message = describe(LABEL, items, parent="lltm/fused@1", changed_lines=1, **about)
    assert message == STYLE
    assert "differ" not in describe(LABEL, items, parent="", changed_lines=None, **about)
    assert "3 lines differ from lltm/fused: " in describe(LABEL, items, parent="lltm/fused", changed_lines=3, **about)


def test_message_counts_what_it_does_not_show() -> None:
    """Only the first error is shown; the message tells how many more there are and where."""
    items = tuple(Diagnostic(LABEL, "lltm/fused", line, 1, "error", f"error {line}") for line in (3, 7, 7))
    items += (Diagnostic(LABEL, "lltm/fused", 9, 1, "warning", "no result"),)
    message = describe(
        LABEL, items, compiler="clang++ 14.0.6", torch_version="2.10.0", parent="", changed_lines=None, log="a\nb"
    )
    assert "2 more errors (line 7) in error.diagnostics" in message
    assert "1 more warning (line 9) in error.diagnostics" in message
    assert message.startswith("kernel 'lltm/fused@2' did not compile (clang++ 14.0, torch 2.10)")


@pytest.mark.parametrize(
    ("log", "verb"),
    [
        ("main.cpp:(.text+0x15): undefined reference to `gate(float)'", "link"),
        ("OSError: library.so: undefined symbol: _Z4gatef", "load"),
        ("something nobody has seen before", "compile"),
    ],
)
def test_message_says_which_step_failed(log: str, verb: str) -> None:
    """Compiling, linking and loading fail under their own names, and an unknown log is shown as it is."""
    items = parse(log, label=LABEL, sources={"lltm/fused": SOURCE})
    message = describe(
        LABEL, items, compiler="g++ 12.2.0", torch_version="2.13.0", parent="", changed_lines=None, log=log
    )
    assert f"did not {verb} (" in message
    assert items or log in message


def test_a_body_with_other_types_is_shown() -> None:
    """A function that is defined for other parameters than it is declared with is shown where it is defined."""
    text = "float gate(float z);\nfloat forward(float z) { return gate(z); }\nfloat gate(double z) { return z; }\n"
    found = parse_one("main.cpp:(.text+0x15): undefined reference to `gate(float)'", text)
    assert found.line == 3 and found.help.startswith(
        "This body takes (double z), and what is declared and called is gate(float)"
    )


def test_ten_thousand_lines_are_no_more_than_ten_times_a_thousand(logs: Logs) -> None:
    """The work on a log grows with its length and no faster: counted in calls, as seconds say nothing on a busy machine."""
    lines = [line for one in COMMON for line in logs.of(one, COMPILERS[0]).splitlines()]
    sources = {"lltm/fused": mistake_named("missing brace in a dispatch").text * 20, "lltm/fused (binding)": ""}

    def calls(count: int) -> int:
        log = "\n".join(itertools.islice(itertools.cycle(lines), count))
        events: list[str] = []
        sys.setprofile(lambda frame, event, _: events.append(event))
        try:
            assert parse(log, label=LABEL, sources=sources)
        finally:
            sys.setprofile(None)
        return len(events)

    assert calls(10_000) < 11 * calls(1000)


@given(
    st.lists(st.one_of(st.text(), st.from_regex(r"lltm/fused:[0-9]{1,3}:[0-9]{1,3}: error: .{0,60}\n")), max_size=8),
    st.text(max_size=300),
)
def test_no_log_and_no_text_makes_it_fail(parts: list[str], text: str) -> None:
    """Whatever a compiler prints, and whatever stands in the text, the parser returns."""
    for item in parse("\n".join(parts), label=LABEL, sources={"lltm/fused": text}):
        assert str(item) and item.severity in ("error", "warning")


@given(st.text(alphabet="(){}[];\n \"'/*#\\aif", max_size=200))
def test_masked_text_keeps_its_places(text: str) -> None:
    """Masking keeps every newline and the length, and the search for brackets ends on any text."""
    masked = mask(text)
    assert len(masked) == len(text)
    assert [i for i, c in enumerate(masked) if c == "\n"] == [i for i, c in enumerate(text) if c == "\n"]
    fault = bracket_fault(text)
    assert fault is None or fault.line <= text.count("\n") + 1


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("f() {\n  g(');', \")\", '(');\n}  // {\n", None),
        ("#if A\nvoid f() {\n#else\nvoid g() {\n#endif\n}\n", None),
        ("#define OPEN for (;;) {\nint f();\n", None),
        ("void f(\n    int a) {\n  if (a) {\n    b();\n}\nvoid g() {}\n", 3),
        ("void f() {\n  if (int n = 1; n > 0) {\n    g(n;\n  }\n}\n", 3),
        ("void f() {\n  g([&](int i)\n    h(i);\n  });\n}\n", 2),
        ("int a[3;\n", 1),
        ("void f() {\n  g();\n  a[0]] = 1;\n}\n", 3),
        ("void f() {\n  g()));\n}\n", 2),
    ],
)
def test_bracket_without_partner(text: str, line: int | None) -> None:
    """The bracket that stands alone is found, and branches, macros, comments and strings are no brackets."""
    fault = bracket_fault(text)
    assert (fault and fault.line) == line


def test_excerpt_at_the_edges() -> None:
    """The first line has no line before it, no column means no caret, a line that is not there gives nothing."""
    assert excerpt_of("int x", 1, 1) == "  -> 1 | int x\n       | ^~~"
    assert excerpt_of("a\nb", 2, 0) == "     1 | a\n  -> 2 | b"
    assert excerpt_of("a\nb", 3, 1) == "" == excerpt_of("", 0, 0)
    assert excerpt_of("\n" * 8 + "a\n\tb", 10, 2) == "      9 | a\n  -> 10 |  b\n        |  ^"


def test_names_are_read_without_cxxfilt(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without c++filt a mangled name still gives the name that is searched in the text."""
    monkeypatch.setattr(compiler_log.shutil, "which", lambda name: None)
    demangle.cache_clear()
    assert demangle("_ZN4lltm4gateIfEET_S1_") == "lltm::gate"
    demangle.cache_clear()
    assert demangle_name("_ZSt4sortv") == "std::sort" and demangle_name("main") == "main"
    assert plain_name("std::vector<int> lltm::gate<std::pair<int, int> >(float)") == "gate"


def test_slips_of_the_pen() -> None:
    """One wrong letter in four is a misspelling; another word is another word."""
    assert is_near("sigmoidd", "sigmoid") and is_near("gtae", "gate") and is_near("Tanh", "tanh")
    assert not is_near("sort", "sqrt") and not is_near("x", "y") and not is_near("gate", "gate")


def test_strange_characters_in_strings_are_fine() -> None:
    """A character outside ASCII is named in code, and let be in comments and strings."""
    assert strange_character('puts("\u00e9"); // \u00e9') is None
    assert strange_character("x \u2212 1") == (3, "U+2212 MINUS SIGN")
