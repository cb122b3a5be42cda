"use strict";
(() => {
  const graph = document.getElementById("graph");
  const canvas = document.getElementById("canvas");
  const details = document.getElementById("details");
  const items = [...graph.querySelectorAll(".item")];
  const edges = [...graph.querySelectorAll(".edge")];
  const nodes = [...graph.querySelectorAll(".node")];
  let kept = null;

  // The three graphs have the same lines with different marks.
  const show = (view) => {
    graph.dataset.view = view;
    for (const edge of edges) {
      edge.classList.remove("down", "up", "line", "none", "differs", "follows");
      edge.classList.add(edge.getAttribute("data-" + view));
      const extra = edge.getAttribute("data-" + view + "-extra");
      if (extra) edge.classList.add(extra);
    }
    for (const part of details.querySelectorAll("[data-for]")) part.hidden = part.dataset.for !== view;
  };
  for (const input of document.querySelectorAll("#views input")) {
    input.addEventListener("change", () => show(input.value));
    if (input.checked) show(input.value);
  }

  // Show the evidence of an edge, or the neighbours of a variable.
  const entryOf = (item) => document.getElementById(
    item === null ? "nothing" : "edge" in item.dataset ? "edge-" + item.dataset.edge : "node-" + item.dataset.node);
  const highlight = (item) => {
    for (const entry of details.querySelectorAll(".entry")) entry.hidden = entry !== entryOf(item);
    graph.classList.toggle("busy", item !== null);
    for (const other of items) other.classList.remove("chosen", "near");
    for (const row of document.querySelectorAll("tr.chosen")) row.classList.remove("chosen");
    if (item === null) return;
    const box = item.getBoundingClientRect(), frame = canvas.getBoundingClientRect();
    details.classList.toggle("left", box.left + box.right > frame.left + frame.right);
    details.scrollTop = 0;
    item.classList.add("chosen");
    if ("edge" in item.dataset) {
      for (const end of item.dataset.ends.split(" ")) nodes[Number(end)].classList.add("near");
      const row = document.querySelector('tr[data-edge="' + item.dataset.edge + '"]');
      if (row) row.classList.add("chosen");
    } else {
      for (const edge of edges) {
        const ends = edge.dataset.ends.split(" ");
        if (!ends.includes(item.dataset.node) || edge.classList.contains("none")) continue;
        edge.classList.add("near");
        for (const end of ends) nodes[Number(end)].classList.add("near");
      }
    }
  };
  const keep = (item) => {
    kept = kept === item ? null : item;
    for (const other of items) other.setAttribute("aria-pressed", String(other === kept));
    highlight(kept);
    graph.dispatchEvent(new CustomEvent("kept", { detail: kept }));
    if (kept !== null && details.getBoundingClientRect().top > window.innerHeight - 80) details.scrollIntoView({ block: "end" });
  };
  const drawn = (item) => getComputedStyle(item).display !== "none";
  const focus = (item) => {
    for (const other of items) other.tabIndex = other === item ? 0 : -1;
    item.focus();
  };

  // Tab stops once in the picture; arrow keys move from a variable through its edges to the next variable.
  const walk = nodes.flatMap((node) => [node, ...edges.filter((edge) => edge.dataset.ends.split(" ")[0] === node.dataset.node)]);
  if (walk.length) walk[0].tabIndex = 0;
  for (const item of items) {
    item.setAttribute("aria-pressed", "false");
    item.addEventListener("click", () => { keep(item); focus(item); });
    item.addEventListener("focus", () => { if (kept === null) highlight(item); });
    item.addEventListener("blur", () => { if (kept === null) highlight(null); });
  }
  for (const edge of edges) {
    edge.addEventListener("pointerenter", () => { if (kept === null) highlight(edge); });
    edge.addEventListener("pointerleave", () => { if (kept === null) highlight(null); });
  }
  graph.addEventListener("click", (event) => { if (event.target === graph && kept !== null) keep(kept); });
  graph.addEventListener("keydown", (event) => {
    const here = walk.indexOf(event.target);
    if (here < 0 || event.shiftKey) return;
    const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
    const visible = walk.filter(drawn);
    const at = visible.indexOf(event.target);
    if (event.key in steps) focus(visible[(at + steps[event.key] + visible.length) % visible.length]);
    else if (event.key === "Home") focus(visible[0]);
    else if (event.key === "End") focus(visible[visible.length - 1]);
    else if (event.key === "Enter" || event.key === " ") keep(event.target);
    else return;
    if (event.key in steps && kept !== null) keep(kept);
    if (kept === null) highlight(document.activeElement);
    event.preventDefault();
  });
  document.addEventListener("keydown", (event) => { if (event.key === "Escape" && kept !== null) keep(kept); });
  for (const button of document.querySelectorAll("[data-open]")) {
    button.addEventListener("click", () => {
      const edge = edges[Number(button.dataset.open)];
      if (kept !== edge) keep(edge);
      document.getElementById("h-graph").scrollIntoView({ block: "start" });
      edge.scrollIntoView({ block: "nearest", inline: "nearest" });
      if (drawn(edge)) focus(edge);
    });
  }

  // Light and dark.
  const theme = document.getElementById("theme");
  const isDark = () => document.documentElement.dataset.theme
    ? document.documentElement.dataset.theme === "dark"
    : window.matchMedia("(prefers-color-scheme: dark)").matches;
  const label = () => {
    theme.textContent = isDark() ? "Light" : "Dark";
    theme.setAttribute("aria-label", isDark() ? "switch to light colours" : "switch to dark colours");
  };
  theme.addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    label();
  });
  label();

  // Tables: sort and filter.
  for (const table of document.querySelectorAll(".sortable")) {
    const body = table.tBodies[0];
    const heads = [...table.tHead.rows[0].cells];
    const key = (row, k) => row.cells[k].dataset.key ?? row.cells[k].textContent.trim();
    heads.filter((head) => head.hasAttribute("aria-sort")).forEach((head, k) => head.addEventListener("click", () => {
      const numeric = head.classList.contains("num");
      const before = head.getAttribute("aria-sort");
      const up = before === "none" ? !numeric : before === "descending";
      for (const other of heads) if (other.hasAttribute("aria-sort")) other.setAttribute("aria-sort", "none");
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const compare = numeric ? (a, b) => Number(key(a, k)) - Number(key(b, k)) : (a, b) => key(a, k).localeCompare(key(b, k));
      body.append(...[...body.rows].sort((a, b) => (up ? 1 : -1) * compare(a, b)));
    }));
  }
  const keepOnly = (rows, wanted, status) => {
    let count = 0;
    for (const row of rows) {
      row.hidden = !wanted(row);
      count += row.hidden ? 0 : 1;
    }
    document.getElementById(status).textContent = count + " of " + rows.length;
  };
  const filter = document.getElementById("filter");
  if (filter) filter.addEventListener("input", () => {
    const wanted = filter.value.trim().toLowerCase();
    keepOnly(document.getElementById("edges").tBodies[0].rows, (row) => row.textContent.toLowerCase().includes(wanted), "matches");
  });

  // Nothing can be opened on paper: print the content of closed lists too, except the configuration.
  const closed = () => [...document.querySelectorAll("main details:not([open])")].filter((one) => !one.closest("[aria-labelledby=h-config]"));
  let opened = [];
  window.addEventListener("beforeprint", () => { opened = closed(); for (const one of opened) one.open = true; });
  window.addEventListener("afterprint", () => { for (const one of opened) one.open = false; });

  // Table of effects: filter by cause and by effect.
  const cause = document.getElementById("of-cause"), effect = document.getElementById("on-effect");
  for (const select of [cause, effect]) if (select) select.addEventListener("change", () => {
    const fits = (select, name) => !select.value || select.value === name;
    keepOnly(document.getElementById("effects").tBodies[0].rows, (row) => fits(cause, row.dataset.cause) && fits(effect, row.dataset.effect), "effects-shown");
  });

  // The matrix of sites and variables: a cell opens its evidence, one at a time.
  const cells = [...document.querySelectorAll("[data-cell]")];
  for (const cell of cells) {
    cell.addEventListener("click", () => {
      const open = cell.getAttribute("aria-expanded") !== "true";
      for (const other of cells) {
        const mine = other === cell && open;
        other.setAttribute("aria-expanded", String(mine));
        document.getElementById("cell-" + other.dataset.cell).hidden = !mine;
      }
    });
  }

  // Copy a text. It stays selected, for browsers that do not let a page from disk copy.
  for (const button of document.querySelectorAll("[data-copy]")) {
    button.addEventListener("click", () => {
      getSelection().selectAllChildren(document.getElementById(button.dataset.copy));
      button.textContent = document.execCommand("copy") ? "Copied" : "Selected: press Ctrl-C";
    });
  }
})();
