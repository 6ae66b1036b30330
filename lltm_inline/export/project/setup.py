"""The files from which setuptools builds an export: `pyproject.toml` and `setup.py`.

Every export has a `pyproject.toml`; where setuptools does not build it, the file tells pytest and ruff what they need.
"""

from __future__ import annotations

from ..filling import commented, fill, sequence
from ..plan import Plan
from .flags import FLAGS_IMPORT_OF_TORCH, FLAGS_IMPORTS, OLDEST_TORCH, Flags, flags_function, nvcc_flags
from .sources import Sources

#: What everybody types; `README.md` says why.
INSTALL = "python -m pip install --no-build-isolation -e ."

_TOOLS = """\
[tool.pytest.ini_options]
testpaths = ["tests"]@path@

[tool.ruff]
line-length = 120
target-version = "py311"

[tool.ruff.lint]
select = ["E4", "E7", "E9", "F", "I"]
"""

_PYPROJECT = """\
[build-system]
# The extension has to be built with the torch that is installed here: `pip install --no-build-isolation` does that.
# Without the option pip would fetch another one for the time of the build.
requires = ["setuptools>=77", "torch>=@oldest@", "ninja"]
build-backend = "setuptools.build_meta"

[project]
name = "@distribution@"
description = "@description@"
readme = "README.md"
requires-python = ">=3.11"
@dependencies@

[project.optional-dependencies]
test = ["pytest>=8"]

[tool.setuptools]
packages = ["@name@"]

[tool.setuptools.dynamic]
version = { attr = "@name@.__version__" }

"""


def pyproject(plan: Plan) -> str:
    """Write `pyproject.toml`."""
    built = plan.how in ("setuptools", "stable")
    tools = fill(_TOOLS, path="" if built else '\npythonpath = ["."]  # the package is not installed')
    if not built:
        return commented(plan.header, "#") + tools
    dependencies = (
        f'dependencies = ["torch>={OLDEST_TORCH}"]\ndynamic = ["version"]'
        if plan.how == "stable"
        else 'dynamic = ["version", "dependencies"]  # setup.py says which torch'
    )
    description = f"{plan.op.name} for PyTorch: a {' and '.join(plan.devices).upper()} kernel with gradients"
    text = fill(
        _PYPROJECT,
        oldest=OLDEST_TORCH,
        distribution=plan.distribution,
        description=description,
        name=plan.name,
        dependencies=dependencies,
    )
    return commented(plan.header, "#") + text + tools


_SETUP = '''\
"""Builds the extension of @name@: `@install@`.

Environment variables:
    @variables@
"""

from __future__ import annotations

@imports@

@sources@

if int(setuptools.__version__.partition(".")[0]) < 77:
    raise SystemExit(f"setuptools {setuptools.__version__} is too old for this: python -m pip install 'setuptools>=77'")


@flags@


@extension@


setup(
    ext_modules=[extension()],
    cmdclass={"build_ext": BuildExtension},
    @options@
)
'''

_COMMON = """\
flags = compiler_flags()
options = {
    "depends": sorted(glob("csrc/*.h")),
    "extra_compile_args": {"cxx": flags@nvcc@},
    "extra_link_args": [flag for flag in flags if flag == "-fopenmp"],@limited@
}"""

_CPU = """\
return CppExtension("@name@._C", SOURCES, **options)"""

_CUDA = """\
if not torch.cuda.is_available() and not os.environ.get("TORCH_CUDA_ARCH_LIST"):
    raise SystemExit('no GPU here whose architecture could be taken: set TORCH_CUDA_ARCH_LIST="8.0;9.0+PTX", say')
# Each .cu file stands for itself. Should device code call device code of another .cu file, it has to be
# relocatable: add "-rdc=true" to the flags of nvcc, and "dlink": True to the options, which links it (with ninja).
return CUDAExtension("@name@._C", @sources@, **options)"""

_LACKING = """\
lacking = "" if torch.version.cuda else f"torch {torch.__version__} is no CUDA build"
if not CUDA_HOME:
    lacking = "there is no nvcc in CUDA_HOME, on PATH, or in /usr/local/cuda"
if lacking:
    @lacking@"""

_VARIABLES = {
    "CXX": "the C++ compiler",
    "MAX_JOBS": "how many files are compiled at a time",
}


def setup_py(plan: Plan, sources: Sources, flags: Flags) -> str:
    """Write `setup.py`."""
    cuda = bool(sources.cuda)
    modules = {"glob": "from glob import glob"} | {name: f"import {name}" for name in FLAGS_IMPORTS}
    if cuda and sources.cpu:
        modules["sys"] = "import sys"
    stable = plan.how == "stable"
    types = ["BuildExtension", *["CppExtension"] * bool(sources.cpu), *["CUDAExtension"] * cuda]
    of_torch = [*["CUDA_HOME"] * cuda, *types, FLAGS_IMPORT_OF_TORCH]
    imports = [
        *(line for line in sorted(modules.values(), key=lambda line: (line.startswith("from"), line))),
        "",
        "import setuptools",
        *["import torch"] * (cuda or not stable),
        "from setuptools import Extension, setup",
        f"from torch.utils.cpp_extension import {', '.join(of_torch)}",
    ]
    text = fill(
        _SETUP,
        name=plan.name,
        install=INSTALL,
        variables=_variables(flags, cuda=cuda),
        imports="\n".join(imports),
        sources=_sources(sources),
        flags=flags_function(flags, "SystemExit", setuptools=True),
        extension=_extension(plan, sources),
        options=_options(stable=stable),
    )
    return commented(plan.header, "#") + text


def _variables(flags: Flags, *, cuda: bool) -> str:
    what = {flags.variable: 'processor to compile for, as -march takes it: "x86-64-v3"; "native" by default'}
    what |= _VARIABLES
    if cuda:
        what["TORCH_CUDA_ARCH_LIST"] = 'GPUs to compile for, "8.0;9.0+PTX"; by default those of this machine'
    width = max(map(len, what)) + 3
    return "\n".join(f"{name:{width}}{text}" for name, text in what.items())


def _sources(sources: Sources) -> str:
    """Write the constants that list the sources."""

    def listed(name: str, paths: tuple[str, ...]) -> list[str]:
        return [sequence([f'"{path}"' for path in paths], ahead=f"{name} = ")] if paths else []

    if not sources.cpu:
        return "\n".join(listed("SOURCES", sources.cuda))
    return "\n".join([*listed("SOURCES", sources.cpu), *listed("CUDA_SOURCES", sources.cuda)])


def _extension(plan: Plan, sources: Sources) -> str:
    """Write the function that says what is built."""
    limited = '\n    "py_limited_api": True,' if plan.how == "stable" else ""
    flags = ", ".join(f'"{flag}"' for flag in nvcc_flags(plan))
    body = [fill(_COMMON, limited=limited, nvcc=f', "nvcc": [{flags}]' if sources.cuda else "")]
    what = "Say what is built, and how."
    if sources.cuda and sources.cpu:
        what = "Say what is built, and how: with the CUDA sources where torch and this machine have CUDA."
        said = 'print(f"@name@: built without its CUDA sources, as {lacking}", file=sys.stderr)\n'
        body.append(fill(_LACKING, lacking=fill(said + _CPU, name=plan.name)))
    elif sources.cuda:
        body.insert(
            0,
            fill(_LACKING, lacking=fill('raise SystemExit(f"@name@ is made for GPUs, and {lacking}")', name=plan.name)),
        )
    else:
        body.append(fill(_CPU, name=plan.name))
    if sources.cuda:
        names = "[*SOURCES, *CUDA_SOURCES]" if sources.cpu else "SOURCES"
        body.append(fill(_CUDA, name=plan.name, sources=names))
    return fill('def extension() -> Extension:\n    """@what@"""\n    @body@', what=what, body="\n".join(body))


def _options(*, stable: bool) -> str:
    if stable:
        return (
            "# One wheel for Python 3.11 and all that follow: the library uses nothing of Python itself.\n"
            'options={"bdist_wheel": {"py_limited_api": "cp311"}},'
        )
    return (
        "# torch's C++ interface changes from one version to the next.\n"
        """install_requires=[f"torch=={'.'.join(torch.__version__.split('.')[:2])}.*"],"""
    )
