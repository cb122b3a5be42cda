/* The page of result rows: choose a number of variables and what to see, click a number for its row and its command.
   The rows are in window.RESULT_ROWS (rows.py); nothing is loaded from elsewhere. */
(function () {
  "use strict";

  var FIELDS = ["setting", "p", "method", "seeds", "failed", "shd", "shd_ci", "f1", "right", "wrong", "open",
    "adjustment", "recall", "precision", "cpu_s", "command", "why"];
  /* name: [heading, digits, which way is better: -1 lower, 1 higher, 0 neither] */
  var NUMBERS = {
    shd: ["SHD", 2, -1], f1: ["F1", 3, 1], right: ["directions right", 2, 0], wrong: ["directions wrong", 2, 0],
    open: ["directions open", 2, 0], adjustment: ["adjustment distance", 3, -1],
    recall: ["policies named (share)", 2, 0], precision: ["named and right (share)", 2, 0], cpu_s: ["CPU seconds", 3, 0]
  };
  var KINDS = { federated: "federated", pooled: "all rows in one place", oracle: "limits" };

  function element(name, attributes, text) {
    var made = document.createElement(name);
    Object.keys(attributes || {}).forEach(function (key) { made.setAttribute(key, attributes[key]); });
    if (text !== undefined) { made.textContent = text; }
    return made;
  }

  function read(data) {
    return data.rows.map(function (values) {
      var row = {};
      FIELDS.forEach(function (field, place) { row[field] = values[place]; });
      return row;
    });
  }

  function shown(row, name) {
    if (!row) { return "-"; }
    if (!row.seeds) { return row.why.indexOf("stopped") === 0 ? "stopped" : "failed"; }
    if (row[name] === null) { return "-"; }
    return name === "cpu_s" ? String(Number(row[name].toPrecision(2))) : row[name].toFixed(NUMBERS[name][1]);
  }

  /* Of the federated methods the best of a line; equal ones are best together. */
  function best(rows, name, methods) {
    var way = NUMBERS[name][2];
    var found = rows.filter(function (row) {
      return row && row.seeds && row[name] !== null && methods[row.method][2] === "federated";
    }).map(function (row) { return way * row[name]; });
    return way && found.length ? way * Math.max.apply(null, found) : null;
  }

  /* `most` is the number of seeds that others in the line have: fewer are told in brackets. */
  function cell(row, name, top, federated, most, tell) {
    var made = element("td");
    if (!row) { made.textContent = "-"; return made; }
    var button = element("button", { type: "button", "class": "result-number" }, shown(row, name));
    if (top !== null && row.seeds && row[name] === top && federated) { button.classList.add("best"); }
    button.addEventListener("click", function () { tell(row); });
    made.appendChild(button);
    if (row.seeds && row.seeds < most) { made.appendChild(document.createTextNode(" (" + row.seeds + ")")); }
    return made;
  }

  function table(heads, lines) {
    var made = element("table"), head = made.createTHead().insertRow(), body = made.createTBody();
    heads.forEach(function (text) { head.appendChild(element("th", {}, text)); });
    lines.forEach(function (cells) {
      var line = body.insertRow();
      cells.forEach(function (one) { line.appendChild(one); });
    });
    return made;
  }

  /* Settings as lines, methods as columns, one number of each row. */
  function matrix(rows, name, methods, settings, tell) {
    var columns = Object.keys(methods).filter(function (m) { return rows.some(function (r) { return r.method === m; }); });
    var heads = ["setting"].concat(columns.map(function (m) { return methods[m][0]; }));
    var lines = Object.keys(settings).map(function (setting) {
      var mine = columns.map(function (m) {
        return rows.find(function (r) { return r.setting === setting && r.method === m; });
      });
      if (!mine.some(Boolean)) { return null; }
      var top = best(mine.filter(Boolean), name, methods);
      var most = Math.max.apply(null, mine.filter(Boolean).map(function (row) { return row.seeds; }));
      return [element("td", { title: settings[setting] }, setting)].concat(mine.map(function (row) {
        return cell(row, name, top, row && methods[row.method][2] === "federated", most, tell);
      }));
    }).filter(Boolean);
    return table(heads, lines);
  }

  /* One setting: methods as lines, all numbers as columns. */
  function single(rows, methods, tell) {
    var names = Object.keys(NUMBERS);
    var tops = names.map(function (name) { return best(rows, name, methods); });
    var heads = ["method", "seeds"].concat(names.map(function (name) { return NUMBERS[name][0]; }));
    return table(heads, rows.map(function (row) {
      var start = [element("td", {}, methods[row.method][0]), element("td", {}, String(row.seeds))];
      return start.concat(names.map(function (name, place) { return cell(row, name, tops[place], methods[row.method][2] === "federated", 0, tell); }));
    }));
  }

  function select(label, options) {
    var holder = element("label", {}, label + " "), made = element("select");
    options.forEach(function (one) { made.appendChild(element("option", { value: one[0] }, one[1])); });
    holder.appendChild(made);
    return { holder: holder, input: made };
  }

  function copied(command) {
    var button = element("button", { type: "button", "class": "result-copy" }, "Copy");
    button.addEventListener("click", function () {
      if (!navigator.clipboard) { button.textContent = "Select the line and copy it"; return; }
      navigator.clipboard.writeText(command).then(function () { button.textContent = "Copied"; });
    });
    return button;
  }

  function start() {
    var place = document.getElementById("result-rows"), data = window.RESULT_ROWS;
    if (!place || !data) { return; }
    var rows = read(data), told = element("div", { "class": "result-told", "aria-live": "polite" });
    var sizes = rows.map(function (r) { return r.p; }).filter(function (p, k, all) { return all.indexOf(p) === k; });
    sizes.sort(function (a, b) { return a - b; });
    var size = select("Variables", sizes.map(function (p) { return [p, p]; }));
    var what = select("Number", Object.keys(NUMBERS).map(function (name) { return [name, NUMBERS[name][0]]; }));
    var where = select("Setting", [["", "all"]].concat(Object.keys(data.settings).map(function (s) { return [s, s]; })));
    var kinds = Object.keys(KINDS).map(function (kind) {
      var holder = element("label"), input = element("input", { type: "checkbox" });
      input.checked = kind !== "oracle";
      holder.appendChild(input);
      holder.appendChild(document.createTextNode(" " + KINDS[kind]));
      return { holder: holder, input: input, kind: kind };
    });
    var view = element("div", { "class": "result-view" }), controls = element("div", { "class": "result-controls" });

    function tell(row) {
      told.textContent = "";
      var interval = row.seeds > 1 ? " ± " + row.shd_ci.toFixed(2) : "";
      var words = row.seeds ? row.seeds + " seeds, SHD " + shown(row, "shd") + interval + "; directions right, wrong, open: "
        + ["right", "wrong", "open"].map(function (n) { return shown(row, n); }).join(", ") : "";
      if (row.failed) { words += (words ? "; " : "") + row.failed + " fits failed: " + row.why; }
      told.appendChild(element("p", {}, data.methods[row.method][0] + ", " + row.setting + ", " + row.p + " variables: "
        + words + "."));
      told.appendChild(element("code", {}, row.command));
      told.appendChild(copied(row.command));
    }

    function draw() {
      var on = kinds.filter(function (one) { return one.input.checked; }).map(function (one) { return one.kind; });
      var some = rows.filter(function (row) {
        return row.p === Number(size.input.value) && on.indexOf(data.methods[row.method][2]) >= 0
          && (!where.input.value || row.setting === where.input.value);
      });
      what.input.disabled = where.input.value !== "";
      view.textContent = told.textContent = "";
      if (!some.length) { view.textContent = "Nothing was run here."; return; }
      var made = where.input.value ? single(some, data.methods, tell)
        : matrix(some, what.input.value, data.methods, data.settings, tell);
      view.appendChild(made);
      if (window.resultTable) { window.resultTable(made); }
    }

    [size, what, where].concat(kinds).forEach(function (one) {
      controls.appendChild(one.holder);
      one.input.addEventListener("change", draw);
    });
    [controls, told, view].forEach(function (one) { place.appendChild(one); });
    draw();
  }

  if (document.readyState === "loading") { document.addEventListener("DOMContentLoaded", start); } else { start(); }
})();
