/* Networks: variables placed by forces along their edges, or on a circle with chords that bend towards its centre. */

const BEND = 0.25;
const REACH = { node: 14, edge: 9 };
/* Longest name inside its node, most variables with names inside, and part of the radius that names round the circle take. */
const INSIDE = 4;
const MOST_INSIDE = 40;
const NAMES_PART = 0.42;

/** Draws networks of the same variables into one svg, again and again.
 *
 * `options.lone(pair, network)` says which edges are dotted, `options.faint(pair)` which have no colour, `options.large` gives the picture wider
 * lines and keeps a chosen variable lit, `options.label(pair, network)` gives the tooltip's lines.
 */
class NetworkPicture {
  constructor(place, options = {}) {
    this.options = options;
    this.drawing = svg(place, "svg", { tabindex: 0, role: "group", "aria-roledescription": "network" });
    this.lines = svg(this.drawing, "g");
    this.dots = svg(this.drawing, "g");
    this.pool = [];
    this.hot = null;
    this.width = null;
    this.drawing.addEventListener("pointermove", (event) => this.point(event));
    this.drawing.addEventListener("pointerleave", () => this.leave());
    this.drawing.addEventListener("click", (event) => this.pick(event));
    this.drawing.addEventListener("keydown", (event) => this.step(event));
    this.drawing.addEventListener("blur", () => this.leave());
    fitted(place, (width) => {
      this.width = width;
      this.layOut();
    });
  }

  /** Put the variables at their places, by forces or round the circle, and draw what was drawn. */
  layOut() {
    if (!this.width) return;
    const half = this.width / 2;
    this.drawing.setAttribute("viewBox", `${-half} ${-half} ${this.width} ${this.width}`);
    this.places = new Array(p);
    this.nodes = new Array(p);
    this.labels = new Array(p);
    this.dots.replaceChildren();
    this.inside = state.layout === "force" && p <= MOST_INSIDE && Math.max(...labels.map((name) => [...name].length)) <= INSIDE && this.width > 300;
    if (state.layout === "circle") this.layOutCircle(half);
    else this.layOutForces(half);
    if (this.network) this.draw(this.network, this.scale);
  }

  dot(node, x, y) {
    this.places[node] = [x, y];
    const found = grouping();
    this.nodes[node] = svg(this.dots, "circle", { cx: x, cy: y, class: `node ${found ? groupClass(found.labels[node]) : "plain"}` });
  }

  /** Names round the circle take no more than a part of the picture: longer ones are cut. */
  layOutCircle(half) {
    const size = clamp((1.7 * this.width) / p, this.width > 480 ? 9 : 7, 13);
    const most = Math.floor((NAMES_PART * half) / (size * 0.6));
    const longest = Math.max(...labels.map((name) => Math.min([...name].length, most)));
    const gap = this.width > 480 ? 14 : 10;
    const radius = half - gap - 4 - longest * size * 0.6;
    // A letter's height on the circle is what a name needs beside its neighbour.
    const every = Math.ceil((p * size * 1.05) / (2 * Math.PI * (radius + gap)));
    state.order.forEach((node, at) => {
      const angle = (2 * Math.PI * at) / p - Math.PI / 2;
      const [x, y] = [Math.cos(angle), Math.sin(angle)];
      this.dot(node, radius * x, radius * y);
      const turn = (angle * 180) / Math.PI;
      const left = x < -1e-9;
      // Round the circle the last name would crowd the first.
      const shown = at % every === 0 && at + every <= p;
      this.labels[node] = svg(
        this.dots,
        "text",
        {
          class: shown ? "label" : "label spare",
          "font-size": size,
          "text-anchor": left ? "end" : "start",
          "dominant-baseline": "central",
          transform: `translate(${(radius + gap) * x} ${(radius + gap) * y}) rotate(${left ? turn + 180 : turn})`,
        },
        shortened(labels[node], most),
      );
    });
  }

  /** Variables where forces put them, with their names inside or below. */
  layOutForces(half) {
    const size = this.width > 480 ? 12 : 10;
    const most = this.width > 480 ? 18 : 12;
    const reach = half - (this.inside ? 20 : 24);
    names.forEach((_, node) => this.dot(node, reach * payload.places[node][0], -reach * payload.places[node][1]));
    this.boxes = names.map((_, node) => {
      const text = shortened(labels[node], this.inside ? INSIDE : most);
      const [x, y] = this.places[node];
      const wide = [...text].length * size * 0.58;
      // Names at the sides lean inwards, so that none leaves the picture.
      const at = this.inside ? x : clamp(x, -half + wide / 2, half - wide / 2);
      this.labels[node] = svg(
        this.dots,
        "text",
        { class: `label ${this.inside ? "inside" : "halo"}`, "font-size": size, "text-anchor": "middle", x: at, y: this.inside ? y + size * 0.36 : y + 9 + size * 0.8 },
        text,
      );
      return [at - wide / 2, y + 7, at + wide / 2, y + 7 + size];
    });
  }

  /** Where two names below their nodes would overlap, that of the weaker variable is spared; of many variables those without an edge have none. */
  nameNodes(strength) {
    if (state.layout === "circle" || this.inside) return;
    const central = payload.centrality[0].value;
    const taken = [];
    const shown = (node) => p <= MOST_INSIDE || strength[node] > 0;
    for (const node of [...names.keys()].sort((a, b) => shown(b) - shown(a) || central[b] - central[a])) {
      const box = this.boxes[node];
      const free = shown(node) && taken.every(([a, b, c, d]) => box[0] > c || box[2] < a || box[1] > d || box[3] < b);
      if (free) taken.push(box);
      this.labels[node].classList.toggle("spare", !free);
    }
  }

  /** Draw a network; edges at or below `cut` are left out. */
  draw(network, { limit, cut = 0 }) {
    this.network = network;
    this.scale = { limit, cut };
    const { lone, faint } = this.options;
    const bend = state.layout === "circle" ? BEND : 0;
    this.shown = [];
    for (let pair = 0; pair < pairCount; pair++) {
      const value = network[pair];
      if (value !== 0 && Math.abs(value) >= cut) this.shown.push(pair);
    }
    this.drawing.setAttribute("aria-label", `Network of ${counted(p, "variable")} with ${counted(this.shown.length, "edge")}. Arrow keys move from variable to variable.`);
    if (!this.width) return;
    // Strong edges come last and lie on top.
    this.shown.sort((a, b) => Number(Boolean(faint?.(b))) - Number(Boolean(faint?.(a))) || Math.abs(network[a]) - Math.abs(network[b]));
    while (this.pool.length < this.shown.length) this.pool.push(svg(this.lines, "path"));
    // Many edges leave less room for each.
    const strong = faint ? this.shown.filter((pair) => !faint(pair)).length : this.shown.length;
    const widest = clamp(this.width / 85, 4.5, this.options.large ? 8 : 5) * clamp(14 / Math.sqrt(strong || 1), 0.45, 1);
    this.widest = widest;
    this.curves = this.shown.map((pair, at) => {
      const [start, end] = [this.places[sources[pair]], this.places[targets[pair]]];
      const middle = [0, 1].map((side) => ((1 - bend) * (start[side] + end[side])) / 2);
      const part = Math.min(Math.abs(network[pair]) / limit, 1);
      const line = this.pool[at];
      const dotted = Boolean(lone?.(pair, network));
      const pale = Boolean(faint?.(pair));
      const width = pale ? 0.5 : Math.max(0.7 + (widest - 0.7) * part, faint ? 2.5 : 0);
      line.setAttribute("d", `M${start}Q${middle} ${end}`);
      line.setAttribute("class", `edge ${pale ? "pale" : network[pair] > 0 ? "pos" : "neg"}${dotted ? " lone" : ""}`);
      line.setAttribute("stroke-width", width.toFixed(2));
      line.setAttribute("stroke-opacity", (pale ? 0.3 : faint ? 1 : 0.25 + 0.7 * part).toFixed(2));
      line.setAttribute("stroke-dasharray", dotted ? `${(width * 0.6 + 1.6).toFixed(1)} ${(width * 0.6 + 2.2).toFixed(1)}` : "none");
      line.setAttribute("visibility", "visible");
      return [start, middle, end];
    });
    for (let at = this.shown.length; at < this.pool.length; at++) this.pool[at].setAttribute("visibility", "hidden");
    const strength = new Float32Array(p);
    for (const pair of this.shown) {
      strength[sources[pair]] += Math.abs(network[pair]);
      strength[targets[pair]] += Math.abs(network[pair]);
    }
    this.nameNodes(strength);
    const least = this.inside ? clamp(this.width / 56, 8, 11) : clamp((0.4 * this.width) / p, this.width > 480 ? 3.4 : 2.6, this.width > 480 ? 6 : 4.5);
    this.nodes.forEach((node, at) => node.setAttribute("r", (least * (1 + Math.min(strength[at] / limit, 4) * 0.16)).toFixed(2)));
    this.light(this.hot);
  }

  /** What widths mean, for a legend. */
  widths() {
    if (!this.widest) return [];
    return [0.25, 1].map((part) => ["edge key", written(part * this.scale.limit, 2), (0.7 + (this.widest - 0.7) * part).toFixed(1)]);
  }

  /** Emphasise {node} or {pair}; null lets everything speak alike. */
  light(hot) {
    this.hot = hot;
    const chosen = hot ?? (state.node === null || !this.options.large ? null : { node: state.node });
    this.drawing.classList.toggle("hushed", chosen !== null);
    const ends = new Set();
    this.shown.forEach((pair, at) => {
      const [j, k] = [sources[pair], targets[pair]];
      const on = chosen !== null && (chosen.pair === pair || chosen.node === j || chosen.node === k);
      this.pool[at].classList.toggle("hot", on);
      if (on) ends.add(j).add(k);
    });
    if (chosen?.node !== undefined) ends.add(chosen.node);
    for (let node = 0; node < p; node++) {
      this.nodes[node].classList.toggle("hot", ends.has(node));
      this.labels[node].classList.toggle("hot", ends.has(node));
    }
  }

  /** The variable or, failing that, the edge nearest to a place. */
  nearest([x, y]) {
    let best = null;
    let least = REACH.node;
    this.places.forEach(([a, b], node) => {
      const away = Math.hypot(a - x, b - y);
      if (away < least) [least, best] = [away, { node }];
    });
    if (best) return best;
    least = REACH.edge;
    this.curves.forEach(([start, middle, end], at) => {
      for (let t = 0; t <= 1; t += 1 / 24) {
        const s = 1 - t;
        const away = Math.hypot(
          s * s * start[0] + 2 * s * t * middle[0] + t * t * end[0] - x,
          s * s * start[1] + 2 * s * t * middle[1] + t * t * end[1] - y,
        );
        if (away < least) [least, best] = [away, { pair: this.shown[at] }];
      }
    });
    return best;
  }

  describe(hot) {
    if (hot.pair !== undefined) return this.options.label?.(hot.pair, this.network) ?? pairLines(hot.pair, this.network);
    const around = this.shown.filter((pair) => sources[pair] === hot.node || targets[pair] === hot.node).reverse();
    const lines = around.slice(0, 6).map((pair) => `${names[sources[pair] === hot.node ? targets[pair] : sources[pair]]} ${signed(this.network[pair])}`);
    if (around.length > 6) lines.push(`and ${around.length - 6} more`);
    return [`${names[hot.node]}: ${counted(around.length, "edge")}`, ...lines];
  }

  point(event) {
    const hot = this.nearest(pointIn(this.drawing, event));
    if (JSON.stringify(hot) !== JSON.stringify(this.hot)) this.light(hot);
    if (hot) showTip(event.clientX, event.clientY, this.describe(hot));
    else hideTip();
  }

  leave() {
    if (this.hot) this.light(null);
    hideTip();
  }

  pick(event) {
    const hot = this.nearest(pointIn(this.drawing, event));
    if (hot?.pair !== undefined) change({ pair: hot.pair });
    else change({ node: hot && hot.node !== state.node ? hot.node : null });
  }

  /** Arrow keys walk round the circle; Enter keeps a variable, Escape lets go. */
  step(event) {
    const moves = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
    if (event.key in moves) {
      const at = this.hot?.node === undefined ? (moves[event.key] > 0 ? -1 : 0) : state.order.indexOf(this.hot.node);
      const node = state.order[(at + moves[event.key] + p) % p];
      this.light({ node });
      const { left, top } = this.nodes[node].getBoundingClientRect();
      showTip(left, top, this.describe({ node }));
      announce(this.describe({ node }));
    } else if (event.key === "Enter" && this.hot?.node !== undefined) {
      change({ node: this.hot.node === state.node ? null : this.hot.node });
    } else if (event.key === "Escape") {
      this.leave();
      change({ node: null });
    } else return;
    event.preventDefault();
  }
}

/* Difference that is drawn as wide as the strongest edge, where all are smaller. */
const LEAST_SCALE = 0.1;

/** Truth, unadjusted and adjusted networks beside each other. */
function sideBySide(place) {
  const known = [["Truth", truth, truth], ["Unadjusted", unadjusted, shown.unadjusted], ["Adjusted", adjusted, shown.adjusted]].filter(([, network]) => network);
  const limit = largest(...known.map(([, , network]) => network));
  const other = { Unadjusted: adjusted, Adjusted: unadjusted };
  const pictures = known.map(([title, network, drawing]) => {
    const figure = html(place, "figure");
    const caption = html(figure, "figcaption", { textContent: title });
    html(caption, "span", { textContent: scored(title, network) });
    const lone = (pair) => network[pair] === 0 || (truth ? truth[pair] === 0 : other[title]?.[pair] === 0);
    const picture = new NetworkPicture(figure, { lone });
    return [picture, drawing];
  });
  pictures.forEach(([picture, network]) => picture.draw(network, { limit }));
  if (unadjusted && !truth) pictures.push(difference(place));
  const explain = () => legend("sides", [...SIGNS, ["edge pos lone", truth ? "false edge" : "in this network only"], ...(unadjusted && !truth && changed ? [["edge pale", "may be chance, or is too small to report"]] : []), ...pictures[0][0].widths(), ...groupKeys()]);
  explain();
  watch(LOOKS, () => {
    pictures.forEach(([picture]) => picture.layOut());
    explain();
  });
}

/** What adjusting changes: only what a test tells from chance, and is large enough to report, has colour. */
function difference(place) {
  const figure = html(place, "figure");
  const caption = html(figure, "figcaption", { textContent: "Difference" });
  const [before, after] = tests && pooled ? [pooled.estimate, tests.estimate] : [unadjusted, adjusted];
  const change = after.map((value, pair) => (unadjusted[pair] !== 0 || adjusted[pair] !== 0 || changed?.[pair] ? value - before[pair] : 0));
  const counts = [1, 2].map((kind) => (changed ? changed.filter((found) => found === kind).length : 0));
  const small = counts[0] ? `${counts[1] ? ", " : ""}${counts[0].toLocaleString("en")} too small to report` : "";
  html(caption, "span", { textContent: !changed ? "adjusted less unadjusted, not tested" : counts[0] + counts[1] ? `${counts[1] ? `${counted(counts[1], "change")} beyond chance` : ""}${small}` : "no change beyond chance" });
  const picture = new NetworkPicture(figure, {
    faint: changed ? (pair) => changed[pair] !== 2 : undefined,
    label: (pair) => [
      `${names[sources[pair]]} – ${names[targets[pair]]}`,
      `${signed(before[pair])} becomes ${signed(after[pair])}`,
      ...(tests?.change ? [`q of the change = ${chance(tests.change[pair])}`] : []),
    ],
  });
  picture.draw(change, { limit: Math.max(largest(change), LEAST_SCALE) });
  return [picture, change];
}

/** How many edges there are, at which false discovery rate, and how many of them are true. */
function scored(title, network) {
  const tested = { Adjusted: tests, Unadjusted: pooled }[title];
  const rate = tested ? ` at q ≤ ${written(tested.fdr)}` : "";
  const count = countEdges(network);
  if (tested && !count) return `no edge${rate}; dotted: strongest candidates`;
  if (title === "Truth" || !truth) return `${counted(count, "edge")}${rate}`;
  const hits = truth.reduce((sum, value, pair) => sum + (value !== 0 && network[pair] !== 0), 0);
  return `${counted(count, "edge")}${rate}: ${hits} of ${countEdges(truth)} true, ${count - hits} false`;
}
