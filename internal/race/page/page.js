// All of the page can be read without this: it sorts the table and unfolds all
// files at once. The buttons are made here, so that none is there that does
// nothing.
"use strict";
(() => {
  const table = document.getElementById("result");
  const body = table.tBodies[0];
  const heads = [...table.tHead.rows[0].cells];

  // What has no key, such as a metric that has no value, comes last either way.
  const compare = (a, b, numbers, turn) => {
    if (!numbers) return turn * a.textContent.localeCompare(b.textContent);
    const x = parseFloat(a.dataset.key), y = parseFloat(b.dataset.key);
    if (isNaN(x) || isNaN(y)) return isNaN(x) - isNaN(y);
    return turn * (x - y);
  };

  const sortBy = (column) => {
    const head = heads[column];
    const turn = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
    heads.forEach((h) => h.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", turn > 0 ? "ascending" : "descending");
    const numbers = head.dataset.number === "1";
    body.append(...[...body.rows].sort((a, b) => compare(a.cells[column], b.cells[column], numbers, turn)));
  };

  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    button.addEventListener("click", () => sortBy(column));
    head.append(button);
  });

  for (const article of document.querySelectorAll("article")) {
    const files = [...article.querySelectorAll("details.file")];
    if (files.length < 2) continue;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "fold";
    button.textContent = "Unfold or fold all files";
    button.addEventListener("click", () => {
      const open = files.some((f) => !f.open);
      files.forEach((f) => { f.open = open; });
    });
    files[0].before(button);
  }
})();
