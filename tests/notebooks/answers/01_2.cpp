//// right 1
2 * d_z
// becomes
d_z + d_z
// and
d_z.clone()
// becomes
d_z

//// wrong 1
// says: 'axpy/loop' d_x
2 * d_z
// becomes
d_z
