/* Matrices of partial correlations as coloured cells, all with one scale. */

/** Red, green and blue of a custom property of the page. */
function colour(property) {
  const text = getComputedStyle(document.documentElement).getPropertyValue(property).trim();
  const number = parseInt(text.slice(1), 16);
  return text.length === 4
    ? [...text.slice(1)].map((digit) => parseInt(digit + digit, 16))
    : [number >> 16, (number >> 8) & 255, number & 255];
}

class MatrixPicture {
  constructor(place, title, network, words) {
    this.network = network;
    const figure = html(place, "figure");
    const caption = html(figure, "figcaption", { textContent: title });
    html(caption, "span", { textContent: words });
    this.drawing = svg(figure, "svg", { tabindex: 0, role: "group", "aria-roledescription": "matrix", "aria-label": `${title}: matrix of ${payload.strength}s. Arrow keys move over the cells.` });
    this.cursor = [0, Math.min(1, p - 1)];
    this.drawing.addEventListener("pointermove", (event) => this.point(event));
    this.drawing.addEventListener("pointerleave", () => this.leave());
    this.drawing.addEventListener("blur", () => this.leave());
    this.drawing.addEventListener("click", () => this.pick());
    this.drawing.addEventListener("keydown", (event) => this.step(event));
  }

  draw(limit) {
    const size = clamp(400 / p, 6, 12);
    const every = Math.ceil(p / 40);
    const letters = Math.max(...labels.map((name) => Math.min([...name].length, 12)));
    this.room = 6 + letters * size * 0.62;
    this.side = 400;
    const whole = this.side + this.room + 2;
    this.drawing.setAttribute("viewBox", `0 0 ${whole} ${whole}`);
    this.drawing.replaceChildren();
    svg(this.drawing, "image", { x: this.room, y: this.room, width: this.side, height: this.side, href: this.cells(limit), preserveAspectRatio: "none" });
    svg(this.drawing, "rect", { x: this.room, y: this.room, width: this.side, height: this.side, class: "frame" });
    const cell = this.side / p;
    state.order.forEach((node, at) => {
      if (at % every) return;
      const middle = this.room + (at + 0.5) * cell;
      const text = shortened(labels[node], 12);
      svg(this.drawing, "text", { x: this.room - 5, y: middle, "font-size": size, "text-anchor": "end", "dominant-baseline": "central" }, text);
      svg(this.drawing, "text", { "font-size": size, "dominant-baseline": "central", transform: `translate(${middle} ${this.room - 5}) rotate(-90)` }, text);
    });
    this.mark = svg(this.drawing, "rect", { width: cell, height: cell, class: "cursor", visibility: "hidden" });
  }

  /** The cells as a picture with one pixel for each. */
  cells(limit) {
    const canvas = html(null, "canvas", { width: p, height: p });
    const context = canvas.getContext("2d");
    const pixels = context.createImageData(p, p);
    const [none, pos, neg, diagonal] = ["--card", "--pos", "--neg", "--grid"].map(colour);
    state.order.forEach((a, row) => {
      state.order.forEach((b, column) => {
        const value = a === b ? 0 : this.network[pairOf(a, b)];
        const part = value === 0 ? 0 : 0.12 + 0.88 * Math.min(Math.abs(value) / limit, 1);
        const full = value > 0 ? pos : neg;
        const at = 4 * (row * p + column);
        for (let channel = 0; channel < 3; channel++) pixels.data[at + channel] = a === b ? diagonal[channel] : none[channel] + part * (full[channel] - none[channel]);
        pixels.data[at + 3] = 255;
      });
    });
    context.putImageData(pixels, 0, 0);
    return canvas.toDataURL();
  }

  show([row, column], x, y) {
    this.cursor = [row, column];
    const cell = this.side / p;
    this.mark.setAttribute("x", this.room + column * cell);
    this.mark.setAttribute("y", this.room + row * cell);
    this.mark.setAttribute("visibility", "visible");
    const [a, b] = [state.order[row], state.order[column]];
    const lines = a === b ? [names[a], "with itself"] : pairLines(pairOf(a, b), this.network);
    showTip(x, y, lines);
    return lines;
  }

  point(event) {
    const [x, y] = pointIn(this.drawing, event);
    const cell = [y, x].map((value) => Math.floor(((value - this.room) / this.side) * p));
    if (cell.some((value) => value < 0 || value >= p)) this.leave();
    else this.show(cell, event.clientX, event.clientY);
  }

  leave() {
    this.mark?.setAttribute("visibility", "hidden");
    hideTip();
  }

  pick() {
    const [a, b] = this.cursor.map((at) => state.order[at]);
    if (a !== b) change({ pair: pairOf(a, b) });
  }

  step(event) {
    const moves = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] };
    if (event.key === "Enter") this.pick();
    else if (event.key in moves) {
      const cell = this.cursor.map((at, side) => clamp(at + moves[event.key][side], 0, p - 1));
      const { left, top, width } = this.drawing.getBoundingClientRect();
      const scale = width / this.drawing.viewBox.baseVal.width;
      const [x, y] = [cell[1], cell[0]].map((at) => (this.room + ((at + 0.5) * this.side) / p) * scale);
      announce(this.show(cell, left + x, top + y));
    } else return;
    event.preventDefault();
  }
}

/** The scale of the cells' colours. */
function colourBar(place, limit) {
  const entry = html(place, "span");
  html(entry, "span", { textContent: `−${written(limit, 2)}` });
  const bar = svg(entry, "svg", { viewBox: "0 0 160 12", width: 160, height: 12, role: "img", "aria-label": "from negative, blue, to positive, orange" });
  const fade = svg(svg(bar, "defs"), "linearGradient", { id: "fade" });
  for (const [offset, kind] of [[0, "neg"], [0.5, "none"], [1, "pos"]]) svg(fade, "stop", { offset, class: `stop-${kind}` });
  svg(bar, "rect", { width: 160, height: 12, rx: 2, fill: "url(#fade)", class: "bar" });
  html(entry, "span", { textContent: `+${written(limit, 2)}` });
}

/** The matrices before and after adjustment. */
function matrices(place) {
  const known = [
    ["Before adjustment", "Unadjusted", unadjusted, shown.unadjusted],
    [unadjusted ? "After adjustment" : `${payload.strength[0].toUpperCase()}${payload.strength.slice(1)}s`, "Adjusted", adjusted, shown.adjusted],
  ].filter(([, , network]) => network);
  const limit = largest(shown.unadjusted, shown.adjusted);
  const pictures = known.map(([title, which, network, drawing]) => {
    const words = network === drawing ? counted(countEdges(network), "edge") : scored(which, network).replace("dotted", "shown");
    return new MatrixPicture(place, title, drawing, words);
  });
  const draw = () => pictures.forEach((picture) => picture.draw(limit));
  draw();
  watch(["order"], draw);
  // The cells are painted, so unlike all else they do not follow the colours of the page by themselves.
  for (const query of ["(prefers-color-scheme: dark)", "print"]) matchMedia(query).addEventListener("change", draw);
  colourBar(document.querySelector('[data-legend="matrix"]'), limit);
}
