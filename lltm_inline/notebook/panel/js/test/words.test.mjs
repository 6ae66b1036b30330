import assert from "node:assert/strict";
import { test } from "node:test";

import { STATES, ago, elapsed, optionText } from "../src/words.js";

test("elapsed time is short and never negative", () => {
  const want = [[-1, "0.0 s"], [0.42, "0.4 s"], [9.96, "9.9 s"], [10, "10 s"], [99.9, "99 s"], [185, "3 min 05 s"]];
  for (const [seconds, text] of want) assert.equal(elapsed(seconds), text);
});

test("what is past is told in the largest unit that fits", () => {
  const want = [[0, "just now"], [12.9, "12 s ago"], [200, "3 min ago"], [7300, "2 h ago"]];
  for (const [seconds, text] of want) assert.equal(ago(seconds), text);
});

test("no state of a revision is told by colour alone", () => {
  for (const state of ["right", "wrong", "failed", "crashed"]) assert.ok(STATES[state].sign && STATES[state].says);
});

test("an option without a sentence of its own shows its name", () => {
  assert.equal(optionText("check_first"), "check after each build");
  assert.equal(optionText("dry_run"), "dry run");
});
