//// right 1
  const at::Tensor x_row
// becomes
  TORCH_CHECK_INDEX(0 <= index && index < x.numel(), "pick: index ", index, " does not fit ", x.numel(), " elements");
  const at::Tensor x_row

//// right 2
  const at::Tensor x_row
// becomes
  TORCH_CHECK_INDEX(index >= 0 && index < x.size(0), "no index ", index);
  const at::Tensor x_row

//// right 3
  const at::Tensor x_row
// becomes
  TORCH_CHECK_INDEX(index >= 0, index, " < 0");
  TORCH_CHECK_INDEX(index < x.numel(), index, " is too large");
  const at::Tensor x_row

//// right 4
  const at::Tensor x_row
// becomes
  TORCH_CHECK_INDEX(static_cast<uint64_t>(index) < static_cast<uint64_t>(x.numel()), "index ", index);
  const at::Tensor x_row

//// right 5
  const at::Tensor x_row
// becomes
  TORCH_CHECK_INDEX(!(index < 0 || index >= x.numel()), "index ", index);
  const at::Tensor x_row

//// right 6
  const at::Tensor x_row
// becomes
  if (index < 0 || index >= x.numel()) TORCH_CHECK_INDEX(false, "index ", index);
  const at::Tensor x_row

//// right 7
  const at::Tensor x_row
// becomes
  if (index < 0 || index >= x.numel()) C10_THROW_ERROR(IndexError, "index " + std::to_string(index));
  const at::Tensor x_row

//// right 8
  const at::Tensor x_row
// becomes
  const int64_t last = x.numel() - 1;
  TORCH_CHECK_INDEX(last >= index && index >= 0, index, " of ", last);
  const at::Tensor x_row

//// right 9
  const at::Tensor x_row
// becomes
  [&] { TORCH_CHECK_INDEX(0 <= index && index < x.numel(), "index ", index); }();
  const at::Tensor x_row

//// right 10
    y.mutable
// becomes
    TORCH_CHECK_INDEX(0 <= index && index < x.numel(), "index ", index);
    y.mutable

//// wrong 1
// says: is as it was.
  const at::Tensor x_row
// becomes
  // TORCH_CHECK_INDEX(0 <= index && index < x.numel(), "index ", index);
  const at::Tensor x_row

//// wrong 2
// says: Index 1000000000000 of 3 elements gives no IndexError.
  const at::Tensor x_row
// becomes
  TORCH_CHECK(0 <= index && index < x.numel(), "index ", index);
  const at::Tensor x_row

//// wrong 3
// says: Index 1000000000000 of 3 elements gives no IndexError.
  const at::Tensor x_row
// becomes
  TORCH_CHECK_VALUE(0 <= index && index < x.numel(), "index ", index);
  const at::Tensor x_row

//// wrong 4
// says: Index 1000000000000 of 3 elements gives no IndexError.
  const at::Tensor x_row
// becomes
  TORCH_CHECK_INDEX(index >= 0, "index ", index);
  const at::Tensor x_row

//// wrong 5
// says: crashed in forward
  const at::Tensor x_row
// becomes
  if (index < 0 || index >= x.numel()) index = 0;
  const at::Tensor x_row

//// wrong 6
// says: Index 3 of 3 elements gives no IndexError.
  const at::Tensor x_row
// becomes
  TORCH_CHECK_INDEX(0 <= index && index <= x.numel(), "index ", index);
  const at::Tensor x_row

//// wrong 7
// says: crashed in forward
  const at::Tensor x_row
// becomes
  TORCH_CHECK_INDEX(index < x.numel(), "index ", index);
  const at::Tensor x_row

//// wrong 8
// says: The message should name the index.
  const at::Tensor x_row
// becomes
  TORCH_CHECK_INDEX(0 <= index && index < x.numel(), "the index does not fit");
  const at::Tensor x_row

//// wrong 9
// says: 'pick/bare
  const at::Tensor x_row
// becomes
  TORCH_CHECK_INDEX(0 < index && index < x.numel(), "index ", index);
  const at::Tensor x_row

//// wrong 10
// says: does not compile:
  const at::Tensor x_row
// becomes
  TORCH_CHECK_INDEX((0 <= index && index < x.numel(), "index ", index);
  const at::Tensor x_row
