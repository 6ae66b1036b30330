//// adapter

// What the playground calls: lltm_forward and lltm_backward, with arguments and results in the order of op 'lltm'.
std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor> forward(
    const at::Tensor& input, const at::Tensor& weights, const at::Tensor& bias, const at::Tensor& old_h,
    const at::Tensor& old_cell) {
  const auto returned = (lltm_forward)(input, weights, bias, old_h, old_cell);
  return {returned[0], returned[1], returned[2], returned[3], returned[4], returned[5], returned[6]};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor> backward(
    const at::Tensor& d_new_h, const at::Tensor& d_new_cell, const at::Tensor& new_cell, const at::Tensor& weights,
    const at::Tensor& input_gate, const at::Tensor& output_gate, const at::Tensor& candidate_cell, const at::Tensor& X,
    const at::Tensor& gate_weights, std::array<bool, 5> wanted) {
  const auto returned = (lltm_backward)(
      d_new_h.contiguous(), d_new_cell.contiguous(), new_cell, input_gate, output_gate, candidate_cell, X, gate_weights,
      weights);
  at::Tensor d_input, d_weights, d_bias, d_old_h, d_old_cell;
  if (wanted[0]) d_input = returned[1];
  if (wanted[1]) d_weights = returned[2];
  if (wanted[2]) d_bias = returned[3].flatten();
  if (wanted[3]) d_old_h = returned[0];
  if (wanted[4]) d_old_cell = returned[4];
  return {d_input, d_weights, d_bias, d_old_h, d_old_cell};
}
