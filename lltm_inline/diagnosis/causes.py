"""Puts records where their reader can mend them, and causes before consequences.

A compiler reports where it gave up, which is often a line later, in a header, in the generated binding or at the
end of the file. These stages move each record to the user's own text, say each thing once, and sort.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from .compiler_log import Note, Record, plain_name
from .source_text import (
    GENERATED,
    BracketFault,
    bracket_fault,
    definition,
    end_of_code_before,
    line_of,
    swallowing_comments,
    uses,
)

#: Warnings that tell a beginner of a mistake; the others stay in the log.
_WORTH_TELLING = """
    -Wreturn-type -Wparentheses -Wnarrowing -Wc++11-narrowing -Wdeprecated-declarations -Wunknown-pragmas
    -Wuninitialized -Wmaybe-uninitialized -Wsometimes-uninitialized -Warray-bounds -Wstringop-overflow -Woverflow
    -Wconstant-conversion -Wdiv-by-zero -Wdivision-by-zero -Winfinite-recursion -Wreturn-local-addr
    -Wreturn-stack-address -Wdangling-pointer -Wtautological-compare -Wbool-compare -Wunicode-whitespace
    -Winvalid-pp-token -Wempty-body -Wsequence-point -Wunsequenced -Wlogical-op -Wmisleading-indentation
    -Wunused-value -Wunused-comparison -Wliteral-range -Wdangling-else -Wunused-result
    -Waggressive-loop-optimizations -Wtautological-constant-out-of-range-compare
    """

_CHARACTERS = re.compile(
    r"missing terminating|extended character|unexpected character|stray '"
    r"|unterminated (?:/\*|comment|#|conditional|raw)|character <U\+|treating Unicode|No such file or directory"
    r"|' file not found|#(?:else|endif|elif) without"
)
_BRACKETS = re.compile(
    r"\bexpected\b|extraneous|unterminated (?:argument|function-like)|function[- ]definition is not allowed"
    r"|at end of input|too many '"
)
_NAME = re.compile(
    r"was not declared|undeclared identifier|has not been declared|does not name a type|unknown type name"
    r"|no (?:type|member|template) named|not a member of"
)
#: Said only because of something else that was said.
_CONSEQUENCE = re.compile(
    r"variable or field '.*' declared void|expected '\}' at end of input|unterminated argument list"
    r"|template argument \d+ is invalid|<expression error>|inconsistent types .* deduced for lambda"
    r"|control reaches end|no return statement in|does not return a value|too many errors emitted"
)
_DISPATCH_NAME = re.compile(
    r"lambda.* to 'const char ?\*(?: ?const)?'|'(?i:\w*DISPA\w*)' was not declared|undeclared identifier '(?i:\w*DISPA)"
)
_SCALAR_T = re.compile(r"'scalar_t' was not declared|(?:identifier|type name) 'scalar_t'")
_SEMICOLON = re.compile(r"expected (?:',' or )?';'|expected initializer before|expected ',' or '\.\.\.' before")
_SCALARS = re.compile(r"\b(?:double|float|c10::Half|c10::BFloat16)\b|_anon_\d+|:\d+:\d+")


def arrange(records: list[Record], sources: Mapping[str, str]) -> list[Record]:
    """Move, deduplicate and sort records.

    Args:
        records: in the order of the log; they are changed.
        sources: the user's texts by the name that `#line` gives them.

    Returns:
        Errors, causes first, then warnings worth telling.
    """
    for record in records:
        if record.symbol:
            _place_symbol(record, sources)
        elif record.file not in sources:
            _out_of_header(record, sources)
        elif record.file.endswith(GENERATED):
            _out_of_binding(record, sources)
        if record.severity == "error" and _SEMICOLON.search(record.message):
            _before_the_line(record, sources)
    kept = _once([record for record in records if _worth_telling(record, sources)])
    _promote_characters(kept)
    _add_bracket_fault(kept, sources)
    _add_swallowing_comment(kept, sources)
    for record in kept:
        record.sources = sources
    return _sorted(kept)


def _worth_telling(record: Record, sources: Mapping[str, str]) -> bool:
    if record.severity == "error":
        return True
    return record.file in sources and (not record.flag or _flag(record) in _WORTH_TELLING.split())


def _flag(record: Record) -> str:
    """Name the warning behind an error: `-Werror=return-type` and `-Werror,-Wreturn-type` are both `-Wreturn-type`."""
    return record.flag.split(",")[-1].replace("-Werror=", "-W")


def _out_of_header(record: Record, sources: Mapping[str, str]) -> None:
    """Move an error inside somebody else's header to the user's line that asked for it."""
    # g++ calls the macro's line the asker; the candidate that is the user's own lambda lies nearer.
    for note in [*record.trail, *record.notes, *(record.included if record.severity == "error" else [])]:
        if note.file in sources and not note.file.endswith(GENERATED):
            header = record.file.rsplit("/include/", 1)[-1]
            record.header = f"{header}:{record.line}"
            record.notes.insert(0, Note("", 0, 0, f"the error itself is in {record.header}"))
            record.file, record.line, record.column = note.file, note.line, note.column
            return


def _out_of_binding(record: Record, sources: Mapping[str, str]) -> None:
    """Move an error in the binding to the function of the user's that does not fit it."""
    name = re.search(r"'[^']*?\b(forward|backward)\b", record.message) or re.search(
        r"\b(?:auto out = ::|return |std::get<\d+>\()?(forward|backward)\b\s*\(",
        line_of(sources[record.file], record.line),
    )
    candidates = [note for note in record.notes if note.file in sources and not note.file.endswith(GENERATED)]
    place = None
    if candidates and re.search(r"declared here|candidate|initializing argument|defined here", candidates[0].message):
        place = candidates[0].file, candidates[0].line, candidates[0].column
    elif name:
        for file, text in sources.items():
            if not file.endswith(GENERATED) and (found := definition(text, name[1])):
                place = (file, *found)
    if place:
        record.notes.append(Note(record.file, record.line, record.column, "called here"))
        # "initializing argument" points into the parameter list; the function's name is what is read first.
        found = definition(sources[place[0]], name[1]) if name else None
        record.file, record.line, record.column = (place[0], *found) if found and found[0] == place[1] else place


def _before_the_line(record: Record, sources: Mapping[str, str]) -> None:
    """Move a missing ';' from the next statement to the end of the one that lacks it."""
    text = sources.get(record.file)
    if text is None or not record.column:
        return
    if not line_of(text, record.line)[: record.column - 1].strip() and (place := end_of_code_before(text, record.line)):
        record.line, record.column = place


def _place_symbol(record: Record, sources: Mapping[str, str]) -> None:
    name = plain_name(record.symbol)
    for file, text in sources.items():
        if places := uses(text, name):
            record.file, (record.line, record.column) = file, places[0]
            return


def _once(records: list[Record]) -> list[Record]:
    """Say each thing once: the body of an AT_DISPATCH is compiled for every dtype."""
    seen: set[tuple[object, ...]] = set()
    kept = []
    for record in records:
        what = record.flag if record.severity == "warning" and record.flag else _SCALARS.sub("T", record.message)
        key = (record.severity, record.file, record.line, record.column, record.symbol or what)
        if key not in seen:
            seen.add(key)
            kept.append(record)
    return kept


def _promote_characters(records: list[Record]) -> None:
    """Make a warning of a missing quote the error that it is, when an error follows from it."""
    failing = {(record.file, record.line) for record in records if record.severity == "error"}
    seen = set()
    for record in [record for record in records if "missing terminating" in record.message]:
        place = record.file, record.line
        if place in failing:
            record.severity = "error"
        if place in seen:
            records.remove(record)
        seen.add(place)


def _add_bracket_fault(records: list[Record], sources: Mapping[str, str]) -> None:
    """Put the bracket without partner in front, when the errors look like one and the text has one."""
    errors = [record for record in records if record.severity == "error"]
    if not any(_BRACKETS.search(record.message) for record in errors):
        return
    if any(_CHARACTERS.search(record.message) for record in errors):
        return
    for file, text in sources.items():
        fault = None if file.endswith(GENERATED) else bracket_fault(text)
        if fault is None:
            continue
        record = _bracket_record(fault, file, errors)
        said = [e for e in errors if (e.file, e.line) == (file, record.line) and _BRACKETS.search(e.message)]
        records[:] = [record, *(other for other in records if other not in said[:1])]
        return


def _add_swallowing_comment(records: list[Record], sources: Mapping[str, str]) -> None:
    """Put a comment that only the next one closes in front, when a name is missed that stands between the two."""
    missed = {word for record in records if _NAME.search(record.message) for word in re.findall(r"\w+", record.message)}
    for file, text in sources.items():
        for line, column, lost in [] if file.endswith(GENERATED) else swallowing_comments(text):
            if missed.isdisjoint(re.findall(r"\w+(?=\s*[(={;])", lost)):
                continue
            notes = [Note(error.file, error.line, error.column, error.message) for error in records[:3]]
            message = "this comment is not closed before the next one begins"
            record = Record(
                file, line, column, "error", message, notes=notes, rank=0, help="Close the comment with */."
            )
            records.insert(0, record)
            return


def _bracket_record(fault: BracketFault, file: str, errors: list[Record]) -> Record:
    line, column = (fault.line, fault.column) if fault.missing == "}" else fault.wanted
    if not fault.missing:
        message = f"one '{fault.bracket}' too many"
        cure = f"Take away this '{fault.bracket}', or add the bracket that it should close."
    elif fault.missing == "{":
        message, cure = "expected '{' before the body of a function", "Add the missing '{'."
    elif fault.missing == "}":
        message, cure = "this '{' is never closed", "Add the missing '}' at the end of this block."
    else:
        # Where the compiler stumbled in the bracket's own line is the better place, if it did.
        nearer = next((e for e in errors if (e.file, e.line) == (file, fault.line) and e.column > fault.column), None)
        if nearer is not None and _BRACKETS.search(nearer.message):
            line, column = nearer.line, nearer.column
        opened = "on this line" if fault.line == line else f"in line {fault.line}"
        message = f"expected '{fault.missing}'"
        cure = (
            f"The '{fault.bracket}' opened {opened}, column {fault.column}, is never closed: "
            f"add the missing '{fault.missing}'."
        )
    notes = [Note(error.file, error.line, error.column, error.message) for error in errors[:3]]
    return Record(file, line, column, "error", message, notes=notes, rank=1, help=cure)


def _sorted(records: list[Record]) -> list[Record]:
    dispatch_failed = any(_DISPATCH_NAME.search(record.message) for record in records)
    for record in records:
        if record.severity == "warning":
            record.rank = 8
        elif _CHARACTERS.search(record.message):
            record.rank = 0
        elif _DISPATCH_NAME.search(record.message):
            record.rank = 2
        elif (dispatch_failed and _SCALAR_T.search(record.message)) or (
            record.rank == 3 and (_CONSEQUENCE.search(record.message) or _is_end_of_file(record))
        ):
            record.rank = 5
    ordered = sorted(records, key=lambda record: record.rank)
    return _names_first(ordered)


def _is_end_of_file(record: Record) -> bool:
    return record.file.endswith(GENERATED) and bool(_BRACKETS.search(record.message))


def _names_first(records: list[Record]) -> list[Record]:
    """Put an unknown name before what it led to on the same line: clang says "expected ';'" first, further right."""
    if (
        not records
        or records[0].severity != "error"
        or not re.search(rf"\bexpected\b|{_NAME.pattern}", records[0].message)
    ):
        return records
    first = records[0]
    rivals = [
        record
        for record in records
        if (record.file, record.line, record.rank) == (first.file, first.line, first.rank)
        and _NAME.search(record.message)
    ]
    best = min(rivals, key=lambda record: record.column, default=first)
    if best is not first and best.column < first.column:
        records.remove(best)
        records.insert(0, best)
    return records
