/* Axes for curves: a drawing as wide as its place, drawn again when that changes. */

const MARGIN = { left: 58, right: 16, top: 24, bottom: 46 };

/** Widths on paper, which no event tells: of pictures side by side, of the network and of all others. */
const PAPER = { panel: 325, network: 600, other: 660 };
const onPaper = (place) => (place.closest(".panels") ? PAPER.panel : place.closest(".workbench") ? PAPER.network : PAPER.other);

/** Call `draw(width)` now, whenever the place's width changes, and for paper. */
function fitted(place, draw) {
  let width = 0;
  addEventListener("beforeprint", () => width && draw(onPaper(place)));
  addEventListener("afterprint", () => width && draw(width));
  const look = () => {
    const now = Math.round(place.clientWidth);
    if (now && now !== width) draw((width = now));
  };
  new ResizeObserver(look).observe(place);
  look();
  return () => width && draw(width);
}

/** Round numbers between two limits, about `count` of them. */
function ticks(low, high, count) {
  const rough = (high - low) / Math.max(count, 1) || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((candidate) => candidate >= rough * 0.999);
  const out = [];
  for (let at = Math.ceil(low / step - 1e-9); at * step <= high + 1e-9 * step; at++) out.push(Number((at * step).toPrecision(12)));
  return out;
}

/** A round number at an axis, with all of its digits. */
function atAxis(tick) {
  const size = Math.abs(tick);
  return size !== 0 && (size < 1e-3 || size >= 1e6) ? written(tick) : String(Number(tick.toPrecision(12))).replaceAll("-", "−");
}

/** Powers of ten, with their 2 and 5 where there are few. */
function logTicks(low, high) {
  const decades = Math.log10(high / low);
  const factors = decades > 3 ? [1] : decades > 1.2 ? [1, 3] : [1, 2, 3, 5, 7];
  const out = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++) {
    for (const factor of factors) {
      const tick = factor * 10 ** power;
      if (tick >= low * 0.999 && tick <= high * 1.001) out.push(Number(tick.toPrecision(3)));
    }
  }
  return out;
}

const linear = (low, high, from, to) => (value) => from + ((value - low) / (high - low || 1)) * (to - from);
const logarithmic = (low, high, from, to) => {
  const scale = linear(Math.log(low), Math.log(high), from, to);
  return (value) => scale(Math.log(value));
};

/** An empty chart with axes.
 *
 * `x` and `y` are {low, high, label, log}, `x.levels` names the whole numbers of a factor; returns the drawing, its scales and its limits.
 */
function chart(place, width, height, x, y, title) {
  const drawing = svg(null, "svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": title });
  const box = { left: MARGIN.left, right: width - MARGIN.right, top: MARGIN.top, bottom: height - MARGIN.bottom };
  const atX = (x.log ? logarithmic : linear)(x.low, x.high, box.left, box.right);
  const atY = linear(y.low, y.high, box.bottom, box.top);
  const back = svg(drawing, "g");
  const axis = svg(drawing, "g", { class: "axis", "font-size": 12 });
  for (const tick of ticks(y.low, y.high, height / 55)) {
    svg(axis, "line", { x1: box.left, x2: box.right, y1: atY(tick), y2: atY(tick), class: "gridline" });
    svg(axis, "text", { x: box.left - 8, y: atY(tick) + 4, "text-anchor": "end" }, atAxis(tick));
  }
  let last = -Infinity;
  const marks = x.levels ? [...x.levels.keys()] : x.log ? logTicks(x.low, x.high) : ticks(x.low, x.high, width / 90);
  for (const tick of marks) {
    if (atX(tick) - last < 44) continue;
    last = atX(tick);
    svg(axis, "line", { x1: last, x2: last, y1: box.bottom, y2: box.bottom + 5 });
    svg(axis, "text", { x: last, y: box.bottom + 19, "text-anchor": "middle" }, x.levels ? shortened(x.levels[tick], 10) : atAxis(tick));
  }
  svg(axis, "line", { x1: box.left, x2: box.right, y1: box.bottom, y2: box.bottom });
  svg(axis, "text", { x: (box.left + box.right) / 2, y: height - 6, "text-anchor": "middle" }, x.label);
  if (y.label) svg(axis, "text", { x: 13, y: (box.top + box.bottom) / 2, "text-anchor": "middle", transform: `rotate(-90 13 ${(box.top + box.bottom) / 2})` }, y.label);
  place.replaceChildren(drawing);
  return { drawing, back, atX, atY, box };
}

/** Path data through points; gaps where a number is missing. */
function through(points) {
  let open = false;
  return points
    .map(([x, y]) => {
      if (!Number.isFinite(x) || !Number.isFinite(y)) {
        open = false;
        return "";
      }
      const letter = open ? "L" : "M";
      open = true;
      return `${letter}${x.toFixed(1)},${y.toFixed(1)}`;
    })
    .join("");
}

/** Path data of the area between two curves over the same places. */
function between(places, lows, highs) {
  const kept = places.map((_, at) => at).filter((at) => Number.isFinite(lows[at]) && Number.isFinite(highs[at]));
  if (!kept.length) return "";
  const there = kept.map((at) => [places[at], highs[at]]);
  const back = kept.reverse().map((at) => [places[at], lows[at]]);
  return `${through([...there, ...back])}Z`;
}

/** Bins between limits; of whole numbers they are of whole width, so that none holds more of them than its neighbours. */
function binned(values, low, high, parts) {
  if (!Number.isInteger(low) || !values.every((value) => value === null || Number.isInteger(value))) return { low, high, parts };
  const wide = Math.max(Math.ceil((high - low + 1) / parts), 1);
  const count = Math.ceil((high - low + 1) / wide);
  return { low: low - 0.5, high: low - 0.5 + count * wide, parts: count };
}

/** Counts of values in equal parts between limits. */
function histogram(values, low, high, parts) {
  const counts = new Array(parts).fill(0);
  for (const value of values) {
    if (value !== null) counts[clamp(Math.floor(((value - low) / (high - low || 1)) * parts), 0, parts - 1)]++;
  }
  return counts;
}

/** Limits of values with a little room, zero among them if asked. */
function limits(values, { room = 0.06, zero = false } = {}) {
  let low = zero ? 0 : Infinity;
  let high = zero ? 0 : -Infinity;
  for (const value of values) {
    if (value === null || !Number.isFinite(value)) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  if (low > high) return { low: 0, high: 1 };
  // An axis that all but reaches zero should show it.
  if (low > 0 && low < 0.1 * high) low = 0;
  const extra = high > low ? (high - low) * room : Math.abs(high) * 0.1 || 1;
  return { low: low - extra, high: high + extra };
}
