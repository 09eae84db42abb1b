/* Which edges change with which confounder: the strongest as small curves, all of them in a table. */

const PANELS = 6;
const FIRST_CHANGES = 10;

/** Every pair and confounder that was tested, smallest p-value first. */
function testedChanges() {
  const all = moderation.along.flatMap((part, confounder) => Array.from(part.p, (p, pair) => ({ pair, confounder, p, q: part.q[pair], change: part.change[pair], at: part.at[pair] })));
  return all.sort((a, b) => a.p - b.p || Math.abs(b.change) - Math.abs(a.change));
}

const passes = ({ q }) => moderation.shown && q <= moderation.fdr;
const choosePair = ({ pair, confounder }) => change({ pair, confounder, point: along.length ? along[confounder].home : null });

/** Curves of the strongest changes, with bands; where none passes, of the pairs that come closest. */
function changingEdges(place) {
  const tested = testedChanges();
  const found = tested.filter(passes);
  const chosen = (found.length ? found : tested).slice(0, PANELS);
  const value = ({ pair }, array, point) => array[point * pairCount + pair];
  const baseline = ({ pair }) => (tests ? tests.estimate[pair] : adjusted[pair]);
  for (const one of chosen) {
    const part = along[one.confounder];
    const { name, threshold, origin, levels } = payload.confounders[one.confounder];
    const title = `${names[sources[one.pair]]} – ${names[targets[one.pair]]}`;
    const figure = html(place, "figure");
    const button = html(html(figure, "figcaption"), "button", { type: "button", className: "plainbutton" });
    html(button, "bdi", { className: "name", textContent: title });
    html(button, "span", { textContent: ` ${chanceOf("q", one.q)}` });
    button.addEventListener("click", () => choosePair(one));
    const slot = html(figure, "div");
    slot.addEventListener("click", () => choosePair(one));
    fitted(slot, (width) => {
      const level = baseline(one);
      const values = part.grid.map((_, point) => level + value(one, part.nuisance, point));
      const errors = part.error && part.grid.map((_, point) => NORMAL * value(one, part.error, point));
      const lows = errors && values.map((at, point) => at - errors[point]);
      const highs = errors && values.map((at, point) => at + errors[point]);
      const real = part.truth && truth && part.truth.grid.map((_, point) => truth[one.pair] + value(one, part.truth.nuisance, point));
      const x = { ...(levels ? { low: -0.5, high: levels.length - 0.5 } : limits(part.grid, { room: 0 })), label: shortened(name, 30), levels };
      const y = { ...limits([...values, ...(lows ?? []), ...(highs ?? []), ...(real ?? [])], { zero: true }), label: "" };
      const { drawing, back, atX, atY, box } = chart(slot, width, 200, x, y, `${title} along ${name}`);
      if (threshold !== null) {
        const [from, to] = [origin - threshold, origin + threshold].map((limit) => atX(clamp(limit, x.low, x.high)));
        svg(back, "rect", { x: from, width: Math.max(to - from, 0), y: box.top, height: box.bottom - box.top, class: "zone" });
      }
      const places = part.grid.map(atX);
      svg(drawing, "line", { x1: box.left, x2: box.right, y1: atY(0), y2: atY(0), class: "zero" });
      // Levels have no order: each stands on its own.
      if (errors && levels) places.forEach((place, point) => svg(drawing, "line", { x1: place, x2: place, y1: atY(lows[point]), y2: atY(highs[point]), class: "curve" }));
      else if (errors) svg(drawing, "path", { d: between(places, lows.map(atY), highs.map(atY)), class: "bandarea" });
      svg(drawing, "line", { x1: box.left, x2: box.right, y1: atY(level), y2: atY(level), class: "curve target" });
      if (real) svg(drawing, "path", { d: through(part.truth.grid.map((g, point) => [atX(g), atY(real[point])])), class: "curve true" });
      if (levels) values.forEach((at, point) => svg(drawing, "circle", { cx: places[point], cy: atY(at), r: 4, class: "dot here" }));
      else svg(drawing, "path", { d: through(values.map((at, point) => [places[point], atY(at)])), class: "curve" });
      hovered(drawing, places, (point) => [
        `${shortened(name, 30)} = ${valueInWords(one.confounder, point)}`,
        `${payload.strength} ${signed(values[point])}`,
        ...(errors ? [`95% band ${signed(lows[point])} to ${signed(highs[point])}`] : []),
      ]);
    });
  }
  legend("moderation", [
    ["curve", "Ω̂(g), with the confounder at g"],
    ...(along.some((part) => part.error) ? [["area bandarea", "95% pointwise band of the confounder's part"]] : []),
    ["curve target", "baseline Ω̂₀"],
    ...(along.some((part) => part.truth) ? [["curve true", "truth"]] : []),
    ...(payload.confounders.some(({ threshold }) => threshold !== null) ? [["area zone", "taken as unconfounded"]] : []),
  ]);
}

function moderationTable() {
  const several = moderation.along.length > 1;
  const tested = testedChanges();
  const found = tested.filter(passes);
  const rate = `q ≤ ${written(moderation.fdr)}`;
  byId("moderation-found").textContent = found.length
    ? `${counted(found.length, several ? "change" : "pair")} of ${(payload.total * payload.confounders.length).toLocaleString("en")} tested ${found.length === 1 ? "passes" : "pass"} at ${rate}.`
    : moderation.shown || !tested.some(({ q }) => q <= moderation.fdr)
      ? `None of ${(payload.total * payload.confounders.length).toLocaleString("en")} passes at ${rate}; these come closest.`
      : "All tests of the page together are within chance; these come closest.";
  const columns = [
    { title: "Variable", of: ({ pair }) => names[sources[pair]], name: true },
    { title: "Variable", of: ({ pair }) => names[targets[pair]], name: true },
    several && { title: "Changes with", of: ({ confounder }) => payload.confounders[confounder].name, name: true },
    { title: "Largest change", of: ({ change: size }) => size, text: ({ change: size }) => signed(size), size: true },
    { title: "at", of: ({ at }) => at, text: ({ at, confounder }) => payload.confounders[confounder].levels?.[at] ?? (along.length ? writtenAmong(at, along[confounder].grid) : written(at)) },
    { title: "p", of: ({ p: value }) => value, text: ({ p: value }) => chance(value), up: true },
    { title: "q", of: ({ q }) => q, text: ({ q }) => chance(q), up: true },
  ].filter(Boolean);
  const table = byId("moderation-table");
  const more = byId("moderation-more");
  const view = { column: columns.find(({ title }) => title === "p"), down: false, whole: false };
  const first = Math.max(FIRST_CHANGES, Math.min(found.length, 50));

  for (const column of columns) {
    column.cell = html(table.tHead.rows[0], "th", { scope: "col", className: column.name ? "" : "num" });
    html(column.cell, "button", { type: "button", textContent: column.title }).addEventListener("click", () => {
      view.down = view.column === column ? !view.down : !column.name && !column.up;
      view.column = column;
      fill();
    });
  }

  function fill() {
    const { of, size, name } = view.column;
    const rank = size ? (one) => Math.abs(of(one)) : of;
    const compare = (a, b) => (name ? a.localeCompare(b, undefined, { numeric: true }) : a - b);
    const rows = [...tested].sort((a, b) => (view.down ? -1 : 1) * compare(rank(a), rank(b)) || a.p - b.p);
    for (const column of columns) {
      if (column === view.column) column.cell.setAttribute("aria-sort", view.down ? "descending" : "ascending");
      else column.cell.removeAttribute("aria-sort");
    }
    table.tBodies[0].replaceChildren(...rows.slice(0, view.whole ? Infinity : first).map(row));
    more.hidden = rows.length <= first;
    more.textContent = view.whole ? `Show the first ${first}` : `Show all ${rows.length.toLocaleString("en")}`;
  }

  function row(one) {
    const line = html(null, "tr", { className: passes(one) ? "" : "faint" });
    for (const column of columns) {
      const cell = html(line, "td", { className: column.name ? "" : "num" });
      if (column.name) breakable(cell, column.of(one));
      else cell.textContent = column.text(one);
    }
    line.addEventListener("click", () => choosePair(one));
    return line;
  }

  more.addEventListener("click", () => {
    view.whole = !view.whole;
    fill();
  });
  fill();
}
