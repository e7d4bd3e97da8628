// What a browser's test asks of the page; each function gives what is wrong, an empty list where nothing is.
globalThis.look = {
  // Parts of the page that reach beyond the window's right edge; tables scroll within their own frame.
  overTheEdge() {
    const parts = [...document.querySelectorAll("main *")].filter((n) => !n.closest(".scroll, svg, #episode-list"));
    return parts.filter((n) => n.getBoundingClientRect().right > innerWidth + 1).map((n) => n.className || n.tagName);
  },
  // Words of a figure that its frame cuts off.
  clipped() {
    return [...document.querySelectorAll("figure svg")].flatMap((svg) => {
      const frame = svg.getBoundingClientRect();
      const inside = (b) => b.left >= frame.left - 1 && b.right <= frame.right + 1 && b.top >= frame.top - 1
        && b.bottom <= frame.bottom + 1;
      return [...svg.querySelectorAll("text")].filter((t) => !inside(t.getBoundingClientRect())).map((t) => t.textContent);
    });
  },
  // Texts whose contrast with what is behind them is under 4.5, as WCAG 2 computes it.
  faint() {
    const part = (c) => (c / 255 <= 0.03928 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4);
    const light = (colour) => {
      const [r, g, b] = colour.match(/[\d.]+/g).map(Number);
      return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
    };
    const behind = (node) => {
      const colour = getComputedStyle(node).backgroundColor;
      return /, 0\)|transparent/.test(colour) ? behind(node.parentElement) : colour;
    };
    const contrast = (node) => {
      const [low, high] = [light(getComputedStyle(node).color), light(behind(node))].sort((a, b) => a - b);
      return (high + 0.05) / (low + 0.05);
    };
    const words = "h1, h2, h3, th, td, p, dt, dd, a, button:not(:disabled), summary, .tag, .who, .said";
    const seen = [...document.querySelectorAll(words)].filter((n) => n.innerText && n.offsetWidth);
    return seen.filter((n) => contrast(n) < 4.5).map((n) => [n.className || n.tagName, n.innerText, contrast(n)]);
  },
  set(selector, value, event) {
    const field = document.querySelector(selector);
    field.value = value;
    field.dispatchEvent(new Event(event));
  },
};
