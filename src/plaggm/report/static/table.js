/* The table of edges: sorted by its headings, searched, filtered, and taken away as CSV. */

const FIRST_ROWS = 20;
const PRINTED_ROWS = 200;

function edgeTable() {
  const all = [];
  for (let pair = 0; pair < pairCount; pair++) {
    if (tests || adjusted[pair] !== 0 || (unadjusted && unadjusted[pair] !== 0) || (truth && truth[pair] !== 0)) all.push(pair);
  }
  const weight = tests ? tests.estimate : adjusted;
  const plain = pooled ? pooled.estimate : unadjusted;
  const size = (pair) => Math.max(Math.abs(weight[pair]), plain ? Math.abs(plain[pair]) : 0);
  const leading = (both) => (payload.lead === "adjusted" ? both : both.reverse());
  const columns = [
    { key: "source", title: "Variable", of: (pair) => names[sources[pair]] },
    { key: "target", title: "Variable", of: (pair) => names[targets[pair]] },
    { key: unadjusted ? "adjusted" : "partial_correlation", title: unadjusted ? "Adjusted" : tests ? "Estimate" : "Partial correlation", of: (pair) => weight[pair], weight: true },
    tests && {
      key: "interval",
      title: "95% interval",
      // Sorted by the end that is nearer to zero; zero for an interval around it.
      of: (pair) => Math.max(tests.low[pair], -tests.high[pair], 0),
      text: interval,
      fields: { low: (pair) => tests.low[pair], high: (pair) => tests.high[pair] },
    },
    tests && { key: "p_value", title: "p", of: (pair) => tests.p[pair], chance: true },
    tests && { key: "q_value", title: "q", of: (pair) => tests.q[pair], chance: true },
    unadjusted && {
      key: "unadjusted",
      title: "Unadjusted",
      of: (pair) => plain[pair],
      weight: true,
      fields: pooled ? {
        unadjusted: (pair) => plain[pair],
        unadjusted_low: (pair) => pooled.low[pair],
        unadjusted_high: (pair) => pooled.high[pair],
        unadjusted_p_value: (pair) => pooled.p[pair],
        unadjusted_q_value: (pair) => pooled.q[pair],
      } : undefined,
    },
    tests?.change && { key: "change_q_value", title: "Change q", of: (pair) => tests.change[pair], chance: true },
    (unadjusted || truth) && { key: "status", title: "What happens", of: (pair) => statusOf(pair)[1], status: true },
    stability && { key: "stability", title: "Stability", of: (pair) => stability[pair], part: true },
    truth && { key: "truth", title: "Truth", of: (pair) => truth[pair], weight: true },
  ].filter(Boolean);
  const kinds = [
    // The network that the page is about comes first.
    ...leading([
      ["now", unadjusted ? "edges of the adjusted network" : "edges", (pair) => adjusted[pair] !== 0],
      unadjusted && ["before", "edges of the network without adjustment", (pair) => unadjusted[pair] !== 0],
    ]),
    ["all", tests ? "all pairs" : "all of these", () => true],
    unadjusted && ["vanish", "those that vanish", (pair) => statusOf(pair)[0] === "vanish"],
    unadjusted && ["appear", "those that appear", (pair) => statusOf(pair)[0] === "appear"],
    unadjusted && ["turn", "those whose sign turns", (pair) => statusOf(pair)[0] === "turn"],
    unadjusted && changed && ["move", "those that change in strength", (pair) => statusOf(pair)[0] === "move"],
    unadjusted && ["unsure", "those that differ, perhaps by chance", (pair) => statusOf(pair)[0] === "unsure"],
    truth && ["false", "false ones", (pair) => truth[pair] === 0 && adjusted[pair] !== 0],
    truth && ["missed", "true ones that were missed", (pair) => truth[pair] !== 0 && adjusted[pair] === 0],
  ].filter(Boolean);
  const body = byId("edge-table").tBodies[0];
  const head = byId("edge-table").tHead.rows[0];
  const search = byId("edge-search");
  const kind = byId("edge-kind");
  const isNumber = (column) => Boolean(column.weight || column.part || column.chance || column.text);
  const none = tests && !countEdges(networks[payload.lead].weights);
  // Where no edge is declared the table begins with the candidates.
  const view = none
    ? { column: columns.find(({ key }) => key === "p_value"), down: false, rows: [], whole: false }
    : { column: columns.find(({ key }) => key === payload.lead) ?? columns[2], down: true, rows: [], whole: false };

  for (const [key, words] of kinds) html(kind, "option", { value: key, textContent: words });
  if (none) kind.value = "all";
  for (const column of columns) {
    const cell = html(head, "th", { scope: "col", className: isNumber(column) ? "num" : "" });
    column.cell = cell;
    html(cell, "button", { type: "button", textContent: column.title }).addEventListener("click", () => {
      view.down = view.column === column ? !view.down : isNumber(column) && !column.chance;
      view.column = column;
      update();
    });
  }

  function update() {
    const words = search.value.trim().toLowerCase().split(/\s+/).filter(Boolean);
    const keep = kinds.find(([key]) => key === kind.value)[2];
    view.rows = all.filter((pair) => {
      const text = `${names[sources[pair]]}\n${names[targets[pair]]}`.toLowerCase();
      return keep(pair) && words.every((word) => text.includes(word));
    });
    const { of, weight } = view.column;
    // Weights are ordered by their size: the strongest matter, whatever their sign.
    const rank = weight ? (pair) => Math.abs(of(pair)) : of;
    const compare = (a, b) => (typeof a === "string" ? a.localeCompare(b, undefined, { numeric: true }) : a - b);
    view.rows.sort((a, b) => (view.down ? -1 : 1) * compare(rank(a), rank(b)) || size(b) - size(a));
    for (const column of columns) {
      if (column === view.column) column.cell.setAttribute("aria-sort", view.down ? "descending" : "ascending");
      else column.cell.removeAttribute("aria-sort");
    }
    fill();
  }

  function fill(most = view.whole ? Infinity : FIRST_ROWS) {
    const shown = view.rows.slice(0, most);
    body.replaceChildren(...shown.map(row));
    if (!shown.length) html(html(body, "tr"), "td", { colSpan: columns.length, textContent: "No edge fits." });
    const more = byId("edge-more");
    more.hidden = view.rows.length <= FIRST_ROWS;
    more.textContent = view.whole ? `Show the first ${FIRST_ROWS}` : `Show all ${view.rows.length}`;
    byId("edge-count").textContent = `${view.rows.length} of ${counted(all.length, "pair")}`;
  }

  function row(pair) {
    const line = html(null, "tr");
    for (const column of columns) {
      const value = column.of(pair);
      const cell = html(line, "td");
      if (column.weight) {
        cell.className = "num";
        html(cell, "span", { className: value === 0 ? "faint" : value > 0 ? "pos" : "neg", textContent: value === 0 ? "–" : signed(value) });
      } else if (column.part) Object.assign(cell, { className: "num", textContent: `${Math.round(100 * value)}%` });
      else if (column.chance) Object.assign(cell, { className: "num", textContent: chance(value) });
      else if (column.text) Object.assign(cell, { className: "num", textContent: column.text(pair) });
      else if (column.status) html(cell, "span", { className: `status ${statusOf(pair)[0]}`, textContent: value });
      else breakable(cell, value);
    }
    line.addEventListener("click", () => change({ pair }));
    return line;
  }

  /** A field of CSV: quotes round a name, and an apostrophe before one that a spreadsheet would run as a formula. */
  const inert = (name) => (/^'*[=+\-@\t\r]/.test(name) ? `'${name}` : name);
  const field = (value) => (typeof value === "string" ? `"${inert(value).replaceAll('"', '""')}"` : String(Number(value.toPrecision(7))));

  function download() {
    const fields = columns.flatMap((column) => Object.entries(column.fields ?? { [column.key]: column.of }));
    const lines = [fields.map(([key]) => key), ...view.rows.map((pair) => fields.map(([, of]) => field(of(pair))))];
    const blob = new Blob([`${lines.map((line) => line.join(",")).join("\n")}\n`], { type: "text/csv" });
    const link = html(null, "a", { href: URL.createObjectURL(blob), download: "edges.csv" });
    link.click();
    URL.revokeObjectURL(link.href);
  }

  // "and 5 more in the table" leads to just those.
  for (const link of document.querySelectorAll("[data-show]")) {
    link.addEventListener("click", () => {
      kind.value = link.dataset.show;
      search.value = "";
      update();
    });
  }
  addEventListener("beforeprint", () => fill(PRINTED_ROWS));
  addEventListener("afterprint", () => fill());
  search.addEventListener("input", update);
  kind.addEventListener("change", update);
  byId("edge-csv").addEventListener("click", download);
  byId("edge-more").addEventListener("click", () => {
    view.whole = !view.whole;
    fill();
  });
  update();
}
