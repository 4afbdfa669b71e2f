"""A program of the pages, run in Node: what a function of it answers."""

import json
import subprocess
from pathlib import Path
from typing import Any

from front_end import ROOT, command

STATIC = ROOT / "book" / "_static"
ASK = """
const fs = require("fs");
const [question, ...programs] = process.argv.slice(1);
for (const name of programs) (0, eval)(fs.readFileSync(name, "utf8"));
const answer = new Function("given", question);
process.stdout.write(JSON.stringify(answer(JSON.parse(fs.readFileSync(0, "utf8")))));
"""


def ask(programs: list[Path], question: str, given: Any) -> Any:
    """`question` is the body of a function of `given`, called when the programs have run."""
    done = subprocess.run(
        [*command("node"), "-e", ASK, question, *map(str, programs)],
        input=json.dumps(given),
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
