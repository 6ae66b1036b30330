"""An operator of an export under autocast, which makes half precision of what goes into others."""

from __future__ import annotations

from ..plan import Plan
from .text import free_name, listed, parameters, returned

_CAST = """\
at::Tensor to_float(const at::Tensor& tensor) {
  const bool is_half = tensor.scalar_type() == at::kHalf || tensor.scalar_type() == at::kBFloat16;
  return is_half ? tensor.to(at::kFloat) : tensor;
}
"""

_CAST_OPTIONAL = """\

std::optional<at::Tensor> to_float(const std::optional<at::Tensor>& tensor) {
  return tensor ? std::make_optional(to_float(*tensor)) : std::nullopt;
}
"""


def cast_functions(plan: Plan) -> str:
    """Write what converts half precision, which autocast makes of the inputs."""
    has_optional = any(argument.type == "Tensor?" for argument in plan.op.signature.tensors)
    return (_CAST + _CAST_OPTIONAL * has_optional).rstrip("\n")


def autocast_function(plan: Plan, callee: str) -> str:
    """Write the operator under autocast: it converts its inputs and calls `callee`."""
    op, signature = plan.op.name, plan.op.signature
    start = listed(
        f"{returned(len(signature.outputs), 'aten')} {op}_autocast(", parameters(signature.inputs, "aten"), ") {"
    )
    values = [f"to_float({a.name})" if a.is_tensor else a.name for a in signature.inputs]
    guard = (
        f"  const c10::impl::ExcludeDispatchKeyGuard {free_name(plan, 'no_autocast')}(c10::autocast_dispatch_keyset);"
    )
    return "\n".join([start, guard, listed(f"return {callee}(", values, ");", 2), "}"])
