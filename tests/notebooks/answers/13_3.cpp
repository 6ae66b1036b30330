//// right 1
/*keepdim=*/true
// becomes
false
// and
at::empty(x.sizes())
// becomes
at::empty(x.sizes(), x.options())

//// right 2
/*keepdim=*/true
// becomes
false
// and
at::empty(x.sizes())
// becomes
at::zeros_like(x)

//// right 3
/*keepdim=*/true
// becomes
false
// and
at::empty(x.sizes())
// becomes
at::empty(x.sizes(), x.scalar_type())

//// right 4
/*keepdim=*/true
// becomes
false
// and
at::Tensor y = at::empty(x.sizes());
  y.copy_(x * s.unsqueeze(1));
  return y;
// becomes
return x * s.unsqueeze(1);

//// right 5
/*keepdim=*/true
// becomes
false
// and
at::Tensor y = at::empty(x.sizes());
  y.copy_(x * s.unsqueeze(1));
  return y;
// becomes
return x * s.view({-1, 1});

//// right 6
/*keepdim=*/true
// becomes
false
// and
at::Tensor y = at::empty(x.sizes());
  y.copy_(x * s.unsqueeze(1));
  return y;
// becomes
return (x.t() * s).t().contiguous();

//// right 7
at::empty(x.sizes())
// becomes
at::empty(x.sizes(), x.options())
// and
(d_y * x).sum(1, /*keepdim=*/true)
// becomes
(d_y * x).sum(-1)

//// right 8
at::empty(x.sizes())
// becomes
at::empty(x.sizes(), x.options())
// and
(d_y * x).sum(1, /*keepdim=*/true)
// becomes
(d_y * x).sum(1, true).squeeze(1)

//// right 9
at::empty(x.sizes())
// becomes
at::empty(x.sizes(), x.options())
// and
(d_y * x).sum(1, /*keepdim=*/true)
// becomes
at::einsum("bf,bf->b", {d_y, x})

//// right 10
at::empty(x.sizes())
// becomes
at::empty(x.sizes(), x.options())
// and
(d_y * x).sum(1, /*keepdim=*/true)
// becomes
d_y.mul(x).sum(c10::IntArrayRef{1})

//// wrong 1
// says: 'row_scale/hurried
/*keepdim=*/true
// becomes
false

//// wrong 2
// says: 'row_scale/hurried
at::empty(x.sizes())
// becomes
at::empty(x.sizes(), x.options())

//// wrong 3
// says: is as it was.
/*keepdim=*/true
// becomes
true

//// wrong 4
// says: 'row_scale/hurried
at::empty(x.sizes())
// becomes
at::empty(x.sizes(), x.options())
// and
(d_y * x).sum(1, /*keepdim=*/true)
// becomes
(d_y * x).sum(0)

//// wrong 5
// says: 'row_scale/hurried
at::empty(x.sizes())
// becomes
at::empty(x.sizes(), x.options())
// and
(d_y * x).sum(1, /*keepdim=*/true)
// becomes
(d_y * x).sum(1, true).squeeze()

//// wrong 6
// says: 'row_scale/hurried
at::empty(x.sizes())
// becomes
at::empty(x.sizes(), x.options())
// and
(d_y * x).sum(1, /*keepdim=*/true)
// becomes
(d_y * x).mean(1)

//// wrong 7
// says: 'row_scale/hurried
at::empty(x.sizes())
// becomes
at::empty(x.sizes(), x.options())
// and
(d_y * x).sum(1, /*keepdim=*/true)
// becomes
d_y.sum(1)

//// wrong 8
// says: 'row_scale/hurried
/*keepdim=*/true
// becomes
false
// and
return y;
// becomes
return y.to(x.scalar_type());

//// wrong 9
// says: 'row_scale/hurried
/*keepdim=*/true
// becomes
false
// and
at::empty(x.sizes())
// becomes
at::empty(x.sizes(), x.options())
// and
d_x = d_y * s.unsqueeze(1)
// becomes
d_x = d_y * s

//// wrong 10
// says: 'row_scale/hurried
/*keepdim=*/true
// becomes
false
// and
at::empty(x.sizes())
// becomes
at::empty(x.sizes(), s.dtype()
