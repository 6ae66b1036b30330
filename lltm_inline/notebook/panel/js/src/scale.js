// From a parameter's value to a slider's position and back. A logarithmic slider has one position for each power of its step.

/** Give a control's slider: its range of positions, and the ways between position and value. */
export function scaleOf({ min, max, step = 1, log = false }) {
  if (!log || !(min > 0)) return { min, max, step, valueAt: Number, positionOf: Number };
  const factor = step > 1 ? step : 2;
  const power = (value) => Math.log2(value / min) / Math.log2(factor);
  return {
    min: 0,
    max: Math.round(power(max)),
    step: 1,
    valueAt: (position) => Math.min(max, min * factor ** Number(position)),
    positionOf: (value) => power(Math.max(min, value)),
  };
}

/** Keep a typed number within its control's limits; what is no number gives the value it replaces. */
export function within({ min, max }, typed, before) {
  const value = typed === "" ? Number.NaN : Number(typed);
  return Number.isFinite(value) ? Math.min(max ?? Infinity, Math.max(min ?? -Infinity, value)) : before;
}
