/* What the page knows: the payload with its arrays unpacked, and what is chosen at the moment. */

const payload = JSON.parse(document.getElementById("payload").textContent);
const names = payload.names;
const p = names.length;

const ARRAYS = { f4: Float32Array, i2: Int16Array, u2: Uint16Array, u4: Uint32Array };
const MISSING = -32768;

/** A packed array as numbers; null stays null. */
function unpack(packed) {
  if (!packed) return null;
  const bytes = Uint8Array.from(atob(packed.data), (letter) => letter.charCodeAt(0));
  const values = new ARRAYS[packed.type](bytes.buffer);
  if (packed.unit === undefined) return values;
  return Float32Array.from(values, (value) => (value === MISSING ? NaN : value * packed.unit));
}

/* Pairs (j, k), j < k, are numbered row after row; where there are many, only some are on the page. Their
 * ends are kept for the way back. */
const listed = unpack(payload.pairs);
const pairCount = payload.listed;
const sources = new Uint16Array(pairCount);
const targets = new Uint16Array(pairCount);
for (let j = 0, first = 0, pair = 0; j < p; first += p - 1 - j, j++) {
  for (; pair < pairCount && (listed ? listed[pair] : pair) < first + p - 1 - j; pair++) {
    sources[pair] = j;
    targets[pair] = j + 1 + (listed ? listed[pair] : pair) - first;
  }
}
const placeOf = listed && new Map(Array.from(listed, (number, pair) => [number, pair]));

/** Number of the pair of two different variables, in whichever order; undefined if it is not on the page. */
function pairOf(a, b) {
  const [j, k] = a < b ? [a, b] : [b, a];
  const number = (j * (2 * p - j - 1)) / 2 + (k - j - 1);
  return placeOf ? placeOf.get(number) : number;
}

const adjusted = unpack(payload.adjusted);
const unadjusted = unpack(payload.unadjusted);
const truth = unpack(payload.truth);
const stability = unpack(payload.stability);
/* The tests that declare the edges of the adjusted network and of the other; null where the penalty decides. */
const [tests, pooled] = [payload.tests, payload.pooled].map(
  (found) =>
    found && {
      fdr: found.fdr,
      candidates: found.candidates,
      estimate: unpack(found.estimate),
      low: unpack(found.low),
      high: unpack(found.high),
      p: unpack(found.p),
      q: unpack(found.q),
      change: unpack(found.change),
    },
);
/* What tests say about each pair's change by adjusting: 0 nothing, 1 too little to report, 2 a change. */
const changed = unpack(payload.changed);
/* Tests of which pairs change, one entry for each confounder. */
const moderation = payload.moderation && {
  fdr: payload.moderation.fdr,
  shown: payload.moderation.shown,
  along: payload.moderation.along.map((part) => Object.fromEntries(Object.entries(part).map(([key, values]) => [key, unpack(values)]))),
};
const path = payload.path && {
  ...payload.path,
  starts: unpack(payload.path.starts),
  pairs: unpack(payload.path.pairs),
  values: unpack(payload.path.values),
};
const along = payload.along.map((part, at) => ({
  grid: part.grid,
  nuisance: unpack(part.nuisance),
  error: unpack(part.error),
  truth: part.truth && { grid: part.truth.grid, nuisance: unpack(part.truth.nuisance) },
  home: homeOf(part.grid, payload.confounders[at]),
}));

/** The point of a grid that stands for the baseline; one before all others where that is an average. */
function homeOf(grid, { average, levels, home, origin }) {
  if (average) return -1;
  const to = levels ? home : origin;
  return grid.reduce((best, g, i) => (Math.abs(g - to) < Math.abs(grid[best] - to) ? i : best), 0);
}

/** A value of a confounder for the eye: a level by its name, the average in words. */
function valueInWords(confounder, point) {
  const { levels } = payload.confounders[confounder];
  if (point < 0) return "the average";
  const value = along[confounder].grid[point];
  return levels ? levels[value] : writtenAmong(value, along[confounder].grid);
}

/** What is drawn of a network: its edges or, where tests declare none, the strongest candidates. */
function drawn(network, tested) {
  return tested && !countEdges(network) ? network.map((_, pair) => (tested.candidates.includes(pair) ? tested.estimate[pair] : 0)) : network;
}

/** The networks that can be chosen, with their tests and their words. */
const networks = {
  adjusted: { weights: adjusted, tests, words: unadjusted ? "the adjusted network" : "the result" },
  unadjusted: { weights: unadjusted, tests: pooled, words: "the network without adjustment" },
};
const current = () => networks[state.network];

/** The chosen network at a false discovery rate. */
function networkAtRate(q) {
  const { weights, tests: tested } = current();
  if (q === tested.fdr) return weights;
  return tested.estimate.map((value, pair) => (tested.q[pair] <= q ? value : 0));
}

/** The network at a step of the path. */
function networkAtStep(step) {
  if (step === path.chosen && !tests) return adjusted;
  const network = new Float32Array(pairCount);
  for (let at = path.starts[step]; at < path.starts[step + 1]; at++) network[path.pairs[at]] = path.values[at];
  return network;
}

/** How many edges there are at a step of the path. */
function edgesAtStep(step) {
  return path.counts[step];
}

/** Baseline plus nuisance at a point of one confounder's grid. */
function networkAtPoint(confounder, point) {
  const { nuisance } = along[confounder];
  return adjusted.map((value, pair) => value + nuisance[point * pairCount + pair]);
}

function countEdges(network) {
  let count = 0;
  for (const value of network) if (value !== 0) count++;
  return count;
}

function largest(...networks) {
  let most = 0;
  for (const network of networks) {
    if (network) for (const value of network) if (Math.abs(value) > most) most = Math.abs(value);
  }
  return most || 1;
}

/** Numbers for people: a minus sign that is one, and no more digits than help. */
function written(value, digits = 3) {
  if (value === null || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  const exponent = size !== 0 && (size < 1e-3 || size >= 1e6);
  // No digit before the point is rounded away.
  const text = exponent ? value.toExponential(1).replace(".0e", "e") : String(Number(size >= 10 ** digits ? value.toFixed(0) : value.toPrecision(digits)));
  return text.replaceAll("-", "−");
}

/** A value with as many digits as tell it from others of its scale. */
function writtenAmong(value, others) {
  const range = Math.max(...others) - Math.min(...others);
  const more = range > 0 && value !== 0 ? Math.ceil(Math.log10(Math.abs(value) / range)) : 0;
  return written(value, clamp(2 + more, 3, 9));
}

/** A weight with its sign and two or three digits after the point. */
function signed(value) {
  if (value === 0) return "0";
  const size = Math.abs(value);
  const text = size < 0.0005 ? size.toExponential(0) : size.toFixed(size < 0.095 ? 3 : 2);
  return (value > 0 ? "+" : "−") + text.replace("-", "−");
}

function counted(number, noun) {
  return `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
}

/** A p-value or q-value. */
function chance(value) {
  return value === 0 ? "< 1e−45" : written(value, 2);
}

/** A p-value or q-value with its letter. */
function chanceOf(letter, value) {
  return `${letter} ${value === 0 ? "" : "= "}${chance(value)}`;
}

/** A 95 % interval. */
function interval(pair, tested = tests) {
  return `${signed(tested.low[pair])} to ${signed(tested.high[pair])}`;
}

/** What became of a pair: key for styles and filters, words for people. */
function statusOf(pair) {
  const now = adjusted[pair] !== 0;
  if (!unadjusted) return now ? ["kept", "edge"] : tests ? ["missed", "no edge"] : ["missed", "missed"];
  const before = unadjusted[pair] !== 0;
  const turned = now && before && adjusted[pair] > 0 !== unadjusted[pair] > 0;
  const differs = now !== before || turned;
  if (differs && !changed) return ["unsure", "differs, untested"];
  if (differs && changed[pair] === 0) return ["unsure", "may be chance"];
  if (differs && changed[pair] === 1) return ["slight", "differs slightly"];
  if (changed?.[pair] === 2 && !differs) return ["move", "changes in strength"];
  if (turned) return ["turn", "sign turns"];
  if (now) return before ? ["kept", "stays"] : ["appear", "appears"];
  if (before) return ["vanish", "vanishes"];
  return tests ? ["missed", "no edge"] : ["missed", "missed by both"];
}

/* One state, and everybody who draws is told when it changes. */
/** The pair with the largest score. */
function argmax(score) {
  let best = 0;
  for (let pair = 1; pair < pairCount; pair++) if (score(pair) > score(best)) best = pair;
  return best;
}
/* The page opens with the strongest edge that vanishes: it shows best what the confounder does. */
const vanishing = (pair) => (unadjusted && statusOf(pair)[0] === "vanish" ? Math.abs(unadjusted[pair]) : 0);
const first = argmax(vanishing);
const shown = { adjusted: drawn(adjusted, tests), unadjusted: unadjusted && drawn(unadjusted, pooled) };
const opening = vanishing(first) > 0 ? first : argmax((pair) => Math.abs(shown[payload.lead][pair]));
const result = { step: path && !tests ? path.chosen : null, q: tests ? tests.fdr : null };
const state = {
  network: payload.lead, // which of the networks is drawn
  ...result, // step of the path, or null for the network at the false discovery rate q
  confounder: 0, // which one moves
  point: along.length ? along[0].home : null, // on its grid
  cut: 0, // weaker edges are hidden
  layout: "force", // of the networks: by forces, or a circle
  colour: payload.groups ? "groups" : payload.communities ? "communities" : "none", // of the variables
  order: [...names.keys()], // of the variables round the circle and in the matrix
  pair: opening, // that is shown along the confounder
  node: null, // whose edges are shown alone
};
const watchers = [];
/* What changes how networks look, but not what they are. */
const LOOKS = ["order", "layout", "colour"];

/** The groups that colour the variables at the moment, or null. */
const grouping = () => (state.colour === "none" ? null : payload[state.colour]);

function change(next) {
  Object.assign(state, next);
  for (const watcher of watchers) watcher(Object.keys(next));
}

function watch(keys, watcher) {
  watchers.push((changed) => changed.some((key) => keys.includes(key)) && watcher());
}
