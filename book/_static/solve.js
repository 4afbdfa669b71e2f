/* An exercise that is solved in the page: an editor in the place of its cell, Check, hints, solution.
   page.js loads this when it is asked for. Python starts at the first check, in a worker; the real
   grader answers, with its own card. What is written stays in this browser. */
globalThis.BookSolve = (function () {
  "use strict";
  const LONG = 1500; // milliseconds after which the page says what it waits for, or begins another Python
  const SILENCE = 10_000; // within which Python says whose turn it is
  const PARTS = globalThis.PYTHON_SIZES ?? {};
  const progress = globalThis.OwnProgress;
  const ALL = Object.values(PARTS).reduce((sum, bytes) => sum + bytes, 0);
  const plain = (name, css, text, more = {}) => Object.assign(document.createElement(name), { className: css, textContent: text, ...more });

  function card(name, state, sentence, style) { // where Python cannot make one; the style is its own
    const box = plain("div", "at-card at-wrong", "");
    box.setAttribute("role", "group");
    box.setAttribute("aria-label", `${name}: ${state}`);
    const head = plain("p", "", "");
    head.append(plain("strong", "", `✗ ${state}`), ` · ${name}`);
    box.append(head, plain("p", "", sentence));
    return style + box.outerHTML;
  }

  /* --- Python: one for the page, started when it is wanted --------------------------------------- */
  const MACHINE = "pyodide.asm.wasm";

  async function unpacked(text) {
    const packed = await (await fetch(`data:;base64,${text}`)).blob();
    return new Uint8Array(await new Response(packed.stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer());
  }

  const python = {
    current: null, spare: null, files: {}, machine: null, loading: null, about: null, says: null, interrupt: null,

    /* All parts, unpacked. Pyodide's own program, the largest, is compiled while the others come. */
    async load(says) {
      let came = 0, machine = null;
      for (const name of Object.keys(PARTS)) {
        says(`Loading Python: ${Math.round((came / ALL) * 100)} %.`);
        await globalThis.loadScript(`python/${name}.js`);
        came += PARTS[name];
        const bytes = unpacked(globalThis.PYTHON_PARTS[name]);
        delete globalThis.PYTHON_PARTS[name];
        this.files[name] = name === MACHINE ? new Uint8Array() : await bytes;
        if (name === MACHINE) machine = bytes.then((whole) => WebAssembly.compile(whole));
      }
      this.machine = await machine;
    },

    /* A new worker, and when it is ready. It says how long an answer may run, and how cards look. */
    launch() {
      const address = URL.createObjectURL(new Blob([`(${globalThis.pythonWorker})();`], { type: "text/javascript" }));
      const started = { worker: new Worker(address) };
      started.ready = new Promise((resolve, reject) => {
        started.worker.onmessage = ({ data }) => (data.ready ? resolve(data.ready) : reject(new Error(data.failed)));
        started.worker.onerror = (event) => reject(new Error(event.message));
        started.worker.postMessage({ files: this.files, machine: this.machine });
      }).finally(() => URL.revokeObjectURL(address));
      return started;
    },

    async start(says) {
      this.says = says; // whoever came last hears of it
      this.loading ??= this.load((text) => this.says(text)).catch((error) => { this.loading = null; throw error; });
      await this.loading;
      this.current ??= this.launch();
      says("Starting Python.");
      try { this.about = await this.current.ready; } catch (error) { this.stop(); throw error; }
    },

    /* The verdict on an answer. Where Python itself fails, another one is asked, once. */
    async check(name, source, says) {
      try { return await this.ask(name, source, says); } catch (error) {
        if (error.isStopped) throw error;
        await this.start(says);
        return this.ask(name, source, says);
      }
    },

    /* Ask this Python. An answer that does not return, or ends Python, costs it its life; another is
       begun when an answer takes long, so that it is there in time. */
    ask(name, source, says) {
      const { worker } = this.current, { seconds } = this.about;
      return new Promise((resolve, reject) => {
        let timer = 0, patience = 0, turn = "";
        const end = (how, what) => {
          clearTimeout(timer);
          clearTimeout(patience);
          this.spare?.worker.terminate();
          this.spare = this.interrupt = worker.onmessage = null;
          how(what);
        };
        const fails = (error) => { this.stop(); end(reject, error); };
        const ended = (state, said, sentence) => {
          this.stop();
          end(resolve, { state, markup: card(name, said, sentence, this.about.style), mistakes: [] });
        };
        const late = () => ended("stopped", "stopped", `Your code had not returned after ${seconds} seconds. Is there a loop whose end is never reached? If it only computes much, check it in a notebook: a page is slower.`);
        const waits = { // while one of the two runs
          answer: () => {
            timer = setTimeout(late, 1000 * seconds);
            patience = setTimeout(() => { this.spare ??= this.launch(); }, LONG);
          },
          grader: () => { patience = setTimeout(says, LONG, "Looking for what your answer does."); },
        };
        this.interrupt = () => fails(Object.assign(new Error("Stopped. Nothing was said of your answer."), { isStopped: true }));
        timer = setTimeout(() => fails(new Error("Python does not answer")), SILENCE);
        worker.onmessage = ({ data }) => {
          clearTimeout(timer);
          clearTimeout(patience);
          if (data.runs) waits[turn = data.runs]();
          else if (data.verdict) {
            if (data.verdict.spent) this.stop(); // the answer has changed what the next one needs
            end(resolve, data.verdict);
          } else if (turn === "answer") ended("wrong", "not yet right", `Your code ended or crashed Python itself. Very deep recursion does that. ${data.failed.split("\n")[0].slice(0, 200)}`);
          else fails(new Error(data.failed));
        };
        worker.postMessage({ exercise: name, source });
      });
    },

    /* End this Python; the one that was begun meanwhile takes its place. */
    stop() {
      this.current?.worker.terminate();
      this.current = this.spare;
      this.spare = null;
    },
  };

  /* Who has had Python in a page of this browser gets it as soon as something is written. */
  const KNOWN = "annotated-transformer-python";
  const isKnown = () => { try { return localStorage.getItem(KNOWN) !== null; } catch { return false; } };
  const keepKnown = () => { try { localStorage.setItem(KNOWN, "yes"); } catch { /* then not */ } };

  /* --- one exercise ------------------------------------------------------------------------------ */
  let checking = null; // the exercise whose check runs: there is one Python

  const foldsOf = (place, pattern) => Array.from(place.parentElement.querySelectorAll(":scope > details"))
    .filter((fold) => pattern.test(fold.querySelector("summary").textContent));

  function button(text, action, css = "") {
    const made = plain("button", css, text, { type: "button" });
    made.addEventListener("click", action);
    return made;
  }

  function solve(place, { name, given, slot }) {
    const title = place.closest("section")?.querySelector(":is(h2, h3, h4)")?.firstChild?.textContent ?? name;
    const hints = foldsOf(place, /^Hint \d/), solution = foldsOf(place, /^Solution/)[0];
    const keysId = `solve-keys-${name}`;
    const box = plain("div", "solve", "");
    const here = plain("div", "solve-editor", "");
    const keys = plain("p", "solve-keys", "Ctrl+Enter checks. Tab indents; Escape, then Tab, leaves the editor.", { id: keysId });
    const row = plain("div", "solve-row", "");
    const status = plain("p", "solve-status", "");
    status.setAttribute("role", "status");
    const report = plain("div", "solve-report", "", { tabIndex: -1 });
    report.setAttribute("aria-live", "polite");
    const help = plain("div", "solve-help", "");
    const says = (text) => { status.textContent = text; };
    const forget = () => { report.replaceChildren(); report.classList.remove("solve-old"); };

    const checkButton = button("Check", check, "solve-check");
    const stopButton = button("Stop", () => { python.interrupt?.(); checkButton.focus(); });
    stopButton.hidden = true;
    const hintButton = button("Hint", showHint);
    const solutionButton = button("Solution", showSolution);
    hintButton.hidden = hints.length === 0;
    solutionButton.hidden = !solution;
    const againButton = button("Start again", startAgain);
    row.append(checkButton, stopButton, hintButton, solutionButton, againButton);
    here.addEventListener("keydown", (event) => event.stopPropagation()); // Sphinx takes "/" for its search
    box.append(here, keys, row, status, report, help);
    place.classList.add("solve-open");
    place.insertBefore(box, place.querySelector(":scope > .cell_output"));
    for (const fold of [...hints, solution]) if (fold) fold.hidden = true; // the buttons show them now

    const editor = globalThis.BookEditor.open(here, {
      text: progress.answer(slot) ?? given, label: `Your answer to ${title}`, describedBy: keysId, check,
      changed: (text) => {
        if (isKnown()) python.start(() => {}).catch(() => {}); // so that it is there when it is wanted
        againButton.textContent = "Start again";
        const kept = progress.keepAnswer(slot, text === given ? null : text);
        if (!kept) says("This browser keeps nothing for these pages: copy what you want to keep.");
      },
    });
    const record = () => progress.read()[name];
    const first = Object.keys(PARTS).length === 0
      ? "This copy of the book is without Python: solve this one in the notebook."
      : python.machine ? "" : `The first check on a page starts Python, ${(ALL / 1e6).toFixed(1)} MB: some seconds. It runs here, on a small imitation of PyTorch; nothing is sent anywhere.`;
    says([record()?.solved ? `You solved it on ${record().solved}.` : "", first].filter(Boolean).join(" "));
    let before = ""; // what stood there when it was begun again
    checkButton.disabled = Object.keys(PARTS).length === 0;

    async function check() {
      if (checkButton.disabled || checking === name) return;
      if (checking) { says("Another check is running."); return; }
      checking = name;
      checkButton.setAttribute("aria-disabled", "true"); // not disabled: the keyboard keeps its place
      report.classList.add("solve-old");
      try {
        await python.start(says);
        stopButton.hidden = false;
        keepKnown();
        says("Checking.");
        const begun = performance.now();
        const verdict = await python.check(name, editor.text(), says);
        place.classList.add("solve-checked");
        report.innerHTML = verdict.markup; // the grader's card, all of the learner's in it escaped
        report.classList.remove("solve-old");
        tell(verdict, performance.now() - begun);
      } catch (error) {
        forget();
        const why = error instanceof Error ? error.message.trim().split("\n").at(-1) : "a part of it could not be loaded";
        says(error.isStopped ? why : `Python failed in this page, and nothing was said of your answer (${why.slice(0, 200)}). Press Check to try again, or use the notebook.`);
      }
      checking = null;
      checkButton.removeAttribute("aria-disabled");
      stopButton.hidden = true;
      if (python.machine) python.start(() => {}).catch(() => {}); // a new one where this was ended
    }

    function tell({ state, mistakes }, took) {
      const counts = state === "passed" || state === "wrong";
      const kept = !counts || progress.change(name, (old) => progress.attempted(old, state === "passed", progress.today(), mistakes));
      const next = state === "passed" && record()?.due ? ` Solve it again on ${record().due}, so that it stays.` : "";
      if (state === "passed") report.append(onwards());
      says(`Checked in ${(took / 1000).toFixed(1)} s.${next}${kept ? "" : " Your progress could not be kept in this browser."}`);
      document.dispatchEvent(new CustomEvent("book-progress"));
      report.scrollIntoView({ block: "nearest" });
    }

    function onwards() { // after an exercise: why it is so, and the next one
      const places = Array.from(document.querySelectorAll(".cell.tag_exercise"));
      const following = places[places.indexOf(place) + 1]?.closest("section[id]");
      const [href, name] = following
        ? [`#${following.id}`, following.querySelector(":is(h2, h3, h4)").firstChild.textContent]
        : [`${document.documentElement.dataset.content_root}book/exercises.html`, "all exercises"];
      const line = plain("p", "", solution ? "Why it is so: press Solution. Next: " : "Next: ");
      line.append(plain("a", "", name, { href }));
      return line;
    }

    function startAgain() {
      const undoes = againButton.textContent === "Undo", text = editor.text();
      editor.replace(undoes ? before : given);
      before = text;
      forget();
      if (!undoes && text !== given) againButton.textContent = "Undo";
      editor.focus();
    }

    function shown(fold, title) {
      const box = plain("section", "solve-hint", "");
      box.append(plain("p", "solve-hint-title", title));
      const inside = Array.from(fold.children).slice(1).filter((child) => !/^In a notebook, /.test(child.textContent));
      box.append(...inside.map((child) => child.cloneNode(true)));
      box.querySelectorAll("[id]").forEach((each) => each.removeAttribute("id"));
      box.querySelectorAll("button").forEach((each) => each.remove());
      box.tabIndex = -1;
      help.append(box);
      box.focus({ preventScroll: true });
      box.scrollIntoView({ block: "nearest" });
    }

    function showHint() {
      const step = help.querySelectorAll(".solve-hint:not(.solve-solution)").length;
      if (step >= hints.length) return;
      shown(hints[step], `Hint ${step + 1} of ${hints.length}`);
      progress.change(name, (old) => ({ ...old, hints: Math.max(old.hints, step + 1) }));
      if (step + 1 === hints.length) hintButton.disabled = true;
    }

    function showSolution() {
      shown(solution, "Solution");
      help.lastElementChild.classList.add("solve-solution");
      solutionButton.disabled = true;
      progress.change(name, (old) => ({ ...old, solution_seen: true }));
    }

    return editor;
  }

  return { python, solve };
})();
