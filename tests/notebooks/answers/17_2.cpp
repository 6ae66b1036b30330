//// right 1
  for (int64_t s = 0; s < S; ++s) {
    float state = 0;
    for (int64_t t = 0; t < T; ++t) {
      state = 0.9f * state + 0.1f * x[t * S + s];
      y[t * S + s] = state;
    }
  }
// becomes

  std::vector<float> state(S, 0.0f);
  for (int64_t t = 0; t < T; ++t)
    for (int64_t s = 0; s < S; ++s) {
      state[s] = 0.9f * state[s] + 0.1f * x[t * S + s];
      y[t * S + s] = state[s];
    }

//// right 2
  for (int64_t s = 0; s < S; ++s) {
    float state = 0;
    for (int64_t t = 0; t < T; ++t) {
      state = 0.9f * state + 0.1f * x[t * S + s];
      y[t * S + s] = state;
    }
  }
// becomes

  std::vector<float> all(S); float* __restrict state = all.data();
  for (int64_t t = 0; t < T; ++t)
    for (int64_t s = 0; s < S; ++s) {
      state[s] = 0.9f * state[s] + 0.1f * x[t * S + s];
      y[t * S + s] = state[s];
    }

//// right 3
  for (int64_t s = 0; s < S; ++s) {
    float state = 0;
    for (int64_t t = 0; t < T; ++t) {
      state = 0.9f * state + 0.1f * x[t * S + s];
      y[t * S + s] = state;
    }
  }
}
// becomes
for (int64_t n = 0; n < T * S; ++n) y[n] = 0.1f * x[n];
for (int64_t t = 1; t < T; ++t) for (int64_t s = 0; s < S; ++s) y[t * S + s] += 0.9f * y[(t - 1) * S + s];}

//// right 4
  for (int64_t s = 0; s < S; ++s) {
    float state = 0;
    for (int64_t t = 0; t < T; ++t) {
      state = 0.9f * state + 0.1f * x[t * S + s];
      y[t * S + s] = state;
    }
  }
// becomes

  float* state = new float[S]();
  for (int64_t t = 0; t < T; ++t)
    for (int64_t s = 0; s < S; ++s) {
      state[s] = 0.9f * state[s] + 0.1f * x[t * S + s];
      y[t * S + s] = state[s];
    }
delete[] state;

//// right 5
  for (int64_t s = 0; s < S; ++s) {
    float state = 0;
    for (int64_t t = 0; t < T; ++t) {
      state = 0.9f * state + 0.1f * x[t * S + s];
      y[t * S + s] = state;
    }
  }
}
// becomes
for (int64_t n = 0; n < T * S; ++n) y[n] = (n < S ? 0.0f : 0.9f * y[n - S]) + 0.1f * x[n];}

//// right 6
  for (int64_t s = 0; s < S; ++s) {
    float state = 0;
    for (int64_t t = 0; t < T; ++t) {
      state = 0.9f * state + 0.1f * x[t * S + s];
      y[t * S + s] = state;
    }
// becomes

  for (int64_t first = 0; first < S; first += 64) {
    float state[64] = {};
    const int64_t many = std::min<int64_t>(64, S - first);
    for (int64_t t = 0; t < T; ++t)
      for (int64_t k = 0; k < many; ++k)
        y[t * S + first + k] = state[k] = 0.9f * state[k] + 0.1f * x[t * S + first + k];

//// right 7
  for (int64_t s = 0; s < S; ++s) {
    float state = 0;
    for (int64_t t = 0; t < T; ++t) {
      state = 0.9f * state + 0.1f * x[t * S + s];
      y[t * S + s] = state;
    }
  }
// becomes

  std::vector<float> state(S, 0.0f);
  torch::stable::parallel_for(0, S, 512, [&](int64_t first, int64_t last) {
    for (int64_t t = 0; t < T; ++t)
      for (int64_t s = first; s < last; ++s) {
        state[s] = 0.9f * state[s] + 0.1f * x[t * S + s];
        y[t * S + s] = state[s];
      }
  });

//// right 8
  for (int64_t s = 0; s < S; ++s) {
    float state = 0;
    for (int64_t t = 0; t < T; ++t) {
      state = 0.9f * state + 0.1f * x[t * S + s];
      y[t * S + s] = state;
    }
// becomes

  std::vector<float> state(S, 0.0f);
  for (int64_t t = 0; t < T; ++t, x += S, y += S) {
    std::transform(x, x + S, state.begin(), state.begin(), [](float now, float old) { return 0.9f * old + 0.1f * now; });
    std::copy(state.begin(), state.end(), y);

//// right 9
  for (int64_t s = 0; s < S; ++s) {
    float state = 0;
    for (int64_t t = 0; t < T; ++t) {
      state = 0.9f * state + 0.1f * x[t * S + s];
      y[t * S + s] = state;
    }
// becomes

  std::vector<float> state(S, 0.0f);
  for (int64_t t = 0; t < T; ++t) {
    const float* row = x + t * S;
    float* out = y + t * S;
    for (int64_t s = 0; s < S; ++s) out[s] = state[s] = 0.9f * state[s] + 0.1f * row[s];

//// right 10
  for (int64_t s = 0; s < S; ++s) {
    float state = 0;
    for (int64_t t = 0; t < T; ++t) {
      state = 0.9f * state + 0.1f * x[t * S + s];
      y[t * S + s] = state;
    }
// becomes

  std::vector<float> state(S, 0.0f);
  int64_t t = 0;
  while (t < T) {
    int64_t s = 0;
    while (s < S) {
      state[s] += 0.1f * (x[t * S + s] - state[s]);
      y[t * S + s] = state[s];
      ++s;
    }
    ++t;

//// right 11
  for (int64_t s = 0; s < S; ++s) {
    float state = 0;
    for (int64_t t = 0; t < T; ++t) {
      state = 0.9f * state + 0.1f * x[t * S + s];
      y[t * S + s] = state;
    }
  }
// becomes

  for (int64_t t = 0; t < T; ++t)
    for (int64_t s = 0; s < S; ++s) {
      const float before = t > 0 ? y[(t - 1) * S + s] : 0.0f;
      y[t * S + s] = 0.9f * before + 0.1f * x[t * S + s];
    }

//// right 12
  for (int64_t s = 0; s < S; ++s) {
    float state = 0;
    for (int64_t t = 0; t < T; ++t) {
      state = 0.9f * state + 0.1f * x[t * S + s];
      y[t * S + s] = state;
    }
  }
// becomes

  for (int64_t s = 0; s < S; ++s) if (T) y[s] = 0.1f * x[s];
  for (int64_t t = 1; t < T; ++t)
    for (int64_t s = 0; s < S; ++s) y[t * S + s] = 0.9f * y[(t - 1) * S + s] + 0.1f * x[t * S + s];

//// wrong 1
// says: 'ema/mine' is as it was.

//// wrong 2
// says: It is right, but takes one float at a time: is s the inner loop?
  for (int64_t s = 0; s < S; ++s) {
    float state = 0;
// becomes

  std::vector<float> state(S, 0.0f);
  for (int64_t s = 0; s < S; ++s)
// and
      state = 0.9f * state + 0.1f * x[t * S + s];
      y[t * S + s] = state;
    }
  }
// becomes
      state[s] = 0.9f * state[s] + 0.1f * x[t * S + s];
      y[t * S + s] = state[s];
    }

//// wrong 3
// says: 'ema/mine' y
  for (int64_t s = 0; s < S; ++s) {
    float state = 0;
    for (int64_t t = 0; t < T; ++t) {
      state = 0.9f * state + 0.1f * x[t * S + s];
      y[t * S + s] = state;
    }
  }
// becomes

  std::vector<float> state(S, 0.0f);
  for (int64_t t = 0; t < T; ++t)
    for (int64_t s = 0; s < S; ++s) {
      state[0] = 0.9f * state[0] + 0.1f * x[t * S + s];
      y[t * S + s] = state[0];
    }

//// wrong 4
// says: 'ema/mine'
  for (int64_t s = 0; s < S; ++s) {
    float state = 0;
    for (int64_t t = 0; t < T; ++t) {
      state = 0.9f * state + 0.1f * x[t * S + s];
      y[t * S + s] = state;
    }
  }
// becomes

  std::vector<float> state(T, 0.0f);
  for (int64_t t = 0; t < T; ++t)
    for (int64_t s = 0; s < S; ++s) {
      state[s] = 0.9f * state[s] + 0.1f * x[t * S + s];
      y[t * S + s] = state[s];
    }

//// wrong 5
// says: 'ema/mine' crashed in forward:
  for (int64_t s = 0; s < S; ++s) {
    float state = 0;
    for (int64_t t = 0; t < T; ++t) {
      state = 0.9f * state + 0.1f * x[t * S + s];
      y[t * S + s] = state;
    }
  }
// becomes

  float state[4096] = {};
  for (int64_t t = 0; t < T; ++t)
    for (int64_t s = 0; s < S; ++s) {
      state[s] = 0.9f * state[s] + 0.1f * x[t * S + s];
      y[t * S + s] = state[s];
    }

//// wrong 6
// says: 'ema/mine' y
  for (int64_t s = 0; s < S; ++s) {
    float state = 0;
    for (int64_t t = 0; t < T; ++t) {
      state = 0.9f * state + 0.1f * x[t * S + s];
      y[t * S + s] = state;
    }
  }
// becomes

  std::vector<float> state(S, 0.0f);
  for (int64_t t = 0; t < T; ++t)
    for (int64_t s = 0; s < S; ++s) {
      state[s] = 0.9f * state[s] + 0.1f * x[s * T + t];
      y[s * T + t] = state[s];
    }

//// wrong 7
// says: 'ema/mine' y
  for (int64_t s = 0; s < S; ++s) {
    float state = 0;
    for (int64_t t = 0; t < T; ++t) {
      state = 0.9f * state + 0.1f * x[t * S + s];
      y[t * S + s] = state;
    }
  }
// becomes

  std::vector<float> state(S, 0.0f);
  for (int64_t t = T; t-- > 0;)
    for (int64_t s = 0; s < S; ++s) {
      state[s] = 0.9f * state[s] + 0.1f * x[t * S + s];
      y[t * S + s] = state[s];
    }

//// wrong 8
// says: 'ema/mine' y
  for (int64_t s = 0; s < S; ++s) {
    float state = 0;
    for (int64_t t = 0; t < T; ++t) {
      state = 0.9f * state + 0.1f * x[t * S + s];
      y[t * S + s] = state;
    }
  }
// becomes

  std::vector<float> state(S, 0.0f);
  for (int64_t t = 0; t < T; ++t)
    for (int64_t s = 0; s < S; ++s) {
      state[s] = 0.8f * state[s] + 0.2f * x[t * S + s];
      y[t * S + s] = state[s];
    }

//// wrong 9
// says: 'ema/mine' does not compile:
  for (int64_t s = 0; s < S; ++s) {
    float state = 0;
    for (int64_t t = 0; t < T; ++t) {
// becomes

  std::vector<float> state(S, 0.0f);
  for (int64_t t = 0; t < T; ++t)
    for (int64_t s = 0; s < S; ++s) {
// and
    }
  }
// becomes
    }

//// wrong 10
// says: 'ema/mine' y
  for (int64_t s = 0; s < S; ++s) {
    float state = 0;
    for (int64_t t = 0; t < T; ++t) {
// becomes

  float state = 0;
  for (int64_t t = 0; t < T; ++t)
    for (int64_t s = 0; s < S; ++s) {
// and
    }
  }
// becomes
    }

//// wrong 11
// says: It is right, but one of its loops still moves on by a whole row in each iteration: is s the inner loop there, too?
  for (int64_t s = 0; s < S; ++s) {
    float state = 0;
    for (int64_t t = 0; t < T; ++t) {
      state = 0.9f * state + 0.1f * x[t * S + s];
      y[t * S + s] = state;
    }
  }
// becomes

  for (int64_t n = 0; n < T * S; ++n) y[n] = 0.1f * x[n];
  for (int64_t s = 0; s < S; ++s)
    for (int64_t t = 1; t < T; ++t) y[t * S + s] += 0.9f * y[(t - 1) * S + s];

//// wrong 12
// says: It is right, but takes one float at a time: is s the inner loop?
  for (int64_t s = 0; s < S; ++s) {
    float state = 0;
    for (int64_t t = 0; t < T; ++t) {
      state = 0.9f * state + 0.1f * x[t * S + s];
      y[t * S + s] = state;
    }
  }
// becomes

  std::vector<float> turned(T * S), state(S, 0.0f);
  for (int64_t t = 0; t < T; ++t)
    for (int64_t s = 0; s < S; ++s) turned[s * T + t] = x[t * S + s];
  for (int64_t s = 0; s < S; ++s)
    for (int64_t t = 0; t < T; ++t) y[t * S + s] = state[s] = 0.9f * state[s] + 0.1f * turned[s * T + t];

//// wrong 13
// says: It is right, but takes one float at a time: is s the inner loop?
  for (int64_t s = 0; s < S; ++s) {
    float state = 0;
    for (int64_t t = 0; t < T; ++t) {
      state = 0.9f * state + 0.1f * x[t * S + s];
      y[t * S + s] = state;
    }
// becomes

  std::vector<float> state(S, 0.0f);
  for (int64_t n = 0; n < T * S; ++n) {
    const int64_t s = n % S;
    state[s] = 0.9f * state[s] + 0.1f * x[n];
    y[n] = state[s];

//// wrong 14
// says: It is right, but takes one float at a time: is s the inner loop?
  for (int64_t s = 0; s < S; ++s) {
    float state = 0;
    for (int64_t t = 0; t < T; ++t) {
      state = 0.9f * state + 0.1f * x[t * S + s];
      y[t * S + s] = state;
    }
  }
// becomes

  std::vector<float> state(S, 0.0f);
  for (int64_t first = 0; first < S; first += 64)
    for (int64_t s = first; s < std::min(S, first + 64); ++s)
      for (int64_t t = 0; t < T; ++t) {
        state[s] = 0.9f * state[s] + 0.1f * x[t * S + s];
        y[t * S + s] = state[s];
      }
