/* What no template can reach. Whatever scrolls by itself (a wide formula, table or output) can be
   reached and scrolled with the keyboard; what does not scroll stays out of the tab order. A formula
   in a line of text scrolls only if it is wider than the line: its hidden twin for screen readers is
   often a little wider than what is seen, so widths are those of the visible formula. */
(function () {
  "use strict";
  // Opened as a file, a page may not fetch another for the excerpts of a search: titles alone then.
  if (location.protocol === "file:" && typeof DOCUMENTATION_OPTIONS !== "undefined") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;

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

  // The button for light and dark goes round three modes. Newer releases of the theme ask it which
  // one it stands for: the next.
  function nameNextMode() {
    const round = matchMedia("(prefers-color-scheme: dark)").matches ? ["auto", "light", "dark"] : ["auto", "dark", "light"];
    const next = round[(round.indexOf(document.documentElement.dataset.mode) + 1) % 3];
    for (const button of document.querySelectorAll(".theme-change-button")) button.dataset.mode = next;
  }

  // The theme takes the focus away from what was pressed; the keyboard keeps its place.
  function keepFocus(event) {
    if (event.detail === 0) event.target.closest(".theme-change-button")?.focus();
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

  /* What most readers of a page never touch is loaded when it is touched, or by the page that is about it. */
  const fileOf = (name) => `${document.documentElement.dataset.content_root}_static/${name}`;

  globalThis.loadScript = (name) => new Promise((resolve, reject) => {
    document.head.append(Object.assign(document.createElement("script"), { src: fileOf(name), onload: resolve, onerror: reject }));
  });

  function once(scripts, style) {
    let loaded = null;
    return () => {
      if (!loaded && style) document.head.append(Object.assign(document.createElement("link"), { rel: "stylesheet", href: fileOf(style) }));
      loaded ??= scripts.reduce((before, name) => before.then(() => globalThis.loadScript(name)), Promise.resolve())
        .catch((error) => { loaded = null; throw error; }); // to be tried again
      return loaded;
    };
  }

  const translator = once(["translator_numbers.js", "translator.js", "look_inside.js"]);
  const progress = once(["own_progress.js", "progress_panel.js"], "solve.css");
  const solving = once(["python/sizes.js", "vendor/editor.min.js", "python_worker.js", "solve.js"]);
  globalThis.loadTranslator = () => translator().then(() => globalThis.BookTranslator);

  function offerLooks() {
    for (const place of document.querySelectorAll(".look")) {
      const open = () => globalThis.loadTranslator().then(({ look }) => look(place));
      if (place.matches(".look-whole")) { open(); continue; }
      const button = Object.assign(document.createElement("button"), { type: "button", textContent: "Open it here" });
      button.addEventListener("click", () => { button.disabled = true; open().then(() => { place.tabIndex = -1; place.focus(); }); });
      place.append(button);
    }
  }

  /* An exercise can be solved where it stands. Who has begun one finds it open. */
  function begun(slot) { // under the key of own_progress.js, which is loaded for who has begun one
    try { return localStorage.getItem(`annotated-transformer-answer:${slot}`) !== null; } catch { return false; }
  }

  /* What a cell says: the id of its exercise, the text to begin with, and where an answer is kept; null
     where nothing is checked. On the front page a wrong answer stands there, to be mended. */
  function exerciseOf(place) {
    const code = place.querySelector("pre").textContent, found = /\n+check\("([\w.]+)", \w+\)\s*$/.exec(code);
    if (!found) return null;
    const name = found[1], mends = place.matches(".mend");
    return { name, mends, given: `${code.slice(0, found.index).trimEnd()}\n`, slot: mends ? `${name}.mend` : name };
  }

  function offerSolving() {
    for (const place of document.querySelectorAll(".cell.tag_exercise")) {
      const exercise = exerciseOf(place);
      if (!exercise) continue;
      const offer = Object.assign(document.createElement("p"), { className: "solve-offer" });
      const button = Object.assign(document.createElement("button"), { type: "button", textContent: exercise.mends ? "Mend it here" : "Solve it here" });
      const open = async () => {
        button.disabled = true;
        try { await progress(); await solving(); } catch {
          button.disabled = false;
          button.textContent = "A part could not be loaded: try again";
          return null;
        }
        offer.remove();
        return globalThis.BookSolve.solve(place, exercise);
      };
      button.addEventListener("click", () => open().then((editor) => {
        if (!editor) return;
        editor.focus();
        place.scrollIntoView();
      }));
      offer.append(button);
      place.append(offer);
      place.classList.toggle("solvable", !exercise.mends); // "to do", as stored there, says less than the button
      if (begun(exercise.slot)) open();
    }
    if (document.querySelector(".own-progress")) progress();
  }

  /* A page without formulas has no MathJax (light_pages.py); what is shown above a link may hold one. */
  const mathjax = once(["mathjax/tex-mml-chtml.js"]);
  globalThis.MathJax ??= {
    typesetPromise: async (places) => {
      if (!places.some((place) => place.querySelector(".math"))) return;
      globalThis.MathJax = { options: { enableMenu: false }, startup: { typeset: false } };
      await mathjax();
      await globalThis.MathJax.startup.promise;
      await globalThis.MathJax.typesetPromise(places);
    },
  };

  let waiting = 0;
  const later = () => { clearTimeout(waiting); waiting = setTimeout(markScrollable, 100); };
  document.addEventListener("DOMContentLoaded", () => { markColumns(); nameCells(); nameNextMode(); offerSwitch(); offerLooks(); offerSolving(); openTarget(); });
  new MutationObserver(nameNextMode).observe(document.documentElement, { attributeFilter: ["data-mode"] });
  document.addEventListener("click", keepFocus);
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
