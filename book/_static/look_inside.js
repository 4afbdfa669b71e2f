/* Look inside a translation: a sentence, its pieces, what could come next, who looks at whom.
   Each place for it (`.look`) says in its data-view with what it begins; translator.js computes. */
(function () {
  "use strict";
  const { Translator, likeliest, EOS, UNK, MARK } = globalThis.BookTranslator;
  const SHOWN = 5; // of the pieces that could come next
  const KINDS = { cross: "translation → source", self: "translation → itself", encoder: "source → itself" };
  const ATTENTION = { cross: "decoder.layers.L.cross_attention", self: "decoder.layers.L.self_attention", encoder: "encoder.layers.L.self_attention" };
  let number = 0; // of the places on this page: names of radio groups are their own

  function element(tag, properties = {}, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(properties)) {
      if (name in made) made[name] = value;
      else made.setAttribute(name, value);
    }
    made.append(...children);
    return made;
  }

  const percent = (share) => (share > 0.9995 ? "100 %" : share < 0.001 ? "< 0.1 %" : `${(100 * share).toFixed(share < 0.1 ? 1 : 0)} %`);

  /* What is looked at, as a text that a link can carry: s the sentence, beam how many beginnings,
     p the ids that the translation begins with, kind and head of attention, step, off: heads taken away. */
  function viewOf(text) {
    const given = new URLSearchParams(text);
    const numbers = (name) => (given.get(name) ?? "").split(".").filter((part) => /^\d+$/.test(part)).map(Number);
    return {
      sentence: (given.get("s") ?? "").slice(0, 400),
      beam: given.get("beam") === "4" ? 4 : 1,
      prefix: numbers("p"),
      kind: given.get("kind") in KINDS ? given.get("kind") : "cross",
      head: numbers("head").length === 2 ? given.get("head") : "2.2",
      step: Number(given.get("step")) || 1,
      off: new Set((given.get("off") ?? "").split(",").filter(Boolean)),
    };
  }

  function textOf(view) {
    const said = new URLSearchParams({ s: view.sentence, beam: view.beam, kind: view.kind, head: view.head, step: view.step });
    if (view.prefix.length) said.set("p", view.prefix.join("."));
    if (view.off.size) said.set("off", [...view.off].join(","));
    return said.toString();
  }

  class Look {
    constructor(place, translator, sentences) {
      Object.assign(this, { place, translator, sentences, name: `look-${++number}` });
      this.whole = place.matches(".look-whole"); // the page's own: it keeps its view in the address
      this.view = viewOf((this.whole && location.hash.slice(1)) || place.dataset.view);
      place.classList.add("look-open");
      this.make();
      this.translate();
    }

    // --- the parts -----------------------------------------------------------------------------

    make() {
      const part = {};
      this.part = part;
      part.sentence = element("input", { type: "text", value: this.view.sentence, maxLength: 400, lang: "en", autocomplete: "off", spellcheck: false });
      part.another = element("button", { type: "button", textContent: "Another sentence" });
      part.form = element("form", { className: "look-form" },
        element("label", {}, element("span", { textContent: "An English sentence" }), part.sentence),
        element("button", { textContent: "Translate" }), part.another);
      part.notes = element("div", { className: "look-notes", "aria-live": "polite" });
      part.search = this.radios("search", "Search", { 1: "greedy", 4: "beam of 4" });
      part.text = element("p", { className: "look-text", lang: "de", "aria-live": "polite" });
      part.source = element("ol", { className: "look-pieces", lang: "en", "aria-label": "pieces of the source" });
      part.target = element("fieldset", { className: "look-pieces", lang: "de" });
      part.says = element("p", { className: "look-says", "aria-live": "polite" });
      part.before = element("p", { className: "look-before" });
      part.next = element("ol", { className: "look-next", lang: "de", "aria-label": "likeliest next pieces; press one to go on with it" });
      part.free = element("button", { type: "button", textContent: "Back to the model's own words" });
      part.kind = this.radios("kind", "Attention", KINDS);
      part.heads = element("fieldset", { className: "look-heads" });
      part.off = element("input", { type: "checkbox" });
      part.offLabel = element("span");
      part.allOn = element("button", { type: "button", textContent: "Put all heads back" });
      part.numbers = element("input", { type: "checkbox" });
      part.known = element("input", { type: "checkbox" });
      part.knownLabel = element("label", {}, part.known, "The grammar's alignment");
      part.weights = element("div", { className: "look-weights", tabIndex: 0, role: "region", "aria-label": "weights" });
      part.link = element("a", { textContent: this.whole ? "Link to this view" : "Open it on a page of its own" });
      const panel = (title, ...children) => element("section", { "aria-label": title }, element("p", { className: "look-title", textContent: title }), ...children);
      this.place.replaceChildren(
        part.form, part.notes, part.search, part.text, part.source, part.target, part.says,
        element("div", { className: "look-panels" },
          panel("What could come next", part.before, part.next, part.free),
          panel("Who looks at whom", part.kind, part.heads,
            element("p", { className: "look-switches" }, element("label", {}, part.off, part.offLabel), part.allOn),
            part.weights,
            element("p", { className: "look-switches" }, element("label", {}, part.numbers, "Numbers"), part.knownLabel))),
        element("p", { className: "look-end" }, part.link));
      this.listen();
    }

    radios(name, legend, choices) {
      const group = element("fieldset", { className: "look-choices" }, element("legend", { textContent: legend }));
      for (const [value, text] of Object.entries(choices)) group.append(this.radio(name, value, text));
      return group;
    }

    radio(name, value, ...shown) {
      return element("label", {}, element("input", { type: "radio", name: `${this.name}-${name}`, value }), element("span", {}, ...shown));
    }

    check(group, value) {
      for (const input of group.querySelectorAll("input[type=radio]")) input.checked = input.value === String(value);
    }

    listen() {
      const part = this.part;
      const anew = (changes) => { Object.assign(this.view, { prefix: [], step: 1 }, changes); this.translate(); };
      part.form.addEventListener("submit", (event) => { event.preventDefault(); anew({ sentence: part.sentence.value }); });
      part.another.addEventListener("click", () => {
        const others = this.sentences.filter(([source]) => source !== this.view.sentence);
        part.sentence.value = others[Math.floor(Math.random() * others.length)][0];
        anew({ sentence: part.sentence.value });
      });
      part.search.addEventListener("change", (event) => anew({ beam: Number(event.target.value) }));
      part.free.addEventListener("click", () => { anew({}); part.sentence.focus(); });
      part.kind.addEventListener("change", (event) => this.show({ kind: event.target.value }));
      part.heads.addEventListener("change", (event) => this.show({ head: event.target.value }));
      part.target.addEventListener("change", (event) => this.show({ step: Number(event.target.value) }));
      part.weights.addEventListener("change", (event) => this.row(Number(event.target.value)));
      part.off.addEventListener("change", () => {
        const name = this.attentionName(...this.head());
        if (part.off.checked) this.view.off.add(name);
        else this.view.off.delete(name);
        this.translate();
      });
      part.allOn.addEventListener("click", () => { this.view.off.clear(); this.translate(); part.off.focus(); });
      part.numbers.addEventListener("change", () => this.showWeights());
      part.known.addEventListener("change", () => this.showWeights());
      // The small pictures are drawn in the ink of the theme.
      new MutationObserver(() => this.showHeads()).observe(document.documentElement, { attributeFilter: ["data-theme"] });
      if (this.whole) window.addEventListener("hashchange", () => {
        if (!location.hash.includes("s=") || location.hash.slice(1) === textOf(this.view)) return;
        this.view = viewOf(location.hash.slice(1));
        part.sentence.value = this.view.sentence;
        this.translate();
      });
    }

    // --- what it means -------------------------------------------------------------------------

    piece(id) { // as it is read
      if (id === EOS) return "(end)";
      if (id === UNK) return "(unknown)";
      return this.translator.vocabulary.pieces[id].replace(MARK, "") || "(space)";
    }

    joins(id) { // whether it is written on to the piece before it
      return id > UNK && !this.translator.vocabulary.pieces[id].startsWith(MARK);
    }

    head() { // layer and head, from 0 on; head is null for the mean of the layer
      const [layer, head] = this.view.head.split(".").map((part) => part - 1);
      const { num_layers: layers, num_heads: heads } = this.translator.config;
      return [Math.min(Math.max(layer, 0), layers - 1), head < 0 ? null : Math.min(head, heads - 1)];
    }

    attentionName(layer, head) {
      return `${ATTENTION[this.view.kind].replace("L", layer)}.${head}`;
    }

    weights(layer, head) { // [query][key]
      const { kind } = this.view, { encoder, steps } = this.found;
      const heads = kind === "encoder" ? encoder[layer] : steps[0][kind][layer].map((_, one) => steps.map((step) => step[kind][layer][one]));
      if (head !== null) return heads[head];
      return heads[0].map((row, query) => row.map((_, key) => heads.reduce((sum, one) => sum + one[query][key], 0) / heads.length));
    }

    translate() {
      const { view, translator, part } = this;
      const options = { size: view.beam, prefix: view.prefix };
      try {
        this.found = translator.translate(view.sentence, { ...options, off: view.off });
      } catch (error) {
        if (!(error instanceof RangeError)) throw error;
        part.notes.replaceChildren(element("p", { textContent: `${error.message} Write a shorter sentence.` }));
        return;
      }
      const plain = view.off.size ? translator.translate(view.sentence, options).text : null;
      view.prefix = view.prefix.slice(0, this.found.target.length);
      const isEmpty = this.found.target.length === 0;
      this.place.classList.toggle("look-empty", isEmpty);
      this.known = this.sentences.find(([source, target]) => source === view.sentence && target === this.found.text);
      part.notes.replaceChildren(...this.notes(plain).map((text) => element("p", { textContent: text })));
      this.check(part.search, view.beam);
      part.text.textContent = this.found.text || "…";
      if (isEmpty) return;
      part.source.replaceChildren(...this.found.source.map((id) => element("li", { className: this.joins(id) ? "joins" : "" }, element("span", { className: "look-piece", textContent: this.piece(id) }))));
      part.target.replaceChildren(element("legend", { textContent: "pieces of the translation: choose a step" }), ...this.found.target.map((id, place) => {
        const piece = this.radio("step", place + 1, this.piece(id));
        piece.className = `${this.joins(id) ? "joins" : ""} ${place < view.prefix.length ? "chosen" : ""}`;
        piece.lastChild.className = "look-piece";
        return piece;
      }));
      part.free.hidden = view.prefix.length === 0;
      this.show({});
    }

    notes(plain) {
      const { view, found, translator } = this, notes = [];
      const word = (character) => `“${character}”`;
      if (found.target.length === 0) return ["Write an English sentence, or take another one."];
      const strange = [...new Set(Array.from(view.sentence.normalize("NFC")).filter((character) => translator.vocabulary.encode(character).includes(UNK)))];
      if (strange.length) notes.push(`No piece of its vocabulary has ${strange.map(word).join(", ")}: the model reads “unknown” there.`);
      const sentence = this.sentences.find(([source]) => source === view.sentence);
      if (sentence && sentence[1] !== found.text && view.prefix.length === 0) notes.push(`The grammar's own translation: ${sentence[1]}`);
      if (plain !== null) {
        const which = view.off.size === 1 ? "one head" : `${view.off.size} heads`;
        notes.push(plain === found.text ? `Without ${which} the translation is the same.` : `Without ${which} it reads as below; with all heads: ${plain}`);
      }
      if (found.target.at(-1) !== EOS) notes.push("It found no end and was stopped: it may have 50 pieces more than the source.");
      return notes;
    }

    // --- showing -------------------------------------------------------------------------------

    show(changes) {
      Object.assign(this.view, changes);
      const { view, found, part } = this;
      view.step = Math.min(Math.max(view.step, 1), found.target.length);
      this.query = view.kind === "encoder" ? Math.min(this.query ?? 0, found.source.length - 1) : view.step - 1;
      this.check(part.target, view.step);
      this.check(part.kind, view.kind);
      this.showNext();
      this.showHeads();
      this.showWeights();
      const text = textOf(view);
      part.link.href = this.whole ? `#${text}` : `${this.place.dataset.page}#${text}`;
      if (this.whole && this.ready) history.replaceState(null, "", `#${text}`);
      this.ready = true; // the address stays as it is until something is chosen
    }

    showNext() {
      const { view, found, part, translator } = this, at = view.step - 1;
      const { logits, total } = found.steps[at], chosen = found.target[at];
      const before = translator.vocabulary.decode(found.target.slice(0, at));
      part.before.textContent = before ? `After “${before}”` : "At the start";
      const shown = likeliest(logits, SHOWN, [0, 1]);
      if (!shown.includes(chosen)) shown.splice(SHOWN - 1, 1, chosen);
      part.next.replaceChildren(...shown.map((id) => {
        const button = element("button", { type: "button", textContent: (this.joins(id) ? "+ " : "") + this.piece(id) });
        if (id === chosen) button.setAttribute("aria-current", "true");
        button.addEventListener("click", () => {
          Object.assign(view, { prefix: [...found.target.slice(0, at), id], step: at + 1 });
          this.translate();
          part.next.querySelector("[aria-current]").focus();
        });
        const share = Math.exp(logits[id] - total);
        return element("li", {}, button, element("span", { className: "hero-bar", style: `--share:${share}` }), element("span", { className: "hero-share", textContent: percent(share) }));
      }));
    }

    showHeads() {
      if (this.found.target.length === 0) return;
      const { num_layers: layers, num_heads: heads } = this.translator.config, [layer, head] = this.head(), { part, view } = this;
      part.heads.replaceChildren(element("legend", { textContent: "Head" }));
      for (let l = 0; l < layers; l++) {
        const row = element("div", {}, element("span", { textContent: `layer ${l + 1}` }));
        for (let h = 0; h <= heads; h++) {
          const own = h < heads ? h : null, choice = this.radio("head", `${l + 1}.${own === null ? 0 : h + 1}`, this.small(this.weights(l, own)), own === null ? "mean" : String(h + 1));
          const input = choice.firstChild;
          input.setAttribute("aria-label", `layer ${l + 1}, ${own === null ? "mean of its heads" : `head ${h + 1}`}`);
          input.checked = l === layer && own === head;
          choice.classList.toggle("off", own !== null && view.off.has(this.attentionName(l, own)));
          row.append(choice);
        }
        part.heads.append(row);
      }
      part.off.disabled = head === null;
      part.off.checked = head !== null && view.off.has(this.attentionName(layer, head));
      part.offLabel.textContent = head === null ? "Take this head away (choose one)" : "Take this head away";
      part.allOn.hidden = view.off.size === 0;
    }

    small(weights) { // a picture of the weights, a pixel a cell
      const canvas = element("canvas", { width: weights.at(-1).length, height: weights.length, "aria-hidden": "true" });
      const ink = getComputedStyle(this.place).getPropertyValue("--role-key"), context = canvas.getContext("2d");
      context.fillStyle = ink;
      weights.forEach((row, query) => row.forEach((weight, key) => {
        context.globalAlpha = weight;
        context.fillRect(key, query, 1, 1);
      }));
      return canvas;
    }

    showWeights() {
      const { view, found, part, translator } = this, [layer, head] = this.head(), weights = this.weights(layer, head);
      const queries = view.kind === "encoder" ? found.source : found.target;
      const keys = view.kind === "self" ? [null, ...found.target.slice(0, -1)] : found.source;
      const shown = (id) => (id === null ? "(start)" : this.piece(id));
      const links = this.links();
      part.knownLabel.hidden = links === null;
      const top = element("tr", {}, element("td"), ...keys.map((id) => element("th", { scope: "col" }, element("span", { textContent: shown(id) }))));
      const rows = weights.map((row, query) => {
        const name = this.radio("row", query, this.piece(queries[query]));
        name.firstChild.checked = query === this.query;
        const cells = row.map((weight, key) => {
          const cell = element("td", { style: `--weight:${weight.toFixed(3)}`, title: `${this.piece(queries[query])} → ${shown(keys[key])}: ${percent(weight)}` }, element("span", { textContent: weight.toFixed(2).replace(/^0/, "") }));
          if (part.known.checked && links?.has(`${key},${query}`)) cell.className = "known";
          return cell;
        });
        return element("tr", {}, element("th", { scope: "row" }, name), ...cells);
      });
      const table = element("table", { className: part.numbers.checked ? "numbers" : "" }, element("thead", {}, top), element("tbody", {}, ...rows));
      const hadFocus = part.weights.contains(document.activeElement) && document.activeElement.matches("input");
      part.weights.replaceChildren(table);
      part.weights.setAttribute("aria-label", `Weights, ${KINDS[view.kind]}, layer ${layer + 1}, ${head === null ? "mean of the heads" : `head ${head + 1}`}`);
      this.shade(weights, keys, hadFocus);
    }

    row(query) {
      this.query = query;
      if (this.view.kind !== "encoder") return this.show({ step: query + 1 });
      return this.showWeights();
    }

    shade(weights, keys, takesFocus) { // the pieces that the chosen row looks at light up
      const { view, found, part, query } = this, row = weights[query];
      const pieces = (group) => Array.from(group.querySelectorAll(".look-piece"));
      const shades = (group, shares) => pieces(group).forEach((piece, place) => piece.style.setProperty("--weight", shares[place] ?? 0));
      shades(part.source, view.kind === "self" ? [] : row);
      shades(part.target, view.kind === "self" ? row.slice(1) : []);
      Array.from(part.weights.querySelectorAll("tbody tr")).forEach((line, place) => line.classList.toggle("look-row", place === query));
      const best = row.indexOf(Math.max(...row)), looksAt = keys[best] === null ? "the start" : `“${this.piece(keys[best])}”`;
      const who = view.kind === "encoder" ? `“${this.piece(found.source[query])}”` : `Step ${view.step} of ${found.target.length}: “${this.piece(found.target[query])}”`;
      const [layer, head] = this.head();
      part.says.textContent = `${who} looks most at ${looksAt}: ${percent(row[best])} of its weight, in ${head === null ? `the mean of layer ${layer + 1}` : `head ${head + 1} of layer ${layer + 1}`}.`;
      if (takesFocus) part.weights.querySelector("input:checked").focus();
    }

    links() { // "key,query" where the grammar says that the pieces belong together; null where it says nothing
      if (!this.known || this.view.kind !== "cross") return null;
      const { vocabulary } = this.translator, { source, target } = this.found;
      const ofSource = vocabulary.wordIndices(source.slice(0, -1)), ofTarget = vocabulary.wordIndices(target.slice(0, -1));
      const told = new Set(this.known[2].map(([i, j]) => `${i},${j}`));
      const links = new Set();
      ofTarget.forEach((j, query) => ofSource.forEach((i, key) => { if (told.has(`${i},${j}`)) links.add(`${key},${query}`); }));
      return links;
    }
  }

  const shipped = globalThis.BOOK_TRANSLATOR;
  const translator = new Translator(shipped);
  Object.assign(globalThis.BookTranslator, { translator, look: (place) => new Look(place, translator, shipped.sentences) });
})();
