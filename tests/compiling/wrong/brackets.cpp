//// comment that another one closes
// help: `*/`
/* the gate  // <-
float gate(float x) { return x; }

/* the cell */
float forward(float x) { return gate(x); }

//// semicolon behind a function's head
// help: `';'`
float forward(float x); {  // <-
  return x;
}

//// commas in a for
// help: `three parts`
void forward(float* x, int n) {
  for (int i = 0, i < n, ++i) x[i] = 0;  // <-
}

//// comma between arguments forgotten
// help: `','`
float gate(float a, float b) { return a * b; }
float forward(float x, float y) {
  return gate(x y);  // <-
}

//// decimal comma
// help: `0.5`
float forward(float x) {
  float rate = 0,5;  // <-
  return rate * x;
}

//// number written onto a name
// help: `2 * x`
float forward(float x) {
  return 2x + 1;  // <-
}

//// semicolon in a define
// help: `';'` `'SIZE'`
#define SIZE 16;  // <-
float forward(float x) {
  float row[SIZE];
  row[0] = x;
  return row[0];
}

//// function inside a function
// help: `auto gate = [`
float forward(float x) {
  float gate(float z) {  // <-
    return z / 2;
  }
  return gate(x);
}

//// function without its type
// help: `type`
forward(float x) {  // <-
  return;
}

//// auto without a value
// help: `give 'y' one`
float forward(float x) {
  auto y;  // <-
  y = x;
  return y;
}

//// memory without its type
// help: `static_cast<float*>`
#include <cstdlib>
float forward(int n) {
  float* p = malloc(n * sizeof(float));  // <-
  return p[0];
}

//// reference to a value
// help: `const`
void gate(float& x) { x = 2 * x; }
void forward(float x) {
  gate(x + 1);  // <-
}

//// two strings added
// help: `std::string`
#include <string>
std::string forward() {
  return "a" + "b";  // <-
}

//// break outside a loop
// help: `loop`
float forward(float x) {
  if (x > 0) break;  // <-
  return x;
}

//// template that cannot be deduced
// help: `half<`
template <typename T> T half(int n) { return n / T(2); }
float forward(int n) {
  return half(n);  // <-
}

//// lambda with two types of result
// help: `-> float`
float forward(float x) {
  auto gate = [](float z) {
    if (z < 0) return 0;
    return z;  // <-
  };
  return gate(x);
}

//// bracket of an index for that of a block
// help: `Take away this `
float forward(const float* x, int n) {
  float sum = 0;
  for (int i = 0; i < n; ++i) {
    sum += x[i];
  ]  // <-
  return sum;
}

//// parenthesis in front of the brace that closes a lambda
// help: `this ')'`
float forward(float x) {
  auto twice = [&] {
    return 2 * x;
  )};  // <-
  return twice();
}

//// lambda without its brace, in a call
// help: `missing '{'`
#include <algorithm>
void forward(float* x, int n) {
  std::for_each(x, x + n, [&](float& one)  // <-
    one = 2 * one;
  });
}
