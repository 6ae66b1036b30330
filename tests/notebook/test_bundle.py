"""The panel's browser side is bundled once and committed: the bundle is of these sources, holds their licences, asks nobody."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.needs import need

PANEL = Path(__file__).resolve().parents[2] / "lltm_inline" / "notebook" / "panel"
SOURCES = PANEL / "js"
STATIC = PANEL / "static"
BUNDLE = ("panel.js", "panel.css")
CURE = "the panel's sources have changed since it was bundled: run `make bundle` (it needs node and npm) and commit static/"
# What npm says where it cannot reach its registry, or may not.
NO_REGISTRY = re.compile(r"ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|E401|E403|E5\d\d|network")


def digest(directory: Path) -> str:
    """Compute what build.mjs writes into the first line: of every input its name, length and bytes."""
    names = [
        "build.mjs",
        "package.json",
        "package-lock.json",
        *(f"src/{path.name}" for path in (directory / "src").iterdir()),
    ]
    found = hashlib.sha256()
    for name in sorted(names):
        data = (directory / name).read_bytes()
        found.update(f"{name}\n{len(data)}\n".encode() + data)
    return found.hexdigest()


def first_line(name: str) -> str:
    """Read the line of a bundled file that says what it was made of."""
    return (STATIC / name).read_text(encoding="utf-8").partition("\n")[0]


def locked() -> dict[str, dict[str, object]]:
    """Return what package-lock.json pins, by the package's name."""
    packages = json.loads((SOURCES / "package-lock.json").read_text())["packages"]
    return {path.rpartition("node_modules/")[2]: entry for path, entry in packages.items() if path}


def node() -> str:
    """Find node, or skip."""
    need("node", "npm")  # apt-get install nodejs npm, or nodejs from conda-forge
    return str(shutil.which("node"))


@pytest.mark.parametrize("name", BUNDLE)
def test_bundle_is_of_these_sources(name: str) -> None:
    """The first line carries the digest of the sources as they stand."""
    assert digest(SOURCES) in first_line(name), CURE


def test_digest_sees_every_change(tmp_path: Path) -> None:
    """One byte more in any input, or a file renamed, gives another digest."""
    copy = Path(shutil.copytree(SOURCES, tmp_path / "js", ignore=shutil.ignore_patterns("node_modules", "harness")))
    seen = {digest(copy)}
    for name in ("build.mjs", "package.json", "package-lock.json", "src/panel.js", "src/panel.css", "src/marks.js"):
        with (copy / name).open("a") as file:
            file.write(" ")
        seen.add(digest(copy))
    (copy / "src" / "dom.js").rename(copy / "src" / "tree.js")
    assert len(seen | {digest(copy)}) == 8


def test_bundle_asks_nobody() -> None:
    """Neither file loads, imports or sends anything: nothing in them is an address, and nothing speaks to one."""
    for name in BUNDLE:
        text = (STATIC / name).read_text(encoding="utf-8")
        addresses = set(re.findall(r"""(?:https?:|wss?:)?//[\w.-]+\.[a-z]{2,}[^\s"'`)]*""", text))
        assert all(address.startswith("http://www.w3.org/") for address in addresses), (
            addresses
        )  # names of XML dialects
        ways = r"\bfetch\(|XMLHttpRequest|WebSocket|EventSource|sendBeacon|importScripts|\bimport\s*[({'\"]|@import|url\((?!['\"]?data:)"
        assert not re.search(ways, text), f"{name} has a way to the network: {re.search(ways, text)}"
        assert "sourceMappingURL" not in text


def test_bundle_is_one_readable_module() -> None:
    """The script is text in UTF-8 with one default export, as anywidget wants it, and of a size that a notebook can carry."""
    script, css = ((STATIC / name).read_text(encoding="utf-8") for name in BUNDLE)
    assert len(re.findall(r"\bexport\s*\{\w+ as default\}", script)) == 1
    assert script.count("export{") + script.count("export {") == 1
    assert len(script) < 530_000 and len(css) < 16_500  # a notebook carries it
    assert css.count("{") == css.count("}")


def test_licences_are_those_of_the_packages() -> None:
    """THIRD_PARTY.txt has each package that is in the bundle, at the version that is pinned, with its licence."""
    text = (STATIC / "THIRD_PARTY.txt").read_text(encoding="utf-8")
    found = dict(re.findall(r"^(\S+) (\d[\w.-]*) \(MIT\)$", text, flags=re.MULTILINE))
    tools = {name for name in locked() if "esbuild" in name}
    assert found == {name: entry["version"] for name, entry in locked().items() if name not in tools}
    assert text.count("Permission is hereby granted, free of charge") == len(found)


def test_packages_are_pinned_and_name_no_registry() -> None:
    """Every package has one exact version and its hash; where it is fetched from is left to the machine."""
    wanted = json.loads((SOURCES / "package.json").read_text())["devDependencies"]
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", version) for version in wanted.values()), wanted
    lock = locked()
    assert {name: lock[name]["version"] for name in wanted} == wanted
    assert all(str(entry["integrity"]).startswith("sha512-") for entry in lock.values())
    assert not any("resolved" in entry for entry in lock.values()), "npm install --omit-lockfile-registry-resolved"
    assert "://" not in (SOURCES / "package-lock.json").read_text()


def test_node_modules_are_never_committed() -> None:
    """Git ignores what npm installs beside the sources."""
    ignored = subprocess.run(
        ["git", "-C", str(SOURCES), "check-ignore", "-q", "node_modules/esbuild"], capture_output=True
    )
    if ignored.returncode == 128:
        pytest.skip("not a git checkout")
    assert ignored.returncode == 0


def test_units() -> None:
    """The parts that need no browser pass their own tests."""
    tests = sorted(map(str, (SOURCES / "test").glob("*.test.mjs")))
    result = subprocess.run([node(), "--test", *tests], capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.full
def test_same_sources_give_the_same_bytes(tmp_path: Path) -> None:
    """Where npm can install, a bundle made anew is the committed one byte for byte."""
    program = node()
    copy = Path(shutil.copytree(SOURCES, tmp_path / "js", ignore=shutil.ignore_patterns("node_modules", "harness")))
    environment = {**os.environ, "npm_config_cache": str(tmp_path / "npm"), "npm_config_fetch_retries": "0"}
    flags = ["--ignore-scripts", "--no-audit", "--no-fund", "--fetch-timeout=20000"]
    install = subprocess.run(
        ["npm", "ci", *flags], cwd=copy, env=environment, capture_output=True, text=True, timeout=240
    )
    if install.returncode and NO_REGISTRY.search(install.stderr):
        pytest.skip("needs npm's registry")
    assert install.returncode == 0, install.stderr
    made = tmp_path / "made"
    subprocess.run([program, "build.mjs", str(made)], cwd=copy, check=True, capture_output=True, timeout=120)
    for name in (*BUNDLE, "THIRD_PARTY.txt"):
        assert (made / name).read_bytes() == (STATIC / name).read_bytes(), f"{name}: {CURE}"
