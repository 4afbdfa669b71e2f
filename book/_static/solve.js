/* An exercise that is solved in the page: an editor in the place of its cell, Check, hints, solution.
   page.js loads this when it is asked for. Python starts at the first check, in a worker; the real
   grader answers, with its own card. What is written stays in this browser. */
globalThis.BookSolve = (function () {
  "use strict";
  const LIMIT = 5000; // milliseconds that an answer may run, as in a notebook
  const LONG = 1500; // after which the page says what it waits for
  const PARTS = globalThis.PYTHON_SIZES ?? {};
  const progress = globalThis.OwnProgress;
  const ALL = Object.values(PARTS).reduce((sum, bytes) => sum + bytes, 0);
  const plain = (name, css, text, more = {}) => Object.assign(document.createElement(name), { className: css, textContent: text, ...more });

  function card(name, state, sentence) { // where Python cannot make one
    const box = plain("div", "at-card", "");
    box.setAttribute("role", "group");
    box.setAttribute("aria-label", `${name}: ${state}`);
    const head = plain("p", "", "");
    head.append(plain("strong", "", `✗ ${state}`), ` · ${name}`);
    box.append(head, plain("p", "", sentence));
    return box.outerHTML;
  }

  /* --- Python: one for the page, started when it is wanted --------------------------------------- */
  const MACHINE = "pyodide.asm.wasm";

  async function unpacked(text) {
    const packed = await (await fetch(`data:;base64,${text}`)).blob();
    return new Uint8Array(await new Response(packed.stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer());
  }

  const python = {
    current: null, spare: null, files: {}, machine: null, interrupt: null,

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

    /* A new worker, and when it is ready. */
    launch() {
      const address = URL.createObjectURL(new Blob([`(${globalThis.pythonWorker})();`], { type: "text/javascript" }));
      const started = { worker: new Worker(address) };
      started.ready = new Promise((resolve, reject) => {
        started.worker.onmessage = ({ data }) => (data.ready ? resolve() : reject(new Error(data.failed)));
        started.worker.onerror = (event) => reject(new Error(event.message));
        started.worker.postMessage({ files: this.files, machine: this.machine });
      }).finally(() => URL.revokeObjectURL(address));
      return started;
    },

    async start(says) {
      if (!this.machine) await this.load(says);
      this.current ??= this.launch();
      says("Starting Python.");
      try { await this.current.ready; } catch (error) { this.stop(); throw error; }
    },

    /* The verdict on an answer. One that does not return, or ends Python, costs this Python its life;
       another is begun when an answer takes long, so that it is there in time. */
    check(name, source, says) {
      const { worker } = this.current;
      return new Promise((resolve, reject) => {
        let limit = 0, patience = 0;
        const end = (how, what) => {
          clearTimeout(limit);
          clearTimeout(patience);
          this.spare?.worker.terminate();
          this.spare = this.interrupt = null;
          how(what);
        };
        const lost = (sentence) => {
          this.stop();
          end(resolve, { state: "wrong", markup: card(name, "not yet right", sentence), mistakes: [] });
        };
        const runs = { // what is awaited while one of the two runs
          answer: () => {
            limit = setTimeout(lost, LIMIT, `Your code had not returned after ${LIMIT / 1000} seconds. Is there a loop whose end is never reached?`);
            patience = setTimeout(() => { this.spare ??= this.launch(); }, LONG);
          },
          grader: () => { patience = setTimeout(says, LONG, "Looking for what your answer does."); },
        };
        this.interrupt = () => { this.stop(); end(reject, new Error("Stopped. Nothing was said of your answer.")); };
        worker.onmessage = ({ data }) => {
          clearTimeout(limit);
          clearTimeout(patience);
          if (data.runs) runs[data.runs]();
          else if (data.verdict) end(resolve, data.verdict);
          else lost(`Your code ended or crashed Python itself. Very deep recursion does that. ${data.failed.split("\n")[0].slice(0, 200)}`);
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

  /* --- one exercise ------------------------------------------------------------------------------ */
  let checking = null; // the exercise whose check runs: there is one Python

  /* What a cell says: the id of its exercise, the name of its function, the text to begin with. */
  function readCell(place) {
    const code = place.querySelector("pre").textContent;
    const found = /\n+check\("([\w.]+)", (\w+)\)\s*$/.exec(code);
    return found && { name: found[1], given: `${code.slice(0, found.index).trimEnd()}\n` };
  }

  const foldsOf = (place, pattern) => Array.from(place.parentElement.querySelectorAll(":scope > details"))
    .filter((fold) => pattern.test(fold.querySelector("summary").textContent));

  function button(text, action, css = "") {
    const made = plain("button", css, text, { type: "button" });
    made.addEventListener("click", action);
    return made;
  }

  function solve(place) {
    const { name, given } = readCell(place);
    const slot = place.matches(".mend") ? `${name}.mend` : name; // what is written here is kept apart
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

    const checkButton = button("Check", check, "solve-check");
    const stopButton = button("Stop", () => python.interrupt?.());
    stopButton.hidden = true;
    const hintButton = button("Hint", showHint);
    const solutionButton = button("Solution", showSolution);
    hintButton.hidden = hints.length === 0;
    solutionButton.hidden = !solution;
    row.append(checkButton, stopButton, hintButton, solutionButton, button("Start again", () => { editor.replace(given); editor.focus(); }));
    here.addEventListener("keydown", (event) => event.stopPropagation()); // Sphinx takes "/" for its search
    box.append(here, keys, row, status, report, help);
    place.classList.add("solve-open");
    place.append(box);

    const editor = globalThis.BookEditor.open(here, {
      text: progress.answer(slot) ?? given, label: `Your answer to ${title}`, describedBy: keysId, check,
      changed: (text) => {
        const kept = progress.keepAnswer(slot, text === given ? null : text);
        if (!kept) says("This browser keeps nothing for these pages: copy what you want to keep.");
      },
    });
    const record = () => progress.read()[name];
    const first = Object.keys(PARTS).length === 0
      ? "This copy of the book is without Python: solve this one in the notebook."
      : python.machine ? "" : `The first check loads Python, ${(ALL / 1e6).toFixed(1)} MB. It runs in this page, on a small imitation of PyTorch; nothing is sent anywhere.`;
    says([record()?.solved ? `You solved it on ${record().solved}.` : "", first].filter(Boolean).join(" "));
    checkButton.disabled = Object.keys(PARTS).length === 0;

    async function check() {
      if (checkButton.disabled || checking === name) return;
      if (checking) { says("Another check is running."); return; }
      checking = name;
      checkButton.setAttribute("aria-disabled", "true"); // not disabled: the keyboard keeps its place
      stopButton.hidden = false;
      try {
        await python.start(says);
        says("Checking.");
        const begun = performance.now();
        const verdict = await python.check(name, editor.text(), says);
        report.innerHTML = verdict.markup; // the grader's card, all of the learner's in it escaped
        say(verdict, performance.now() - begun);
      } catch (error) {
        const why = error instanceof Error ? error.message : "a part of Python could not be loaded";
        says(/^Stopped/.test(why) ? why : `Python could not be started: ${why.split("\n")[0]}. Press Check to try again, or use the notebook.`);
      }
      checking = null;
      checkButton.removeAttribute("aria-disabled");
      stopButton.hidden = true;
      if (python.machine) python.start(() => {}).catch(() => {}); // a new one where this was ended
    }

    function say({ state, mistakes }, took) {
      const counts = state === "passed" || state === "wrong";
      const kept = !counts || progress.change(name, (old) => progress.attempted(old, state === "passed", progress.today(), mistakes));
      const next = state === "passed" && record()?.due ? ` It comes back on ${record().due}.` : "";
      says(`Checked in ${(took / 1000).toFixed(1)} s.${next}${kept ? "" : " Your progress could not be kept in this browser."}`);
      document.dispatchEvent(new CustomEvent("book-progress"));
      report.scrollIntoView({ block: "nearest" });
    }

    function shown(fold, title) {
      const box = plain("section", "solve-hint", "");
      box.append(plain("p", "solve-hint-title", title));
      box.append(...Array.from(fold.children).slice(1).map((child) => child.cloneNode(true)));
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
