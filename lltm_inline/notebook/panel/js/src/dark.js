// Whether the page is dark, told from the colour of its text: it holds in Lab, Notebook, VS Code and a plain page.

function luminance(colour) {
  const [red, green, blue] = (colour.match(/[\d.]+/g) ?? [0, 0, 0]).map(Number);
  const scale = colour.startsWith("color(") ? 1 : 255;
  return (0.2126 * red + 0.7152 * green + 0.0722 * blue) / scale;
}

/** Keep the class `lltm-dark` on an element as the page's theme is; returns what ends it. */
export function followTheme(element) {
  const look = () => element.classList.toggle("lltm-dark", luminance(getComputedStyle(element).color) > 0.5);
  let later;
  const observer = new MutationObserver(() => {
    look();
    clearTimeout(later);
    later = setTimeout(look, 500); // a theme's style sheet arrives after its name
  });
  for (const node of [document.documentElement, document.body]) observer.observe(node, { attributes: true });
  requestAnimationFrame(look);
  return () => {
    observer.disconnect();
    clearTimeout(later);
  };
}
