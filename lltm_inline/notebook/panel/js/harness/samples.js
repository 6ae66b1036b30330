// What Python would send: a text, two reports and a growing plot.

export const CPP = `#include <ATen/Parallel.h>
#include <ATen/cpu/vec/vec.h>
#include <ATen/ops/addmm.h>

using V = at::vec::Vectorized<float>;

static V sigmoid(V x) {
  const V half(0.5f);
  return (x * half).tanh() * half + half;
}

// i, o, c of one row; activations overwrite the gates
static void row(float* g, const float* old, float* new_h, float* new_cell, int64_t S) {
  for (int64_t s = 0; s < S; s += V::size()) {
    const auto i = sigmoid(V::loadu(g + s));
    const auto o = sigmoid(V::loadu(g + S + s));
    const auto c = elu(V::loadu(g + 2 * S + s));
    const auto cell = V::loadu(old + s) + c * i;
    cell.store(new_cell + s);
    (cell.tanh() * o).store(new_h + s);
  }
}

std::tuple<at::Tensor, at::Tensor> forward(const at::Tensor& input, const at::Tensor& weights, double scale) {
  TORCH_CHECK(input.dim() == 2, "input has ", input.dim(), " dimensions, want 2");
  auto gates = at::addmm(input, weights, input).contiguous();
  at::parallel_for(0, gates.size(0), GRAIN, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) row(gates.data_ptr<float>() + b, nullptr, nullptr, nullptr, UNROLL);
  });
  return {gates, gates};
}
`;

const cell = (text) => `<td style="text-align:center;padding:2px 8px;background:${text.startsWith("✓") ? "#2ea04329" : "#e5333b29"}">${text}</td>`;
const row = (name, cells) => `<tr><th scope="row" style="text-align:left;font-weight:normal;padding-right:12px">${name}</th>${cells.map(cell).join("")}</tr>`;
const table = (title, rows) =>
  `<table style="border-collapse:collapse"><caption style="text-align:left;font-weight:bold;padding-bottom:4px">${title}</caption>` +
  `<thead><tr><td></td>${["1,1,1", "3,17,5", "2,128,129", "strided", "float64"].map((size) => `<th scope="col" style="font-weight:normal;padding:2px 8px">${size}</th>`).join("")}</tr></thead>` +
  `<tbody>${rows.join("")}</tbody></table>`;

const GOOD = ["✓ right", "✓ right", "✓ right", "✓ right", "✓ right"];
const BAD = ["✓ right", "✗ 110/330", "✗ 8k/33k", "✗ wrong", "✗ gradcheck"];

export const REPORT = table("lltm/fused@3 is right", ["new_h, new_cell", "d_input", "d_weights", "d_bias"].map((name) => row(name, GOOD)));
export const WRONG = table("lltm/fused@4 is wrong in one gradient of five", [row("new_h, new_cell", GOOD), row("d_input", GOOD), row("d_weights", BAD), row("d_bias", GOOD)]);

/** The plot after some rounds: the intervals shrink. */
export function PLOT(round) {
  const bars = [["lltm/python", 128, "#8b949e"], ["@0", 98.6, "#3b82f6"], ["@1", 94.2, "#3b82f6"], ["@3", 91, "#2ea043"]].map(([name, time, fill], index) => {
    const y = 34 + 26 * index;
    const spread = 24 / Math.sqrt(round);
    return (
      `<text x="92" y="${y + 12}" text-anchor="end">${name}</text><rect x="100" y="${y}" width="${time * 2}" height="16" fill="${fill}"/>` +
      `<path d="M${100 + (time - spread) * 2} ${y + 8}h${spread * 4}" stroke="currentColor" stroke-width="2"/>` +
      `<text x="${112 + (time + spread) * 2}" y="${y + 12}">${time} µs</text>`
    );
  });
  return `<svg viewBox="0 0 500 150" role="img" aria-label="times" font-size="12" fill="currentColor" style="font-family:inherit"><text x="0" y="16" font-weight="bold">Forward + backward, B = 16, F = 32, S = 128, round ${round} of 50</text>${bars.join("")}</svg>`;
}

const lines = (line, loop, ...rows) => `<div class="li-lines${loop ? " li-looped" : ""}" data-line="${line}"><span class="li-no">${line}</span><pre><code class="li-code">${rows.join("\n")}</code></pre></div>`;
const fold = (open, name, ...blocks) => `<details${open ? " open" : ""}><summary><code>${name}</code></summary><div>${blocks.join("")}</div></details>`;

/** A function with a loop, long enough to be scrolled, and one without, folded. */
export const ASSEMBLY = `<div class="lltm-inline"><p><b>assembly of lltm/fused@3 by g++ 12.2.0: 40 instructions of its text, 1 loop</b></p><table><tbody><tr><th scope="row"><span data-line="18">18</span></th><td>it branches</td></tr></tbody></table>${fold(
  true,
  "row",
  lines(12, false, "push rbp", "mov rbp,rsp"),
  "<p><b>loop</b>: 8 floats at a time, 9 instructions</p>",
  lines(14, true, "vmovups ymm0,[rdi]", "vmulps ymm0,ymm0,ymm1"),
  lines(15, true, ...Array.from({ length: 30 }, (_, index) => `vaddps ymm0,ymm0,ymm${index % 16}`)),
  lines(17, true, "vmovups [rsi],ymm0", "jne 12"),
)}${fold(false, "forward", lines(24, false, "call at::addmm", "ret"))}</div>`;
