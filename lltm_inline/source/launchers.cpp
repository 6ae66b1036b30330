//: What `launchers.py` puts together: in each part $words are filled in.
//: [instances]
// Generated: a C function for each launch function and dtype. It returns what CUDA says of the launch, nothing if all is well.
namespace {
inline const char* launched_() {
  const cudaError_t error = cudaGetLastError();
  return error == cudaSuccess ? nullptr : cudaGetErrorString(error);
}
}  // namespace
//: [instance]

$declared {
  $called;
  return launched_();
}
//: [host]
//: One class for all launches, without templates but for the pointers: g++ has it in a tenth of a second.
// Generated: functions of tensors that launch the kernels of the CUDA text.
extern "C" int32_t aoti_torch_get_current_cuda_stream(int32_t device_index, void** stream);

$declarations
namespace {

class Launch_ {
 public:
  Launch_(const char* name, std::initializer_list<const at::Tensor*> tensors) : name_(name) {
    for (const at::Tensor* tensor : tensors) {
      if (!tensor->defined()) continue;
      if (!device_) device_ = tensor->device();
      if (!tensor->is_cuda()) fail("takes tensors on a CUDA device, and one is on ", tensor->device().str());
      if (tensor->device() != *device_) fail("takes tensors on one device, not on ", device_->str() + " and " + tensor->device().str());
      if (!tensor->is_contiguous()) fail("takes contiguous tensors: call .contiguous() and keep the result in a variable", "");
    }
    if (!device_) fail("was called without a defined tensor", "");
    guard_.reset_device(*device_);
    if (aoti_torch_get_current_cuda_stream(device_->index(), &stream)) fail("cannot get the current stream", "");
  }

  at::ScalarType dtype(std::initializer_list<const at::Tensor*> tensors) const {
    for (const at::Tensor* tensor : tensors) {
      if (tensor->defined()) return tensor->scalar_type();
    }
    fail("was called without a defined tensor of its template's type", "");
  }

  template <class T> T* pointer(const char* argument, const at::Tensor& tensor, at::ScalarType want) const {
    if (!tensor.defined()) return nullptr;
    if (tensor.scalar_type() != want) {
      fail(argument, std::string(" is ") + c10::toString(tensor.scalar_type()) + ", want " + c10::toString(want));
    }
    if constexpr (std::is_const_v<T>) {
      return static_cast<T*>(tensor.const_data_ptr());
    } else {
      return static_cast<T*>(tensor.mutable_data_ptr());
    }
  }

  int narrow(const char* argument, int64_t value) const {
    if (value != static_cast<int>(value)) fail(argument, " = " + std::to_string(value) + " does not fit into an int");
    return static_cast<int>(value);
  }

  void check(const char* error) const {
    if (error) fail("failed: ", error);
  }

  [[noreturn, gnu::cold, gnu::noinline]] void fail(const char* what, const std::string& more) const {
    TORCH_CHECK(false, std::string("$kernel: launch of '").append(name_).append("': ").append(what).append(more));
    std::abort();
  }

  void* stream = nullptr;

 private:
  const char* name_;
  std::optional<at::Device> device_;
  c10::OptionalDeviceGuard guard_;
};

$functions
}  // namespace
//: [function]
[[maybe_unused]] void $name($parameters) {
  Launch_ launch_("$name", {$tensors});
$dispatch}
