/* The strongest edges with their intervals, one below the other. */

const FOREST_ROWS = 20;
const ROW_HEIGHT = 26;

function forest(place) {
  const strongest = Object.fromEntries(Object.entries(networks).map(([key, network]) => [key, first(network)]));
  const redraw = fitted(place, draw);
  watch(["pair"], redraw);
  watch(["network"], () => {
    redraw();
    explain();
  });

  /** The strongest edges of a network; where few are declared, candidates follow them. */
  function first({ weights, tests: tested }) {
    if (!tested) return [];
    const declared = [...weights.keys()]
      .filter((pair) => weights[pair] !== 0)
      .sort((a, b) => Math.abs(weights[b]) - Math.abs(weights[a]))
      .slice(0, FOREST_ROWS);
    const candidates = tested.candidates.filter((pair) => weights[pair] === 0);
    return [...declared, ...candidates.slice(0, Math.max(tested.candidates.length - declared.length, 0))];
  }

  /** The other network's tests, and its words. */
  function beside() {
    return state.network === "adjusted" ? [pooled, "not adjusted"] : [tests, "adjusted"];
  }

  /** The strongest edges and, if it is none of them, the chosen pair. */
  function rows() {
    const shown = strongest[state.network];
    return shown.includes(state.pair) ? shown : [...shown, state.pair];
  }

  function draw(width) {
    const pairs = rows();
    const narrow = width < 520;
    const room = narrow ? 0 : Math.min(300, width * 0.36);
    const tall = narrow ? 1.7 * ROW_HEIGHT : ROW_HEIGHT;
    const height = pairs.length * tall + 44;
    const [tested, [other]] = [current().tests, beside()];
    const ends = pairs.flatMap((pair) => [tested.low[pair], tested.high[pair], ...(other ? [other.estimate[pair]] : [])]);
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
      svg(axis, "text", { x: atX(tick), y: box.bottom + 16, "text-anchor": "middle" }, atAxis(tick));
    }
    svg(axis, "text", { x: (box.left + box.right) / 2, y: height - 4, "text-anchor": "middle" }, payload.strength);
    svg(drawing, "line", { x1: atX(0), x2: atX(0), y1: 0, y2: box.bottom, class: "zero" });
    pairs.forEach((pair, at) => row(drawing, pair, { at, tall, narrow, room, width, atX }));
    drawing.addEventListener("keydown", step);
    place.replaceChildren(drawing);
    if (focused) drawing.focus();
  }

  function row(drawing, pair, { at, tall, narrow, room, width, atX }) {
    const middle = (at + (narrow ? 0.7 : 0.5)) * tall;
    const [{ weights, tests: tested }, [other]] = [current(), beside()];
    const kind = tested.estimate[pair] > 0 ? "pos" : "neg";
    const line = svg(drawing, "g", { class: `row ${kind}${weights[pair] === 0 ? " hollow" : ""}`, "data-pair": pair });
    svg(line, "rect", { x: 0, width, y: at * tall, height: tall, class: pair === state.pair ? "back chosen" : "back" });
    const name = `${names[sources[pair]]} – ${names[targets[pair]]}`;
    const letters = Math.floor((narrow ? width : room) / 7.8);
    svg(line, "text", narrow ? { x: 4, y: at * tall + 13, "font-size": 12 } : { x: room, y: middle + 4, "font-size": 13, "text-anchor": "end" }, shortened(name, letters));
    svg(line, "line", { x1: atX(tested.low[pair]), x2: atX(tested.high[pair]), y1: middle, y2: middle, class: "whisker" });
    if (other) svg(line, "circle", { cx: atX(other.estimate[pair]), cy: middle, r: 4, class: "before" });
    svg(line, "circle", { cx: atX(tested.estimate[pair]), cy: middle, r: 5, class: "estimate" });
    line.addEventListener("click", () => change({ pair }));
    line.addEventListener("pointermove", (event) => showTip(event.clientX, event.clientY, lines(pair)));
    line.addEventListener("pointerleave", hideTip);
  }

  function lines(pair) {
    const [other, words] = beside();
    return [...pairLines(pair, current().tests.estimate), ...(other ? [`${words} ${signed(other.estimate[pair])}`] : [])];
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

  function explain() {
    const [other, words] = beside();
    legend("forest", [
      ["dot pos", "positive"],
      ["dot neg", "negative"],
      ["dot hollow", `not declared at q ≤ ${written(tests.fdr)}`],
      ...(other ? [["dot before", words]] : []),
    ]);
  }

  explain();
  redraw();
}
