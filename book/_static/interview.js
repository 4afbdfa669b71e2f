/* The pages before an interview: a round drawn from a seed, problems with a check, Figure 1 with its
   boxes blank, a clock, and the level of each skill. What is kept is kept in this browser, beside the
   exercises (own_progress.js), under names that begin with "interview.". */
globalThis.Interview = (function () {
  "use strict";
  const PREFIX = "interview.";
  const ROUND = "annotated-transformer-round", CLOCK = "annotated-transformer-clock";
  const progress = globalThis.OwnProgress; // loaded before this

  /* ---- small things ---- */

  function make(kind, given = {}, ...children) {
    const { html, on, is = {}, ...properties } = given;
    const element = Object.assign(document.createElement(kind), properties);
    if (html !== undefined) element.innerHTML = html; // of the book's own bank, never of a reader
    for (const [name, heard] of Object.entries(on ?? {})) element.addEventListener(name, heard);
    for (const [name, value] of Object.entries(is)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  }

  const countOf = (flags) => flags.filter(Boolean).length;
  const button = (text, heard, given = {}) => make("button", { type: "button", textContent: text, on: { click: heard }, ...given });

  /* Whether this browser keeps it. */
  function attempt(name, right, mistakes = []) {
    const kept = progress.change(PREFIX + name, (record) => progress.attempted(record, right, progress.today(), mistakes));
    document.dispatchEvent(new Event("book-progress"));
    return kept;
  }

  const stored = () => { try { return JSON.parse(localStorage.getItem(ROUND)); } catch { return null; } };

  function store(round) {
    try {
      if (round === null) localStorage.removeItem(ROUND);
      else localStorage.setItem(ROUND, JSON.stringify(round));
    } catch { /* this browser keeps nothing: the round goes on without */ }
  }

  const clockText = (seconds) => `${seconds < 0 ? "−" : ""}${Math.floor(Math.abs(seconds) / 60)}:${String(Math.abs(seconds) % 60).padStart(2, "0")}`;

  /* ---- drawing a round: the same as annotated_transformer/interview/rounds.py, which a test compares ---- */

  function numberOf(text) {
    let number = 2166136261;
    for (const byte of new TextEncoder().encode(text)) number = Math.imul(number ^ byte, 16777619) >>> 0;
    number = Math.imul(number ^ (number >>> 16), 0x85EBCA6B) >>> 0;
    return (number ^ (number >>> 13)) >>> 0;
  }

  const by = (key) => (one, other) => key(one) - key(other);

  function draw(bank, seed, minutes, role) {
    const secondsOf = (question) => question.seconds + bank.around + bank.depth * bank.follow_up;
    const asked = bank.questions.filter((question) => bank.roles[role].includes(question.role));
    const skills = Object.keys(bank.skills).sort(by((skill) => numberOf(`${seed}:${skill}`)));
    const waiting = new Map(skills.map((skill) => [skill, asked
      .filter((question) => question.skill === skill)
      .sort((one, other) => (one.level === 3) - (other.level === 3) || numberOf(`${seed}:${one.id}`) - numberOf(`${seed}:${other.id}`))]));
    const chosen = [];
    let left = 60 * minutes;
    while ([...waiting.values()].some((questions) => questions.length)) {
      for (const skill of skills) {
        const question = waiting.get(skill).shift();
        if (!question) continue;
        if (chosen.length && left - secondsOf(question) < -bank.over) {
          if (chosen.length >= bank.least) return chosen;
          continue; // a shorter one of another skill
        }
        left -= secondsOf(question);
        chosen.push(question);
      }
    }
    return chosen;
  }

  function chain(question, seed) {
    const places = question.follow_ups.map((_, place) => place).sort(by((place) => numberOf(`${seed}:${question.id}:${place}`)));
    const [first, second] = places.slice(0, 2).sort(by((place) => place));
    return [question.follow_ups[first], question.follow_ups[second], ["How do you know?", question.how]];
  }

  const score = (bank, said, sunk) => Math.max(0, said - bank.sinks * sunk);
  const well = (bank, question, said, sunk) => !sunk && said >= bank.enough * question.points.length;

  /* ---- the round ---- */

  class Round {
    constructor(place, bank) {
      this.place = place;
      this.bank = bank;
      this.state = null;
      this.looked = Date.now();
      setInterval(() => this.tick(), 1000);
      document.addEventListener("visibilitychange", () => this.seen());
    }

    /* Another tab may have gone on with the round meanwhile. */
    seen() {
      if (document.hidden || !this.state || this.state.ids) return;
      const kept = stored();
      if (JSON.stringify({ ...kept, left: 0 }) === JSON.stringify({ ...this.state, left: 0 })) return;
      if (isRound(kept, this.bank)) this.begin(kept);
      else this.offer();
    }

    get questions() {
      const { ids, seed, minutes, role } = this.state;
      return ids ? this.bank.questions.filter(({ id }) => ids.includes(id)) : draw(this.bank, seed, minutes, role);
    }
    get now() { return this.state.answers[this.state.at]; }
    save() { if (!this.state.ids && !document.hidden) store(this.state); } // what a link asks for leaves a round that is under way as it is

    /* The form that begins a round. */
    offer() {
      this.state = null;
      const { minutes: lengths, roles, usual } = this.bank;
      const seed = make("input", { type: "text", value: `${WORDS[Math.floor(Math.random() * WORDS.length)]}-${Math.floor(Math.random() * 900 + 100)}`, maxLength: this.bank.longest, autocomplete: "off" });
      const minutes = make("select", {}, ...lengths.map((value) => make("option", { value, textContent: `${value} minutes`, selected: value === usual.minutes })));
      const role = make("select", {}, ...Object.keys(roles).map((value) => make("option", { value, textContent: value, selected: value === usual.role })));
      const hidden = make("input", { type: "checkbox" });
      const form = make("form", { className: "mock-start", on: { submit: (event) => {
        event.preventDefault();
        this.begin({ seed: seed.value.trim() || "book", minutes: Number(minutes.value), role: role.value, hidden: hidden.checked }, true);
      } } },
      make("label", {}, "How long ", minutes), make("label", {}, "Asked as ", role), make("label", {}, "Drawn from the word ", seed),
      make("label", {}, hidden, " without a clock"), make("button", { textContent: "Begin" }));
      this.place.replaceChildren(make("p", { textContent: "You are asked, you answer aloud, you see what must be said and tick what you said. Friends who take the same word get the same questions." }), form);
    }

    /* What a link asks for, or what was kept, or the form. */
    open() {
      const wanted = /^#ask=([\w.,]+)$/.exec(location.hash)?.[1].split(",") ?? []; // a link asks for these alone
      const ids = wanted.filter((name) => this.bank.questions.some(({ id }) => id === name));
      const kept = stored();
      if (ids.length) this.begin({ ids, seed: "asked", minutes: 4 * ids.length, role: "researcher", hidden: false });
      else if (isRound(kept, this.bank)) this.begin(kept);
      else this.offer();
    }

    begin(state, moved = false) {
      this.looked = Date.now();
      this.state = { at: 0, left: 60 * state.minutes, answers: [], stage: "ask", ...state };
      this.save();
      this.show(moved);
    }

    tick() {
      const passed = Math.round((Date.now() - this.looked) / 1000);
      this.looked += 1000 * passed;
      if (!this.state || this.state.stage === "end" || passed > AWAY) return;
      this.state.left -= passed;
      this.save();
      const clock = this.place.querySelector(".mock-clock");
      if (!clock) return;
      clock.textContent = clockText(this.state.left);
      clock.classList.toggle("mock-late", this.state.left < 0);
    }

    to(stage, change = {}) {
      Object.assign(this.state, change, { stage });
      this.save();
      this.show(true);
    }

    /* What is seen depends on the state alone, so that a reload changes nothing. */
    show(moved = false) {
      const { stage } = this.state;
      const content = stage === "end" ? this.ending() : this.asking();
      this.place.replaceChildren(...content);
      const here = [...this.place.querySelectorAll(".mock-here")].at(-1); // the question, or how far one has come
      if (!moved || !here) return;
      if (!here.matches("button")) here.tabIndex = -1;
      here.focus();
    }

    head() {
      const { at, minutes, hidden } = this.state;
      const clock = make("span", { className: "mock-clock", textContent: clockText(this.state.left), hidden });
      const hide = button(hidden ? "Show the clock" : "Hide the clock", () => {
        clock.hidden = this.state.hidden = !this.state.hidden;
        hide.textContent = clock.hidden ? "Show the clock" : "Hide the clock";
        this.save();
      }, { className: "mock-quiet" });
      const stop = button("End the round", () => {
        if (stop.textContent === "Really end it?") this.to("end");
        else stop.textContent = "Really end it?";
      }, { className: "mock-quiet" });
      return make("div", { className: "mock-head" }, make("span", { textContent: `Question ${at + 1} of ${this.questions.length}, ${minutes} minutes` }), clock, hide, stop);
    }

    asking() {
      const question = this.questions[this.state.at];
      const { stage } = this.state;
      const parts = [this.head(), make("h2", { className: "mock-question mock-here", html: question.text })];
      parts.push(make("p", { className: "ask-about", textContent: `${this.bank.levels[question.level]} · ${question.seconds} s · ${this.bank.skills[question.skill]}` }));
      if (stage === "ask") {
        parts.push(make("p", { textContent: "Answer aloud, as you would there. Then:" }), button("Show what must be said", () => this.reveal(question)));
        return parts;
      }
      parts.push(...this.rubric(question, stage !== "tick"));
      if (stage === "tick") parts.push(button("They ask next", () => { this.now.told = true; this.to("deep"); }));
      else parts.push(...this.depth(question));
      return parts;
    }

    reveal(question) {
      this.state.answers[this.state.at] = { id: question.id, stamp: stampOf(question), points: question.points.map(() => false), sinks: question.sinks.map(() => false), deep: [] };
      this.to("tick");
    }

    rubric(question, fixed) {
      const box = (list, place, html, why) => {
        const input = make("input", { type: "checkbox", checked: this.now[list][place], disabled: fixed, on: { change: () => { this.now[list][place] = input.checked; this.save(); } } });
        return make("li", {}, make("label", {}, input, " ", make("span", { html })), make("div", { className: "mock-why", html: why }));
      };
      const said = make("ul", { className: "mock-ticks", is: { "aria-label": "What you have said" } }, ...question.points.map(([html, why], place) => box("points", place, html, why)));
      const sunk = make("ul", { className: "mock-ticks", is: { "aria-label": "What you should not have said" } }, ...question.sinks.map(([sentence, why], place) => box("sinks", place, `“${sentence}”`, `<span class="ask-why">${why}</span>`)));
      const answer = make("details", {}, make("summary", { textContent: "The answer, aloud" }), make("p", { className: "ask-answer", html: question.answer }));
      return [make("p", { html: "<strong>Tick what you have said</strong>" }), said, make("p", { html: `<strong>And what you should not have said</strong> (each costs ${this.bank.sinks} points)` }), sunk, answer];
    }

    depth(question) {
      const { deep } = this.now;
      const asked = chain(question, this.state.seed);
      const parts = [];
      asked.slice(0, deep.length + 1).forEach(([text, answer], level) => {
        const here = level === deep.length;
        parts.push(make("p", { className: here ? "mock-here" : "", html: `<strong>${level + 1}. ${text}</strong>` }));
        if (!here) {
          const change = button(deep[level] ? "I said that ✓" : "I did not ✗", () => { deep[level] = !deep[level]; this.to("deep"); }, { className: "mock-quiet", title: "Change it" });
          parts.push(make("p", { className: "ask-how", html: answer }), change);
          return;
        }
        const told = make("p", { className: "ask-how", tabIndex: -1, html: answer });
        const shown = make("div", { hidden: true }, told,
          button("I said that", () => this.deeper(true)), " ", button("I did not", () => this.deeper(false)));
        const show = button("Show the answer", () => { shown.hidden = false; show.hidden = true; told.focus(); });
        parts.push(show, shown);
      });
      if (deep.length === asked.length) {
        const last = this.state.at + 1 === this.questions.length;
        parts.push(button(last ? "How was it?" : "The next question", () => this.next(question, last), { className: "mock-here" }));
      }
      return parts;
    }

    deeper(said) {
      this.now.deep.push(said);
      this.to("deep");
    }

    next(question, last) {
      this.keep(question, this.now);
      if (last) this.to("end");
      else this.to("ask", { at: this.state.at + 1 });
    }

    /* What came of it is kept once, when the question is left. */
    keep(question, answer) {
      if (answer.kept || !answer.told) return; // what was only shown is no attempt
      answer.kept = true;
      this.kept = attempt(question.id, this.isGood(answer), answer.sinks.flatMap((is, place) => (is ? [`sinks-${place + 1}`] : [])));
      if (answer.deep.length === this.bank.depth) attempt(`${question.id}.deep`, answer.deep.every(Boolean));
    }

    /* What was not said, question by question, with the answer to read. */
    missed(answered) {
      const parts = answered.map((answer) => {
        const question = this.questions.find(({ id }) => id === answer.id);
        const open = question.points.filter((_, place) => !answer.points[place]).map(([html, why]) => make("li", { html: `${html} ${why}` }));
        const sunk = question.sinks.filter((_, place) => answer.sinks[place]).map(([sentence, why]) => make("li", { html: `“${sentence}” <span class="ask-why">${why}</span>` }));
        if (!open.length && !sunk.length) return null;
        return make("details", {}, make("summary", { html: question.text }), make("ul", {}, ...open, ...sunk), make("p", { className: "ask-answer", html: question.answer }));
      }).filter(Boolean);
      return parts.length ? [make("h3", { textContent: "Not said, or better not said" }), ...parts] : [];
    }

    isGood({ id, points, sinks }) {
      const question = this.questions.find((one) => one.id === id);
      return well(this.bank, question, countOf(points), countOf(sinks));
    }

    ending() {
      const questions = this.questions;
      const answered = this.state.answers.filter((answer) => answer?.told);
      const skills = new Map();
      for (const answer of answered) {
        const question = questions.find(({ id }) => id === answer.id);
        this.keep(question, answer);
        const said = countOf(answer.points), sunk = countOf(answer.sinks);
        const sum = skills.get(question.skill) ?? { got: 0, most: 0, sunk: 0, deep: 0, depth: 0 };
        sum.got += score(this.bank, said, sunk);
        sum.most += question.points.length;
        sum.sunk += sunk;
        sum.deep += countOf(answer.deep);
        sum.depth += answer.deep.length;
        skills.set(question.skill, sum);
      }
      this.save();
      const weakest = [...skills].sort(([, one], [, other]) => one.got / one.most - other.got / other.most);
      // The places that tell what was missed, the first few; where nothing was, the questions of the skill.
      const toRead = (skill) => {
        const missed = answered.flatMap((answer) => {
          const question = questions.find(({ id }) => id === answer.id);
          return question.skill === skill ? question.points.filter((_, place) => !answer.points[place]).map(([, why]) => why) : [];
        });
        const links = make("div", { html: missed.join(" ") }).querySelectorAll("a");
        const inChapters = (link) => !link.href.includes("/notebooks/"); // first what the book tells
        const places = [...new Map([...links].sort(by(inChapters)).map((link) => [link.textContent, link.outerHTML])).values()].slice(0, READ);
        return [...places, this.bank.pages[skill]].join("; ");
      };
      const cell = (html, kind = "td", role = "cell") => make(kind, { html, is: { role } }); // on a phone it is no table to look at
      const row = (...cells) => make("tr", { is: { role: "row" } }, ...cells);
      const rows = weakest.map(([skill, sum]) => row(cell(this.bank.skills[skill], "th", "rowheader"), cell(`${sum.got} of ${sum.most}`),
        cell(String(sum.sunk)), cell(`${sum.deep} of ${sum.depth}`), cell(toRead(skill))));
      const head = row(...["Skill, the weakest first", "Points", "Sinks", "Follow-ups", "To read"].map((text) => cell(text, "th", "columnheader")));
      const table = make("table", { className: "mock-result", is: { role: "table" } }, make("thead", { is: { role: "rowgroup" } }, head), make("tbody", { is: { role: "rowgroup" } }, ...rows));
      const { seed, minutes, role } = this.state;
      const good = answered.filter((answer) => this.isGood(answer)).length;
      const total = (part) => [...skills.values()].reduce((sum, skill) => sum + skill[part], 0);
      return [
        make("h2", { className: "mock-here", textContent: "How it was" }),
        make("p", { textContent: answered.length ? `${total("got")} of ${total("most")} points, after what sinking sentences cost; ${total("deep")} of ${total("depth")} follow-ups. Good enough (three quarters of the points, no sentence that sinks): ${good} of ${answered.length}. The others are due again tomorrow.` : "No question was answered." }),
        ...(answered.length ? [table, ...this.missed(answered)] : []),
        make("p", { hidden: this.kept !== false, textContent: "This browser keeps nothing of it." }),
        make("p", { hidden: Boolean(this.state.ids), textContent: `Who begins with the word “${seed}”, ${minutes} minutes and “${role}” gets the same questions.` }),
        button("Another round", () => {
          const linked = this.state.ids;
          if (!linked) store(null);
          if (linked) history.replaceState(null, "", location.pathname + location.search); // a reload does not ask it again
          this.open();
          this.place.querySelector("select, .mock-here")?.focus();
        }),
      ];
    }
  }

  const READ = 3; // places to read for a skill
  const AWAY = 600; // seconds: whoever was away for longer has interrupted the round, a closed lid is no answer
  const WORDS = ["amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heron", "islet", "jolly", "kayak", "larch", "maple", "north", "olive", "pearl", "quill", "river", "stone", "tulip"];

  /* A question that was changed since is another one. */
  const stampOf = ({ points, sinks, follow_ups: asked }) => numberOf(JSON.stringify([points, sinks, asked]));

  /* Whether what was kept is a round of this bank. */
  function isRound(kept, bank) {
    if (!kept || !Object.hasOwn(bank.roles, kept.role) || !Array.isArray(kept.answers) || typeof kept.seed !== "string") return false;
    if (!["ask", "tick", "deep", "end"].includes(kept.stage) || !Number.isInteger(kept.at)) return false;
    if (!bank.minutes.includes(kept.minutes) || kept.at < 0) return false;
    const drawn = draw(bank, kept.seed, kept.minutes, kept.role);
    const flags = (list, length) => Array.isArray(list) && list.length === length && list.every((one) => typeof one === "boolean");
    const fits = (answer, question) => !answer || (answer.id === question?.id && answer.stamp === stampOf(question) && flags(answer.points, question.points.length)
      && flags(answer.sinks, question.sinks.length) && flags(answer.deep, answer.deep?.length) && answer.deep.length <= bank.depth);
    const begun = ["ask", "end"].includes(kept.stage) || Boolean(kept.answers[kept.at]);
    return Number.isFinite(kept.left) && kept.at < drawn.length && begun && kept.answers.every((answer, number) => fits(answer, drawn[number]));
  }

  function offerRound(place) {
    globalThis.loadScript("interview_bank.js").then(() => {
      const round = new Round(place, globalThis.BOOK_INTERVIEW);
      round.open();
      addEventListener("hashchange", () => { if (location.hash.startsWith("#ask=")) round.open(); });
    }).catch(() => place.prepend(make("p", { textContent: "The questions could not be loaded; the round below is one on paper." })));
  }

  /* ---- a number that is asked for ---- */

  /* Without spaces, and with raised digits as ^-7. */
  const plainly = (text) => text.replace(/[⁻⁰¹²³⁴-⁹]+/g, (raised) => `^${[...raised].map((one) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹".indexOf(one)).map((at) => (at ? at - 1 : "-")).join("")}`)
    .replace(/\s/g, "").replace(/[−–]/g, "-").toLowerCase();

  /* The number in what was typed: 42.9, 42,900, 3e-7, 3·10^-7; NaN where there is none. */
  function numberIn(text, unit = "") {
    let typed = plainly(text);
    if (unit && typed.endsWith(plainly(unit))) typed = typed.slice(0, -plainly(unit).length);
    typed = typed.replace(/million$/, "e6");
    if (/^-?\d+,\d+(e|$)/.test(typed) && !/^-?[1-9]\d{0,2},\d{3}$/.test(typed)) typed = typed.replace(",", "."); // as in 42,9
    const plain = typed.replace(/_|,(?=\d{3}(\D|$))/g, "").replace(/[·*x×]10\^\(?(-?\d+)\)?$/, "e$1").replace(/%$/, "");
    return plain === "" ? NaN : Number(plain);
  }

  const near = (one, other, share) => Math.abs(one - other) <= Math.max(share * Math.abs(other), 1e-12 * Math.abs(other), Number.MIN_VALUE);

  function judge(given, { value, tolerance, wrong, unit }) {
    const number = numberIn(given, unit);
    if (Number.isNaN(number)) return { right: false, counts: false, text: "Write a number: 42.9, 1,024, 3e-7." };
    if (near(number, value, tolerance)) return { right: true, counts: true, text: "Right." };
    const known = wrong.find(([other]) => near(number, other, tolerance || 1e-6));
    if (known) return { right: false, counts: true, text: known[1] };
    if (!tolerance && Number.isInteger(value) && near(number, value, 0.1)) return { right: false, counts: true, text: "Near, but here a count is exact: count once more." };
    if (near(number, value, 0.05)) return { right: false, counts: true, text: "Close. Compute it once more, with more digits." };
    return { right: false, counts: true, text: "Not this one. The hint shows the way." };
  }

  function offerCheck(form) {
    const check = JSON.parse(form.dataset.check);
    const [input, says] = [form.querySelector("input"), form.querySelector("[role=status]")];
    form.hidden = false;
    if (progress.read()[`${PREFIX}problem.${check.id}`]?.solved) says.textContent = "Solved in this browser.";
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const { right, counts, text } = judge(input.value, check);
      if (counts) attempt(`problem.${check.id}`, right);
      says.innerHTML = (right ? "✓ " : "✗ ") + text; // of the book, as are all of them
    });
  }

  /* ---- Figure 1, blank ---- */

  function offerDrawing(drawing) {
    const row = drawing.nextElementSibling, blanks = [...drawing.querySelectorAll(".blank")];
    const [check, again] = row.querySelectorAll("button"), says = row.querySelector("[role=status]");
    const mark = (blank, right, wrong, sentence) => {
      blank.classList.toggle("blank-right", right);
      blank.classList.toggle("blank-wrong", wrong);
      const select = blank.querySelector("select"), id = `blank-hint-${blanks.indexOf(blank)}`;
      select.setAttribute("aria-invalid", String(wrong));
      select.removeAttribute("aria-describedby");
      blank.querySelector(".blank-hint")?.remove();
      if (!wrong) return;
      blank.append(make("p", { id, className: "blank-hint", html: `${sentence} What stands here: ${blank.dataset.hint}` }));
      select.setAttribute("aria-describedby", id);
    };
    const reset = () => {
      for (const blank of blanks) {
        mark(blank, false, false);
        blank.querySelector("select").hidden = false;
        blank.querySelector("select").value = "";
        blank.querySelector("details").hidden = true;
      }
      says.textContent = "";
    };
    check.addEventListener("click", () => {
      let right = 0, open = 0;
      for (const blank of blanks) {
        const chosen = blank.querySelector("select").value, is = chosen === blank.dataset.name;
        const half = blank.dataset.name.startsWith(chosen) ? "The figure prints it so; say whose output it reads." : "Not this one.";
        right += is;
        open += chosen === "";
        mark(blank, is, !is && chosen !== "", half);
        blank.querySelector("details").hidden = !is;
        blank.querySelector("select").hidden = is;
      }
      says.textContent = right === blanks.length ? `All ${blanks.length}. Unfold a box: what is lost if it goes?` : `${right} of ${blanks.length} are right${open ? `, ${open} are open` : ""}. Those that are right unfold: what is lost if the box goes?`;
    });
    again.addEventListener("click", reset);
    row.hidden = false;
    reset();
  }

  /* ---- a clock ---- */

  /* It survives a reload: kept is when it ends, or, while it stands still, how much is left. */
  function offerClock(place) {
    const whole = 60 * Number(place.dataset.minutes);
    let { left = whole, until = null } = keptClock();
    const shown = make("span", { className: "mock-clock" });
    const over = make("span", { is: { role: "status" } });
    const go = button("", () => {
      if (until) until = null;
      else until = Date.now() + 1000 * left; // a hidden page ticks rarely
      show();
    });
    function show() {
      if (until) left = Math.round((until - Date.now()) / 1000);
      shown.textContent = clockText(left);
      shown.classList.toggle("mock-late", left < 0);
      const said = left < 0 ? " The time is over. " : "";
      if (over.textContent !== said) over.textContent = said;
      go.textContent = until ? "Pause" : left === whole ? "Start the clock" : "Go on";
      keepClock({ left, until });
    }
    const again = button("Begin again", () => { left = whole; until = null; show(); });
    setInterval(() => { if (until) show(); }, 1000);
    place.replaceChildren(shown, " ", over, go, " ", again);
    show();
  }

  function keptClock() {
    let kept;
    try { kept = JSON.parse(sessionStorage.getItem(CLOCK)); } catch { /* nothing is kept */ }
    return Number.isFinite(kept?.left) && (kept.until === null || Number.isFinite(kept.until)) ? kept : {};
  }

  function keepClock(state) {
    try { sessionStorage.setItem(CLOCK, JSON.stringify(state)); } catch { /* it runs without */ }
  }

  /* ---- ten skills ---- */

  function levelOf({ questions, problems, exercises, third }) {
    const records = progress.read(), passed = (id) => Boolean(records[PREFIX + id]?.solved);
    if (!questions.some((id) => records[PREFIX + id]?.attempts)) return 0;
    const good = questions.filter(passed).length;
    if (good < 2) return 1 + good;
    if (!problems.some((id) => passed(`problem.${id}`)) && !exercises.some((id) => records[id]?.solved)) return 3;
    return passed(third) && passed(`${third}.deep`) ? 5 : 4;
  }

  const NEXT = ["answer a question of this skill aloud", "answer one of its questions well", "answer one more of its questions well", "solve what level 4 names", "survive the three follow-ups of level 5", ""];

  function offerLevels(sections) {
    const levels = sections.map((section) => ({ section, level: levelOf(JSON.parse(section.dataset.skill)) }));
    for (const { section, level } of levels) {
      section.querySelectorAll("ol > li").forEach((item, place) => item.classList.toggle("skill-reached", place + 1 === level));
      section.querySelector(".skill-level").textContent = level ? `Shown in this browser: level ${level}${NEXT[level] ? `. Next: ${NEXT[level]}` : ""}.` : "Nothing is shown in this browser yet.";
    }
    const plan = document.querySelector(".skill-plan");
    if (!plan) return;
    // What was tried and did not do comes first, then what was never tried.
    const weakest = levels.filter(({ level }) => level < 4).sort(by(({ level }) => level || 1.5)).slice(0, 3);
    plan.replaceChildren(...(weakest.length ? [make("p", { textContent: "Your next three steps:" }), make("ol", {}, ...weakest.map(({ section, level }) => make("li", {},
      make("a", { href: `#${section.id}`, textContent: section.querySelector("h2").firstChild.textContent.replace(/^\d+\. /, "").trim() }), `: ${NEXT[level]}.`)))] : [make("p", { textContent: "Every skill stands at 4 or 5." })]));
  }

  /* ---- one sentence after the other ---- */

  function offerSentences(place) {
    const folds = [...place.querySelectorAll("details")];
    let waiting = folds.map((fold) => [numberOf(`${Math.random()}:${fold.textContent}`), fold]).sort(by(([number]) => number)).map(([, fold]) => fold);
    const says = make("p", { role: "status" });
    let known = 0, seen = 0;
    const row = make("div", { className: "drawing-row", hidden: true }, button("I knew", () => on(true)), " ", button("I did not", () => on(false)));
    const all = button("Show all sentences", () => { folds.forEach((fold) => { fold.hidden = false; }); row.remove(); all.remove(); says.remove(); folds[0].querySelector("summary").focus(); }, { className: "mock-quiet" });
    const shown = () => {
      folds.forEach((fold) => { fold.hidden = fold !== waiting[0]; fold.open = false; });
      row.hidden = true;
    };
    const on = (right) => {
      seen += 1;
      known += right;
      const [first, ...rest] = waiting;
      waiting = right ? rest : [...rest, first]; // what was not known comes again
      says.textContent = waiting.length ? `${known} of ${seen} known, ${waiting.length} to go.` : `All ${folds.length} sentences are known.`;
      if (!waiting.length) { row.remove(); all.focus(); return; }
      shown();
      waiting[0].querySelector("summary").focus();
    };
    place.addEventListener("toggle", (event) => { if (event.target === waiting[0] && event.target.open) row.hidden = false; }, true);
    place.append(row, says, all);
    shown();
  }

  function offerAll() {
    document.querySelectorAll(".mock").forEach(offerRound);
    document.querySelectorAll(".problem-check").forEach(offerCheck);
    document.querySelectorAll(".drawing").forEach(offerDrawing);
    document.querySelectorAll(".clock").forEach(offerClock);
    document.querySelectorAll(".wrong-sentences").forEach(offerSentences);
    const sections = [...document.querySelectorAll("section.skill")];
    if (!sections.length) return;
    offerLevels(sections);
    addEventListener("pageshow", ({ persisted }) => { if (persisted) offerLevels(sections); }); // back from a round
  }

  globalThis.document?.addEventListener("DOMContentLoaded", offerAll);

  return { chain, draw, judge, numberOf, score, well };
})();
