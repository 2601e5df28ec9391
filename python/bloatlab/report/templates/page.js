"use strict";
// Without this script the page loses the sorting of its tables, and its folded parts on paper, nothing else.
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
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      for (const other of head.parentNode.cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const sign = down ? -1 : 1;
      const rows = [...body.rows].sort((a, b) => sign * compare(key(a, column), key(b, column)));
      body.append(...rows);
    });
  });
}
// Paper cannot be unfolded.
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((part) => (part.open = true)));
