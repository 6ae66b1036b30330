// What check mode knows of the text's tensors, shared arrays and variables: their names, and what nobody has written.
#ifdef CUDA_CPU_CHECK
namespace cuda_cpu {
namespace CUDA_CPU_OURS {
// As kLetter; a complex number is two.
char letter_of(at::ScalarType type) {
  constexpr char letters[] = "Bbhiqefdefd?\0\0\0w";  // in the order of the types
  return size_t(type) < sizeof letters ? letters[size_t(type)] : 0;
}

void remember_tensor(const at::TensorBase& tensor, const char* name, bool is_argument) {
  if (!tensor.defined() || tensor.numel() == 0 || !tensor.has_storage()) return;
  int64_t last = 0;
  for (int64_t i = 0; i < tensor.dim(); ++i) last += (tensor.size(i) - 1) * tensor.stride(i);
  const size_t element = tensor.element_size();
  const char* const begin = static_cast<const char*>(tensor.const_data_ptr());
  remember(
      {begin, (last + 1) * element, name, element, Of::tensor, tensor.sizes().vec(), tensor.strides().vec(),
       tensor.storage().getWeakStorageImpl(), is_argument, 0, letter_of(tensor.scalar_type())});
  for (Fresh& one : checks().fresh) {
    if (one.begin == begin && one.name.empty()) one.name = name;
  }
}

[[noreturn]] __attribute__((noinline)) CUDA_CPU_PLAIN void off_axis(
    size_t axes_left, int64_t index, int64_t size, const void* data) {
  Lane* const self = lane;
  lane = nullptr;
  const char* const pc = static_cast<const char*>(__builtin_return_address(0));
  const Region* const region = region_at(static_cast<const char*>(data), 1);
  std::string axis = "an axis", tensor = "an accessor";
  if (region) tensor = region->name;
  if (region && region->sizes.size() >= axes_left) axis = "axis " + std::to_string(region->sizes.size() - axes_left);
  std::string what = "out of bounds: index " + std::to_string(index) + " on " + axis + " of " + tensor + ", which has " +
                     std::to_string(size) + (self ? ", at line " + line_at(pc, *self->block->launch) : "") +
                     (region ? "; " + size_of(*region) : "") +
                     ". Compare the index with the size of its axis before it is used";
  if (!self) {
    note_fault(what);
    throw std::runtime_error(what);
  }
  self->block->fail(what, self);
}

void mark_unwritten(const at::TensorBase& tensor) {
  const size_t element = tensor.defined() ? tensor.element_size() : 0;
  if (!element || !tensor.has_storage() || tensor.nbytes() == 0) return;
  if (element < 4 && !tensor.is_floating_point()) return;  // any of their values may be meant
  const char* const begin = static_cast<const char*>(tensor.const_data_ptr());
  fill_unwritten((void*)begin, tensor.nbytes());
  auto& fresh = checks().fresh;
  fresh.push_back({begin, tensor.nbytes(), element, tensor.storage().getWeakStorageImpl(), ""});
}

Call::Call(const char* function, std::initializer_list<Named> arguments) {
  Checks& all = checks();
  find_image(function);
  if (all.calls++ == 0) {
    all.fresh.clear();
    all.freed.clear();
    all.launch.clear();
  }
  for (const Named& one : arguments) remember_tensor(*one.tensor, one.name, true);
}

Call::~Call() {
  if (--checks().calls == 0) forget_if([](const Region& one) { return one.is_argument; });
}

// How many elements of a row nobody has written, and the first one of all.
CUDA_CPU_PLAIN size_t unwritten_in(const Fresh& of, const char* row, int64_t elements, int64_t step, const char*& first) {
  size_t missing = 0;
  for (int64_t i = 0; i < elements; ++i, row += step * int64_t(of.element)) {
    if (!is_unwritten(of.begin, row - of.begin, of.element)) continue;
    if (!first) first = row;
    ++missing;
  }
  return missing;
}

// Of a tensor that a function returns: each of its elements has a value. What else lies in its memory is nobody's.
void require_written(const at::TensorBase& tensor, const char* function) {
  if (!tensor.defined() || tensor.numel() == 0 || !tensor.has_storage()) return;
  const Checks& all = checks();
  const auto one = std::find_if(all.fresh.begin(), all.fresh.end(), [&](const Fresh& fresh) {
    const auto storage = fresh.storage.lock();
    return storage && storage.get() == tensor.storage().unsafeGetStorageImpl();
  });
  if (one == all.fresh.end()) return;
  const auto sizes = tensor.sizes(), strides = tensor.strides();
  const char* const begin = static_cast<const char*>(tensor.const_data_ptr());
  const char* first = nullptr;
  size_t missing = 0;
  const size_t outer = tensor.is_contiguous() ? 0 : sizes.size() - 1;  // axes around what is one row
  const int64_t row = outer ? sizes[outer] : tensor.numel(), step = tensor.is_contiguous() ? 1 : strides[outer];
  std::vector<int64_t> index(outer);
  for (int64_t i = 0; i < tensor.numel(); i += row) {
    int64_t at = 0;
    for (size_t axis = 0; axis < outer; ++axis) at += index[axis] * strides[axis];
    missing += unwritten_in(*one, begin + at * int64_t(one->element), row, step, first);
    for (size_t axis = outer; axis-- > 0 && ++index[axis] == sizes[axis];) index[axis] = 0;
  }
  if (!missing) return;
  const std::string name = one->name.empty() ? "a tensor of at::empty" : one->name;
  const size_t elements = tensor.numel();
  std::string what = "unwritten: " + std::to_string(missing) + " of the " + std::to_string(elements) + " elements of " + name +
                     " have no value when " + function + " returns";
  if (missing < elements) {
    what += ", the first is " + element_at({begin, 0, name, one->element, Of::tensor, sizes.vec(), strides.vec()}, first);
  }
  what += all.launch.empty() ? ", and no kernel was launched. "
                             : ". The last launch was " + all.launch + ", of " + std::to_string(all.threads) + " threads. ";
  throw std::runtime_error(
      what + (all.threads >= elements            ? "Look at the condition under which a thread writes, and at the index"
              : all.threads < elements - missing ? "A thread takes several elements: look at how many, at the step and the end "
                                                   "of its loop, and at the number of blocks"
                                                 : "There must be a thread for every element, or a loop in which each thread "
                                                   "takes several"));
}

#ifndef CUDA_CPU_COUNT
// What is known of a subscript: of the last launch, and of all that have made it.
struct Site {
  Subscript said;
  uint32_t launch = 0;
  const volatile void* base = nullptr;
  int64_t most = 0;
  size_t element = 0, bytes = 0, row = 0;  // of an element of the pointer; of the tensor, nothing where it is too small
  size_t unit = 0;                         // of an element of the tensor
  std::string tensor = {};
  bool is_signed = true, by_source = false, is_off = false, is_exact = true, has_several = false;
  size_t covered = 0;  // bytes of the tensor that was covered first

  // It covers the tensor to its last row; with one size alone that would say nothing.
  void settle() {
    if (is_off || !bytes) return;
    const size_t reached = size_t(most + 1) * element;
    if (reached + row - element < bytes) is_off = true;
    is_exact &= reached >= bytes;
    has_several |= covered && covered != bytes;
    if (!covered) covered = bytes;
    bytes = 0;
  }

  void begin(const volatile void* base_, size_t element_, uint32_t launch_) {
    settle();
    launch = launch_;
    base = base_;
    most = -1;
    const Region* const region = region_at((const char*)base, 1);
    if (!region || region->begin != base || (region->of != Of::tensor && region->of != Of::memory)) {
      is_off = true;
      return;
    }
    const auto &sizes = region->sizes, &strides = region->strides;
    const bool has_rows = sizes.size() > 1;
    for (const Region& one : checks().regions) {
      const bool takes_part = one.of == Of::tensor && (one.away || !region->away);
      is_off |= takes_part && one.bytes / one.element > region->bytes / region->element;
    }
    const bool has_gaps = has_rows && size_t(strides[0] * sizes[0]) * region->element != region->bytes;
    element = element_;
    bytes = has_gaps || (has_rows && sizes[0] < 2) || region->bytes <= 2 * region->element ? 0 : region->bytes;
    row = has_rows ? size_t(strides[0]) * region->element : element;
    unit = region->element;
    tensor = region->name;
  }
};

std::vector<Site>& sites() {
  static std::vector<Site> all;
  return all;
}

unsigned last_array = ~0u;
Site* first_site = nullptr;

Subscripts::Subscripts(std::initializer_list<Subscript> all) {
  for (const Subscript& one : all) sites().push_back({one});
  first_site = sites().data();
}

CUDA_CPU_PLAIN void note_array(unsigned number) {
  last_array = number;
}

// It calls nothing but at the first access of a launch: what is called here is instrumented, and its steps are no thread's.
CUDA_CPU_PLAIN void note_index(
    unsigned number, const volatile void* base, size_t element, int64_t index, bool is_signed, bool by_source) {
  Lane* const self = lane;
  Site& site = first_site[number];
  if (!self || site.is_off) return;
  const uint32_t launched = self->block->checks->launched;
  if (site.launch != launched) {
    lane = nullptr;
    site.is_signed = is_signed;
    site.by_source = by_source;
    site.begin(base, element, launched);
    lane = self;
  }
  if (site.base != base) site.is_off = true;
  if (site.most < index) site.most = index;
}

std::string grouped(uint64_t number) {
  std::string text = std::to_string(number);
  for (size_t i = text.size(); i > 3;) text.insert(i -= 3, ",");
  return text;
}

// "lltm/mine:14: i * cols + j, an index of x, is computed in int: wrong from 2,147,483,648 elements on; make it int64_t i"
std::string text_of(const Site& site) {
  const Subscript& said = site.said;
  const uint64_t limit = (uint64_t(1) << (site.is_signed ? 31 : 32)) * (site.element / site.unit);
  const std::string file = said.file;
  return file.substr(file.rfind('/', file.rfind('/') - 1) + 1) + ":" + std::to_string(said.line) + ": " +
         (site.by_source ? said.source : said.index) + ", an index of " + site.tensor + ", is computed in " +
         (site.is_signed ? "int" : "unsigned int") + ": wrong " +
         (site.is_exact ? "from " + grouped(limit) + " elements on"
                        : "where the last row begins at element " + grouped(limit) + " or later") +
         "; make it " + (site.by_source ? said.cure_of_source : said.cure);
}

std::string name_of_array(const char* file, uint32_t line) {
  if (last_array >= sites().size()) return "";
  const Subscript& said = sites()[last_array].said;
  return said.line == int(line) && std::string(said.file) == file ? std::string(said.name) + ", " : "";
}
#else
std::string name_of_array(const char*, uint32_t) {
  return "";
}
#endif

Region region_of(const Array& array, Of of) {
  Region region{array.begin, array.bytes, array.name, array.element, of, {array.sizes, array.sizes + array.axes}, {}};
  region.letter = array.letter;
  region.strides.resize(array.axes);
  int64_t stride = 1;
  for (size_t i = array.axes; i-- > 0; stride *= array.sizes[i]) region.strides[i] = stride;
  return region;
}

CUDA_CPU_PLAIN void remember_shared(const Array& array, Lane* self) {
  if (spot_at(array.begin, array.bytes, array.begin, checks())) return;
  remember(region_of(array, Of::shared));
  add_spot(checks().regions.back());
  size_t bytes = 0;
  for (const Region& one : checks().regions) bytes += one.of == Of::shared && one.begin != dynamic_shared() ? one.bytes : 0;
  if (bytes <= 48 * 1024) return;
  Block::here().fail(
      "too much shared memory: with " + std::string(array.name) + " the shared arrays of a block have " +
          std::to_string(bytes) + " bytes, and a block has 49152. Take smaller ones, or dynamic shared memory",
      self);
}

void remember_shared_of_file(void (*declare)()) {
  OfFile::here().shared.push_back(declare);
}

void remember_variable(const Array& array) {
  OfFile::here().variables.push_back(region_of(array, Of::variable));
}

// The first name counts.
void name_dynamic_shared(const char* name, size_t element, char letter) {
  if (std::exchange(checks().is_dynamic_named, true)) return;
  for (Region& one : checks().regions) {
    if (one.begin != dynamic_shared()) continue;
    one.name = name;
    one.element = element;
    one.letter = letter;
  }
}

}  // namespace CUDA_CPU_OURS
}  // namespace cuda_cpu

#ifndef CUDA_CPU_COUNT
// A line for each index that is wrong in large tensors.
extern "C" __attribute__((visibility("default"))) const char* cuda_cpu_narrow_indices() {
  static std::string text;
  text.clear();
  for (cuda_cpu::Site& one : cuda_cpu::sites()) {
    one.settle();
    if (!one.is_off && one.has_several) text += cuda_cpu::text_of(one) + "\n";
  }
  return text.c_str();
}
#endif
#endif
