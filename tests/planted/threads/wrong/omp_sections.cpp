// Two sections that write one element.
// x = torch.rand(40)
// report: (?:y|a tensor that forward makes)
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::zeros({1}, x.options());
  float* o = y.data_ptr<float>();
#pragma omp parallel sections
  {
#pragma omp section
    o[0] = 1;  // <-
#pragma omp section
    o[0] = 2;  // <-
  }
  return y;
}
