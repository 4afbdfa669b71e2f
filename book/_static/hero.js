/* The hero of the front page: move the slider, and the step of the translation follows. What the
   steps are is in the page (book/_extensions/front_page.py); nothing is fetched. */
(function () {
  "use strict";
  const hero = document.querySelector(".hero");
  if (!hero) return;
  const data = JSON.parse(hero.querySelector("script").textContent);
  const part = (name) => hero.querySelector(name);
  const range = part("input");
  const text = (piece) => (piece === "</s>" ? "(end)" : piece.replace("▁", " ").trim());
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

  range.disabled = false;
  range.addEventListener("input", show);
})();
