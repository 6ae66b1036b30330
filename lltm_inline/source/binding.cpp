//: What `binding.py` puts together: in each part $words are filled in.
//: [binding]
//: The dispatcher hands over an array of values and takes one back. <torch/library.h> and its templates would cost a second
//: per edit, and this way one text serves ATen and the stable ABI.
// Generated from the schema of op '$op': checks of the inputs, then what
//     TORCH_LIBRARY_FRAGMENT($namespace, m) { m.def(schema); m.impl(name, function); }
// does, through the C interface below it.$hint
${includes}namespace {

$checks
$convert
void boxed_forward(StableIValue* stack_, uint64_t, uint64_t) {
$forward_unpack
  check_inputs($tensors);
${narrow}${guard}  ${out}$forward;
${changed}$forward_box
}
$backward
const bool registered = [] {
  const auto check = [](int32_t error) { if (error) fail("the operators could not be registered"); };
  TorchLibraryHandle library;  // lives as long as this library: to the end of the process
  check(aoti_torch_library_init_fragment($library, __FILE__, __LINE__, &library));
$define
  const auto implement = [&](const char* key, const char* name, void (*function)(StableIValue*, uint64_t, uint64_t)) {
    check(aoti_torch_library_init_impl($library, key, __FILE__, __LINE__, &library));
    check(aoti_torch_library_impl(library, name, function));
  };
$implement
  return true;
}();

}  // namespace
//: [convert aten]
at::Tensor take_(StableIValue value) {
  const std::unique_ptr<at::Tensor> tensor(reinterpret_cast<at::Tensor*>(value));
  return std::move(*tensor);
}
StableIValue give_(at::Tensor tensor) { return reinterpret_cast<StableIValue>(new at::Tensor(std::move(tensor))); }
//: [convert stable]
torch::stable::Tensor take_(StableIValue value) { return torch::stable::Tensor(reinterpret_cast<AtenTensorHandle>(value)); }
StableIValue give_(const torch::stable::Tensor& tensor) {
  AtenTensorHandle handle;
  if (aoti_torch_new_tensor_handle(tensor.get(), &handle)) fail("a result could not be returned");
  return reinterpret_cast<StableIValue>(handle);
}
//: [packed]
//: torch.compile believes what the schema and the fake kernel promise: results are contiguous, and gradients and extra tensors
//: have memory of their own (it would write over an incoming gradient that is returned as a gradient while that is still in
//: use). That an output has its own, too, is for the kernel to see to: `check` and the bridge refuse one that shares an input's.
$memory
$tensor dense_(const $tensor& result) { return $contiguous; }
class Memory_ {
 public:
  Memory_(std::initializer_list<const void*> arguments) { for (const void* argument : arguments) add(argument); }
  $tensor packed(const $tensor& result) {
    if (!result.defined()) return result;
    const $tensor kept = dense_(result);
    add(memory_of(kept));
    return kept;
  }
  $tensor own(const $tensor& result) {
    const void* memory = memory_of(result);
    if (!memory || std::find(used_, used_ + count_, memory) == used_ + count_) return packed(result);
    return packed($clone);
  }

 private:
  void add(const void* memory) { if (memory) used_[count_++] = memory; }
  const void* used_[$capacity];
  int count_ = 0;
};
//: [memory_of aten]
const void* memory_of(const at::Tensor& tensor) {
  return tensor.defined() && tensor.numel() ? tensor.storage().unsafeGetStorageImpl() : nullptr;
}
//: [memory_of stable]
const void* memory_of(const torch::stable::Tensor& tensor) {
  if (!tensor.defined() || !tensor.numel()) return nullptr;
  return static_cast<const char*>(tensor.const_data_ptr()) - tensor.storage_offset() * tensor.element_size();
}
//: [memory_of optional]
const void* memory_of(const std::optional<$tensor>& tensor) { return tensor ? memory_of(*tensor) : nullptr; }
//: [take number]
//: Functions that take values from the stack.
template <class T> T number_(StableIValue value) {
  T result;
  std::memcpy(&result, &value, sizeof(T));
  return result;
}
//: [take text]
std::string text_(StableIValue value) {
  const auto handle = reinterpret_cast<StringHandle>(value);
  const char* data = nullptr;
  size_t length = 0;
  if (torch_string_c_str(handle, &data) || torch_string_length(handle, &length)) fail("a text could not be read");
  std::string text(data, length);
  torch_delete_string(handle);
  return text;
}
//: [take optional]
template <class F> auto optional_(StableIValue value, F take) -> std::optional<decltype(take(value))> {
  if (!value) return std::nullopt;
  const std::unique_ptr<StableIValue> inner(reinterpret_cast<StableIValue*>(value));
  return take(*inner);
}
//: [take list]
template <class F> auto list_(StableIValue value, F take) {
  const auto handle = reinterpret_cast<StableListHandle>(value);
  size_t size = 0;
  if (torch_list_size(handle, &size)) fail("a list could not be read");
  std::vector<decltype(take(value))> items;
  for (size_t i = 0; i < size; ++i) {
    StableIValue item;
    if (torch_list_get_item(handle, i, &item)) fail("a list could not be read");
    items.push_back(take(item));
  }
  torch_delete_list(handle);
  return items;
}
//: [give number]
template <class T> StableIValue bits_(T number) {
  StableIValue value = 0;
  std::memcpy(&value, &number, sizeof(T));
  return value;
}
//: [checks]
//: Errors are put together in cold functions without templates: TORCH_CHECK with a dozen arguments compiles slowly.
[[noreturn, gnu::cold, gnu::noinline]] void fail(const std::string& what) {
  const std::string message = "$kernel: " + what;
  $fail;
  std::abort();
}

[[noreturn, gnu::cold, gnu::noinline]]
void refuse(const char* name, const $tensor& tensor, const char* want, std::initializer_list<int64_t> sizes) {
  std::string message = name;
  message += " has shape (";
  for (int64_t i = 0; i < tensor.dim(); ++i) message.append(i ? ", " : "").append(std::to_string(tensor.size(i)));
  message.append("), want ").append(want);
  const char* between = " = (";
  for (const int64_t size : sizes) {
    message.append(between).append(std::to_string(size));
    between = ", ";
  }
  fail(sizes.size() ? message + ")" : message);
}

[[noreturn, gnu::cold, gnu::noinline]] void fail(const char* name, const char* is, const char* kind, const char* want) {
  fail(std::string(name).append(is).append(kind).append(want));
}

void same_kind(const char* name, const $tensor& tensor, const $tensor& first) {
  if (!tensor.defined()) fail(name, " is None, want a Tensor", "", "");
  if (tensor.device() != first.device()) fail(name, " is on another device than ", "$first", "");
  if (tensor.scalar_type() != first.scalar_type()) {
    fail(name, " is ", $dtype_name(tensor.scalar_type()), std::string(", but $first is ").append($dtype_name(first.scalar_type())).c_str());
  }
}

$has_dtype$same_shape
void check_inputs($parameters) {
$empty  if (!$first.defined()) fail("$first", " is None, want a Tensor", "", "");
  if (!$first.is_$device()) fail("$first", " is not on $device_words", "", "");
  const auto dtype = $first.scalar_type();
  if (!($dtype_test)) fail("$first", " is ", $dtype_name(dtype), ", want $dtype_words");
$ranks
$letters
$shapes
}
//: [has dtype]
//: For tensors with a dtype of their own.

void has_dtype(const char* name, const $tensor& tensor, const $tensor& first, $scalar dtype) {
  if (!tensor.defined()) fail(name, " is None, want a Tensor", "", "");
  if (tensor.device() != first.device()) fail(name, " is on another device than ", "$first", "");
  if (tensor.scalar_type() != dtype) {
    fail(name, " is ", $dtype_name(tensor.scalar_type()), std::string(", want ").append($dtype_name(dtype)).c_str());
  }
}
//: [same shape]
//: For shapes of any rank: what one tensor has, the others must have.

void same_shape(const char* name, const $tensor& tensor, const $tensor& first) {
  bool same = tensor.dim() == first.dim();
  for (int64_t i = 0; same && i < tensor.dim(); ++i) same = tensor.$size(i) == first.$size(i);
  if (same) return;
  std::string message = name;
  message += " has shape (";
  for (int64_t i = 0; i < tensor.dim(); ++i) message.append(i ? ", " : "").append(std::to_string(tensor.size(i)));
  message += "), want that of $first, (";
  for (int64_t i = 0; i < first.dim(); ++i) message.append(i ? ", " : "").append(std::to_string(first.size(i)));
  fail(message + ")");
}
//: [pybind11]
// Generated: the classic pybind11 binding. To write your own: kernel.replace(binding=...).
namespace {

$checks
auto checked_forward($parameters) {
  check_inputs($tensors);
${narrow}  return $forward;
}

}  // namespace

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("forward", torch::wrap_pybind_function(checked_forward), "$doc");
$backward}
