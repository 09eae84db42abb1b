/* One variable and its neighbours: those that share an edge with it, and the edges among them. */

const MOST_NEIGHBOURS = 40;
/* How far edges among neighbours are bent, as a part of their length. */
const BOW = 0.15;

function neighbourhood(place) {
  const choice = byId("node-choice");
  const list = byId("node-names");
  const readout = byId("node-readout");
  const numbers = new Map(names.map((name, node) => [name, node]));
  for (const name of names) html(list, "option", { value: name });
  /** Edges of the chosen network, by variable; made anew where another network is chosen. */
  let around = null;
  function edgesOf(centre) {
    const { weights } = current();
    if (around?.weights !== weights) {
      const of = names.map(() => []);
      for (let pair = 0; pair < pairCount; pair++) {
        if (weights[pair] === 0) continue;
        of[sources[pair]].push(pair);
        of[targets[pair]].push(pair);
      }
      around = { weights, of };
    }
    return around.of[centre];
  }

  const otherEnd = (pair, end) => (sources[pair] === end ? targets[pair] : sources[pair]);

  /** The variable with most edges, from which the page starts. */
  function busiest() {
    let best = 0;
    names.forEach((_, one) => edgesOf(one).length > edgesOf(best).length && (best = one));
    return best;
  }

  let node = busiest();

  function draw(width) {
    place.replaceChildren();
    const { weights, words } = current();
    const own = [...edgesOf(node)].sort((a, b) => Math.abs(weights[b]) - Math.abs(weights[a]));
    const shownPairs = own.slice(0, MOST_NEIGHBOURS);
    const ring = shownPairs.map((pair) => otherEnd(pair, node));
    const side = Math.min(width, 620);
    const half = side / 2;
    const letters = Math.max(6, ...ring.map((one) => Math.min([...labels[one]].length, 14)));
    const radius = Math.max(half - 16 - letters * 6.2, 60);
    const drawing = svg(place, "svg", { viewBox: `${-half} ${-half} ${side} ${side}`, width: side, height: side, role: "group", "aria-label": `${names[node]} and ${counted(ring.length, "neighbour")}` });
    const at = new Map([[node, [0, 0]]]);
    ring.forEach((one, position) => {
      const angle = (2 * Math.PI * position) / ring.length - Math.PI / 2;
      at.set(one, [radius * Math.cos(angle), radius * Math.sin(angle)]);
    });
    const limit = largest(Float32Array.from(shownPairs, (pair) => weights[pair]));
    const line = (pair, [x1, y1], [x2, y2], faint) => {
      const part = Math.min(Math.abs(weights[pair]) / limit, 1);
      // Edges among neighbours are bent: a straight one could pass below the centre and look like its own.
      const [bendX, bendY] = [(x1 + x2) / 2 - BOW * (y2 - y1), (y1 + y2) / 2 + BOW * (x2 - x1)];
      const shape = faint ? ["path", { d: `M${x1} ${y1}Q${bendX} ${bendY} ${x2} ${y2}` }] : ["line", { x1, y1, x2, y2 }];
      const edge = svg(drawing, shape[0], { ...shape[1], class: `edge ${weights[pair] > 0 ? "pos" : "neg"}`, "stroke-width": (0.8 + 5 * part).toFixed(2), "stroke-opacity": faint ? 0.25 : (0.45 + 0.5 * part).toFixed(2) });
      edge.addEventListener("pointermove", (event) => showTip(event.clientX, event.clientY, pairLines(pair, weights)));
      edge.addEventListener("pointerleave", hideTip);
      edge.addEventListener("click", () => change({ pair }));
    };
    const among = new Set(ring.flatMap((one) => edgesOf(one)).filter((pair) => at.has(sources[pair]) && at.has(targets[pair])));
    for (const pair of among) if (sources[pair] !== node && targets[pair] !== node) line(pair, at.get(sources[pair]), at.get(targets[pair]), true);
    for (const pair of [...shownPairs].reverse()) line(pair, at.get(node), at.get(otherEnd(pair, node)), false);
    for (const [one, [x, y]] of at) {
      const group = svg(drawing, "g", { class: one === node ? "centre" : "neighbour", ...(one === node ? {} : { tabindex: 0, role: "button", "aria-label": `Go to ${names[one]}` }) });
      svg(group, "circle", { cx: x, cy: y, r: one === node ? 9 : 6, class: one === node ? "node hot" : "node" });
      const left = x < -1;
      svg(group, "text", { x: x + (one === node ? 0 : left ? -11 : 11), y: one === node ? y - 16 : y, class: one === node ? "label halo" : "label", "font-size": one === node ? 13 : 11, "text-anchor": one === node ? "middle" : left ? "end" : "start", "dominant-baseline": "central" }, shortened(labels[one], 14));
      if (one === node) continue;
      group.addEventListener("click", () => go(one));
      group.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        go(one);
        // What had the focus is gone: the walk continues among the new neighbours.
        place.querySelector(".neighbour")?.focus();
      });
    }
    const hidden = own.length - ring.length;
    readout.textContent = `${names[node]}: ${counted(own.length, "edge")}, ${words}${hidden ? `; the ${ring.length} strongest are drawn` : ""}.`;
  }

  const redraw = fitted(place, draw);

  function go(one) {
    node = one;
    choice.value = names[one];
    hideTip();
    redraw();
  }

  choice.addEventListener("change", () => {
    const asked = choice.value.trim();
    const found = numbers.get(asked) ?? names.findIndex((name) => name.toLowerCase().includes(asked.toLowerCase()));
    if (asked && found >= 0) go(found);
    else readout.textContent = `There is no variable ${asked}.`;
  });
  watch(["network"], redraw);
  watch(["node"], () => state.node !== null && go(state.node));
  choice.value = names[node];
}
