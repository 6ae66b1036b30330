// Text typed while no kernel listens, kept by the browser until a panel of the same kernel in the same notebook asks for it.

const PREFIX = "lltm-inline:";
const WEEK = 7 * 24 * 3600 * 1000;

// Storage may be forbidden (private windows, VS Code's webviews): the text is then in the editor alone.
function storage() {
  try {
    return globalThis.localStorage ?? null;
  } catch {
    return null;
  }
}

/** @param place names notebook and kernel */
export function keep(place, texts) {
  try {
    storage()?.setItem(PREFIX + place, JSON.stringify({ texts, at: Date.now() }));
  } catch (error) {
    console.warn("lltm_inline: the browser could not keep the text", error);
  }
}

export function drop(place) {
  storage()?.removeItem(PREFIX + place);
}

function parsed(entry) {
  try {
    return { texts: {}, at: 0, ...JSON.parse(entry) };
  } catch {
    return { texts: {}, at: 0 };
  }
}

/** Return `{ texts, at }` as kept for a place, or null: none, as in `texts`, or older than a week. */
export function kept(place, texts, now = Date.now()) {
  const entry = storage()?.getItem(PREFIX + place);
  if (!entry) return null;
  const found = parsed(entry);
  const news = Object.entries(found.texts).some(([kind, text]) => kind in texts && texts[kind] !== text);
  if (news && now - found.at < WEEK) return found;
  drop(place);
  return null;
}
