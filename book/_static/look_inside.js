/* Look inside a translation: a sentence, its pieces, what could come next, who looks at whom.
   Each place for it (`.look`) says in its data-view with what it begins; translator.js computes. */
(function () {
  "use strict";
  const { Translator, likeliest, PAD, BOS, EOS, UNK, MARK } = globalThis.BookTranslator;
  const LONGEST = 1000; // signs of a sentence; the model says itself where it has too many pieces
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

  const hidden = (text) => element("span", { className: "visually-hidden", textContent: text });
  const percent = (share) => (share >= 0.995 ? "> 99 %" : share < 0.001 ? "< 0.1 %" : `${(100 * share).toFixed(share < 0.1 ? 1 : 0)} %`);
  const within = (value, least, most) => Math.min(Math.max(Math.trunc(value) || least, least), most);
  const said = (text) => new URLSearchParams(text).get("s")?.trim();

  /* What is looked at, as a text that a link can carry: s the sentence, beam how many beginnings,
     p the ids that the translation begins with, kind and head of attention ("2.0": the mean of layer
     2), step, row of the source that looks, off: heads taken away. What makes no sense is left out. */
  function viewOf(text, { config, vocabulary }) {
    const given = new URLSearchParams(text), { num_layers: layers, num_heads: heads } = config;
    const numbers = (name) => (given.get(name) ?? "").split(".").map(Number);
    const [layer, head] = numbers("head");
    const prefix = numbers("p").filter((id) => Number.isInteger(id) && id > BOS && id < vocabulary.pieces.length);
    const names = new Set(Object.values(ATTENTION).flatMap((name) => Array.from({ length: layers * heads }, (_, place) => `${name.replace("L", Math.floor(place / heads))}.${place % heads}`)));
    return {
      sentence: (given.get("s") ?? "").slice(0, LONGEST),
      beam: given.get("beam") === "4" ? 4 : 1,
      prefix: prefix.includes(EOS) ? prefix.slice(0, prefix.indexOf(EOS) + 1) : prefix,
      kind: Object.hasOwn(KINDS, given.get("kind")) ? given.get("kind") : "cross",
      layer: given.has("head") ? within(layer, 1, layers) : layers,
      head: given.has("head") ? within(head, 0, heads) : 2, // 0 is the mean of the layer
      step: within(given.get("step"), 1, Infinity),
      row: within(given.get("row"), 1, Infinity),
      off: new Set((given.get("off") ?? "").split(",").filter((name) => names.has(name))),
    };
  }

  function textOf({ sentence, beam, prefix, kind, layer, head, step, row, off }) {
    const told = new URLSearchParams({ s: sentence, beam, kind, head: `${layer}.${head}`, step });
    if (kind === "encoder") told.set("row", row);
    if (prefix.length) told.set("p", prefix.join("."));
    if (off.size) told.set("off", [...off].join(","));
    return told.toString();
  }

  class Look {
    constructor(place, translator, sentences) {
      Object.assign(this, { place, translator, sentences, name: `look-${++number}` });
      this.whole = place.matches(".look-whole"); // the page's own: it keeps its view in the address
      const address = this.whole && said(location.hash.slice(1)) ? location.hash.slice(1) : place.dataset.view;
      this.view = viewOf(address, translator);
      place.classList.add("look-open");
      this.make();
      this.translate();
    }

    // --- the parts -----------------------------------------------------------------------------

    make() {
      const part = {};
      this.part = part;
      part.sentence = element("input", { type: "text", value: this.view.sentence, maxLength: LONGEST, lang: "en", autocomplete: "off", spellcheck: false });
      part.another = element("button", { type: "button", textContent: "Another sentence" });
      part.form = element("form", { className: "look-form" },
        element("label", {}, element("span", { textContent: "An English sentence" }), part.sentence),
        element("button", { textContent: "Translate" }), part.another);
      part.notes = element("div", { className: "look-notes", "aria-live": "polite" });
      part.search = this.radios("search", "Search", { 1: "greedy", 4: "beam of 4" });
      part.text = element("p", { className: "look-text", lang: "de", "aria-live": "polite" });
      part.source = element("fieldset", { className: "look-pieces look-source" });
      part.target = element("fieldset", { className: "look-pieces look-target" });
      part.before = element("p", { className: "look-before" });
      part.next = element("ol", { className: "look-next", "aria-label": "likeliest next pieces; press one to go on with it" });
      part.free = element("button", { type: "button", textContent: "Back to the model's own words" });
      part.kind = this.radios("kind", "Attention", KINDS);
      part.rows = element("p", { className: "look-before" });
      part.heads = element("fieldset", { className: "look-heads" });
      part.off = element("input", { type: "checkbox" });
      part.offLabel = element("span");
      part.allOn = element("button", { type: "button", textContent: "Put all heads back" });
      part.effect = element("p", { className: "look-effect", "aria-live": "polite" });
      part.says = element("p", { className: "look-says", "aria-live": "polite" });
      part.numbers = element("input", { type: "checkbox" });
      part.known = element("input", { type: "checkbox" });
      part.knownLabel = element("span");
      part.weights = element("div", { className: "look-weights", tabIndex: 0, role: "region", "aria-label": "weights" });
      part.link = element("a", { textContent: this.whole ? "The address of this view" : "Open it on a page of its own" });
      const panel = (title, ...children) => element("section", { "aria-label": title }, element(this.whole ? "h2" : "h3", { className: "look-title", textContent: title }), ...children);
      const switches = (...children) => element("p", { className: "look-switches" }, ...children);
      this.place.replaceChildren(
        part.form, part.search, part.text, part.notes, part.source, part.target,
        element("div", { className: "look-panels" },
          panel("What could come next", part.before, part.next, part.free),
          panel("Who looks at whom", part.kind, part.rows, part.heads,
            switches(element("label", {}, part.off, part.offLabel), part.allOn), part.effect, part.says, part.weights,
            switches(element("label", {}, part.numbers, "Numbers"), element("label", {}, part.known, part.knownLabel)))),
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

    fill(group, ...children) { // anew, without the keyboard losing its place
      const had = group.contains(document.activeElement) && document.activeElement.matches("input");
      group.replaceChildren(...children);
      if (had) group.querySelector("input:checked")?.focus();
    }

    listen() {
      const { part } = this;
      const choose = (change) => (event) => this.show(change(Number(event.target.value)));
      const anew = (changes) => { Object.assign(this.view, { prefix: [] }, changes); this.translate(); };
      const another = (sentence) => { part.sentence.value = sentence; anew({ sentence, step: 1, row: 1 }); };
      part.form.addEventListener("submit", (event) => { event.preventDefault(); another(part.sentence.value); });
      part.sentence.addEventListener("input", () => this.place.classList.toggle("look-stale", part.sentence.value !== this.view.sentence));
      part.another.addEventListener("click", () => {
        const others = this.sentences.filter(([source]) => source !== this.view.sentence);
        another(others[Math.floor(Math.random() * others.length)][0]);
      });
      part.search.addEventListener("change", (event) => { // the reader's own beginning stays
        this.view.beam = Number(event.target.value);
        if (part.sentence.value === this.view.sentence) this.translate();
        else another(part.sentence.value);
      });
      part.free.addEventListener("click", () => { anew({}); part.next.querySelector("[aria-current]").focus(); });
      part.kind.addEventListener("change", (event) => this.show({ kind: event.target.value }));
      part.heads.addEventListener("change", (event) => {
        const [layer, head] = event.target.value.split(".").map(Number);
        this.show({ layer, head });
      });
      part.target.addEventListener("change", choose((step) => ({ step })));
      part.source.addEventListener("change", choose((row) => ({ row })));
      part.weights.addEventListener("change", choose((row) => this.chosenRow(row)));
      part.weights.addEventListener("click", (event) => {
        const row = event.target.closest("tbody tr");
        if (row && !event.target.closest("label")) this.show(this.chosenRow(row.rowIndex));
      });
      part.off.addEventListener("change", () => {
        const name = this.attentionName(this.view.layer - 1, this.view.head - 1);
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
        const address = location.hash.slice(1);
        if (!said(address) || address === textOf(this.view)) return;
        this.view = viewOf(address, this.translator);
        part.sentence.value = this.view.sentence;
        this.translate();
      });
    }

    chosenRow(row) {
      return this.view.kind === "encoder" ? { row } : { step: row };
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

    attentionName(layer, head) {
      return `${ATTENTION[this.view.kind].replace("L", layer)}.${head}`;
    }

    weights(layer, head) { // [query][key]; head -1 is the mean of the layer
      const { kind } = this.view, { encoder, steps } = this.found;
      const heads = kind === "encoder" ? encoder[layer] : steps[0][kind][layer].map((_, one) => steps.map((step) => step[kind][layer][one]));
      if (head >= 0) return heads[head];
      return heads[0].map((row, query) => row.map((_, key) => heads.reduce((sum, one) => sum + one[query][key], 0) / heads.length));
    }

    translate() {
      const { view, translator, part } = this, options = { size: view.beam, prefix: view.prefix };
      let refused = "";
      try {
        this.found = translator.translate(view.sentence, { ...options, off: view.off });
      } catch (error) {
        if (!(error instanceof RangeError)) throw error;
        this.found = translator.translate("");
        refused = `${error.message} Write a shorter sentence.`;
      }
      const isEmpty = this.found.target.length === 0;
      view.prefix = view.prefix.slice(0, this.found.target.length);
      this.sentence = this.sentences.find(([source]) => source === view.sentence);
      this.plain = view.off.size && !isEmpty ? translator.translate(view.sentence, options).text : null;
      this.place.classList.toggle("look-empty", isEmpty);
      this.place.classList.remove("look-stale");
      this.check(part.search, view.beam);
      part.text.textContent = this.found.text || "…";
      part.notes.replaceChildren(...(isEmpty ? [refused || "Write an English sentence, or take another one."] : this.notes()).map((text) => element("p", { textContent: text })));
      if (!isEmpty) this.show({});
    }

    notes() {
      const { view, found, translator, sentence } = this, { vocabulary } = translator, notes = [];
      const quoted = (texts) => texts.slice(0, 4).map((text) => `“${text}”`).join(", ");
      const own = view.prefix.length === 0 && view.off.size === 0; // the model's words, all heads at work
      const how = view.prefix.length ? "With your choice this" : "This";
      const strange = [...new Set(Array.from(view.sentence.normalize("NFC")).filter((character) => vocabulary.encode(character).includes(UNK)))];
      const words = vocabulary.words(view.sentence).filter((word) => vocabulary.cut(word).length > 2);
      if (strange.length) notes.push(`No piece of its vocabulary has ${quoted(strange)}: the model reads “unknown” there.`);
      else if (!sentence && words.length) notes.push(`Cut into many pieces, so hardly ever seen: ${quoted(words.map((word) => word.replace(MARK, "")))}.`);
      if (!sentence) notes.push("Nobody has checked this translation: the model knows its small grammar, and makes something of anything else.");
      else if (view.off.size === 0) notes.push(sentence[1] === found.text ? `${how} is the grammar's own translation.` : `The grammar's own translation is another: ${sentence[1]}`);
      if (view.beam > 1 && own) {
        const greedy = translator.translate(view.sentence);
        const times = Math.exp(found.total - greedy.total).toFixed(1);
        if (greedy.text !== found.text) notes.push(`Greedy search writes: ${greedy.text} The one of the beam is ${times} times as probable.`);
      }
      if (found.target.at(-1) !== EOS) notes.push("It found no end and was stopped: it may have 50 pieces more than the source.");
      return notes;
    }

    // --- showing -------------------------------------------------------------------------------

    show(changes) {
      Object.assign(this.view, changes);
      const { view, found, part } = this;
      if (found.target.length === 0) return;
      view.step = Math.min(view.step, found.target.length);
      view.row = Math.min(view.row, found.source.length);
      this.check(part.kind, view.kind);
      this.showPieces();
      this.showNext();
      this.showHeads();
      this.showWeights();
      const text = textOf(view);
      part.link.href = this.whole ? `#${text}` : `${this.place.dataset.page}#${text}`;
      if (this.whole && this.ready) history.replaceState(null, "", `#${text}`);
      this.ready = true; // the address stays as it is until something is chosen
    }

    showPieces() {
      const { view, found, part } = this, chooses = view.kind === "encoder";
      const shown = (id, lang) => element("span", { className: "look-piece", textContent: this.piece(id), lang: id > UNK ? lang : "en" });
      const pieces = (name, ids, lang, chosen) => ids.map((id, place) => {
        const label = chosen ? this.radio(name, place + 1) : element("span");
        if (chosen) {
          label.lastChild.replaceWith(shown(id, lang));
          label.firstChild.checked = place + 1 === chosen;
        } else label.append(shown(id, lang));
        label.className = this.joins(id) ? "joins" : "";
        return label;
      });
      const target = pieces("step", found.target, "de", view.step);
      const chosen = target[view.prefix.length - 1]; // the last piece that the reader has asked for
      chosen?.classList.add("chosen");
      chosen?.append(hidden("your choice"));
      this.fill(part.source, element("legend", { textContent: chooses ? "pieces of the source: choose one" : "pieces of the source" }), ...pieces("query", found.source, "en", chooses ? view.row : null));
      this.fill(part.target, element("legend", { textContent: `pieces of the translation: choose a step${chosen ? " (dashed: your choice)" : ""}` }), ...target);
      part.free.hidden = view.prefix.length === 0;
    }

    showNext() {
      const { view, found, part, translator } = this, at = view.step - 1;
      const { logits, total } = found.steps[at], chosen = found.target[at];
      const before = translator.vocabulary.decode(found.target.slice(0, at));
      part.before.textContent = before ? `Step ${view.step}, after “${before}”` : "Step 1, at the start";
      const shown = likeliest(logits, SHOWN, [PAD, BOS]);
      if (!shown.includes(chosen)) shown.splice(SHOWN - 1, 1, chosen);
      const share = (id) => Math.exp(logits[id] - total);
      const line = (name, amount) => element("li", {}, name, element("span", { className: "hero-bar", style: `--share:${amount}` }), element("span", { className: "hero-share", textContent: percent(amount) }));
      const others = Math.max(0, 1 - shown.reduce((sum, id) => sum + share(id), 0));
      part.next.replaceChildren(...shown.map((id) => {
        const button = element("button", { type: "button", lang: "de", textContent: (this.joins(id) ? "+ " : "") + this.piece(id) });
        button.setAttribute("aria-label", `${this.piece(id)}, ${percent(share(id))}${id === chosen ? ", taken" : ""}`);
        if (id === chosen) button.setAttribute("aria-current", "true");
        button.addEventListener("click", () => {
          Object.assign(view, { prefix: [...found.target.slice(0, at), id], step: at + 1 });
          this.translate();
          part.next.querySelector("[aria-current]").focus();
        });
        return line(button, share(id));
      }), line(element("span", { className: "look-others", textContent: `${(logits.length - shown.length).toLocaleString("en")} others` }), others));
    }

    showHeads() {
      if (this.found.target.length === 0) return;
      const { num_layers: layers, num_heads: heads } = this.translator.config, { part, view } = this, rows = [];
      for (let layer = 1; layer <= layers; layer++) {
        const row = element("div", {}, element("span", { textContent: `layer ${layer}` }));
        for (const head of [...Array(heads).keys()].map((one) => one + 1).concat(0)) {
          const choice = this.radio("head", `${layer}.${head}`, this.small(this.weights(layer - 1, head - 1)), head ? String(head) : "mean");
          const isOff = head > 0 && view.off.has(this.attentionName(layer - 1, head - 1));
          choice.firstChild.setAttribute("aria-label", `layer ${layer}, ${head ? `head ${head}` : "mean of its heads"}${isOff ? ", taken away" : ""}`);
          choice.firstChild.checked = layer === view.layer && head === view.head;
          choice.classList.toggle("off", isOff);
          row.append(choice);
        }
        rows.push(row);
      }
      this.fill(part.heads, element("legend", { textContent: "Head" }), ...rows);
      part.off.disabled = view.head === 0;
      part.off.checked = view.head > 0 && view.off.has(this.attentionName(view.layer - 1, view.head - 1));
      part.offLabel.textContent = view.head === 0 ? "Take a head away (choose one)" : `Take head ${view.head} of layer ${view.layer} away`;
      part.allOn.hidden = view.off.size === 0;
      part.effect.textContent = this.effect();
    }

    effect() { // of the heads that are taken away, and which they are
      const { view, found, plain } = this;
      if (view.off.size === 0) return "";
      const names = [...view.off].map((name) => {
        const kind = Object.keys(KINDS).find((one) => ATTENTION[one] === name.replace(/\d+/, "L").replace(/\.\d+$/, ""));
        const [layer, head] = name.match(/\d+/g).map((digit) => Number(digit) + 1);
        return `head ${head} of layer ${layer}, ${KINDS[kind]}`;
      });
      const all = plain === found.text ? "The translation is the same." : `It writes: ${found.text} With all heads: ${plain}`;
      return `Without ${view.off.size === 1 ? "one head" : `${view.off.size} heads`} (${names.join("; ")}). ${all}`;
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
      const { view, found, part } = this, weights = this.weights(view.layer - 1, view.head - 1);
      const queries = view.kind === "encoder" ? found.source : found.target;
      const keys = view.kind === "self" ? [null, ...found.target.slice(0, -1)] : found.source;
      const shown = (id) => (id === null ? "(start)" : this.piece(id));
      const chosen = (view.kind === "encoder" ? view.row : view.step) - 1, links = this.links();
      const lang = view.kind === "encoder" ? "en" : "de", keyLang = view.kind === "self" ? "de" : "en";
      const top = element("tr", {}, element("td"), ...keys.map((id) => element("th", { scope: "col" }, element("span", { textContent: shown(id), lang: id > UNK ? keyLang : "en" }))));
      const rows = weights.map((row, query) => {
        const name = this.radio("row", query + 1, this.piece(queries[query]));
        name.lastChild.lang = queries[query] > UNK ? lang : "en";
        name.firstChild.checked = query === chosen;
        const cells = row.map((weight, key) => {
          const cell = element("td", { style: `--weight:${weight.toFixed(3)}`, title: `${this.piece(queries[query])} → ${shown(keys[key])}: ${percent(weight)}` }, element("span", { textContent: weight.toFixed(2).replace(/^0/, "") }));
          if (links?.has(`${key},${query}`)) {
            cell.className = "known";
            cell.append(hidden("aligned"));
          }
          return cell;
        });
        return element("tr", { className: query === chosen ? "look-row" : "" }, element("th", { scope: "row" }, name), ...cells);
      });
      this.fill(part.weights, element("table", { className: part.numbers.checked ? "numbers" : "" }, element("thead", {}, top), element("tbody", {}, ...rows)));
      this.place.classList.toggle("look-wide", part.numbers.checked);
      const which = view.head ? `head ${view.head} of layer ${view.layer}` : `the mean of layer ${view.layer}`;
      part.rows.textContent = `A row is a piece ${view.kind === "encoder" ? "that looks" : "about to be written"}, a column a piece that it may look at. The stronger the colour, the larger its weight; those of a row sum to 1.`;
      part.weights.setAttribute("aria-label", `Weights, ${KINDS[view.kind]}, ${which}`);
      const row = weights[chosen], best = row.indexOf(Math.max(...row));
      const at = keys[best] === null ? "the start" : `“${this.piece(keys[best])}”`, who = `“${this.piece(queries[chosen])}”`;
      const looks = view.kind === "encoder" ? `${who} looks most at` : `To write ${who}, it looks most at`;
      part.says.textContent = `${looks} ${at}: ${percent(row[best])} of the weight, in ${which}.`;
      this.shade(part.source, view.kind === "self" ? [] : row);
      this.shade(part.target, view.kind === "self" ? row.slice(1) : []);
    }

    shade(group, shares) { // the pieces that the chosen row looks at light up
      group.querySelectorAll(".look-piece").forEach((piece, place) => piece.style.setProperty("--weight", shares[place] ?? 0));
    }

    links() { // "key,query" where the grammar says that the pieces belong together; null where that is not asked
      const { part, view, found, sentence, translator } = this;
      const isKnown = view.kind === "cross" && sentence?.[1] === found.text;
      part.known.disabled = !isKnown;
      part.knownLabel.textContent = `Frame what the grammar says belongs together${isKnown ? "" : " (where the translation is its own, in translation → source)"}`;
      if (!isKnown || !part.known.checked) return null;
      const words = (ids) => translator.vocabulary.wordIndices(ids.slice(0, -1)), told = new Set(sentence[2].map(([i, j]) => `${i},${j}`));
      const ofSource = words(found.source), links = new Set();
      words(found.target).forEach((j, query) => ofSource.forEach((i, key) => { if (told.has(`${i},${j}`)) links.add(`${key},${query}`); }));
      return links;
    }
  }

  const shipped = globalThis.BOOK_TRANSLATOR;
  const translator = new Translator(shipped);
  Object.assign(globalThis.BookTranslator, { translator, look: (place) => new Look(place, translator, shipped.sentences) });
})();
