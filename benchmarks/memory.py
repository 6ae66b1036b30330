"""Memory of a stack of convolutions with batch normalisation: what is held for backward, and the peak.

Four layers of 64 channels on images of 64 x 64, batches of 1 to 32, each layer with filters of its own. The bytes are
exact (see `lltm_inline.memory`), so one run is enough, and the load of the machine does not matter.
The picture docs/memory.png is drawn from these figures.
"""

from __future__ import annotations

from common import ROOT, Results, arguments, li

from lltm_inline.measure.memory import memory
from lltm_inline.notebook.plot import plot

KERNELS = ("conv_bn/unfused", "conv_bn/fused", "conv_bn/python")
BASELINE, JUDGED = KERNELS[:2]
DEPTH, BATCHES = 4, (1, 2, 4, 8, 16, 32)
PICTURE = ROOT / "docs" / "memory.png"
HELD = 0.60

#: Why the peak falls less than what is held, or does not fall.
WHY = """\
The peak comes while backward is in the last layer. All that was held is still there; on top of it that layer's own work is
done, which is much the same for every kernel: the convolution's result again or its gradient, the gradient that goes on to the
layer before, and the copies of images that oneDNN takes in its own order. So the peak falls by what is no longer held, but it
starts higher, and the ratio is nearer to one. The deeper the stack, the nearer both ratios come to each other."""


def sizes(quick: bool) -> list[dict[str, int]]:
    """List the sizes of the first layer: of the whole measurement, or small ones."""
    channels, extent, batches = (8, 16, BATCHES[:3]) if quick else (64, 64, BATCHES)
    image = {"C": channels, "H": extent, "W": extent, "O": channels, "K": 3, "L": 3}
    return [{"B": batch, **image} for batch in batches]


def main() -> None:
    """Measure all batches, save the bytes, and draw the picture."""
    quick = arguments(__doc__).quick
    results = Results("memory", quick)
    found = memory(KERNELS, sizes(quick), baseline=BASELINE, depth=DEPTH, progress=False)
    results.more |= {"unit": "bytes", "memory": found.to_dict(), "why": WHY}
    largest = found.select(size=found.sizes[-1])
    for row in largest.rows:
        if row.kernel != BASELINE:
            held, peak = (largest.ratio(row, what) for what in ("held", "peak"))
            assert held is not None and peak is not None
            where = f"{row.kernel} over {BASELINE}, {DEPTH} layers, {row.size_text}"
            if row.kernel == JUDGED:
                results.require(f"bytes held for backward, {where}", held, HELD)
            else:
                results.note(f"bytes held for backward, {where}", held)
            results.note(f"peak, {where}", peak)
    results.more["flags"] = " ".join(li.build(JUDGED, progress=False).flags)
    path = results.save()
    print(found, WHY, sep="\n\n")
    target = path.with_suffix(".png") if quick else PICTURE
    plot(found).savefig(target, dpi=150)
    print(f"  -> {target.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
