// Memory that torch frees, and memory of torch that the text frees.
// x = torch.rand(33)
// y = x * 2
at::Tensor run(const at::Tensor& x) {
  const int64_t n = x.numel();
  float* twice = new float[n];
  for (int64_t i = 0; i < n; ++i) twice[i] = 2 * x.data_ptr<float>()[i];
  at::Tensor y = torch::from_blob(twice, {n}, [](void* it) { delete[] static_cast<float*>(it); }, at::kFloat);
  for (int i = 0; i < 50; ++i) {
    std::vector<at::Tensor> parts = y.chunk(3);
    parts.push_back(y.slice(0, 0, 0));
    y = at::cat(std::move(parts));
    std::string name = y.toString() + std::to_string(i);
    std::shared_ptr<std::vector<int64_t>> sizes = std::make_shared<std::vector<int64_t>>(y.sizes().vec());
    c10::optional<int64_t> none;
    std::function<int64_t()> later = [sizes, none, name] { return (*sizes)[0] + none.value_or(0) + int64_t(name.size()) * 0; };
    auto copy = later;
    TORCH_CHECK(copy() == n);
  }
  return y;
}
