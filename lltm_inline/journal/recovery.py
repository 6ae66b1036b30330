"""Bringing revisions back from the journal: which ones, under which numbers, and saying what was done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from .. import journal
from ..base.arguments import boolean, did_you_mean, shown, string
from ..errors import CacheError, InputError, LltmInlineError, UnknownKernelError
from ..model.kernel import Kernel, revisions
from ..model.registry import Recovered, State, fit, registry
from ..tables.timings import Timings
from .file import Line, read


@dataclass
class _Found:
    """One revision as it stands in the journal.

    Attributes:
        session: whose it is.
        run: which start of that session's process made it, counted from the first.
        time: when.
        kernel: with the number that it had.
        state: what became of it and why, or None.
        is_aside: whether it was built or checked, and never registered.
        timed: its timings, each with the revision that was the baseline; None for one that ships.
    """

    session: str
    run: int
    time: float
    kernel: Kernel
    state: State | None
    is_aside: bool = False
    timed: list[tuple[Timings, Kernel | None]] = field(default_factory=list)


def recover(op_or_name: str | None = None, *, every: bool = False, own: str | None = None) -> Recovered:
    """Bring revisions back; see `registry.recover`, of which this is the inside.

    `own` is the session; with none, `own=""`, the journal stays off.
    """
    if op_or_name is not None:
        string("op_or_name", op_or_name)
    boolean("every", every)
    own = journal.turn_on() if own is None else own
    found, current, unreadable, shipped = _read_all(own, every)
    wanted = [item for item in found if op_or_name in (None, item.kernel.op, item.kernel.name)]
    if not wanted and op_or_name is not None:
        _require_known(op_or_name, found, every)
    before = {kernel.label for name in registry for kernel in registry.history(name)}
    kernels: list[Kernel] = []
    notes: list[str] = []
    here: dict[Kernel, Kernel] = {}
    for name in dict.fromkeys(item.kernel.name for item in wanted):
        same = [item for item in wanted if item.kernel.name == name]
        kernels += _bring_back(name, same, current.get(name), own, here, notes)
    _bring_times_back(wanted, here)
    for label, tables in shipped.items():
        if op_or_name in (None, label, label.partition("/")[0]):
            registry.bring_back_timed(label, tables)
    recovered = Recovered(kernels)
    bad = [f"{unreadable} of the journal's entries could not be read"] * bool(unreadable)
    where = f"of {op_or_name} " * bool(op_or_name) + ("of all notebooks" if every else f"of {journal.title()}")
    nothing = [f"nothing was brought back {where}"] * bool(notes and not kernels)
    recovered.notes = (*(nothing or [_summary(recovered, before, where, every)]), *notes, *bad)
    return recovered


def waiting() -> int:
    """Count the revisions of this notebook that are in the journal and not here: what a restart has left behind."""
    own = journal.session()
    try:
        found = _read_all(own, False)[0] if own else []
    except LltmInlineError:
        return 0  # `recover` says why
    here = {kernel for name in registry for kernel in registry.history(name)}
    return len({item.kernel for item in found} - here)


def _read_all(own: str, every: bool) -> tuple[list[_Found], dict[str, Kernel | str], int, dict[str, list[Timings]]]:
    """Read this session's file, or all.

    Returns:
        The revisions, oldest first; what was current last in this session, a label for what ships; how many cannot be read;
        the timings of what ships, by label.

    Raises:
        CacheError: the journal cannot be read.
    """
    found: list[_Found] = []
    current: dict[str, Kernel | str] = {}
    unreadable = 0
    shipped: dict[str, list[Timings]] = {}
    try:
        mine = journal.path_of(own)
        for path in journal.files() if every else [mine]:
            more, last, bad = _found_in(read(path), path.stem, shipped)
            found += more
            unreadable += bad
            if path == mine:
                current = last
    except OSError as error:
        raise CacheError(f"cannot read the journal in the cache: {error}") from error
    return sorted(found, key=lambda item: item.time), current, unreadable, shipped


def _found_in(
    lines: Sequence[Line], session: str, shipped: dict[str, list[Timings]]
) -> tuple[list[_Found], dict[str, Kernel | str], int]:
    """Read the lines of one session; a label means the last revision ahead that bore it. What ships finds its timings in `shipped`."""
    run = unreadable = 0
    found: list[_Found] = []
    known: dict[str, _Found] = {}
    current: dict[str, Kernel | str] = {}
    for line in lines:
        if "begin" in line:
            session, run = str(line["begin"]), run + 1
        elif "kernel" in line:
            kernel = journal.from_dict(line["kernel"])
            if kernel is None:
                unreadable += 1
                continue
            is_aside = line.get("aside") is True
            known[kernel.label] = _Found(session, run, float(line.get("time", 0.0)), kernel, None, is_aside)
            found.append(known[kernel.label])
            if not is_aside:
                current[kernel.name] = kernel
        elif "current" in line:
            label = str(line["current"])
            current[str(line.get("name"))] = known[label].kernel if label in known else label
            if label in known:
                known[label].is_aside = False
        elif "timings" in line:
            try:
                timings = Timings.from_dict(line["timings"])
            except InputError:
                unreadable += 1
                continue
            label, base = str(line.get("label")), known.get(timings.baseline)
            if label in known:
                known[label].timed.append((timings, base.kernel if base else None))
            elif base is None:
                shipped.setdefault(label, []).append(timings)
        elif str(line.get("label")) in known:
            known[str(line["label"])].state = State(str(line.get("state")), str(line.get("hint", "")))
    return found, current, unreadable


def _require_known(name: str, found: Sequence[_Found], every: bool) -> None:
    """Refuse a name that neither the registry nor the journal has, and say so where another notebook has it."""
    known = {*registry.ops, *registry, *(item.kernel.name for item in found)}
    if name not in known:
        others = [] if every else _read_all("", True)[0]
        if any(name in (item.kernel.op, item.kernel.name) for item in others):
            way = f"%kernel recover {name} --every, or li.registry.recover({name!r}, every=True), brings it back"
            raise UnknownKernelError(f"nothing to recover of {shown(name)} here: another notebook has made it. {way}")
        hint = did_you_mean(name, known)
        raise UnknownKernelError(f"nothing to recover of {shown(name)}: no op or kernel of that name.{hint}")


def _bring_times_back(found: Sequence[_Found], here: Mapping[Kernel, Kernel]) -> None:
    """Give revisions their timings, under the labels that they, and what they were timed against, have now."""
    for item in found:
        tables = []
        for timings, base in item.timed if item.kernel in here else ():
            if base in here or (base is None and timings.baseline in registry):
                names = {one.label: here[one].label for one in (item.kernel, base) if one is not None}
                rows = tuple(replace(row, kernel=names.get(row.kernel, row.kernel)) for row in timings.rows)
                tables.append(Timings(rows, names.get(timings.baseline, timings.baseline)))
        if tables:
            registry.bring_back_timed(here[item.kernel].label, tables)


def _bring_back(
    name: str,
    found: Sequence[_Found],
    current: Kernel | str | None,
    own: str,
    everywhere: dict[Kernel, Kernel],
    notes: list[str],
) -> list[Kernel]:
    """Put the revisions of one name back into its history and register the last one; `everywhere` learns what each is here."""
    op_name = name.partition("/")[0]
    op = registry.ops.get(op_name)
    if op is None:
        notes.append(f"{name} was left: no op {op_name!r}. Run the cell that registers the op, then recover again")
        return []
    latest: dict[Kernel, _Found] = {}
    for item in found:
        try:
            fit(item.kernel, op)
        except LltmInlineError as error:
            notes.append(f"{item.kernel.label} was left: {error}")
            continue
        before = latest.pop(item.kernel, None)  # the same text again counts from its last time on
        if before is not None:
            item = replace(item, state=item.state or before.state, is_aside=item.is_aside and before.is_aside)
        latest[item.kernel] = item
    if not latest:
        return []
    here = _numbered(name, list(latest.values()), own, notes)
    everywhere |= here
    last = _last(latest, here, current, own)
    if registry.get(name) != last:
        registry.register(last)
    return [here[item.kernel] for item in latest.values()]


def _numbered(name: str, found: Sequence[_Found], own: str, notes: list[str]) -> dict[Kernel, Kernel]:
    """Put revisions into the history, each with its number or the next free one; what this process has made keeps its own."""
    history = registry.history(name) if name in registry else revisions.get(name, [])
    taken = {kernel.revision: kernel for kernel in history}
    here = {kernel: kernel for kernel in history}
    # Where two runs of the notebook have given one number, the later one keeps it.
    for item in sorted(found, key=lambda item: (item.session != own, -item.run, item.time)):
        if item.kernel not in here and item.kernel.revision not in taken:
            here[item.kernel] = taken[item.kernel.revision] = item.kernel
            if item.session == own:
                journal.note_written(item.kernel)
    for item in found:
        if item.kernel not in here:
            moved = replace(item.kernel, revision=max(taken) + 1)
            here[item.kernel] = taken[moved.revision] = moved
            whose = journal.title(item.session)
            notes.append(f"{item.kernel.label} of {whose} is {moved.label} here: its number was taken")
    states = {here[item.kernel].label: item.state or State() for item in found}
    registry.bring_back([taken[number] for number in sorted(taken)], states)
    return here


def _last(
    latest: Mapping[Kernel, _Found], here: Mapping[Kernel, Kernel], current: Kernel | str | None, own: str
) -> Kernel:
    """Choose what becomes current: what was so last in this notebook, else what was made last anywhere."""
    if isinstance(current, Kernel) and current in here:
        return here[current]
    if isinstance(current, str) and current in registry:
        return registry.revision_of(current)
    meant = [item for item in latest.values() if not item.is_aside]
    mine = [item for item in meant if item.session == own]
    return here[(mine or meant)[-1].kernel] if meant else registry[next(iter(latest)).name]


def _summary(recovered: Recovered, before: set[str], where: str, every: bool) -> str:
    """Say in one sentence or two what was brought back."""
    if not recovered:
        others = "" if every else ". Those of other notebooks: li.registry.recover(every=True)"
        return f"nothing to bring back {where}: no revision is in the journal yet{others}"
    names = dict.fromkeys(kernel.name for kernel in recovered)
    current = f"Current: {', '.join(registry[name].label for name in names)}"
    fresh = [kernel.label for kernel in recovered if kernel.label not in before]
    if not fresh:
        return f"nothing to bring back {where}: all its revisions are here. {current}"
    return f"brought back {len(fresh)} revision{'s' * (len(fresh) > 1)} {where}: {', '.join(fresh)}. {current}"
