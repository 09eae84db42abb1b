/* How central the variables are, one below the other, with their intervals. */

const CENTRAL_ROWS = 25;

function centralities(place) {
  const choice = byId("centrality-choice");
  const more = byId("centrality-more");
  payload.centrality.forEach(({ title }, at) => html(choice, "option", { value: at, textContent: title }));
  let kind = payload.centrality[0];
  let every = p <= CENTRAL_ROWS;
  more.hidden = every;
  const bounds = (node) => (kind.low ? [kind.low[node], kind.high[node]] : [kind.value[node], kind.value[node]]);
  const redraw = fitted(place, draw);
  watch(["node", "colour"], redraw);
  choice.addEventListener("change", () => {
    kind = payload.centrality[Number(choice.value)];
    redraw();
  });
  more.addEventListener("click", () => {
    every = true;
    more.hidden = true;
    redraw();
  });

  /** The variables, the most central first. */
  function rows() {
    const order = [...names.keys()].sort((a, b) => kind.value[b] - kind.value[a]);
    return every ? order : order.slice(0, CENTRAL_ROWS);
  }

  function draw(width) {
    const nodes = rows();
    const room = clamp(Math.max(...nodes.map((node) => [...labels[node]].length)) * 7.8, 40, width * 0.38);
    const tall = 22;
    const height = nodes.length * tall + 44;
    const { low, high } = limits(nodes.flatMap(bounds), { zero: true });
    const box = { left: room + 12, right: width - 14, bottom: height - 40 };
    const atX = linear(low, high, box.left, box.right);
    const focused = document.activeElement === place.firstChild;
    const drawing = svg(null, "svg", {
      viewBox: `0 0 ${width} ${height}`,
      tabindex: 0,
      role: "group",
      "aria-roledescription": "interval plot",
      "aria-label": `${kind.title} of ${counted(nodes.length, "variable")}. Arrow keys move from variable to variable.`,
    });
    const axis = svg(drawing, "g", { class: "axis", "font-size": 12 });
    for (const tick of ticks(low, high, width / 110)) {
      svg(axis, "line", { x1: atX(tick), x2: atX(tick), y1: 0, y2: box.bottom, class: "gridline" });
      svg(axis, "text", { x: atX(tick), y: box.bottom + 16, "text-anchor": "middle" }, atAxis(tick));
    }
    svg(axis, "text", { x: (box.left + box.right) / 2, y: height - 4, "text-anchor": "middle" }, kind.title.toLowerCase());
    svg(drawing, "line", { x1: atX(0), x2: atX(0), y1: 0, y2: box.bottom, class: "zero" });
    nodes.forEach((node, at) => {
      const middle = (at + 0.5) * tall;
      const line = svg(drawing, "g", { class: "row", "data-node": node });
      svg(line, "rect", { x: 0, width, y: at * tall, height: tall, class: node === state.node ? "back chosen" : "back" });
      svg(line, "text", { x: room, y: middle + 4, "font-size": 13, "text-anchor": "end" }, shortened(labels[node], Math.floor(room / 7.8)));
      const [from, to] = bounds(node).map(atX);
      svg(line, "line", { x1: from, x2: to, y1: middle, y2: middle, class: "whisker" });
      const found = grouping();
      svg(line, "circle", { cx: atX(kind.value[node]), cy: middle, r: 5, class: found ? `node ${groupClass(found.labels[node])}` : "estimate" });
      line.addEventListener("click", () => change({ node: node === state.node ? null : node }));
      line.addEventListener("pointermove", (event) => showTip(event.clientX, event.clientY, lines(node)));
      line.addEventListener("pointerleave", hideTip);
    });
    drawing.addEventListener("keydown", step);
    place.replaceChildren(drawing);
    if (focused) drawing.focus();
  }

  function lines(node) {
    const range = kind.low ? [`95% interval ${written(kind.low[node], 2)} to ${written(kind.high[node], 2)}`] : [];
    const found = grouping();
    const group = found && found.labels[node] >= 0 ? [found.titles[found.labels[node]]] : [];
    return [names[node], `${kind.title.toLowerCase()} ${written(kind.value[node], 2)}`, ...range, ...group];
  }

  /** Arrow keys choose the variable above or below. */
  function step(event) {
    const move = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!move) return;
    const nodes = rows();
    const node = nodes[clamp(nodes.indexOf(state.node) + move, 0, nodes.length - 1)];
    change({ node });
    announce(lines(node));
    event.preventDefault();
  }
  redraw();
}
