"""What `import lltm_inline` adds to `import torch`, in new processes, in turns."""

from __future__ import annotations

from common import Results, arguments, timed_python

CODE = """
import json, time
start = time.perf_counter()
import {module}
print(json.dumps({{"seconds": time.perf_counter() - start}}))
"""


def main() -> None:
    """Take the samples in turns and save them."""
    quick = arguments(__doc__).quick
    results = Results("import_time", quick)
    modules = ("torch", "lltm_inline")  # lltm_inline imports torch
    for module in modules:
        timed_python(CODE.format(module=module))  # fills the file cache and writes the byte code
    for number in range(6 if quick else 15):
        for module in modules if number % 2 else reversed(modules):
            results.rows.setdefault(f"import {module}", []).append(timed_python(CODE.format(module=module))["seconds"])
    results.compare("import lltm_inline over import torch", "import lltm_inline", "import torch", 1.1)
    results.save()


if __name__ == "__main__":
    main()
