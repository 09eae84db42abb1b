/* The strongest edges with their intervals, one below the other. */

const FOREST_ROWS = 20;
const ROW_HEIGHT = 26;

function forest(place) {
  const declared = [...adjusted.keys()]
    .filter((pair) => adjusted[pair] !== 0)
    .sort((a, b) => Math.abs(adjusted[b]) - Math.abs(adjusted[a]))
    .slice(0, FOREST_ROWS);
  // Where few edges are declared, candidates follow them.
  const candidates = tests.candidates.filter((pair) => adjusted[pair] === 0);
  const strongest = [...declared, ...candidates.slice(0, Math.max(tests.candidates.length - declared.length, 0))];
  const redraw = fitted(place, draw);
  watch(["pair"], redraw);

  /** The strongest edges and, if it is none of them, the chosen pair. */
  function rows() {
    return strongest.includes(state.pair) ? strongest : [...strongest, state.pair];
  }

  function draw(width) {
    const pairs = rows();
    const narrow = width < 520;
    const room = narrow ? 0 : Math.min(300, width * 0.36);
    const tall = narrow ? 1.7 * ROW_HEIGHT : ROW_HEIGHT;
    const height = pairs.length * tall + 44;
    const ends = pairs.flatMap((pair) => [tests.low[pair], tests.high[pair], ...(pooled ? [pooled.estimate[pair]] : [])]);
    const { low, high } = limits(ends, { zero: true });
    const box = { left: room + 10, right: width - 14, bottom: height - 40 };
    const atX = linear(low, high, box.left, box.right);
    const focused = document.activeElement === place.firstChild;
    const drawing = svg(null, "svg", {
      viewBox: `0 0 ${width} ${height}`,
      tabindex: 0,
      role: "group",
      "aria-roledescription": "forest plot",
      "aria-label": `Estimates and 95% intervals of ${counted(pairs.length, "edge")}. Arrow keys move from edge to edge.`,
    });
    const axis = svg(drawing, "g", { class: "axis", "font-size": 12 });
    for (const tick of ticks(low, high, width / 110)) {
      svg(axis, "line", { x1: atX(tick), x2: atX(tick), y1: 0, y2: box.bottom, class: "gridline" });
      svg(axis, "text", { x: atX(tick), y: box.bottom + 16, "text-anchor": "middle" }, written(tick));
    }
    svg(axis, "text", { x: (box.left + box.right) / 2, y: height - 4, "text-anchor": "middle" }, "partial correlation");
    svg(drawing, "line", { x1: atX(0), x2: atX(0), y1: 0, y2: box.bottom, class: "zero" });
    pairs.forEach((pair, at) => row(drawing, pair, { at, tall, narrow, room, width, atX }));
    drawing.addEventListener("keydown", step);
    place.replaceChildren(drawing);
    if (focused) drawing.focus();
  }

  function row(drawing, pair, { at, tall, narrow, room, width, atX }) {
    const middle = (at + (narrow ? 0.7 : 0.5)) * tall;
    const kind = tests.estimate[pair] > 0 ? "pos" : "neg";
    const line = svg(drawing, "g", { class: `row ${kind}${adjusted[pair] === 0 ? " hollow" : ""}`, "data-pair": pair });
    svg(line, "rect", { x: 0, width, y: at * tall, height: tall, class: pair === state.pair ? "back chosen" : "back" });
    const name = `${names[sources[pair]]} – ${names[targets[pair]]}`;
    const letters = Math.floor((narrow ? width : room) / 7.2);
    svg(line, "text", narrow ? { x: 4, y: at * tall + 13, "font-size": 12 } : { x: room, y: middle + 4, "font-size": 13, "text-anchor": "end" }, shortened(name, letters));
    svg(line, "line", { x1: atX(tests.low[pair]), x2: atX(tests.high[pair]), y1: middle, y2: middle, class: "whisker" });
    if (pooled) svg(line, "circle", { cx: atX(pooled.estimate[pair]), cy: middle, r: 4, class: "before" });
    svg(line, "circle", { cx: atX(tests.estimate[pair]), cy: middle, r: 5, class: "estimate" });
    line.addEventListener("click", () => change({ pair }));
    line.addEventListener("pointermove", (event) => showTip(event.clientX, event.clientY, lines(pair)));
    line.addEventListener("pointerleave", hideTip);
  }

  function lines(pair) {
    const before = pooled ? [`without adjustment ${signed(pooled.estimate[pair])}`] : [];
    return [...pairLines(pair, tests.estimate), ...before];
  }

  /** Arrow keys choose the edge above or below. */
  function step(event) {
    const move = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!move) return;
    const pairs = rows();
    const pair = pairs[clamp(pairs.indexOf(state.pair) + move, 0, pairs.length - 1)];
    change({ pair });
    announce(lines(pair));
    event.preventDefault();
  }

  legend("forest", [
    ["dot pos", "positive"],
    ["dot neg", "negative"],
    ["dot hollow", `not declared at q ≤ ${written(tests.fdr)}`],
    ...(pooled ? [["dot before", "not adjusted"]] : []),
  ]);
  redraw();
}
