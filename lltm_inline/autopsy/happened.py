"""What happened, and what the kernel was doing at that moment, as tables of rules over what is known."""

from __future__ import annotations

from ..base.arguments import first_line
from .addresses import amount
from .facts import Facts, Rule, always, ended, first, prints, signal_name

#: Up to the one and from the other share of a processor on, a kernel waits and computes.
WAITS, COMPUTES = 0.1, 0.5
_LONGEST = 300
_FPE_INTDIV, _FPE_INTOVF = 1, 2

#: Functions of the C library that wait.
LOCKS = (
    *("pthread_mutex_lock", "pthread_rwlock_rdlock", "pthread_rwlock_wrlock", "lll_lock_wait", "sem_wait"),
    *("pthread_cond_wait", "pthread_cond_timedwait", "pthread_cond_clockwait", "pthread_barrier_wait", "pthread_join"),
)
SLEEPS = ("nanosleep", "clock_nanosleep", "sleep", "usleep", "pause")
OUTPUTS = ("write", "writev", "send", "sendmsg")
INPUTS = ("read", "getc", "getchar", "fgets", "scanf", "poll", "select", "recv", "accept", "wait4", "waitpid")

_SIGNALS = {
    "SIGSEGV": "segmentation fault",
    "SIGBUS": "bus error",
    "SIGFPE": "arithmetic error",
    "SIGILL": "illegal instruction",
    "SIGABRT": "abort",
    "SIGTRAP": "trap",
    "SIGSYS": "forbidden system call",
    "SIGKILL": "killed from outside",
    "SIGTERM": "told to end from outside",
    "SIGINT": "interrupted from outside",
    "SIGHUP": "told to end from outside",
    "SIGQUIT": "told to end from outside",
    "SIGPIPE": "written to a pipe that nobody reads",
    "SIGXCPU": "processor time used up",
    "SIGXFSZ": "file too large",
    "SIGALRM": "alarm",
}
_FPE = {_FPE_INTDIV: "integer division by zero", _FPE_INTOVF: "integer overflow"}


def what_of(facts: Facts) -> str:
    """Name what happened: `SIGSEGV (segmentation fault)`, `exit(0)`, `time-out after 10 s`."""
    return first(_WHAT, facts)


def detail_of(facts: Facts) -> str:
    """Say what the kernel was doing at that moment, as far as it was seen; nothing where it was not."""
    detail = first(_DETAILS, facts)
    if facts.cuda_thread:
        return "; ".join(part for part in (detail, facts.cuda_thread) if part)
    return f"{detail} (on a helper thread)" if detail and facts.helper_thread else detail


def _short(text: str) -> str:
    """Cut a text to its first line, and that to a length that can be read."""
    line = first_line(text).rstrip()
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 3]}..."


def _uncaught(facts: Facts) -> str:
    found = facts.uncaught
    if found is None or not found.type:
        return "std::terminate without an exception"
    text = _short(found.text)
    return f"uncaught {found.type}{f': {text}' if text else ''}"


def _signal(facts: Facts) -> str:
    words = _FPE.get(facts.code, "arithmetic error") if facts.signal == "SIGFPE" else _SIGNALS.get(facts.signal, "")
    if facts.sent:
        words = "sent by kill() or raise()"
    return f"{facts.signal} ({words})" if words else facts.signal


def _exit(facts: Facts) -> str:
    return f"exit({facts.evidence.status if facts.evidence else facts.died.ending.code})"


_WHAT = (
    Rule(lambda f: f.called_exit and f.kind != "exit", lambda f: f"{_exit(f)}, and then {_signal(f) or 'a time-out'}"),
    Rule(lambda f: f.uncaught, _uncaught),
    Rule(lambda f: f.assertion, "SIGABRT (assertion failed)"),
    Rule(prints("."), lambda f: f"SIGABRT: {_short(f.last_words)}"),
    Rule(ended("signal"), _signal),
    Rule(lambda f: f.called_exit, _exit),
    Rule(ended("exit"), lambda f: f"_exit({f.died.ending.code})"),
    Rule(ended("timeout"), lambda f: f"time-out after {f.died.ending.seconds:g} s"),
    Rule(
        ended("memory"), lambda f: f"out of memory: more than {amount(f.died.ending.code)} beyond what the inputs need"
    ),
    Rule(ended("output"), lambda f: f"too much output: more than {amount(f.died.ending.code)}"),
    Rule(ended("stopped"), lambda f: f"{signal_name(f.died.ending.code)} (stopped from outside)"),
    Rule(ended("garbled"), "its answers cannot be read"),
    Rule(ended("processes"), lambda f: f"it left {f.died.ending.code} child process{'es' * (f.died.ending.code != 1)}"),
    Rule(always, lambda f: f.kind),
)


def _reach(facts: Facts) -> str:
    found = facts.reach
    assert found is not None
    aside = ", which has no elements" if not found.count else ", after it was freed" if found.freed else ""
    where = f"{found.distance} of {found.tensor}" if found.distance else f"inside {found.tensor}"
    return f"it {_verb(facts)} {found.spot}, {where}{aside}"


def _verb(facts: Facts) -> str:
    return {True: "writes", False: "reads", None: "touches"}[facts.fault.write if facts.fault else None]


def _address(facts: Facts) -> str:
    assert facts.address is not None
    verb = _verb(facts).replace("writes", "writes to")
    if facts.null:
        past = f", {amount(facts.address)} past a null pointer" if facts.address else ", a null pointer"
        return f"it {verb} address {facts.address:#x}{past}"
    return f"it {verb} address {facts.address:#x}, which belongs to no tensor"


def _overflow(facts: Facts) -> str:
    names = [place.function for place in facts.places if place.function]
    often = [name for name in dict.fromkeys(names) if names.count(name) > 2]
    return f"its stack is full of calls of {often[0]}" if often else "its stack is full"


def _time(facts: Facts) -> str:
    call = next((name for name in facts.calls if name in (*LOCKS, *SLEEPS, *INPUTS, *OUTPUTS)), "")
    inside = f" in {call}()" if call else ""
    waiting = facts.evidence is not None and facts.evidence.waiting
    if facts.still:
        doing = " in an endless loop without effect"
    elif call in OUTPUTS:
        doing = inside  # for the moment, or for ever
    elif facts.died.busy is None:
        doing = f" waiting{inside}" if waiting or call else " here" if facts.place else ""
    elif facts.died.busy >= COMPUTES:
        doing = " computing"
    elif facts.died.busy > WAITS and not waiting:
        doing = " computing and waiting by turns"
    else:
        doing = f" waiting{inside}"
    share = "" if facts.died.busy is None else f" ({min(facts.died.busy, 1):.0%} of the time busy)"
    return f"it was{doing} when the time was up{share}" if doing else ""


def _assertion(facts: Facts) -> str:
    found = facts.assertion
    assert found is not None
    elsewhere = f" in {found.file.rpartition('/')[2]}:{found.line}" if found.file not in facts.sources else ""
    return f"what is asserted{elsewhere} does not hold: {found.test}"


_DETAILS = (
    Rule(lambda f: f.called_exit, lambda f: f"it calls {_exit(f)}"),
    Rule(ended("timeout"), _time),
    Rule(lambda f: f.fault and f.fault.overflow, _overflow),
    Rule(
        lambda f: f.fault and f.fault.jump and f.address is not None,
        lambda f: f"it calls a function at address {f.address:#x}, where none is",
    ),
    Rule(lambda f: f.fault and f.fault.jump, "it calls a function where none is"),
    Rule(lambda f: f.reach, _reach),
    Rule(
        lambda f: f.refused,
        "it touches an address that the processor refuses: no address at all, or not an aligned one",
    ),
    Rule(lambda f: f.address is not None, _address),
    Rule(lambda f: f.assertion, _assertion),
)
