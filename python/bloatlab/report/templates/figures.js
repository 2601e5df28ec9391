
// Draws each figure when it comes into view, and all of them before the page is printed. Without this script the page shows
// its tables and says how to get the figures.
const tables = new Map();
const parsed = (id) => JSON.parse(document.getElementById(id).textContent);

// The rows of a table from its short form (report/drawing.py).
function rowsOf(name) {
  if (!tables.has(name)) {
    const { rows, columns } = parsed(name);
    const read = Object.entries(columns).map(([column, of]) => [
      column,
      Array.isArray(of) ? (row) => of[row] : of.at ? (row) => of.of[of.at[row]] : () => of.of[0],
    ]);
    tables.set(name, Array.from({ length: rows }, (_, row) => Object.fromEntries(read.map(([column, at]) => [column, at(row)]))));
  }
  return tables.get(name);
}

// The tip of a mark. Names and values come from results, so they are only ever text.
const tip = document.createElement("dl");
tip.id = "tip";
tip.hidden = true;
document.body.append(tip);
function showTip(_, event, __, value) {
  tip.hidden = value === null || value === undefined || value === "";
  if (tip.hidden) return;
  const lines = typeof value === "object" ? Object.entries(value) : [["", value]];
  tip.replaceChildren(
    ...lines.map(([name, of]) => {
      const line = document.createElement("div");
      const [term, text] = [document.createElement("dt"), document.createElement("dd")];
      term.textContent = name;
      text.textContent = String(of);
      line.append(term, text);
      return line;
    }),
  );
  const { innerWidth, innerHeight } = window;
  tip.style.left = `${Math.max(4, Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8))}px`;
  const below = event.clientY + 14;
  tip.style.top = `${below + tip.offsetHeight > innerHeight ? Math.max(4, event.clientY - tip.offsetHeight - 10) : below}px`;
}

const places = [...document.querySelectorAll(".drawing")];
const drawings = new Map();
function draw(place) {
  watcher.unobserve(place);
  if (!drawings.has(place)) drawings.set(place, drawNow(place));
  return drawings.get(place);
}
async function drawNow(place) {
  const { tables: names, spec } = parsed(place.dataset.figure);
  spec.datasets = Object.fromEntries(names.map((name) => [name, rowsOf(name)]));
  try {
    // Vega's interpreter (`ast`) needs no `eval`, and a style element of Vega's would need a looser policy.
    await vegaEmbed(place, spec, {
      mode: "vega-lite", ast: true, actions: false, defaultStyle: false, renderer: "svg", tooltip: showTip, logLevel: 1,
    });
    place.style.minHeight = "";
  } catch (error) {
    place.textContent = `This figure cannot be drawn: ${error.message}`;
  }
}
const watcher = new IntersectionObserver(
  (entries) => entries.filter((entry) => entry.isIntersecting).forEach((entry) => draw(entry.target)),
  { rootMargin: "600px" },
);
for (const place of places) {
  place.style.minHeight = `${place.dataset.height}px`;
  watcher.observe(place);
}
window.addEventListener("beforeprint", () => places.filter((place) => !place.classList.contains("phone")).forEach(draw));
