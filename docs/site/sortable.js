/* Tables with numbers: a click on a heading sorts by that column, another click turns the order round. Each method has the
   colour that it has in the figures. Nothing is loaded from elsewhere; without scripts the tables read as they are. */
(function () {
  "use strict";

  /* The number that a cell begins with, or null: "**1.20** ± 0.4" is 1.2, "4:0" is 4, "12 of 20" is 12. */
  function number(text) {
    var found = /^-?\d[\d,]*(\.\d+)?(e-?\d+)?/.exec(text.trim());
    return found ? parseFloat(found[0].replace(/,/g, "")) : null;
  }

  /* Numbers before words, words by the alphabet; what is empty or a dash comes last, whichever way. */
  function compare(a, b, down) {
    var empty = [a, b].map(function (t) { return t === "" || t === "-"; });
    if (empty[0] || empty[1]) { return empty[0] - empty[1]; }
    var x = number(a), y = number(b), order;
    if (x !== null && y !== null) { order = x - y; }
    else if (x !== null || y !== null) { return x !== null ? -1 : 1; }
    else { order = a.localeCompare(b); }
    return down ? -order : order;
  }

  function sort(table, column, down) {
    var body = table.tBodies[0];
    var rows = Array.prototype.slice.call(body.rows).map(function (row, place) {
      return { row: row, text: row.cells[column] ? row.cells[column].textContent.trim() : "", place: place };
    });
    rows.sort(function (a, b) { return compare(a.text, b.text, down) || a.place - b.place; });
    rows.forEach(function (one) { body.appendChild(one.row); });
  }

  function mark(heads, chosen, down) {
    heads.forEach(function (head, column) {
      head.setAttribute("aria-sort", column !== chosen ? "none" : down ? "descending" : "ascending");
    });
  }

  /* Whether a column holds numbers mostly. Tables of words are lists, to be read in their order. */
  function hasNumbers(rows, column) {
    var found = rows.filter(function (row) {
      return row.cells[column] && number(row.cells[column].textContent) !== null;
    });
    return 2 * found.length >= rows.length;
  }

  function sortable(table) {
    var head = table.tHead && table.tHead.rows[0];
    if (!head || !table.tBodies.length || table.tBodies[0].rows.length < 3) { return; }
    var rows = Array.prototype.slice.call(table.tBodies[0].rows);
    if (!Array.prototype.some.call(head.cells, function (_, column) { return hasNumbers(rows, column); })) { return; }
    var heads = Array.prototype.slice.call(head.cells);
    heads.forEach(function (cell, column) {
      cell.classList.add("sortable");
      cell.setAttribute("tabindex", "0");
      cell.setAttribute("aria-sort", "none");
      cell.setAttribute("title", "Sort by this column");
      function act() {
        var down = cell.getAttribute("aria-sort") === "ascending";
        sort(table, column, down);
        mark(heads, column, down);
      }
      cell.addEventListener("click", act);
      cell.addEventListener("keydown", function (event) {
        if (event.key === "Enter" || event.key === " ") { event.preventDefault(); act(); }
      });
    });
  }

  function colour(table) {
    var colours = window.METHOD_COLOURS || {};
    Array.prototype.forEach.call(table.querySelectorAll("th, td"), function (cell) {
      var found = colours[cell.textContent.trim()];
      if (found) {
        var dot = document.createElement("span");
        dot.className = "method-dot";
        dot.style.backgroundColor = found;
        cell.insertBefore(dot, cell.firstChild);
      }
    });
  }

  function both(table) {
    if (table.tHead && table.tHead.querySelector(".sortable")) { return; }
    if (table.tHead && table.tHead.rows[0].cells.length > 6) { table.setAttribute("data-wide", ""); }
    if (table.rows.length > 12) { table.setAttribute("data-long", ""); }
    colour(table);
    sortable(table);
  }

  function start() {
    Array.prototype.forEach.call(document.querySelectorAll("article table:not([class])"), both);
  }

  window.resultTable = both;  /* for tables that are made later (rows.js) */

  if (document.readyState === "loading") { document.addEventListener("DOMContentLoaded", start); } else { start(); }
})();
