//// right 1
at::exp(-at::abs(z))
// becomes
at::exp(at::minimum(z, -z))

//// right 2
at::exp(-at::abs(z))
// becomes
at::exp(at::where(z > 0, -z, z))

//// right 3
at::exp(-at::abs(z))
// becomes
z.abs().neg().exp()

//// right 4
e / at::square(1 + e)
// becomes
e / (1 + e) / (1 + e)

//// right 5
e / at::square(1 + e)
// becomes
e / (1 + 2 * e + e * e)

//// right 6
e / at::square(1 + e)
// becomes
e / at::pow(1 + e, 2)

//// right 7
const at::Tensor e = at::exp(-at::abs(z));
  return e / at::square(1 + e);
// becomes
const at::Tensor s = at::sigmoid(z);
  return s * (1 - s);

//// right 8
const at::Tensor e = at::exp(-at::abs(z));
  return e / at::square(1 + e);
// becomes
return at::sigmoid(z) * at::sigmoid(-z);

//// right 9
const at::Tensor e = at::exp(-at::abs(z));
  return e / at::square(1 + e);
// becomes
return (1 - at::square(at::tanh(z / 2))) / 4;

//// right 10
const at::Tensor e = at::exp(-at::abs(z));
  return e / at::square(1 + e);
// becomes
return at::exp(at::log_sigmoid(z) + at::log_sigmoid(-z));

//// wrong 1
// says: 'd_sigmoid/even'
at::exp(-at::abs(z))
// becomes
at::exp(at::abs(z))

//// wrong 2
// says: 'd_sigmoid/even'
at::exp(-at::abs(z))
// becomes
at::exp(-z * z)

//// wrong 3
// says: 'd_sigmoid/even'
at::exp(-at::abs(z))
// becomes
at::exp(at::clamp_max(-z, 0))

//// right 11
at::exp(-at::abs(z))
// becomes
at::exp(at::clamp_max(-z, 80))

//// wrong 4
// says: 'd_sigmoid/even'
e / at::square(1 + e)
// becomes
e / (1 + e)

//// wrong 5
// says: 'd_sigmoid/even'
e / at::square(1 + e)
// becomes
1 / at::square(1 + e)

//// wrong 6
// says: 'd_sigmoid/even'
e / at::square(1 + e)
// becomes
e / at::square(1 - e)

//// wrong 7
// says: 'd_sigmoid/even'
const at::Tensor e = at::exp(-at::abs(z));
  return e / at::square(1 + e);
// becomes
const at::Tensor e = at::exp(-z);
  return at::nan_to_num(e / at::square(1 + e));

//// wrong 8
// says: 'd_sigmoid/even'
const at::Tensor e = at::exp(-at::abs(z));
  return e / at::square(1 + e);
// becomes
return 1 / (at::exp(z) + 2 + at::exp(-z));

//// wrong 9
// says: 'd_sigmoid/even' does not compile:
at::abs(z)
// becomes
abs z

//// wrong 10
// says: 'd_sigmoid/even' y
-at::abs(z)
// becomes
-z
