//// right 1
d_y * s * (1 - s) * (1 - 2 * s)
// becomes
at::sigmoid_backward(d_y * (1 - 2 * s), s)

//// right 2
d_y * s * (1 - s) * (1 - 2 * s)
// becomes
d_y * (s - s * s) * (1 - 2 * s)

//// right 3
d_y * s * (1 - s) * (1 - 2 * s)
// becomes
d_y * (s - 3 * s * s + 2 * s * s * s)

//// right 4
d_y * s * (1 - s) * (1 - 2 * s)
// becomes
d_y * s * (1 - s) * (1 - s - s)

//// right 5
d_y * s * (1 - s) * (1 - 2 * s)
// becomes
(1 - 2 * s) * (1 - s) * s * d_y

//// right 6
d_y * s * (1 - s) * (1 - 2 * s)
// becomes
d_y * s * at::sigmoid(-z) * (1 - 2 * s)

//// right 7
d_y * s * (1 - s) * (1 - 2 * s)
// becomes
-d_y * s * (1 - s) * at::tanh(z / 2)

//// right 8
d_y * s * (1 - s) * (1 - 2 * s)
// becomes
d_y.mul(s).mul(s.neg().add(1)).mul(1 - 2 * s)

//// right 9
if (!wanted[0]) return at::Tensor();

// becomes

//// right 10
return s * (1 - s);
// becomes
return s * at::sigmoid(-z);

//// wrong 1
// says: 'd_sigmoid/mine' d_z
d_y * s * (1 - s) * (1 - 2 * s)
// becomes
d_y * (1 - 2 * s)

//// wrong 2
// says: 'd_sigmoid/mine' d_z
d_y * s * (1 - s) * (1 - 2 * s)
// becomes
d_y * s * (1 - s)

//// wrong 3
// says: 'd_sigmoid/mine' d_z
d_y * s * (1 - s) * (1 - 2 * s)
// becomes
d_y * s * (1 - s) * (1 + 2 * s)

//// wrong 4
// says: 'd_sigmoid/mine' d_z
d_y * s * (1 - s) * (1 - 2 * s)
// becomes
d_y * s * (1 - s) * (1 - s)

//// wrong 5
// says: 'd_sigmoid/mine' d_z
d_y * s * (1 - s) * (1 - 2 * s)
// becomes
s * (1 - s) * (1 - 2 * s)

//// wrong 6
// says: 'd_sigmoid/mine' d_z
d_y * s * (1 - s) * (1 - 2 * s)
// becomes
-d_y * s * (1 - s) * (1 - 2 * s)

//// wrong 7
// says: 'd_sigmoid/mine' d_z
d_y * s * (1 - s) * (1 - 2 * s)
// becomes
d_y * z * (1 - z) * (1 - 2 * z)

//// wrong 8
// says: 'd_sigmoid/mine' d_z
d_y * s * (1 - s) * (1 - 2 * s)
// becomes
d_y * s * (1 - s) + (1 - 2 * s)

//// wrong 9
// says: 'd_sigmoid/mine' y
return s * (1 - s);
// becomes
return s * (1 + s);

//// wrong 10
// says: 'd_sigmoid/mine' does not compile:
d_y * s * (1 - s) * (1 - 2 * s)
// becomes
d_y s (1 - s) (1 - 2 s)
