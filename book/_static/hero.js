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
    part(".hero-likeliest").replaceChildren(...step.likeliest.map(([piece, share]) => {
      const row = document.createElement("li");
      for (const [name, content] of [["word", text(piece)], ["bar", ""], ["share", share.toFixed(2)]]) {
        const cell = document.createElement("span");
        cell.className = `hero-${name}`;
        cell.textContent = content;
        row.append(cell);
      }
      row.children[1].style.setProperty("--share", share);
      return row;
    }));
    range.setAttribute("aria-valuetext", `${range.value}: ${text(step.next)}`);
    const seen = step.weights.indexOf(Math.max(...step.weights));
    if (at === data.at) part(".hero-says").innerHTML = atFirst;
    else part(".hero-says").textContent = `It looks most at “${text(data.source[seen])}” and writes “${text(step.next)}”.`;
  }

  range.disabled = false;
  range.addEventListener("input", show);
})();
