// Lab takes a cell's outputs away when the cell runs again, and brings the new ones a moment later: the page would jump meanwhile.
const NAME = "lltm-hold";
const PLACE = ".jp-Cell-outputWrapper";
const PATIENCE = 5000; // ms that a panel may take to come back

/** Remembers how high the place of a panel is, and keeps it so when the panel is taken away: the browser tells an element of its own at once. */
class Hold extends HTMLElement {
  connectedCallback() {
    this.place = this.closest(PLACE);
    if (!this.place) return;
    this.observer = new ResizeObserver(() => {
      if (!this.isConnected) return;
      this.place.style.minHeight = "";
      this.high = this.place.offsetHeight;
    });
    this.observer.observe(this.parentElement);
  }

  disconnectedCallback() {
    this.observer?.disconnect();
    const { place, high } = this;
    if (!place?.isConnected || !high) return; // the whole cell went
    place.style.minHeight = `${high}px`;
    setTimeout(() => (place.style.minHeight = ""), PATIENCE);
  }
}

/** Make the element; it belongs into what is to be measured. */
export function hold() {
  if (!customElements.get(NAME)) customElements.define(NAME, Hold);
  return document.createElement(NAME);
}
