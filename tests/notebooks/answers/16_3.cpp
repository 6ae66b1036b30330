//// right 1
g * scale;
// becomes
g * scale - x * scale.pow(3) * (g * x).mean(1, true);

//// right 2
g * scale;
// becomes
scale * (g - x * scale.square() * (g * x).mean(1, true));

//// right 3
g * scale;
// becomes
g * scale - (g * x).mean(1, true) * scale * scale * scale * x;

//// right 4
g * scale;
// becomes
g * scale - x * scale.pow(3) * (g * x).sum(1, true) / x.size(1);

//// right 5
g * scale;
// becomes
g * scale - x * torch::pow(scale, 3) * (x * g).mean(-1, true);

//// right 6
g * scale;
// becomes
g * scale - x * scale.pow(3) * (g * x).mean(1).unsqueeze(1);

//// right 7
g * scale;
// becomes
torch::addcmul(g * scale, x * scale.pow(3), (g * x).mean(1, true), -1);

//// right 8
g * scale;
// becomes
g * scale;
  d_x = d_x - x * scale.pow(3) * (g * x).mean(1, true);

//// right 9
g * scale;
// becomes
scale * g - (x * scale) * ((x * scale) * g).mean(1, true) * scale;

//// right 10
g * scale;
// becomes
(g - (x * scale).mul((g * x * scale).mean(1, true))).mul(scale);

//// wrong 1
// says: 'rms/
g * scale;
// becomes
g * scale;  // - x * scale.pow(3)

//// wrong 2
// says: 'rms/
g * scale;
// becomes
g * scale + x * scale.pow(3) * (g * x).mean(1, true);

//// wrong 3
// says: 'rms/
g * scale;
// becomes
g * scale - x * scale.pow(2) * (g * x).mean(1, true);

//// wrong 4
// says: 'rms/
g * scale;
// becomes
g * scale - x * scale.pow(3) * (g * x).sum(1, true);

//// wrong 5
// says: 'rms/
g * scale;
// becomes
g * scale - x * scale.pow(3) * (g * x).mean();

//// wrong 6
// says: 'rms/
g * scale;
// becomes
g * scale - x * scale.pow(3) * (g * x).mean(0, true);

//// wrong 7
// says: 'rms/
g * scale;
// becomes
g * scale - x * scale.pow(3) * (g * x).mean(1);

//// wrong 8
// says: 'rms/
g * scale;
// becomes
g * scale - x * scale.pow(3) * (d_y * x).mean(1, true);

//// wrong 9
// says: 'rms/
g * scale;
// becomes
g * scale - scale.pow(3) * (g * x).mean(1, true);

//// wrong 10
// says: 'rms/
g * scale;
// becomes
g * scale - x * scale.pow(3) * (g * x).mean(1, true);
// and
d_y * x * scale
// becomes
d_y * x
