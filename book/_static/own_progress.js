/* What a reader has solved in this browser, kept in the format of the file that a notebook keeps
   (annotated_transformer/exercises/learner/records.py): one can be loaded into the other. A test
   compares `attempted` and `merged` with the package's own. */
globalThis.OwnProgress = (function () {
  "use strict";
  const KEY = "annotated-transformer-progress";
  const ANSWER = "annotated-transformer-answer:";
  const VERSION = 2;
  const REVIEW_DAYS = [0, 3, 7, 14, 21]; // schedule.py
  const EMPTY = { attempts: 0, due: null, hints: 0, last: null, level: 0, mistakes: [], solution_seen: false, solved: null };
  const DAY = /^\d{4}-\d\d-\d\d$/;

  const today = () => new Date().toISOString().slice(0, 10); // in UTC, as in a notebook
  const sorted = (names) => [...new Set(names)].sort();
  const least = (days) => days.filter(Boolean).sort()[0] ?? null;
  const latest = (days) => days.filter(Boolean).sort().at(-1) ?? null;

  function after(day, days) {
    const date = new Date(`${day}T00:00:00Z`);
    date.setUTCDate(date.getUTCDate() + days);
    return date.toISOString().slice(0, 10);
  }

  /* The day of the next review when `level` rungs are done, the last on `day`; null: no more. */
  function reviewAfter(level, day) {
    if (level >= REVIEW_DAYS.length) return null;
    return after(day, REVIEW_DAYS[level] - (level ? REVIEW_DAYS[level - 1] : 0));
  }

  /* The record after one more attempt on `day`. */
  function attempted(record, passed, day, mistakes = []) {
    const now = { ...EMPTY, ...record, mistakes: sorted([...(record?.mistakes ?? []), ...mistakes]) };
    now.attempts += 1;
    now.last = latest([now.last, day]);
    if (now.solved === null) {
      if (!passed) return now;
      now.solved = day;
    } else if (now.due === null || day < now.due) return now;
    now.level = passed ? now.level + 1 : 0;
    now.due = reviewAfter(now.level, day);
    return now;
  }

  /* Whether a record is of a question of the interview: not of a follow-up, not of a problem. */
  const isQuestion = (name) => /^interview\.(?!problem\.)[a-z_]+\.[a-z_0-9]+$/.test(name);

  /* Whether a question is to be answered again on a day: what would not do from the next on. */
  const dueAgain = ({ solved, last, due }, day) => (solved === null ? last !== null && last < day : due !== null && due <= day);

  const further = (one, other) => other.level - one.level || ((other.due ?? "") > (one.due ?? "") ? 1 : -1);

  /* The union of two sets of records: nothing is lost. */
  function merged(ones, others) {
    return Object.fromEntries(sorted([...Object.keys(ones), ...Object.keys(others)]).map((name) => {
      const a = { ...EMPTY, ...ones[name] }, b = { ...EMPTY, ...others[name] };
      const { level, due } = further(a, b) > 0 ? b : a;
      return [name, {
        attempts: Math.max(a.attempts, b.attempts), due, hints: Math.max(a.hints, b.hints), last: latest([a.last, b.last]), level,
        mistakes: sorted([...a.mistakes, ...b.mistakes]), solution_seen: a.solution_seen || b.solution_seen, solved: least([a.solved, b.solved]),
      }];
    }));
  }

  const isCount = (value) => Number.isInteger(value) && value >= 0;
  const isDay = (value) => value === null || (typeof value === "string" && DAY.test(value) && !Number.isNaN(Date.parse(value)) && after(value, 0) === value);
  const RIGHT = {
    attempts: isCount, hints: isCount, level: isCount, solved: isDay, last: isDay, due: isDay,
    solution_seen: (value) => typeof value === "boolean",
    mistakes: (value) => Array.isArray(value) && value.every((name) => typeof name === "string"),
  };

  function checkedRecord(name, entry) {
    if (typeof entry !== "object" || entry === null || Array.isArray(entry)) throw new Error(`the entry "${name}" is no record`);
    const record = { ...EMPTY };
    for (const [part, isRight] of Object.entries(RIGHT)) {
      if (!(part in entry)) continue;
      if (!isRight(entry[part])) throw new Error(`${part} of "${name}" is ${JSON.stringify(entry[part])}`);
      record[part] = entry[part];
    }
    record.mistakes = sorted(record.mistakes);
    if (record.solved === null) Object.assign(record, { level: 0, due: null });
    else if (record.level >= REVIEW_DAYS.length) Object.assign(record, { level: REVIEW_DAYS.length, due: null });
    else record.due ??= record.last ?? record.solved;
    return record;
  }

  /* The records in a file's text; throws an Error that says what is wrong with it. */
  function parse(text) {
    let tree;
    try { tree = JSON.parse(text); } catch { throw new Error("it is no JSON"); }
    const exercises = tree?.exercises;
    if (typeof exercises !== "object" || exercises === null || Array.isArray(exercises)) throw new Error("it holds no exercises");
    if (Number.isInteger(tree.version) && tree.version > VERSION) throw Object.assign(new Error(`it is of version ${tree.version}, newer than these pages, which know ${VERSION}`), { isNewer: true });
    if (tree.version !== 1 && tree.version !== VERSION) throw new Error(`it is of version ${JSON.stringify(tree.version)}, known are 1 and 2`);
    return Object.fromEntries(Object.entries(exercises).map(([name, entry]) => [name, checkedRecord(name, entry)]));
  }

  const asText = (records) => `${JSON.stringify({ exercises: records, version: VERSION }, null, 1)}\n`;

  const stored = () => { try { return localStorage.getItem(KEY); } catch { return null; } };

  function read() {
    try { return parse(stored() ?? asText({})); } catch { return {}; }
  }

  /* Before anything is written: what is of a newer version stays as it is, what is damaged is set aside. */
  function mayWrite() {
    const text = stored();
    try { parse(text ?? asText({})); } catch (error) {
      if (error.isNewer) return false;
      let number = 1;
      while (localStorage.getItem(`${KEY}.damaged-${number}`) !== null) number += 1;
      return keep(`${KEY}.damaged-${number}`, text);
    }
    return true;
  }

  /* Whether it could be kept: a browser may refuse. */
  function keep(key, text) {
    try {
      if (text === null) localStorage.removeItem(key);
      else localStorage.setItem(key, text);
      return true;
    } catch { return false; }
  }

  const write = (records) => mayWrite() && keep(KEY, asText(records));

  function change(name, how) {
    const records = read();
    records[name] = how({ ...EMPTY, ...records[name] });
    return write(records);
  }

  function answer(name) {
    try { return localStorage.getItem(ANSWER + name); } catch { return null; }
  }

  return {
    EMPTY, after, answer, asText, attempted, dueAgain, isQuestion, change, merged, parse, read, reviewAfter, today, write,
    keepAnswer: (name, text) => keep(ANSWER + name, text),
  };
})();
