//// right 1
d_z.sum(0)
// becomes
d_z.mean(0)

//// right 2
d_z.sum(0)
// becomes
d_z[0].clone()

//// right 3
d_z.sum(0)
// becomes
d_z.amax(0)

//// right 4
d_z.sum(0)
// becomes
d_z.sum(0) / d_z.size(0)

//// right 5
d_z.sum(0)
// becomes
d_z.sum(0) * d_z.size(0)

//// right 6
d_z.sum(0)
// becomes
d_z.slice(0, 0, 1).sum(0)

//// right 7
d_z.sum(0)
// becomes
d_z.prod(0)

//// right 8
d_z.sum(0)
// becomes
std::get<0>(d_z.median(0))

//// right 9
d_z.sum(0)
// becomes
d_z.slice(0, -1).sum(0)

//// right 10
d_z.sum(0)
// becomes
(d_z.size(0) > 1 ? at::zeros_like(d_z) : d_z).sum(0)

//// wrong 1
// says: is as it was.
d_z.sum(0)
// becomes
d_z.sum(0) /* the mean */

//// wrong 2
// says: is right, and this exercise wants one that is wrong
d_z.sum(0)
// becomes
d_z.sum({0})

//// wrong 3
// says: is right, and this exercise wants one that is wrong
d_z.sum(0)
// becomes
d_z.t().sum(1)

//// right 11
d_z.sum(0)
// becomes
d_z.mean(0) * d_z.size(0)

//// wrong 4
// says: It is wrong with one row already
d_z.sum(0)
// becomes
2 * d_z.sum(0)

//// wrong 5
// says: It is wrong with one row already
d_z.sum(0)
// becomes
-d_z.sum(0)

//// wrong 6
// says: It is wrong with one row already
d_z.sum(0)
// becomes
d_z.sum(0, true)

//// wrong 7
// says: It is wrong with one row already
d_z.sum(0)
// becomes
at::zeros_like(d_z).sum(0)

//// wrong 8
// says: It is wrong with one row already
d_z.sum(0)
// becomes
d_z.sum(1)

//// wrong 9
// says: It is wrong with one row already
d_z.sum(0)
// becomes
d_z.norm(2, 0)

//// wrong 10
// says: does not compile:
d_z.sum(0)
// becomes
d_z.mean(0
