/* What no template can reach. Whatever scrolls by itself (a wide formula, table or output) can be
   reached and scrolled with the keyboard; what does not scroll stays out of the tab order. A formula
   in a line of text scrolls only if it is wider than the line: its hidden twin for screen readers is
   often a little wider than what is seen, so widths are those of the visible formula. */
(function () {
  "use strict";
  const candidates = 'mjx-container[display="true"], .bd-article .pst-scrollable-table-container, .bd-article .cell_output, .bd-article .cell_output > .output, .bd-article pre';

  function markScrollable() {
    for (const element of document.querySelectorAll(candidates)) {
      const scrolls = element.scrollWidth > element.clientWidth + 1;
      if (scrolls) element.setAttribute("tabindex", "0");
      else if (element.getAttribute("tabindex") === "0") element.removeAttribute("tabindex");
    }
    for (const line of document.querySelectorAll("span.math")) {
      const formula = line.querySelector("mjx-math");
      const wide = formula !== null && formula.getBoundingClientRect().width > line.clientWidth + 1;
      line.classList.toggle("wide", wide);
      if (wide) line.setAttribute("tabindex", "0");
      else line.removeAttribute("tabindex");
    }
  }

  // Printed columns are lost when their lines are broken: such an output scrolls instead.
  function markColumns() {
    for (const output of document.querySelectorAll(".bd-article .cell_output pre")) {
      const wide = output.textContent.split("\n").filter((line) => line.length > 44);
      output.classList.toggle("columns", wide.filter((line) => /\S {2,}\S/.test(line)).length > 1);
    }
  }

  // Where a row of a table has become a card, each figure needs the name of its column.
  function nameCells() {
    for (const table of document.querySelectorAll(".bd-article table.score-table")) {
      const names = Array.from(table.querySelectorAll("thead th"), (head) => head.textContent.trim());
      for (const row of table.querySelectorAll("tbody tr")) {
        Array.from(row.cells).forEach((cell, column) => {
          if (column > 0 && cell.textContent.trim()) cell.dataset.column = names[column];
        });
      }
    }
  }

  /* Lanes are folded at first; a link into one opens it, and so does the printer. The switch at the
     top opens all, on every page and the next time too. */
  const KEY = "annotated-transformer-lanes";
  const lanes = () => Array.from(document.querySelectorAll("details.lane-fold"));

  function targetOf(hash) {
    try { return hash ? document.getElementById(decodeURIComponent(hash.slice(1))) : null; } catch { return null; }
  }

  function openTarget() {
    const target = targetOf(location.hash);
    if (!target) return;
    openAround(target.matches(".lane") ? target.querySelector("details") : target);
    target.scrollIntoView();
  }

  function openAround(element) {
    for (let fold = element.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
  }

  function openFound() { // what the search has found and marked, wherever it is folded
    const marks = document.querySelectorAll(".bd-article .highlighted");
    marks.forEach(openAround);
    if (marks.length && !location.hash) marks[0].scrollIntoView();
  }

  function remembered() {
    try { return localStorage.getItem(KEY) === "everything"; } catch { return false; }
  }

  function remember(everything) {
    try { localStorage.setItem(KEY, everything ? "everything" : "core"); } catch { /* not kept */ }
  }

  function chooseLanes(everything) {
    for (const fold of lanes()) fold.open = everything;
    for (const button of document.querySelectorAll(".lane-switch button")) {
      button.setAttribute("aria-pressed", String((button.value === "everything") === everything));
    }
  }

  function offerSwitch() {
    const title = document.querySelector(".bd-article h1");
    if (!title || lanes().length === 0) return;
    const group = document.createElement("div");
    group.className = "lane-switch";
    group.setAttribute("role", "group");
    group.setAttribute("aria-label", "How much to read");
    for (const [value, name] of [["core", "The core"], ["everything", "Everything"]]) {
      const button = document.createElement("button");
      Object.assign(button, { type: "button", value, textContent: name });
      button.addEventListener("click", () => {
        chooseLanes(value === "everything");
        remember(value === "everything");
      });
      group.append(button);
    }
    title.after(group);
    chooseLanes(remembered());
  }

  function printEverything() {
    const closed = lanes().filter((fold) => !fold.open);
    for (const fold of closed) fold.open = true;
    window.addEventListener("afterprint", () => closed.forEach((fold) => { fold.open = false; }), { once: true });
  }

  /* The translator. Its numbers are most of a megabyte: they are loaded by the page that is about it,
     and elsewhere when they are asked for. */
  const TRANSLATOR = ["translator_numbers.js", "translator.js", "look_inside.js"];
  let translator = null;

  globalThis.loadTranslator = () => {
    translator ??= TRANSLATOR.reduce((before, name) => before.then(() => new Promise((resolve, reject) => {
      const src = `${document.documentElement.dataset.content_root}_static/${name}`;
      document.head.append(Object.assign(document.createElement("script"), { src, onload: resolve, onerror: reject }));
    })), Promise.resolve()).then(() => globalThis.BookTranslator);
    return translator;
  };

  function offerLooks() {
    for (const place of document.querySelectorAll(".look")) {
      const open = () => globalThis.loadTranslator().then(({ look }) => look(place));
      if (place.matches(".look-whole")) { open(); continue; }
      const button = Object.assign(document.createElement("button"), { type: "button", textContent: "Open it here" });
      button.addEventListener("click", () => { button.disabled = true; open().then(() => { place.tabIndex = -1; place.focus(); }); });
      place.append(button);
    }
  }

  let waiting = 0;
  const later = () => { clearTimeout(waiting); waiting = setTimeout(markScrollable, 100); };
  document.addEventListener("DOMContentLoaded", () => { markColumns(); nameCells(); offerSwitch(); offerLooks(); openTarget(); });
  window.addEventListener("hashchange", openTarget);
  document.addEventListener("click", (event) => { // also where the address stays the same
    if (event.target.closest('a[href^="#"]')) setTimeout(openTarget);
  });
  window.addEventListener("beforeprint", printEverything);
  window.addEventListener("load", () => { markScrollable(); setTimeout(openFound, 100); }); // Sphinx marks 10 ms after the page is there
  window.addEventListener("resize", later);
  document.addEventListener("toggle", later, true); // a fold that opened shows what was hidden
  new MutationObserver(later).observe(document.querySelector(".bd-article") || document.body, { childList: true, subtree: true });
})();
