"use strict";
(() => {
  const table = document.querySelector("table.runs");
  const form = document.querySelector("form.filter");
  const [choice, text, count] = form.querySelectorAll("select, input, output");
  const body = table.tBodies[0];
  const rows = [...body.rows];
  const order = new Map(rows.map((row, index) => [row, index]));
  const number = (row, column) => Number(row.cells[column].textContent.replaceAll(",", ""));

  const filter = () => {
    const wanted = text.value.toLowerCase();
    let shown = 0;
    for (const row of rows) {
      const fits = !choice.value || row.cells[0].dataset.verdict === choice.value;
      row.hidden = !(fits && row.textContent.toLowerCase().includes(wanted));
      shown += !row.hidden;
    }
    count.textContent = `${shown.toLocaleString("en")} of ${rows.length.toLocaleString("en")} listed`;
  };
  const sort = (column, head) => {
    const numeric = column > 1 && column < 6;
    const before = head.getAttribute("aria-sort");
    const down = numeric ? before !== "descending" : before === "ascending";
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const compare = (a, b) =>
      column === 0 ? order.get(a) - order.get(b)
        : numeric ? number(a, column) - number(b, column)
          : a.cells[column].textContent.localeCompare(b.cells[column].textContent, "en");
    rows.sort((a, b) => (down ? compare(b, a) : compare(a, b)) || order.get(a) - order.get(b));
    body.append(...rows);
  };
  const unfold = () => {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const folded = target && target.closest("details");
    if (folded && !folded.open) {
      folded.open = true;
      target.scrollIntoView();
    }
  };
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    button.addEventListener("click", () => sort(column, head));
    head.replaceChildren(button);
  });
  form.addEventListener("input", filter);
  form.addEventListener("submit", (event) => event.preventDefault());
  addEventListener("hashchange", unfold);
  form.hidden = false;
  filter();
  unfold();
})();
