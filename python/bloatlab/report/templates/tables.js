// Sorts tables, shows the first rows of long ones, and says how many columns a narrow window hides. Without this script all rows
// are shown. On a phone a row of a wide table is a list (style.css), so fewer are shown.
const SHOWN = 20;
const LISTED = 6;
const phone = window.matchMedia("(max-width: 640px)");
for (const table of document.querySelectorAll(".scroll > table")) {
  const [scroll, rows] = [table.parentNode, [...table.tBodies[0].rows]];
  const shown = phone.matches && table.classList.contains("many") ? LISTED : SHOWN;
  if (rows.length > shown + shown / 4) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "more";
    const more = `${rows.length - shown} more rows`;
    for (const [kind, text] of [["screen", `${more}: show all`], ["paper", `${more} are on the page.`]]) {
      const part = document.createElement("span");
      part.className = kind;
      part.textContent = text;
      button.append(part);
    }
    table.fold = () => [...table.tBodies[0].rows].forEach((row, place) => { row.hidden = place >= shown; });
    table.fold();
    button.addEventListener("click", () => {
      table.fold = undefined;
      rows.forEach((row) => { row.hidden = false; });
      button.remove();
    });
    scroll.after(button);
  }
  const cut = document.createElement("p");
  cut.className = "cut";
  const count = () => {
    const edge = scroll.getBoundingClientRect().right + 1;
    const beyond = [...table.tHead.rows[0].cells].filter((cell) => cell.getBoundingClientRect().right > edge).length;
    cut.textContent = `${beyond} more column${beyond === 1 ? "" : "s"} to the right: scroll the table`;
    cut.hidden = beyond === 0;
  };
  scroll.before(cut);
  new ResizeObserver(count).observe(scroll);
  scroll.addEventListener("scroll", count, { passive: true });
}
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  const key = (row, column) => {
    const text = row.cells[column].dataset.sort ?? row.cells[column].textContent;
    const value = Number(text);
    return text !== "" && Number.isFinite(value) ? value : text;
  };
  const compare = (a, b) =>
    typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b));
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...[...head.childNodes].map((node) => node.cloneNode(true)));
    head.dataset.heading = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      for (const other of head.parentNode.cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const sign = down ? -1 : 1;
      const rows = [...body.rows].sort((a, b) => sign * compare(key(a, column), key(b, column)));
      body.append(...rows);
      table.fold?.();
    });
  });
}
// A link to a folded part opens it.
function reveal() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let part = target?.closest("details"); part; part = part.parentElement.closest("details")) part.open = true;
  if (target?.closest("details")) target.scrollIntoView();
}
window.addEventListener("hashchange", reveal);
reveal();
