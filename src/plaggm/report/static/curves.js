/* Curves: an edge along the confounder, the selection of the penalty, the confounder's distribution. */

const NORMAL = 1.96; // of a 95 % band

function edgeAlong(place) {
  const redraw = fitted(place, draw);
  watch(["pair", "confounder", "point"], redraw);

  function draw(width) {
    const part = along[state.confounder];
    const { name, threshold, origin, levels } = payload.confounders[state.confounder];
    const { pair } = state;
    const target = tests ? tests.estimate[pair] : adjusted[pair];
    const before = pooled ? pooled.estimate[pair] : unadjusted && unadjusted[pair];
    const at = (array, point) => array[point * pairCount + pair];
    const values = part.grid.map((_, point) => target + at(part.nuisance, point));
    const errors = part.error && part.grid.map((_, point) => NORMAL * at(part.error, point));
    const lows = errors && values.map((value, point) => value - errors[point]);
    const highs = errors && values.map((value, point) => value + errors[point]);
    const real = part.truth && truth && part.truth.grid.map((_, point) => truth[pair] + at(part.truth.nuisance, point));
    const all = [...values, ...(lows ?? []), ...(highs ?? []), ...(real ?? []), ...(tests ? [tests.low[pair], tests.high[pair]] : []), target, before ?? 0];
    const span = levels ? { low: -0.5, high: levels.length - 0.5 } : limits(part.grid, { room: 0 });
    const x = { ...span, label: shortened(name, 60), levels };
    const y = { ...limits(all, { zero: true }), label: payload.strength };
    const title = `${names[sources[pair]]} – ${names[targets[pair]]} along ${name}`;
    const { drawing, back, atX, atY, box } = chart(place, width, width < 520 ? 280 : 340, x, y, title);
    if (threshold !== null) {
      const [from, to] = [origin - threshold, origin + threshold].map((value) => atX(clamp(value, x.low, x.high)));
      svg(back, "rect", { x: from, width: Math.max(to - from, 0), y: box.top, height: box.bottom - box.top, class: "zone" });
    }
    if (payload.sample) bars(drawing, payload.sample[state.confounder], x, atX, box, 44, levels ? { parts: levels.length } : {});
    svg(drawing, "line", { x1: box.left, x2: box.right, y1: atY(0), y2: atY(0), class: "zero" });
    const places = part.grid.map(atX);
    // Levels have no order, so their bands stand apart.
    if (errors && levels) places.forEach((at, point) => svg(drawing, "line", { x1: at, x2: at, y1: atY(lows[point]), y2: atY(highs[point]), class: "curve" }));
    else if (errors) svg(drawing, "path", { d: between(places, lows.map(atY), highs.map(atY)), class: "bandarea" });
    if (tests) svg(drawing, "rect", { x: box.left, width: Math.max(box.right - box.left, 0), y: atY(tests.high[pair]), height: atY(tests.low[pair]) - atY(tests.high[pair]), class: "intervalarea" });
    svg(drawing, "line", { x1: box.left, x2: box.right, y1: atY(target), y2: atY(target), class: "curve target" });
    if (unadjusted) svg(drawing, "line", { x1: box.left, x2: box.right, y1: atY(before), y2: atY(before), class: "curve plain" });
    if (real) svg(drawing, "path", { d: through(part.truth.grid.map((g, point) => [atX(g), atY(real[point])])), class: "curve true" });
    // Levels have no order: each stands on its own.
    if (levels) values.forEach((value, point) => svg(drawing, "circle", { cx: places[point], cy: atY(value), r: 4, class: "dot here" }));
    else svg(drawing, "path", { d: through(values.map((value, point) => [places[point], atY(value)])), class: "curve" });
    if (state.point >= 0) svg(drawing, "circle", { cx: places[state.point], cy: atY(values[state.point]), r: 5.5, class: "dot" });
    hovered(drawing, places, (point) => [
      `${shortened(name, 30)} = ${valueInWords(state.confounder, point)}`,
      `${payload.strength} ${signed(values[point])}`,
      ...(errors ? [`95% band ${signed(lows[point])} to ${signed(highs[point])}`] : []),
      ...(real && part.truth.grid.length === part.grid.length ? [`truth ${signed(real[point])}`] : []),
    ]);
    byId("along-readout").textContent = edgeInWords(pair, values, target, before, part);
    byId("source-choice").value = sources[pair];
    byId("target-choice").value = targets[pair];
  }

  legend("along", [
    ["curve", "Ω̂(g), with the confounder at g"],
    ...(along.some((part) => part.error) ? [["area bandarea", "95% pointwise band of the confounder's part"]] : []),
    ["curve target", payload.confounders.some(({ average }) => average) ? "baseline Ω̂₀, the average" : "baseline Ω̂₀, without the confounder"],
    ...(tests ? [["area intervalarea", "its 95% interval"]] : []),
    ...(unadjusted ? [["curve plain", "not adjusted"]] : []),
    ...(along.some((part) => part.truth) ? [["curve true", "truth"]] : []),
    ...(payload.confounders.some(({ threshold }) => threshold !== null) ? [["area zone", "taken as unconfounded"]] : []),
    ...(payload.sample ? [["area bars", "where the samples are"]] : []),
  ]);
  const [source, target] = ["source", "target"].map((side) => {
    const picker = byId(`${side}-choice`);
    names.forEach((name, node) => html(picker, "option", { value: node, textContent: name }));
    return picker;
  });
  const choose = (moved, still) => {
    const [a, b] = [Number(moved.value), Number(still.value)];
    // A variable has no edge with itself: the other end makes room.
    const pair = pairOf(a, a === b ? (a + 1) % p : b);
    if (pair !== undefined) change({ pair });
    else byId("along-readout").textContent = `${names[a]} – ${names[b]} is not among the pairs on this page.`;
  };
  source.addEventListener("change", () => choose(source, target));
  target.addEventListener("change", () => choose(target, source));
  redraw();
}

function edgeInWords(pair, values, target, before, part) {
  const shifts = values.map((value) => Math.abs(value - target));
  const most = shifts.indexOf(Math.max(...shifts.filter(Number.isFinite)));
  const mover = along.length > 1 ? payload.confounders[state.confounder].name : "The confounder";
  const kind = adjusted[pair] !== 0 ? "An edge" : tests ? "No declared edge" : "No edge";
  const size = tests || adjusted[pair] !== 0 ? ` of ${signed(target)}${tests ? ` (95% interval ${interval(pair)})` : ""}` : "";
  const words = `${kind}${tests && adjusted[pair] === 0 ? `, with an estimate${size}` : size} once ${along.length > 1 ? "all confounders are" : "the confounder is"} taken out`;
  const plain = before === null ? "" : `, ${before === 0 ? "none" : signed(before)} without adjustment`;
  if (most < 0 || shifts[most] === 0) return `${words}${plain}. ${mover} does not move it.`;
  return `${words}${plain}. ${mover} moves it most at ${valueInWords(state.confounder, most)}, to ${signed(values[most])}.`;
}

/** The distribution of a confounder along the bottom of a chart. */
function bars(drawing, sample, x, atX, box, height, { over = null, around = 0, parts = 48 } = {}) {
  const bins = binned(sample, x.low, x.high, parts);
  const counts = histogram(sample, bins.low, bins.high, bins.parts);
  const most = Math.max(...counts);
  const wide = (bins.high - bins.low) / bins.parts;
  counts.forEach((count, at) => {
    const low = bins.low + at * wide;
    const from = Math.max(atX(low), box.left);
    const to = Math.min(atX(low + wide), box.right);
    const tall = (count / most) * height;
    const beyond = over !== null && Math.abs(low + wide / 2 - around) > over;
    if (count) svg(drawing, "rect", { x: from + 0.5, width: Math.max(to - from - 1, 0.5), y: box.bottom - tall, height: tall, class: beyond ? "bars over" : "bars" });
  });
}

/** A tooltip for the nearest of the places along x. */
function hovered(drawing, places, lines, picked = null) {
  const nearest = (event) => {
    const [x] = pointIn(drawing, event);
    return places.reduce((best, place, at) => (Math.abs(place - x) < Math.abs(places[best] - x) ? at : best), 0);
  };
  drawing.addEventListener("pointermove", (event) => showTip(event.clientX, event.clientY, lines(nearest(event))));
  drawing.addEventListener("pointerleave", hideTip);
  if (picked) drawing.addEventListener("click", (event) => picked(nearest(event)));
}

function selectionCurve(place) {
  const criterion = place.dataset.criterion || "criterion";
  const redraw = fitted(place, draw);
  watch(["step"], redraw);

  function draw(width) {
    const { criterion: values, error, chosen } = path;
    // A penalty of zero has no place on a logarithmic axis; it stands left of all others.
    const least = Math.min(...path.alphas.filter((alpha) => alpha > 0), 1);
    const alphas = path.alphas.map((alpha) => Math.max(alpha, least / 3));
    const lows = error && values.map((value, at) => value - error[at]);
    const highs = error && values.map((value, at) => value + error[at]);
    // Folds may end before the smallest penalties, which then have no value.
    const known = alphas.filter((_, at) => values[at] !== null);
    const x = { low: Math.min(...known, alphas[chosen]), high: Math.max(...known, alphas[chosen]), label: "penalty λ", log: true };
    const y = { ...limits([...values, ...(lows ?? []), ...(highs ?? [])]), label: criterion };
    const { drawing, atX, atY, box } = chart(place, width, width < 520 ? 260 : 300, x, y, `${criterion} along the penalty`);
    const places = alphas.map(atX);
    if (error) svg(drawing, "path", { d: between(places, lows.map(atY), highs.map(atY)), class: "bandarea" });
    svg(drawing, "line", { x1: places[chosen], x2: places[chosen], y1: box.top, y2: box.bottom, class: "rule" });
    svg(drawing, "path", { d: through(values.map((value, at) => [places[at], value === null ? NaN : atY(value)])), class: "curve" });
    if (values[chosen] !== null) svg(drawing, "circle", { cx: places[chosen], cy: atY(values[chosen]), r: 6, class: "dot" });
    const left = places[chosen] > (box.left + box.right) / 2;
    svg(drawing, "text", { x: places[chosen] + (left ? 6 : -6), y: box.top - 8, "font-size": 12, "text-anchor": left ? "end" : "start" }, `chosen: λ = ${written(path.alphas[chosen])}, ${counted(edgesAtStep(chosen), "edge")}`);
    if (state.step !== null && state.step !== chosen && values[state.step] !== null) svg(drawing, "circle", { cx: places[state.step], cy: atY(values[state.step]), r: 5, class: "dot here" });
    hovered(
      drawing,
      places,
      (at) => [`λ = ${written(path.alphas[at])}`, `${criterion} ${written(values[at], 5)}${error ? ` ± ${written(error[at], 2)}` : ""}`, counted(edgesAtStep(at), "edge")],
      (at) => change({ step: at, point: along.length ? along[state.confounder].home : null }),
    );
  }
  legend("selection", [["curve", criterion], ...(path.error ? [["area bandarea", "± one standard error"]] : []), ["rule", "chosen penalty"]]);
}

function confounderHistograms(place) {
  payload.confounders.forEach(({ name, threshold, origin, levels }, at) => {
    const sample = payload.sample[at];
    const figure = html(place, "figure");
    const caption = html(figure, "figcaption", { textContent: `Distribution of ${name}` });
    html(caption, "span", { textContent: threshold === null ? "" : `dashed: the threshold, ${origin !== 0 ? `${written(origin)} ± ` : Math.min(...sample) < 0 ? "±" : ""}${written(threshold)}; faint: taken as unconfounded` });
    const slot = html(figure, "div");
    fitted(slot, (width) => {
      const x = levels ? { low: -0.5, high: levels.length - 0.5, label: shortened(name, 50), levels } : { ...limits(sample, { room: 0 }), label: shortened(name, 50) };
      const parts = levels ? levels.length : Math.round(clamp(width / 10, 20, 60));
      const bins = binned(sample, x.low, x.high, parts);
      const y = { low: 0, high: (100 * Math.max(...histogram(sample, bins.low, bins.high, bins.parts))) / sample.length * 1.05, label: "% of samples" };
      const { drawing, atX, box } = chart(slot, width, 250, x, y, `Distribution of ${name}`);
      bars(drawing, sample, x, atX, box, (box.bottom - box.top) / 1.05, { over: threshold, around: origin, parts });
      if (threshold !== null) {
        for (const limit of [origin - threshold, origin + threshold]) {
          if (limit >= x.low && limit <= x.high) svg(drawing, "line", { x1: atX(limit), x2: atX(limit), y1: box.top, y2: box.bottom, class: "rule" });
        }
      }
    });
  });
}
