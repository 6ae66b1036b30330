import assert from "node:assert/strict";
import { test } from "node:test";

import { scaleOf, within } from "../src/scale.js";

test("a linear slider's positions are its values", () => {
  const scale = scaleOf({ min: 1, max: 16, step: 3 });
  assert.deepEqual([scale.min, scale.max, scale.step], [1, 16, 3]);
  assert.equal(scale.valueAt("7"), 7);
  assert.equal(scale.positionOf(7), 7);
});

test("a logarithmic slider has one position for each power, and there and back is the same value", () => {
  const scale = scaleOf({ min: 256, max: 1048576, step: 2, log: true });
  assert.deepEqual([scale.min, scale.max, scale.step], [0, 12, 1]);
  for (const value of [256, 512, 16384, 1048576]) assert.equal(scale.valueAt(scale.positionOf(value)), value);
  assert.equal(scale.valueAt("6"), 16384);
});

test("a value between two powers has a place between their positions", () => {
  const at = scaleOf({ min: 1, max: 64, step: 2, log: true }).positionOf(24);
  assert.ok(at > 4 && at < 5);
});

test("a logarithmic slider from nothing is a linear one", () => {
  assert.equal(scaleOf({ min: 0, max: 64, step: 2, log: true }).max, 64);
});

test("a typed number stays within the limits; what is none leaves the value as it was", () => {
  assert.equal(within({ min: 1, max: 8 }, "12", 4), 8);
  assert.equal(within({ min: 1, max: 8 }, "-3", 4), 1);
  assert.equal(within({ min: null, max: null }, "1e3", 4), 1000);
  for (const typed of ["", "x", "NaN", "Infinity"]) assert.equal(within({ min: 1, max: 8 }, typed, 4), 4);
});
