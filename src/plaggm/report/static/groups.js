/* Networks of several groups: side by side, where they differ, and a map of them. */

const levels = payload.levels.map((level) => ({ ...level, network: unpack(level.network) }));
const compared = payload.comparison && {
  ...payload.comparison,
  ...Object.fromEntries(["p", "q"].map((key) => [key, unpack(payload.comparison[key])])),
  ...Object.fromEntries(["estimate", "low", "high"].map((key) => [key, payload.comparison[key].map(unpack)])),
};
const differs = (pair) => compared.q[pair] <= compared.fdr;
state.level = 0;

/** Class of a level's marks: its own colour while there are enough. */
const levelClass = (at) => (levels.length <= payload.most ? `g${at}` : "g0");

function sideBySideLevels(place) {
  const many = levels.length > payload.most;
  const limit = largest(...levels.map((level) => level.network), adjusted);
  const pictures = [];

  function panel(title, words, network, options, scale = limit) {
    const figure = html(place, "figure");
    const caption = html(figure, "figcaption", { textContent: title });
    const said = html(caption, "span", { textContent: words });
    const picture = new NetworkPicture(figure, options);
    picture.draw(network, { limit: scale });
    pictures.push(picture);
    return { picture, caption, said };
  }

  const words = ({ edges, samples, candidates }) => `${candidates ? "no edge; dotted: strongest candidates" : counted(edges, "edge")}${samples ? `, ${counted(samples, "sample")}` : ""}`;
  if (many) {
    panel("All together", compared ? `${counted(countEdges(adjusted), "edge")} on the average` : "mean of all", adjusted, {});
    const chosen = panel(levels[0].name, words(levels[0]), levels[0].network, { lone: () => levels[state.level].candidates });
    const choice = byId("level-choice");
    levels.forEach(({ name }, at) => html(choice, "option", { value: at, textContent: name }));
    choice.addEventListener("change", () => change({ level: Number(choice.value) }));
    watch(["level"], () => {
      const level = levels[state.level];
      choice.value = state.level;
      chosen.caption.firstChild.textContent = level.name;
      chosen.said.textContent = words(level);
      chosen.picture.draw(level.network, { limit });
    });
  } else {
    levels.forEach((level) => panel(level.name, words(level), level.network, { lone: () => level.candidates }));
  }
  if (compared) {
    // Of two networks the second less the first, of more the range of their estimates.
    const two = levels.length === 2;
    const union = (pair) => differs(pair) || levels.some(({ network }) => network[pair] !== 0);
    const range = adjusted.map((_, pair) => {
      if (!union(pair)) return 0;
      const values = compared.estimate.map((estimate) => estimate[pair]);
      return two ? values[1] - values[0] : Math.max(...values) - Math.min(...values);
    });
    const count = [...compared.q].filter((q) => q <= compared.fdr).length;
    const said = count ? `${counted(count, "pair")} beyond chance` : "no pair differs beyond chance";
    panel(two ? `${levels[1].name} less ${levels[0].name}` : "Differences", two ? said : `${said}; width: range`, range, {
      faint: (pair) => !differs(pair),
      label: (pair) => [
        `${names[sources[pair]]} – ${names[targets[pair]]}`,
        ...compared.estimate.slice(0, 6).map((estimate, at) => `${levels[at].name} ${signed(estimate[pair])}`),
        `q of the difference = ${chance(compared.q[pair])}`,
      ],
    }, Math.max(largest(range), LEAST_SCALE));
  }
  const explain = () => legend("levels", [...SIGNS, ...(compared ? [["edge pale", "difference may be chance"]] : []), ...pictures[0].widths(), ...groupKeys()]);
  explain();
  byId("layout-choice").addEventListener("change", ({ target }) => change({ layout: target.value }));
  byId("colour-choice").addEventListener("change", ({ target }) => change({ colour: target.value }));
  byId("colour-choice").value = state.colour;
  watch(LOOKS, () => {
    pictures.forEach((picture) => picture.layOut());
    explain();
  });
}

/** The clearest differences: every level's estimate with its interval, one pair below the other. */
function differenceRows(place) {
  const shown = levels.length <= payload.most ? [...levels.keys()] : null;
  const found = compared.order.filter(differs);
  const pairs = (found.length ? found : compared.order.slice(0, 5)).slice(0, 15);

  function draw(width) {
    const narrow = width < 520;
    const room = narrow ? 0 : Math.min(260, width * 0.34);
    const gap = shown ? clamp(26 / shown.length, 7, 12) : 0;
    const tall = (shown ? gap * shown.length + 10 : 26) + (narrow ? 16 : 0);
    const height = pairs.length * tall + 44;
    const all = pairs.flatMap((pair) => (shown ? shown.flatMap((at) => [compared.low[at][pair], compared.high[at][pair]]) : compared.estimate.map((estimate) => estimate[pair])));
    const { low, high } = limits(all, { zero: true });
    const atX = linear(low, high, room + 12, width - 14);
    const drawing = svg(null, "svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `Estimates of ${counted(pairs.length, "pair")} in ${counted(levels.length, "network")}; the table below has them in numbers.` });
    const axis = svg(drawing, "g", { class: "axis", "font-size": 12 });
    for (const tick of ticks(low, high, width / 110)) {
      svg(axis, "line", { x1: atX(tick), x2: atX(tick), y1: 0, y2: height - 40, class: "gridline" });
      svg(axis, "text", { x: atX(tick), y: height - 24, "text-anchor": "middle" }, atAxis(tick));
    }
    svg(axis, "text", { x: (room + width) / 2, y: height - 4, "text-anchor": "middle" }, payload.strength);
    svg(drawing, "line", { x1: atX(0), x2: atX(0), y1: 0, y2: height - 40, class: "zero" });
    pairs.forEach((pair, row) => {
      const top = row * tall;
      const line = svg(drawing, "g", { class: `row${differs(pair) ? "" : " hollow"}`, "data-pair": pair });
      svg(line, "rect", { x: 0, width, y: top, height: tall, class: "back" });
      const name = `${names[sources[pair]]} – ${names[targets[pair]]}`;
      svg(line, "text", narrow ? { x: 4, y: top + 13, "font-size": 12 } : { x: room, y: top + tall / 2 + 4, "font-size": 13, "text-anchor": "end" }, shortened(name, Math.floor((narrow ? width : room) / 7.8)));
      const start = top + (narrow ? 16 : 0) + 5 + gap / 2;
      (shown ?? [...levels.keys()]).forEach((at, place) => {
        const y = shown ? start + place * gap : top + tall / 2 + (narrow ? 8 : 0);
        const x = atX(compared.estimate[at][pair]);
        if (shown) svg(line, "line", { x1: atX(compared.low[at][pair]), x2: atX(compared.high[at][pair]), y1: y, y2: y, class: `levelline ${levelClass(at)}` });
        svg(line, "circle", { cx: x, cy: y, r: shown ? 4.2 : 3, class: `leveldot ${levelClass(at)}` });
      });
      line.addEventListener("pointermove", (event) => showTip(event.clientX, event.clientY, [name, ...compared.estimate.slice(0, 12).map((estimate, at) => `${levels[at].name} ${signed(estimate[pair])}`), `q = ${chance(compared.q[pair])}`]));
      line.addEventListener("pointerleave", hideTip);
    });
    place.replaceChildren(drawing);
  }

  if (shown) legend("differences", shown.map((at) => [`node ${levelClass(at)}`, levels[at].name]));
  fitted(place, draw);
}

/** Levels at places whose distances are about those of their networks. */
function mapOfLevels(place) {
  const redraw = fitted(place, draw);
  watch(["level"], redraw);

  function draw(width) {
    const height = Math.min(width, 420);
    const reach = Math.max(...compared.x.map(Math.abs), ...compared.y.map(Math.abs), 0.05) * 1.15;
    const scale = Math.min(width, height) / 2 / reach;
    const drawing = svg(null, "svg", { viewBox: `${-width / 2} ${-height / 2} ${width} ${height}`, role: "group", tabindex: 0, "aria-label": `Map of ${counted(levels.length, "network")}. Arrow keys move from one to the next.` });
    const unit = 10 ** Math.floor(Math.log10(reach));
    const bar = [5, 2, 1].map((factor) => factor * unit).find((size) => size * scale < width / 3) ?? unit;
    svg(drawing, "line", { x1: -width / 2 + 8, x2: -width / 2 + 8 + bar * scale, y1: height / 2 - 10, y2: height / 2 - 10, class: "zero", "stroke-width": 2 });
    svg(drawing, "text", { x: -width / 2 + 8, y: height / 2 - 16, "font-size": 12 }, `distance ${written(bar)}`);
    const odd = (at) => compared.unusual[at] !== null && compared.unusual[at] <= compared.fdr;
    // Names that would overlap one that matters more are left to the tooltip.
    const taken = [];
    const named = new Set();
    const rank = (at) => (at === state.level ? 0 : odd(at) ? 1 : 2);
    for (const at of [...levels.keys()].sort((a, b) => rank(a) - rank(b))) {
      const [x, y] = [compared.x[at] * scale, -compared.y[at] * scale];
      const wide = 3.6 * Math.min([...levels[at].name].length, 14);
      const box = [x - wide, y + 7, x + wide, y + 21];
      if (taken.some(([a, b, c, d]) => box[0] < c && box[2] > a && box[1] < d && box[3] > b)) continue;
      taken.push(box);
      named.add(at);
    }
    levels.forEach((_, at) => {
      const [x, y] = [compared.x[at] * scale, -compared.y[at] * scale];
      const mark = svg(drawing, "g", { class: `mapped${odd(at) ? " odd" : ""}${at === state.level ? " here" : ""}`, "data-level": at });
      svg(mark, "circle", { cx: x, cy: y, r: 6, class: "node" });
      mark.addEventListener("click", () => change({ level: at }));
      mark.addEventListener("pointermove", (event) => showTip(event.clientX, event.clientY, lines(at)));
      mark.addEventListener("pointerleave", hideTip);
    });
    for (const at of named) {
      const place = { x: compared.x[at] * scale, y: -compared.y[at] * scale + 18 };
      svg(drawing, "text", { ...place, "font-size": 12, "text-anchor": "middle", class: "label halo" }, shortened(levels[at].name, 14));
    }
    drawing.addEventListener("keydown", (event) => {
      const move = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (!move) return;
      change({ level: (state.level + move + levels.length) % levels.length });
      place.firstChild.focus();
      announce(lines(state.level));
      event.preventDefault();
    });
    place.replaceChildren(drawing);
  }

  const lines = (at) => [levels[at].name, `${counted(levels[at].edges, "edge")}, ${counted(levels[at].samples, "sample")}`, ...(compared.unusual[at] === null ? [] : [`like the others: q = ${chance(compared.unusual[at])}`])];
  legend("map", [["node odd", `unlike the others (q ≤ ${written(compared.fdr)})`], ["node like", "like the others"]]);
}

/** How far every two networks are apart, as a matrix; near ones are dark. */
function similarityMatrix(place) {
  const most = Math.max(...compared.distance.flat(), 1e-9);
  fitted(place, (width) => {
    const count = levels.length;
    const room = count <= 40 ? Math.min(110, width * 0.25) : 0;
    const cell = (Math.min(width, 420) - room) / count;
    const size = room + cell * count;
    const drawing = svg(null, "svg", { viewBox: `0 0 ${width} ${size + 4}`, role: "img", "aria-label": "Distances between the networks" });
    compared.distance.forEach((row, a) => {
      if (room) svg(drawing, "text", { x: room - 6, y: (a + 0.5) * cell + 4, "font-size": clamp(cell, 7, 12), "text-anchor": "end" }, shortened(levels[a].name, Math.floor(room / 7)));
      row.forEach((away, b) => {
        const box = svg(drawing, "rect", { x: room + b * cell, y: a * cell, width: cell + 0.3, height: cell + 0.3, class: "alike", "fill-opacity": (a === b ? 1 : 1 - away / most).toFixed(3) });
        box.addEventListener("pointermove", (event) => showTip(event.clientX, event.clientY, [`${levels[a].name} and ${levels[b].name}`, `distance ${written(away, 2)}`]));
        box.addEventListener("pointerleave", hideTip);
        box.addEventListener("click", () => change({ level: a }));
      });
    });
    place.replaceChildren(drawing);
  });
}

for (const [name, begin] of [
  ["levels", sideBySideLevels],
  ["differences", differenceRows],
  ["map", mapOfLevels],
  ["similarity", similarityMatrix],
]) {
  const place = view(name);
  if (place) begin(place);
}
addEventListener("scroll", hideTip, { passive: true });
document.documentElement.dataset.ready = "yes";
