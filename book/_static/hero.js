/* The hero of the front page: move the slider, and the step of the translation follows. The first
   sentence's steps are in the page (book/_extensions/front_page.py), nothing is fetched; for another
   sentence the translator itself is loaded (page.js). */
(function () {
  "use strict";
  const hero = document.querySelector(".hero");
  if (!hero) return;
  let data = JSON.parse(hero.querySelector("script").textContent);
  const part = (name) => hero.querySelector(name);
  const range = part(".hero-step input"), form = part(".hero-own"), tries = [...hero.querySelectorAll(".hero-try")];
  const SPECIAL = { "</s>": "(end)", "<unk>": "(unknown)", "▁": "(space)" };
  const text = (piece) => SPECIAL[piece] ?? piece.replace("▁", " ").trim();
  const joined = (pieces) => pieces.join("").replaceAll("▁", " ").replace("</s>", "").trim();
  const atFirst = part(".hero-says").innerHTML;

  function show() {
    const at = range.value - 1;
    const step = data.steps[at];
    part("output").textContent = range.value;
    hero.querySelectorAll(".hero-piece").forEach((piece, place) => piece.style.setProperty("--weight", step.weights[place]));
    part(".hero-written").textContent = joined(data.target.slice(0, at));
    hero.querySelectorAll(".hero-likeliest li").forEach((row, place) => {
      const [piece, share] = step.likeliest[place];
      const [word, bar, number] = row.children;
      word.textContent = text(piece);
      bar.style.setProperty("--share", share);
      number.textContent = share.toFixed(2);
    });
    range.setAttribute("aria-valuetext", `${range.value}: ${text(step.next)}`);
    const seen = step.weights.indexOf(Math.max(...step.weights));
    if (at === data.at) part(".hero-says").innerHTML = atFirst;
    else part(".hero-says").textContent = `It looks most at “${text(data.source[seen])}” and writes “${text(step.next)}”.`;
  }

  function stepsOf({ source, target, steps }, { vocabulary }, likeliest) {
    const pieces = vocabulary.pieces, { layer, head } = data;
    return {
      layer, head, source: source.map((id) => pieces[id]), target: target.map((id) => pieces[id]),
      steps: steps.map((step, place) => ({
        weights: step.cross[layer][head],
        next: pieces[target[place]],
        likeliest: likeliest(step.logits, 3, [0, 1]).map((id) => [pieces[id], Math.exp(step.logits[id] - step.total)]),
      })),
    };
  }

  async function translate(event) {
    event.preventDefault();
    const own = form.querySelector("input").value.trim();
    if (!own) return;
    part(".hero-says").textContent = "One moment: the model is being loaded.";
    const { translator, likeliest } = await globalThis.loadTranslator();
    let found;
    try {
      found = translator.translate(own);
    } catch (error) { // too long
      part(".hero-says").textContent = `${error.message} What stands above is still the sentence before.`;
      return;
    }
    data = stepsOf(found, translator, likeliest);
    part(".hero-source").replaceChildren(...data.source.map((piece) => Object.assign(document.createElement("span"), { className: "hero-piece", textContent: text(piece) })));
    Object.assign(range, { max: data.steps.length, value: data.steps.length });
    show();
    const known = tries.some((button) => button.textContent === own);
    part(".hero-says").textContent = `It writes: “${found.text}” ${known ? "That is right." : "Nobody has checked it."} Move the slider back to see how.`;
    part(".hero-says").scrollIntoView({ block: "nearest" });
    part(".hero-inside").href = `look_inside.html#${new URLSearchParams({ s: own })}`;
  }

  range.disabled = false;
  range.addEventListener("input", show);
  form.hidden = false;
  form.addEventListener("submit", translate);
  for (const button of tries) button.addEventListener("click", () => {
    form.querySelector("input").value = button.textContent;
    form.requestSubmit();
  });
})();
