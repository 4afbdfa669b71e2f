/* Python as a page has it, in Node: node pyodide_run.js ROOT SCRIPT. The stand-in is its `torch`; what the
   script is worth goes to standard output. */
const fs = require("fs"), path = require("path");
const [root, script] = process.argv.slice(2);
const pyodide = path.join(root, "node_modules", "pyodide");
const wheels = path.join(root, "book", "_python");
(async () => {
  const python = await require(pyodide).loadPyodide({ indexURL: pyodide + path.sep, stdout() {} });
  for (const name of fs.readdirSync(wheels)) python.unpackArchive(new Uint8Array(fs.readFileSync(path.join(wheels, name))), "wheel");
  python.mountNodeFS("/standin", path.join(root, "src", "annotated_transformer", "standin"));
  python.mountNodeFS("/tests", path.join(root, "tests"));
  process.stdout.write(python.runPython(fs.readFileSync(script, "utf8")));
})();
