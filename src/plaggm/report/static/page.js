/* The page itself: the network's workbench, and everything begun. */

const CUT_STEPS = 100;
const RATE_STEPS = 100;

function workbench(place) {
  const limit = largest(shown.adjusted, shown.unadjusted);
  const reach = largest(shown.adjusted, shown.unadjusted, ...along.map((part) => part.nuisance));
  const atBaseline = () => !along.length || isFree(state.confounder, state.point);
  const picture = new NetworkPicture(place, {
    large: true,
    // Of the network without adjustment, edges that do not hold after adjusting are dotted as well.
    lone: (pair) => (state.network === "unadjusted" || tests || !atBaseline()) && (adjusted[pair] === 0 || current().weights[pair] === 0),
    label: (pair, network) => [
      ...pairLines(pair, network),
      ...(atBaseline() ? [] : [`baseline ${adjusted[pair] === 0 ? "no edge" : signed(adjusted[pair])}`]),
    ],
  });
  const qSlider = byId("q-slider");
  const alphaSlider = byId("alpha-slider");
  const gSlider = byId("g-slider");
  const cutSlider = byId("cut-slider");
  const networkChoice = byId("network-choice");
  // What the confounder adds below the faintest edge of the result, or below what the eye sees, is not worth
  // a line.
  const faintest = Math.max(adjusted.reduce((least, value) => (value !== 0 && Math.abs(value) < least ? Math.abs(value) : least), Infinity), 0.05 * reach);

  function shownNetwork() {
    if (!atBaseline()) return networkAtPoint(state.confounder, state.point);
    if (state.step !== null) return networkAtStep(state.step);
    const { weights, tests: tested } = current();
    return tested ? drawn(networkAtRate(state.q), tested) : weights;
  }

  function draw() {
    const network = shownNetwork();
    const cut = Math.max(state.cut, atBaseline() || !Number.isFinite(faintest) ? 0 : faintest);
    picture.draw(network, { limit, cut });
    const declared = tests ? `not declared at q ≤ ${written(tests.fdr)}` : "not in the baseline network";
    const dotted = state.network === "adjusted" ? declared : tests ? `${declared}, or not after adjusting` : "not in the adjusted network";
    legend("network", [...SIGNS, ...(tests || along.length || unadjusted ? [["edge pos lone", dotted]] : []), ...picture.widths(), ...groupKeys()]);
    byId("network-readout").textContent = inWords(network, picture.shown, cut);
    byId("cut-value").textContent = cut ? `${written(cut, 2)}${cut > state.cut ? " (too faint)" : ""}` : "none hidden";
    if (qSlider) {
      qSlider.value = positionOf(state.q);
      byId("q-value").textContent = `q ≤ ${written(state.q, 2)}${state.q === tests.fdr ? " (chosen)" : ""}`;
      qSlider.setAttribute("aria-valuetext", byId("q-value").textContent);
    }
    if (alphaSlider) {
      const step = state.step ?? path.chosen;
      // The path runs from the largest penalty down; the slider from the smallest up.
      alphaSlider.value = path.alphas.length - 1 - step;
      byId("alpha-value").textContent = `${written(path.alphas[step])}${step === path.chosen ? " (chosen)" : ""}`;
      alphaSlider.setAttribute("aria-valuetext", byId("alpha-value").textContent);
    }
    if (networkChoice) networkChoice.value = state.network;
    if (gSlider) {
      gSlider.value = state.point;
      const where = state.network === "unadjusted" ? "all samples" : `g = ${valueInWords(state.confounder, state.point)}${atBaseline() ? ", baseline" : ""}`;
      byId("g-value").textContent = where;
      gSlider.setAttribute("aria-valuetext", byId("g-value").textContent);
    }
    cutSlider.setAttribute("aria-valuetext", byId("cut-value").textContent);
  }

  function atRate(count, less) {
    const rate = `q ≤ ${written(state.q, 2)}`;
    if (!countEdges(networkAtRate(state.q))) return `No edge passes at ${rate}. Dotted: the strongest candidates.`;
    const which = unadjusted || state.q === tests.fdr ? `, ${current().words}` : "";
    return `${counted(count, "edge")} at ${rate}${which}${less}; on average at most ${written(100 * state.q, 2)}% of them false.`;
  }

  function inWords(network, edges, cut) {
    if (atBaseline()) {
      const hidden = countEdges(network) - edges.length;
      const less = hidden ? `, ${hidden} weaker ones hidden` : "";
      if (tests && state.step === null) return atRate(edges.length, less);
      const which = state.step === null || (state.step === path.chosen && !tests) ? current().words : `λ = ${written(path.alphas[state.step])}`;
      return `${counted(edges.length, "edge")}: ${which}${less}.${tests ? " Penalised weights, without tests." : ""}`;
    }
    const added = edges.filter((pair) => adjusted[pair] === 0).length;
    let square = 0;
    network.forEach((value, pair) => (square += 2 * (value - adjusted[pair]) ** 2));
    const where = `${payload.confounders[state.confounder].name} = ${valueInWords(state.confounder, state.point)}`;
    return `At ${where}: ${counted(edges.length, "edge")} of at least ${written(cut, 2)}, ${added.toLocaleString("en")} of them the confounder's. Distance from the baseline network: ${written(Math.sqrt(square), 2)}.`;
  }

  /** Along fraction `part` of a slider's track, whose ends are half a thumb inside. */
  const onTrack = (part) => `calc(${9 * (1 - 2 * part)}px + ${100 * part}%)`;

  function dressG() {
    const { grid } = along[state.confounder];
    const { name, threshold, average } = payload.confounders[state.confounder];
    const [start, end] = [average ? -1 : 0, grid.length - 1];
    gSlider.min = start;
    gSlider.max = end;
    byId("g-name").textContent = name;
    const levels = payload.confounders[state.confounder].levels;
    const home = average ? "At the left end" : levels ? "At the shaded level" : threshold === null ? "At the shaded value" : "In the shaded part";
    byId("g-help").textContent = `${home} the network is the baseline Ω̂₀${average ? ", the average" : ""}. Elsewhere the picture is Ω̂(g) = Ω̂₀ + R̂(g); edges that the baseline does not have are dotted.`;
    const free = average ? [-1] : [...grid.keys()].filter((point) => isFree(state.confounder, point));
    const zone = byId("g-free");
    zone.hidden = (threshold === null && !average) || !free.length;
    if (!zone.hidden) {
      const [from, to] = [Math.min(...free), Math.max(...free)].map((point) => (point - start) / (end - start || 1));
      zone.style.left = onTrack(from);
      zone.style.width = `max(6px, ${100 * (to - from)}% - ${18 * (to - from)}px)`;
    }
  }

  if (qSlider) {
    qSlider.max = RATE_STEPS;
    byId("q-mark").style.left = onTrack(positionOf(tests.fdr) / RATE_STEPS);
    qSlider.addEventListener("input", () => change({ q: rateAt(Number(qSlider.value)), step: null, point: along.length ? along[state.confounder].home : null }));
  }
  if (alphaSlider) {
    alphaSlider.max = path.alphas.length - 1;
    byId("alpha-mark").style.left = onTrack((path.alphas.length - 1 - path.chosen) / (path.alphas.length - 1 || 1));
    // R was learnt at the chosen penalty, so the two sliders do not move together.
    alphaSlider.addEventListener("input", () => change({ network: "adjusted", step: path.alphas.length - 1 - alphaSlider.value, point: along.length ? along[state.confounder].home : null }));
  }
  if (gSlider) {
    dressG();
    gSlider.addEventListener("input", () => change({ network: "adjusted", point: Number(gSlider.value), ...result }));
    const choices = document.querySelectorAll("[data-choice=confounder]");
    for (const choice of choices) {
      choice.addEventListener("change", () => change({ confounder: Number(choice.value), point: along[Number(choice.value)].home }));
    }
    watch(["confounder"], () => {
      for (const choice of choices) choice.value = state.confounder;
      dressG();
    });
  }
  networkChoice?.addEventListener("change", () => change({ ...result, network: networkChoice.value, step: null, point: along.length ? along[state.confounder].home : null }));
  cutSlider.addEventListener("input", () => change({ cut: (cutSlider.value / CUT_STEPS) * limit }));
  byId("layout-choice").addEventListener("change", ({ target }) => change({ layout: target.value }));
  byId("colour-choice")?.addEventListener("change", ({ target }) => change({ colour: target.value }));
  byId("order-choice").addEventListener("change", ({ target }) => change({ order: target.value === "connected" ? payload.order : [...names.keys()] }));
  byId("reset").addEventListener("click", () => {
    cutSlider.value = 0;
    change({ ...result, network: payload.lead, point: along.length ? along[state.confounder].home : null, cut: 0, node: null });
  });
  watch(LOOKS, () => picture.layOut());
  watch(["network", "q", "step", "point", "confounder", "cut", ...LOOKS, "node"], draw);
  if (tests) {
    const tell = () => (byId("pair-readout").textContent = testInWords(state.pair));
    watch(["pair", "network"], tell);
    tell();
  }
  draw();
}

/* The slider of the false discovery rate moves in equal steps of its logarithm; one of them is the chosen rate. */
const [LEAST_RATE, LARGEST_RATE] = tests ? [Math.min(0.001, tests.fdr), Math.max(0.5, tests.fdr)] : [0.001, 0.5];
const positionOf = (q) => Math.round((RATE_STEPS * Math.log(q / LEAST_RATE)) / Math.log(LARGEST_RATE / LEAST_RATE));
const rateAt = (at) => (at === positionOf(tests.fdr) ? tests.fdr : LEAST_RATE * (LARGEST_RATE / LEAST_RATE) ** (at / RATE_STEPS));

/** What the tests of the chosen network say about a pair, and what the other network has. */
function testInWords(pair) {
  const { weights, tests: tested } = current();
  const [other, words] = state.network === "adjusted" ? [pooled, "without adjustment"] : [tests, "adjusted"];
  const beside = other ? `, ${signed(other.estimate[pair])} ${words}` : "";
  const change = tests.change ? ` Change by adjusting: ${chanceOf("q", tests.change[pair])}.` : "";
  return `${names[sources[pair]]} – ${names[targets[pair]]}: ${signed(tested.estimate[pair])}, 95% interval ${interval(pair, tested)}, ${chanceOf("p", tested.p[pair])}, ${chanceOf("q", tested.q[pair])} (${weights[pair] === 0 ? "not declared" : "declared"})${beside}.${change}`;
}

/** Whether a point of the grid is where the confounder does nothing. */
function isFree(confounder, point) {
  const { threshold, origin } = payload.confounders[confounder];
  const { grid, home } = along[confounder];
  return point === home || (threshold !== null && Math.abs(grid[point] - origin) <= threshold);
}

for (const [name, begin] of [
  ["sides", sideBySide],
  ["network", workbench],
  ["neighbourhood", neighbourhood],
  ["forest", forest],
  ["centrality", centralities],
  ["matrix", matrices],
  ["moderation", changingEdges],
  ["along", edgeAlong],
  ["selection", selectionCurve],
  ["confounders", confounderHistograms],
]) {
  const place = view(name);
  if (place) begin(place);
}
edgeTable();
if (moderation) moderationTable();
addEventListener("scroll", hideTip, { passive: true });
document.documentElement.dataset.ready = "yes";
