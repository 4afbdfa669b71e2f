/* What a reader has solved in this browser: said on the page of exercises, and saved to or loaded
   from the file that a notebook's save_progress() writes. */
(function () {
  "use strict";
  const progress = globalThis.OwnProgress;
  const FILE = "annotated-transformer-progress.json";
  const EXERCISES = ".map-table td:first-child code, section.exercise > :is(h3, h4) + p > code:first-child"; // in rows, or whole
  const MOST = 5_000_000; // bytes that are read of a file

  const stateOf = (record, today) => {
    if (!record) return "";
    if (!record.solved) return record.attempts ? "tried" : "";
    return record.due && record.due <= today ? `to be solved again since ${record.due}` : "solved";
  };

  /* On the pages of the interview the questions are counted. */
  function showInterview(panel) {
    const own = Object.entries(progress.read()).filter(([name, record]) => progress.isQuestion(name) && record.attempts);
    const well = own.filter(([, record]) => record.solved), due = own.filter(([, record]) => progress.dueAgain(record, progress.today()));
    panel.querySelector(".own-counts").textContent = own.length
      ? `In this browser: ${own.length} ${own.length === 1 ? "question" : "questions"} answered, ${well.length} of them well, ${due.length} to be answered again today.`
      : "No question is answered in this browser yet.";
  }

  /* Each exercise's row says what its reader has done; the panel sums it up. */
  function show(panel) {
    if (panel.dataset.what === "interview") { showInterview(panel); return; }
    const records = progress.read(), today = progress.today();
    const counts = { solved: 0, due: 0, tried: 0 };
    document.querySelectorAll(".own-state").forEach((each) => each.remove());
    const all = document.querySelectorAll(EXERCISES);
    for (const code of all) {
      const state = stateOf(records[code.textContent], today);
      if (!state) continue;
      counts[state === "tried" ? "tried" : "solved"] += 1;
      if (state.startsWith("to be")) counts.due += 1;
      code.parentElement.append(Object.assign(document.createElement("span"), { className: "own-state", textContent: state }));
    }
    panel.querySelector(".own-counts").textContent = counts.solved + counts.tried === 0
      ? "Nothing is solved in this browser yet."
      : `In this browser: ${counts.solved} of ${all.length} solved, ${counts.tried} tried and still open, ${counts.due} to be solved again today.`;
  }

  function save() {
    const address = URL.createObjectURL(new Blob([progress.asText(progress.read())], { type: "application/json" }));
    Object.assign(document.createElement("a"), { href: address, download: FILE }).click();
    setTimeout(() => URL.revokeObjectURL(address), 10_000);
  }

  async function load(file, says) {
    try {
      if (file.size > MOST) throw new Error("it is too large for one");
      const theirs = progress.parse(await file.text());
      const kept = progress.write(progress.merged(progress.read(), theirs));
      says(kept ? `${Object.keys(theirs).length} entries read from ${file.name} and merged: nothing was lost.` : "This browser keeps nothing for these pages.");
    } catch (error) { says(`${file.name} is no progress file: ${error.message}. Nothing was changed.`); }
  }

  function furnish(panel) {
    panel.replaceChildren();
    const counts = Object.assign(document.createElement("p"), { className: "own-counts" });
    const row = Object.assign(document.createElement("div"), { className: "solve-row" });
    const status = document.createElement("p");
    status.setAttribute("role", "status");
    const saving = Object.assign(document.createElement("button"), { type: "button", textContent: "Save to a file" });
    const loading = Object.assign(document.createElement("button"), { type: "button", textContent: "Load from a file" });
    const file = Object.assign(document.createElement("input"), { type: "file", accept: ".json,application/json", tabIndex: -1, ariaLabel: "A progress file" });
    file.setAttribute("aria-label", "A progress file");
    saving.addEventListener("click", save);
    loading.addEventListener("click", () => file.click());
    file.addEventListener("change", async () => {
      if (!file.files[0]) return;
      await load(file.files[0], (text) => { status.textContent = text; });
      file.value = "";
      show(panel);
    });
    row.append(saving, loading, file);
    panel.append(counts, row, status);
    show(panel);
    document.addEventListener("book-progress", () => show(panel));
  }

  document.querySelectorAll(".own-progress").forEach(furnish);
})();
