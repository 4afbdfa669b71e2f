/* Python in a worker, which checks answers. A page that is opened from a folder may start no file as
   a worker, so this function's text becomes one: it uses nothing from outside of itself.

   It is told { files, machine } to start with: the bytes of each part by its name, and Pyodide's own
   program as the browser has compiled it; then { exercise, source } for each answer. It says { ready: what
   the page needs to know }, then { runs: "answer" or "grader" } as they take turns, and { verdict } or { failed } at the end. */
globalThis.pythonWorker = function () {
  "use strict";
  const NOWHERE = "http://in-this-page.invalid/";
  const IMPORT = `
import sys, warnings
warnings.filterwarnings("ignore")
sys.path.insert(0, "/book")
from annotated_transformer.exercises import in_page
in_page`;
  let page = null;

  async function start(files, machine) {
    const program = (name) => new TextDecoder().decode(files[name]);
    // Written for Pyodide 0.27, whose programs are classic scripts. It asks for its files by address: it
    // gets those that are here, and nothing else; its own program is compiled already.
    self.fetch = async (asked) => {
      const name = String(asked.url || asked).split("/").pop();
      if (!(name in files)) throw new TypeError(`nothing is fetched in this page: ${name}`);
      return new Response(files[name]);
    };
    WebAssembly.instantiateStreaming = async (_, imports) => ({ module: machine, instance: await WebAssembly.instantiate(machine, imports) });
    (0, eval)(program("pyodide.js"));
    (0, eval)(`${program("pyodide.asm.js")}\nself._createPyodideModule = _createPyodideModule;`);
    const python = await self.loadPyodide({ indexURL: NOWHERE, packageBaseUrl: NOWHERE });
    for (const name of Object.keys(files).filter((each) => each.endsWith(".whl"))) python.unpackArchive(files[name], "wheel");
    python.unpackArchive(files["exercises.zip"], "zip", { extractDir: "/book" });
    python.setStdin({ error: true });
    page = python.runPython(IMPORT);
    return JSON.parse(page.begin());
  }

  self.onmessage = async ({ data: asked }) => {
    try {
      if (asked.files) {
        self.postMessage({ ready: await start(asked.files, asked.machine) });
      } else {
        const verdict = page.check_answer(asked.exercise, asked.source, (who) => self.postMessage({ runs: who }));
        self.postMessage({ verdict: JSON.parse(verdict) });
      }
    } catch (error) { self.postMessage({ failed: String(error.stack || error) }); }
  };
};
