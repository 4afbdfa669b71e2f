/* Draws the figures to touch. Agreed markup, written by annotated_transformer.figures.plotly_renderer:

     <div class="plotly-figure" aria-label="TEXT" style="min-height:HEIGHTpx">
       <script type="application/json">{"data":[],"layout":{},"frames":[]}</script>
     </div>

   - plotly itself (_static/vendor/plotly.min.js, 1.5 MB) is fetched once, when a figure comes near.
   - The sliders and buttons of the layout become native controls: keyboard, touch, screen reader.
   - The colours of the six roles and of the text follow the page when it turns dark or light.
   - No module and no fetch(): both would fail on file://. */
(function () {
  "use strict";
  const library = new URL("vendor/plotly.min.js", document.currentScript.src).href;
  const roles = ["query", "key", "value", "mask", "encoder", "decoder"];
  const config = { displayModeBar: false, responsive: true, scrollZoom: false };
  const figures = new Map(); // container -> {text, plot, controls, replay, figure, theme, queue}
  let loading = null;

  function loadPlotly() {
    loading ??= new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = library;
      script.onload = () => resolve(window.Plotly);
      script.onerror = () => reject(new Error(`could not load ${library}`));
      document.head.appendChild(script);
    });
    return loading;
  }

  const variable = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  /* The stored figure, in the colours of the page as it is now. */
  function themed(text) {
    if (document.documentElement.dataset.theme === "dark") {
      for (const role of roles) {
        text = text.replaceAll(new RegExp(variable(`--role-${role}-light`), "gi"), variable(`--role-${role}-dark`));
      }
    }
    // The grey that a picture needs to read on both pages; here the page's own ink reads better.
    text = text.replaceAll(/#757575(?![0-9a-f])/gi, variable("--ink"));
    const figure = JSON.parse(text);
    figure.layout.font = { ...figure.layout.font, color: variable("--ink") };
    figure.sliders = figure.layout.sliders || [];
    figure.menus = figure.layout.updatemenus || [];
    delete figure.layout.sliders;
    delete figure.layout.updatemenus;
    Object.assign(figure.layout, figure.layout.meta?.native); // the room that plotly's own controls took
    return figure;
  }

  /* A title as one line of plain text: plotly's has tags and entities. */
  const inWords = (title) =>
    new DOMParser()
      .parseFromString(title.replaceAll("<br>", ", "), "text/html")
      .body.textContent.replace(/[, ]+$/, "");

  /* What a step of a slider or a button of a menu does: plotly's own vocabulary. */
  const perform = (Plotly, plot, step) => Plotly[step.method](plot, ...structuredClone(step.args));

  function slider(Plotly, entry, index) {
    const { steps, active, currentvalue } = entry.figure.sliders[index];
    const label = document.createElement("label");
    const name = document.createElement("span");
    const range = document.createElement("input");
    const shown = document.createElement("output");
    name.textContent = (currentvalue?.prefix || "Step").replace(/[:=\s]+$/, "");
    Object.assign(range, { type: "range", min: 0, max: steps.length - 1, step: 1 });
    range.value = active || 0;
    const show = () => {
      const step = steps[range.value];
      shown.textContent = step.label;
      const title = inWords(step.args[1]?.["title.text"] ?? "");  // what the figure says there
      range.setAttribute("aria-valuetext", [shown.textContent, title].filter(Boolean).join(": "));
    };
    // The steps of the last drawing: they have its colours.
    const act = () => perform(Plotly, entry.plot, entry.figure.sliders[index].steps[range.value]);
    range.addEventListener("input", () => { show(); act(); });
    show();
    label.append(name, range, shown);
    entry.replay.push(act);
    return label;
  }

  function menu(Plotly, entry, index) {
    const { buttons: choices, active, name } = entry.figure.menus[index];
    const group = document.createElement("div");
    group.setAttribute("role", "group");
    group.setAttribute("aria-label", name || "Show");
    let chosen = active ?? 0;
    const act = () => perform(Plotly, entry.plot, entry.figure.menus[index].buttons[chosen]);
    const buttons = choices.map((choice, place) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = choice.label;
      button.addEventListener("click", () => { chosen = place; show(); act(); });
      return button;
    });
    const show = () => buttons.forEach((button, place) => button.setAttribute("aria-pressed", String(place === chosen)));
    show();
    group.append(...buttons);
    entry.replay.push(() => chosen > 0 && act());
    return group;
  }

  /* One drawing at a time in each figure: plotly does not bear two. */
  function draw(container) {
    const entry = figures.get(container);
    entry.queue = entry.queue.then(() => drawNow(container, entry));
    return entry.queue.catch((error) => failed(container, error));
  }

  async function drawNow(container, entry) {
    const theme = document.documentElement.dataset.theme;
    if (entry.theme === theme) return;
    const Plotly = await loadPlotly();
    const figure = themed(entry.text);
    entry.theme = theme;
    container.style.minHeight = entry.plot.style.minHeight = `${figure.layout.height}px`;
    await Plotly.newPlot(entry.plot, figure.data, figure.layout, config);
    const first = !entry.figure;
    entry.figure = figure;
    if (first) {
      entry.controls.append(
        ...figure.sliders.map((_, index) => slider(Plotly, entry, index)),
        ...figure.menus.map((_, index) => menu(Plotly, entry, index)),
      );
      entry.controls.hidden = !entry.controls.childElementCount;
    } else {
      for (const act of entry.replay) await act(); // keep what the reader had chosen
    }
    container.dataset.drawn = theme;
  }

  function failed(container, error) {
    figures.get(container).plot.textContent = `${container.getAttribute("aria-label")} (This figure needs plotly, and the page ${error.message}.)`;
  }

  function prepare(container) {
    const source = container.querySelector('script[type="application/json"]');
    if (!source || figures.has(container)) return;
    container.setAttribute("role", "figure");
    const plot = document.createElement("div");
    plot.style.minHeight = container.style.minHeight;
    const controls = document.createElement("div");
    controls.className = "plotly-figure-controls";
    controls.hidden = true;
    container.append(controls, plot);
    figures.set(container, { text: source.textContent, plot, controls, replay: [], figure: null, theme: null, queue: Promise.resolve() });
  }

  window.addEventListener("beforeprint", () => figures.forEach((_, container) => draw(container)));

  const near = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      near.unobserve(target);
      draw(target);
    }
  }, { rootMargin: "600px 0px" });

  new MutationObserver(() => {
    for (const [container, entry] of figures) if (entry.figure) draw(container);
  }).observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });

  for (const container of document.querySelectorAll(".plotly-figure")) {
    prepare(container);
    near.observe(container);
  }
})();
