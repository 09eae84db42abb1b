/* Elements, tooltips and legends. Text only ever enters the page as text. */

const SVG = "http://www.w3.org/2000/svg";

/** A new SVG element with attributes, inside a parent. */
function svg(parent, tag, attributes = {}, text = null) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text !== null) element.textContent = text;
  parent?.append(element);
  return element;
}

/** A new HTML element with properties, inside a parent. */
function html(parent, tag, properties = {}) {
  const element = Object.assign(document.createElement(tag), properties);
  parent?.append(element);
  return element;
}

const view = (name) => document.querySelector(`[data-view="${name}"]`);
const byId = (id) => document.getElementById(id);
const clamp = (value, low, high) => Math.min(Math.max(value, low), high);

/** A name of at most so many letters, cut in the middle. */
function shortened(name, most) {
  const letters = [...name];
  if (letters.length <= most) return name;
  const tail = Math.floor((most - 1) / 2);
  return `${letters.slice(0, most - 1 - tail).join("")}…${letters.slice(letters.length - tail).join("")}`;
}

/** A name that may be broken after its underscores and points, rather than anywhere. */
function breakable(parent, name) {
  const element = html(parent, "bdi", { className: "name" });
  for (const part of name.split(/(?<=[_.])/)) element.append(part, document.createElement("wbr"));
  element.lastChild?.remove();
  return element;
}

/** Names without the words that all of them begin or end with, for where there is little room. */
function distinctive(all) {
  const words = all.map((name) => name.split(/(?<=[\s_.])/));
  const shared = (at) => words.every((list) => list.length > 1 && list.at(at) === words[0].at(at));
  while (shared(0)) words.forEach((list) => list.shift());
  while (shared(-1)) words.forEach((list) => list.pop());
  return words.map((list) => list.join("").trim());
}

const labels = distinctive(names);
const tip = byId("tip");

/** Show lines of text beside the pointer, the first one bold. */
function showTip(x, y, lines) {
  tip.replaceChildren(...lines.map((line, at) => html(null, at ? "span" : "b", { textContent: line })));
  tip.hidden = false;
  const { width, height } = tip.getBoundingClientRect();
  tip.style.left = `${clamp(x + 14, 6, innerWidth - width - 6)}px`;
  tip.style.top = `${y + 18 + height > innerHeight ? y - height - 12 : y + 18}px`;
}

function hideTip() {
  tip.hidden = true;
}

/** Say something to those who hear the page. */
function announce(lines) {
  byId("live").textContent = lines.join(", ");
}

/** What is known about a pair. */
function pairLines(pair, network, label = payload.strength) {
  const lines = [`${names[sources[pair]]} – ${names[targets[pair]]}`];
  lines.push(network[pair] === 0 ? "no edge" : `${label} ${signed(network[pair])}`);
  const tested = [unadjusted, shown.unadjusted, pooled?.estimate].includes(network) ? pooled : tests;
  if (tested && network !== truth) lines.push(`95% interval ${interval(pair, tested)}`, chanceOf("q", tested.q[pair]));
  if (stability && adjusted[pair] !== 0) lines.push(`in ${Math.round(100 * stability[pair])}% of resamples`);
  return lines;
}

/** Where a pointer is, in the units of an svg's viewBox. */
function pointIn(drawing, event) {
  const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(drawing.getScreenCTM().inverse());
  return [point.x, point.y];
}

/** Classes of a variable by its group: eight colours, then the same as rings. */
function groupClass(label) {
  return label < 0 ? "alone" : `g${label % 8}${Math.floor(label / 8) % 2 ? " ring" : ""}`;
}

/** The groups that colour the variables, for a legend. */
function groupKeys() {
  const found = grouping();
  return found ? found.titles.slice(0, 24).map((title, at) => [`node ${groupClass(at)}`, title]) : [];
}

/** Explain lines and colours: entries of [class, words, width]. */
function legend(name, entries) {
  for (const place of document.querySelectorAll(`[data-legend="${name}"]`)) {
    place.replaceChildren();
    for (const [kind, words, thick = 3] of entries) {
      const entry = html(place, "span");
      const swatch = svg(entry, "svg", { viewBox: "0 0 28 12", width: 28, height: 12, "aria-hidden": "true" });
      if (kind.startsWith("dot")) svg(svg(swatch, "g", { class: `row ${kind.slice(4)}` }), "circle", { cx: 14, cy: 6, r: 5, class: kind.endsWith("before") ? "before" : "estimate" });
      else if (kind.startsWith("node")) svg(swatch, "circle", { cx: 14, cy: 6, r: 5, class: kind });
      else if (kind.startsWith("area")) svg(swatch, "rect", { x: 0, y: 0, width: 28, height: 12, rx: 2, class: kind.slice(5) });
      else svg(swatch, "line", { x1: 1, x2: 27, y1: 6, y2: 6, class: kind, "stroke-width": thick, ...(kind.includes("lone") ? { "stroke-dasharray": DOTTED } : {}) });
      html(entry, "span", { textContent: words });
    }
  }
}

const DOTTED = "3 3";
const SIGNS = [["edge pos", "positive"], ["edge neg", "negative"]];
