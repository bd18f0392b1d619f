// Sorting of tables and the filters of the leaderboard. Cells carry their value in data-v; an empty one sorts last.

function valueOf(cell) {
  const raw = cell.dataset.v ?? cell.textContent;
  const number = Number(raw);
  return raw === "" ? null : Number.isNaN(number) ? raw.toLowerCase() : number;
}

function compareValues(one, two, sign) {
  if (one === null || two === null) return (one === null) - (two === null);
  if (typeof one === typeof two) return (one < two ? -1 : one > two ? 1 : 0) * sign;
  return (typeof one === "string" ? 1 : -1) * sign;
}

function sortBy(button, direction) {
  const head = button.closest("th"), table = head.closest("table"), body = table.tBodies[0];
  const rows = [...body.rows].map((row) => [valueOf(row.cells[head.cellIndex]), row]);
  const sign = direction === "ascending" ? 1 : -1;
  rows.sort((one, two) => compareValues(one[0], two[0], sign));
  for (const other of head.parentNode.cells) if (other.hasAttribute("aria-sort")) other.setAttribute("aria-sort", "none");
  head.setAttribute("aria-sort", direction);
  body.append(...rows.map((pair) => pair[1]));
}

function otherWay(direction) { return direction === "ascending" ? "descending" : "ascending"; }

function startSorting() {
  for (const button of document.querySelectorAll("button.sort")) {
    button.addEventListener("click", () => {
      const now = button.closest("th").getAttribute("aria-sort");
      const direction = now === "none" ? button.dataset.first : otherWay(now);
      sortBy(button, direction);
      if (button.dataset.key) noteBoard({ sort: button.dataset.key, dir: direction === "ascending" ? "asc" : "desc" });
    });
  }
}

function filterBoard() {
  const form = byId("filters"), rows = [...byId("board").tBodies[0].rows];
  const chosen = Object.fromEntries(new FormData(form));
  const words = (chosen.q || "").toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const row of rows) {
    const fits = words.every((word) => row.dataset.text.includes(word)) && ["verdict", "protocol", "kind"].every((key) => !chosen[key] || row.dataset[key] === chosen[key]);
    row.hidden = !fits;
    shown += fits;
  }
  const total = rows.length;
  byId("shown").textContent = shown === total ? `${total} judge${total === 1 ? "" : "s"}` : `${shown} of ${total} judges`;
  byId("none-shown").hidden = shown > 0;
  return chosen;
}

function startFilters() {
  const form = byId("filters");
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", () => noteBoard(filterBoard()));
  form.addEventListener("reset", () => setTimeout(() => noteBoard(filterBoard())));
}

function applyBoard(wanted) {
  const form = byId("filters");
  for (const key of ["q", "verdict", "protocol", "kind"]) if (form.elements[key] && wanted.has(key)) form.elements[key].value = wanted.get(key);
  filterBoard();
  const button = [...byId("board").querySelectorAll("button.sort")].find((each) => each.dataset.key === wanted.get("sort"));
  if (button) sortBy(button, wanted.get("dir") === "asc" ? "ascending" : "descending");
}
