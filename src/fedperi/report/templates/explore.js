"use strict";
// Search and filters for a large graph; saving the picture as a file.
(() => {
  const graph = document.getElementById("graph");
  const canvas = document.getElementById("canvas");
  const nodes = [...graph.querySelectorAll(".node")];
  const edges = [...graph.querySelectorAll(".edge")];
  const by = (id) => document.getElementById(id);

  // Search: mark variables whose name contains the text; Enter selects the first.
  const search = by("find");
  const names = nodes.map((node) => node.querySelector("title").textContent);
  const matching = () => nodes.filter((node, k) => search.value.trim() && names[k].toLowerCase().includes(search.value.trim().toLowerCase()));
  search.addEventListener("input", () => {
    const found = matching();
    for (const node of nodes) node.classList.toggle("found", found.includes(node));
    by("found").textContent = search.value.trim() ? found.length + (found.length === 1 ? " variable" : " variables") : "";
    if (found.length) found[0].scrollIntoView({ block: "nearest", inline: "center" });
  });
  search.addEventListener("keydown", (event) => {
    const [first] = matching();
    if (event.key === "Enter" && first) {
      event.preventDefault();
      if (first.getAttribute("aria-pressed") !== "true") first.dispatchEvent(new MouseEvent("click", { bubbles: true }));
    }
  });

  // Filters: hide edges below a probability; mark variables that differ at a site.
  const least = by("least");
  if (least) least.addEventListener("input", () => {
    by("least-now").textContent = Number(least.value).toFixed(2);
    for (const edge of edges) edge.classList.toggle("filtered", Number(edge.dataset.chance) < Number(least.value));
  });
  const site = by("site");
  if (site) site.addEventListener("change", () => {
    for (const node of nodes) {
      const sites = JSON.parse(node.dataset.sites);
      node.classList.toggle("differs", site.value !== "" && sites.includes(site.value));
    }
  });

  // Files: the picture as shown, with its styles inside, because the file has no style sheet.
  const STYLES = ["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity", "display", "color"];
  const drawn = () => {
    const copy = graph.cloneNode(true);
    const from = [graph, ...graph.querySelectorAll("*")], to = [copy, ...copy.querySelectorAll("*")];
    from.forEach((element, k) => {
      const style = getComputedStyle(element);
      to[k].setAttribute("style", STYLES.map((name) => name + ":" + style.getPropertyValue(name)).join(";"));
    });
    const { width, height } = graph.viewBox.baseVal;
    copy.setAttribute("width", width);
    copy.setAttribute("height", height);
    copy.setAttribute("style", "background:" + getComputedStyle(canvas).backgroundColor);
    return new XMLSerializer().serializeToString(copy);
  };
  const offer = (href, name) => {
    const link = by("download");
    link.href = href;
    link.download = name;
    link.click();
  };
  const asSvg = () => "data:image/svg+xml;charset=utf-8," + encodeURIComponent(drawn());
  by("save-svg").addEventListener("click", () => offer(asSvg(), "graph.svg"));
  by("save-png").addEventListener("click", () => {
    const image = new Image();
    image.addEventListener("load", () => {
      const sheet = document.createElement("canvas");
      sheet.width = 2 * graph.viewBox.baseVal.width;
      sheet.height = 2 * graph.viewBox.baseVal.height;
      const pen = sheet.getContext("2d");
      pen.fillStyle = getComputedStyle(canvas).backgroundColor;
      pen.fillRect(0, 0, sheet.width, sheet.height);
      pen.drawImage(image, 0, 0, sheet.width, sheet.height);
      offer(sheet.toDataURL("image/png"), "graph.png");
    });
    image.src = asSvg();
  });
})();
