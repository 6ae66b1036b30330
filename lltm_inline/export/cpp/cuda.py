"""What lies between a CUDA text without torch and the C++ text that calls it, as files of an export.

cuda_kernel.h     declares a C function for each launch function and dtype
cuda_kernel.cu    the text, and behind it these functions
launch.h          functions of tensors under the launch functions' own names
cuda_host.cpp     the C++ text, which calls them
"""

from __future__ import annotations

from ...launchers import Launcher, Parameter
from ...op import Op
from ..filling import fill
from ..plan import Plan
from .kernel_file import BEHIND
from .text import head, listed

_TYPES = {"float32": "float", "float64": "double"}
_SCALAR_TYPES = {"float": "kFloat", "double": "kDouble", "int64_t": "kLong", "int": "kInt", "bool": "kBool"}

_DECLARED = """\
@head@

#pragma once

#include <cstdint>

// Functions of cuda_kernel.cu, which knows nothing of tensors, as its callers know nothing of CUDA: `stream` is a
// cudaStream_t. They return what CUDA says of the launch, or nothing if all is well.
namespace @space@ {

@declarations@

}  // namespace @space@
"""


def declarations_header(plan: Plan, launchers: tuple[Launcher, ...]) -> str:
    """Write `cuda_kernel.h`."""
    return fill(
        _DECLARED,
        head=head(plan).rstrip("\n"),
        space=f"{plan.name}::cuda",
        declarations="\n".join(
            _declared(launcher, type_, ";") for launcher in launchers for type_ in _types_of(launcher, plan.op)
        ),
    )


def _declared(launcher: Launcher, type_: str, end: str) -> str:
    spelled = [parameter.spelled(launcher.template, type_) for parameter in launcher.parameters]
    return listed(
        f'extern "C" const char* {launcher.symbol(type_)}(', [*spelled, f"void* {_stream(launcher)}"], f"){end}"
    )


def _stream(launcher: Launcher) -> str:
    return "stream_" if any(parameter.name == "stream" for parameter in launcher.parameters) else "stream"


def _types_of(launcher: Launcher, op: Op) -> list[str]:
    return [_TYPES[dtype] for dtype in op.dtypes] if launcher.template else [""]


_ERROR = """\
static const char* launch_error() {
  const cudaError_t error = cudaGetLastError();
  return error == cudaSuccess ? nullptr : cudaGetErrorString(error);
}
"""


def instances_text(plan: Plan, launchers: tuple[Launcher, ...]) -> str:
    """Write what follows the CUDA text."""
    functions = []
    for launcher in launchers:
        stream = f"static_cast<cudaStream_t>({_stream(launcher)})"
        arguments = [*(parameter.name for parameter in launcher.parameters), stream]
        for type_ in _types_of(launcher, plan.op):
            angle = f"<{type_}>" if launcher.template else ""
            functions.append(
                f"\n{_declared(launcher, type_, ' {')}\n"
                f"{listed(f'{launcher.name}{angle}(', arguments, ');', 2)}\n  return launch_error();\n}}\n"
            )
    return f"{BEHIND}\n{_ERROR}{''.join(functions)}"


_NARROW = """\
int narrow(const char* argument, int64_t value) const {
  TORCH_CHECK(value == static_cast<int>(value), name_, ": ", argument, " = ", value, " does not fit into an int");
  return static_cast<int>(value);
}
"""

_LAUNCH = """\
@head@

#pragma once

#include <ATen/DeviceGuard.h>
#include <ATen/core/Tensor.h>
#include <torch/csrc/inductor/aoti_torch/c/shim.h>

#include <initializer_list>
#include <optional>
#include <string>

#include "cuda_kernel.h"

// Declared here as in torch/csrc/inductor/aoti_torch/c/shim_cuda.h, which needs CUDA's headers.
extern "C" AOTITorchError aoti_torch_get_current_cuda_stream(int32_t device_index, void** stream);

namespace @space@ {

// A launch on the device of its tensors, on torch's current stream; an undefined tensor becomes a null pointer.
class Launch {
 public:
  Launch(const char* name, std::initializer_list<const at::Tensor*> tensors) : name_(name) {
    for (const at::Tensor* tensor : tensors) {
      if (!tensor->defined()) continue;
      if (!device_) device_ = tensor->device();
      TORCH_CHECK(tensor->is_cuda(), name_, " takes tensors on a CUDA device, and one is on ", tensor->device());
      TORCH_CHECK(tensor->device() == *device_, name_, ": one tensor is on ", *device_, ", one on ", tensor->device());
      TORCH_CHECK(tensor->is_contiguous(), name_, " takes contiguous tensors: keep x.contiguous() in a variable");
    }
    TORCH_CHECK(device_, name_, " was called without a defined tensor");
    guard_.reset_device(*device_);
    TORCH_CHECK(!aoti_torch_get_current_cuda_stream(device_->index(), &stream), name_, ": no current stream");
  }

  // The dtype for which the kernel's template is instantiated.
  at::ScalarType dtype(std::initializer_list<const at::Tensor*> tensors) const {
    for (const at::Tensor* tensor : tensors) {
      if (tensor->defined()) return tensor->scalar_type();
    }
    TORCH_CHECK(false, name_, " was called without a defined tensor of its template's type");
  }

  template <class T>
  T* pointer(const char* argument, const at::Tensor& tensor, at::ScalarType want) const {
    if (!tensor.defined()) return nullptr;
    TORCH_CHECK(
        tensor.scalar_type() == want, name_, ": ", argument, " is ", tensor.scalar_type(), ", want ", want);
    if constexpr (std::is_const_v<T>) {
      return static_cast<T*>(tensor.const_data_ptr());
    } else {
      return static_cast<T*>(tensor.mutable_data_ptr());
    }
  }

@narrow@
  void check(const char* error) const { TORCH_CHECK(!error, "the launch of ", name_, " failed: ", error); }

  void* stream = nullptr;

 private:
  const char* name_;
  std::optional<at::Device> device_;
  c10::OptionalDeviceGuard guard_;
};

@functions@

}  // namespace @space@
"""


def launch_header(plan: Plan, launchers: tuple[Launcher, ...]) -> str:
    """Write `launch.h`."""
    text = "\n\n".join(_function(launcher, plan.op) for launcher in launchers)
    narrow = _NARROW if ".narrow(" in text else ""
    space = f"{plan.name}::cuda"
    return fill(_LAUNCH, head=head(plan).rstrip("\n"), space=space, narrow=narrow, functions=text)


def _function(launcher: Launcher, op: Op) -> str:
    """Write the function of tensors that calls the C functions of one launch function."""
    pointers = [f"&{parameter.name}" for parameter in launcher.parameters if parameter.is_pointer]
    taken = [_parameter(parameter, launcher.template) for parameter in launcher.parameters]
    lines = [
        listed(f"inline void {launcher.name}(", taken, ") {"),
        listed(f'const Launch launch_("{launcher.name}", {{', pointers, "});", 2),
    ]
    if not launcher.template:
        return "\n".join([*lines, _call(launcher, "", 2), "}"])
    typed = [f"&{p.name}" for p in launcher.parameters if p.is_pointer and p.type == launcher.template]
    lines.append(listed("const at::ScalarType dtype_ = launch_.dtype({", typed, "});", 2))
    types = _types_of(launcher, op)
    for index, type_ in enumerate(types):
        lines.append(f"  {'} else ' if index else ''}if (dtype_ == at::{_SCALAR_TYPES[type_]}) {{")
        lines.append(_call(launcher, type_, 4))
    want = " or ".join(_SCALAR_TYPES[type_].removeprefix("k") for type_ in types)
    refusal = f'    TORCH_CHECK(false, "{launcher.name} takes tensors of {want}, not of ", dtype_);'
    return "\n".join([*lines, "  } else {", refusal, "  }", "}"])


def _parameter(parameter: Parameter, template: str) -> str:
    if parameter.is_pointer:
        return f"const at::Tensor& {parameter.name}"
    wide = {template: "double", "float": "double", "int": "int64_t"}
    return f"{wide.get(parameter.type, parameter.type)} {parameter.name}"


def _call(launcher: Launcher, type_: str, indent: int) -> str:
    """Write the call of the C function for one type."""
    arguments = []
    for parameter in launcher.parameters:
        plain = type_ if parameter.type == launcher.template else parameter.type
        name = parameter.name
        if parameter.is_pointer:
            kind = f"{'const ' * parameter.is_const}{plain}"
            arguments.append(f'launch_.pointer<{kind}>("{name}", {name}, at::{_SCALAR_TYPES[plain]})')
        elif parameter.type == "int":
            arguments.append(f'launch_.narrow("{name}", {name})')
        else:
            arguments.append(name)
    return listed(f"launch_.check({launcher.symbol(type_)}(", [*arguments, "launch_.stream"], "));", indent)
