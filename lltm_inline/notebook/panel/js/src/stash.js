// Text typed while no kernel listens, kept by the browser until a panel of the same kernel asks for it.

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

export function keep(name, texts) {
  try {
    storage()?.setItem(PREFIX + name, JSON.stringify({ texts, at: Date.now() }));
  } catch (error) {
    console.warn("lltm_inline: the browser could not keep the text", error);
  }
}

export function drop(name) {
  storage()?.removeItem(PREFIX + name);
}

function parsed(entry) {
  try {
    return { texts: {}, at: 0, ...JSON.parse(entry) };
  } catch {
    return { texts: {}, at: 0 };
  }
}

/** Return the texts kept for a kernel, or null: none, as in `texts`, or older than a week. */
export function kept(name, texts, now = Date.now()) {
  const entry = storage()?.getItem(PREFIX + name);
  if (!entry) return null;
  const found = parsed(entry);
  const news = Object.entries(found.texts).some(([kind, text]) => kind in texts && texts[kind] !== text);
  if (news && now - found.at < WEEK) return found.texts;
  drop(name);
  return null;
}
