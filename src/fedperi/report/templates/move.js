"use strict";
// Zoom, pan, drag variables, and show the neighbourhood of one variable.
(() => {
  const graph = document.getElementById("graph");
  const canvas = document.getElementById("canvas");
  const only = document.getElementById("only");
  const back = document.getElementById("put-back");
  const edges = [...graph.querySelectorAll(".edge")];
  const nodes = [...graph.querySelectorAll(".node")];
  const whole = { x: 0, y: 0, width: graph.viewBox.baseVal.width, height: graph.viewBox.baseVal.height };
  let view = whole, scale = null, chosen = null;

  // Size: as large as the page allows, until the user zooms.
  const fitting = () => Math.min(1.25, (canvas.clientWidth - 18) / view.width, Math.max(0.85, (0.82 * window.innerHeight - 18) / view.height));
  const resize = () => { graph.style.width = Math.round(view.width * (scale ?? fitting())) + "px"; };
  const zoom = (factor, x, y) => {
    const before = graph.getBoundingClientRect();
    const across = (x - before.left) / before.width, down = (y - before.top) / before.height;
    scale = Math.min(4, Math.max(Math.min(0.2, fitting()), (before.width / view.width) * factor));
    resize();
    const after = graph.getBoundingClientRect();
    canvas.scrollLeft += after.left + across * after.width - x;
    canvas.scrollTop += after.top + down * after.height - y;
  };
  for (const button of document.querySelectorAll("[data-zoom]")) {
    button.addEventListener("click", () => {
      const frame = canvas.getBoundingClientRect();
      if (button.dataset.zoom !== "fit") return zoom(button.dataset.zoom === "in" ? 1.25 : 0.8, frame.left + frame.width / 2, frame.top + frame.height / 2);
      scale = null;
      resize();
    });
  }
  window.addEventListener("resize", resize);

  // The wheel zooms around the pointer. It scrolls the page instead if it was scrolling when the pointer reached the
  // picture, or would zoom out when the whole picture is visible: otherwise users could not scroll past the picture.
  let scrolled = -Infinity;
  window.addEventListener("wheel", (event) => { if (!canvas.contains(event.target)) scrolled = event.timeStamp; }, { passive: true });
  canvas.addEventListener("wheel", (event) => {
    const pinched = event.ctrlKey || event.metaKey;
    if (!pinched) {
      const all = event.deltaY > 0 && graph.getBoundingClientRect().width <= view.width * fitting() + 1;
      if (event.shiftKey || !event.deltaY || all || event.timeStamp - scrolled < 300) {
        scrolled = event.shiftKey ? scrolled : event.timeStamp;
        return;
      }
    }
    event.preventDefault();
    zoom(Math.exp(-event.deltaY / 400), event.clientX, event.clientY);
  }, { passive: false });
  let apart = 0;
  canvas.addEventListener("touchmove", (event) => {
    if (event.touches.length !== 2) return;
    event.preventDefault();
    const [a, b] = event.touches;
    const now = Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY);
    if (apart) zoom(now / apart, (a.clientX + b.clientX) / 2, (a.clientY + b.clientY) / 2);
    apart = now;
  }, { passive: false });
  for (const end of ["touchend", "touchcancel"]) canvas.addEventListener(end, () => { apart = 0; });

  // Positions: where the boxes were drawn, how far each was dragged, and how far each is moved now.
  const boxes = nodes.map((node) => {
    const [x, y, width, height] = ["x", "y", "width", "height"].map((name) => Number(node.querySelector("rect").getAttribute(name)));
    return { x: x + width / 2, y: y + height / 2, width, height };
  });
  const dragged = boxes.map(() => ({ x: 0, y: 0 }));
  let moved = dragged;
  const PARTS = ["hit", "stroke", "head-up", "head-down", "differs", "follows"];
  const lines = edges.map((edge) => {
    const parts = PARTS.map((name) => edge.querySelector("." + name));
    return { ends: edge.dataset.ends.split(" ").map(Number), parts, drawn: parts.map((part) => part.getAttribute("d")) };
  });
  const border = (k, [ux, uy]) => { // the point where a line from the centre of a box leaves it
    const t = Math.min(boxes[k].width / 2 / Math.abs(ux), boxes[k].height / 2 / Math.abs(uy)) + 2.5;
    return [boxes[k].x + moved[k].x + ux * t, boxes[k].y + moved[k].y + uy * t];
  };
  const head = ([x, y], [ux, uy]) => {
    const at = (along, aside) => (x - along * ux - aside * uy).toFixed(1) + "," + (y - along * uy + aside * ux).toFixed(1);
    return "M" + at(0, 0) + " L" + at(10, 4.6) + " L" + at(8, 0) + " L" + at(10, -4.6) + " Z";
  };
  const redraw = ({ ends: [upper, lower], parts, drawn }) => {
    const still = [upper, lower].every((k) => !moved[k].x && !moved[k].y);
    let paths = drawn;
    if (!still) {
      const far = ["x", "y"].map((c) => boxes[lower][c] + moved[lower][c] - boxes[upper][c] - moved[upper][c]);
      const long = Math.hypot(...far) || 1, way = far.map((d) => d / long), opposite = way.map((d) => -d);
      const from = border(upper, way), to = border(lower, opposite);
      const line = "M" + from.map((c) => c.toFixed(1)) + " L" + to.map((c) => c.toFixed(1));
      const mark = "M" + ((from[0] + to[0]) / 2).toFixed(1) + "," + ((from[1] + to[1]) / 2 - 6).toFixed(1) + " l6,6 l-6,6 l-6,-6 Z";
      paths = [line, line, head(from, opposite), head(to, way), mark, mark];
    }
    parts.forEach((part, k) => part.setAttribute("d", paths[k]));
  };
  const place = (k) => {
    nodes[k].setAttribute("transform", "translate(" + moved[k].x.toFixed(1) + " " + moved[k].y.toFixed(1) + ")");
    for (const line of lines) if (line.ends.includes(k)) redraw(line);
  };
  const shift = (k, dx, dy) => { // within the picture
    const { x, y, width, height } = boxes[k];
    const clamp = (value, low, high) => Math.min(Math.max(value, low), high);
    moved[k] = {
      x: clamp(moved[k].x + dx, view.x + width / 2 + 2 - x, view.x + view.width - width / 2 - 2 - x),
      y: clamp(moved[k].y + dy, view.y + height / 2 + 2 - y, view.y + view.height - height / 2 - 2 - y),
    };
    back.hidden = false;
    place(k);
  };
  back.addEventListener("click", () => {
    dragged.forEach((_, k) => { dragged[k] = { x: 0, y: 0 }; });
    back.hidden = true;
    arrange();
  });

  // Drag a variable with the pointer or one finger; drag the background with the mouse to move the picture.
  let held = null;
  canvas.addEventListener("pointerdown", (event) => {
    const node = event.target.closest(".node");
    const ground = event.target === graph || event.target === canvas;
    if (event.button !== 0 || !(node || (ground && event.pointerType === "mouse"))) return;
    held = { node: node && nodes.indexOf(node), x: event.clientX, y: event.clientY, far: false, id: event.pointerId };
  });
  window.addEventListener("pointermove", (event) => {
    if (held === null || event.pointerId !== held.id) return;
    const dx = event.clientX - held.x, dy = event.clientY - held.y;
    if (!held.far && Math.hypot(dx, dy) < 5) return;
    Object.assign(held, { far: true, x: event.clientX, y: event.clientY });
    const unit = graph.getBoundingClientRect().width / view.width;
    if (held.node !== null) shift(held.node, dx / unit, dy / unit);
    else canvas.scrollBy(-dx, -dy);
  });
  for (const end of ["pointerup", "pointercancel"]) window.addEventListener(end, () => {
    if (held !== null && held.far) { // the end of a drag is not a click
      const stop = (event) => event.stopPropagation();
      window.addEventListener("click", stop, { capture: true, once: true });
      setTimeout(() => window.removeEventListener("click", stop, { capture: true }), 50);
    }
    held = null;
  });
  graph.addEventListener("keydown", (event) => {
    const way = { ArrowRight: [12, 0], ArrowLeft: [-12, 0], ArrowDown: [0, 12], ArrowUp: [0, -12] }[event.key];
    const k = nodes.indexOf(event.target);
    if (!event.shiftKey || !way || k < 0) return;
    event.preventDefault();
    shift(k, ...way);
  });

  // The neighbourhood of the chosen variable: causes above it, effects below, open edges to its sides.
  const around = (k) => {
    const found = { above: [], below: [], beside: [] };
    edges.forEach((edge, e) => {
      const [upper, lower] = lines[e].ends;
      if ((upper !== k && lower !== k) || edge.classList.contains("none")) return;
      const other = upper === k ? lower : upper;
      const kind = edge.classList.contains("line") ? "beside" : edge.classList.contains("down") === (other === upper) ? "above" : "below";
      found[kind].push(other);
    });
    return found;
  };
  const GAP = 26, STEP = 74;
  const rows = (some) => some.reduce((all, k) => {
    const last = all[all.length - 1];
    const wide = (row) => row.reduce((sum, j) => sum + boxes[j].width + GAP, 0);
    if (last && wide(last) + boxes[k].width <= Math.max(330, Math.min(900, canvas.clientWidth))) last.push(k);
    else all.push([k]);
    return all;
  }, []);
  const collapsed = (k) => {
    const { above, below, beside } = around(k);
    const at = new Map([[k, [0, 0]]]);
    const half = Math.ceil(beside.length / 2), tall = boxes[k].height + 22;
    [beside.slice(0, half), beside.slice(half)].forEach((column, side) => {
      const wide = Math.max(0, ...column.map((j) => boxes[j].width));
      column.forEach((j, n) => at.set(j, [(side ? 1 : -1) * (boxes[k].width / 2 + 60 + wide / 2), (n - (column.length - 1) / 2) * tall]));
    });
    const clear = Math.max(0, (half - 1) / 2) * tall + STEP + 10;
    [[rows(above), -1], [rows(below), 1]].forEach(([some, sign]) => some.forEach((row, r) => {
      let x = -row.reduce((sum, j) => sum + boxes[j].width + GAP, -GAP) / 2;
      for (const j of row) {
        at.set(j, [x + boxes[j].width / 2, sign * (clear + r * STEP)]);
        x += boxes[j].width + GAP;
      }
    }));
    return at;
  };
  function arrange() {
    const node = only.checked && chosen !== null && "node" in chosen.dataset ? Number(chosen.dataset.node) : null;
    graph.classList.toggle("collapsed", only.checked && chosen !== null);
    const at = node === null ? null : collapsed(node);
    view = whole;
    moved = dragged;
    if (at !== null) {
      moved = boxes.map(({ x, y }, k) => at.has(k) ? { x: at.get(k)[0] - x, y: at.get(k)[1] - y } : dragged[k]);
      const sides = [...at].flatMap(([k, [x, y]]) => [-1, 1].map((s) => [x + (s * boxes[k].width) / 2, y + (s * boxes[k].height) / 2]));
      const [left, top, right, bottom] = [Math.min, Math.max].flatMap((edge) => [0, 1].map((c) => edge(...sides.map((p) => p[c]))));
      view = { x: left - 14, y: top - 14, width: right - left + 28, height: bottom - top + 28 };
      scale = null;
    }
    graph.setAttribute("viewBox", [view.x, view.y, view.width, view.height].join(" "));
    graph.setAttribute("height", view.height);
    graph.setAttribute("width", view.width);
    nodes.forEach((_, k) => place(k));
    resize();
  }
  only.addEventListener("change", arrange);
  graph.addEventListener("kept", (event) => {
    const was = chosen;
    chosen = event.detail;
    if (only.checked && was !== chosen) arrange();
  });
  for (const input of document.querySelectorAll("#views input")) input.addEventListener("change", () => { if (only.checked) arrange(); });
  resize();
})();
