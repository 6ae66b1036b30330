//// right 1
x.exp()
// becomes
(x - std::get<0>(x.max(1, true))).exp()

//// right 2
x.exp()
// becomes
(x - x.amax(1, true)).exp()

//// right 3
x.exp()
// becomes
x.sub(x.amax(1, true).detach()).exp()

//// right 4
x.exp()
// becomes
torch::exp(x - std::get<0>(torch::max(x, 1, true)))

//// right 5
x.exp()
// becomes
(x - std::get<0>(x.sort(1, true)).narrow(1, 0, 1)).exp()

//// right 6
auto e = x.exp();
  return e / e.sum(1, true);
// becomes
return torch::softmax(x, 1);

//// right 7
auto e = x.exp();
  return e / e.sum(1, true);
// becomes
return x.log_softmax(1).exp();

//// right 8
auto e = x.exp();
  return e / e.sum(1, true);
// becomes
return (x - x.logsumexp(1, true)).exp();

//// right 9
auto e = x.exp();
  return e / e.sum(1, true);
// becomes
x = x - x.amax(1, true);
  return x.exp() / x.exp().sum(1, true);

//// right 10
auto e = x.exp();
  return e / e.sum(1, true);
// becomes
auto e = (x.t() - x.amax(1)).exp();
  return (e / e.sum(0, true)).t().contiguous();

//// wrong 1
// says: 'row_softmax/
x.exp()
// becomes
x.exp() /* - x.amax(1, true) */

//// wrong 2
// says: 'row_softmax/
x.exp()
// becomes
x.clamp_max(80).exp()

//// wrong 3
// says: 'row_softmax/
x.exp()
// becomes
(x - x.mean(1, true)).exp()

//// wrong 4
// says: 'row_softmax/
x.exp()
// becomes
(x - 100).exp()

//// wrong 5
// says: 'row_softmax/
x.exp()
// becomes
(x - x.amax(0, true)).exp()

//// wrong 6
// says: 'row_softmax/
x.exp()
// becomes
(x - x.amax()).exp()

//// wrong 7
// says: 'row_softmax/
x.exp()
// becomes
(x - x.amin(1, true)).exp()

//// wrong 8
// says: 'row_softmax/
x.exp()
// becomes
x.exp().nan_to_num()

//// wrong 9
// says: 'row_softmax/
x.exp()
// becomes
(x - x.amax(1)).exp()

//// wrong 10
// says: 'row_softmax/
x.exp()
// becomes
(x - x.amax(1, true)).exp2()
