"""Build the site strictly, from _config.yml and what follows from the book's address; serve it.

python tools/build_book.py build            _build/html, without a warning or not at all
python tools/build_book.py serve [PORT]     the built site on this machine only
"""

import functools
import http.server
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import yaml

from address import Address, read_address

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "_build"
HTML = BUILD / "html"


def published_settings(address: Address) -> dict[str, Any]:
    """The settings of Jupyter Book that only a published book can have: links, buttons, Colab."""
    return {
        "html": {
            "baseurl": address.book,
            "use_repository_button": True,
            "use_issues_button": True,
        },
        "repository": {"url": address.repository},
        "launch_buttons": {"colab_url": "https://colab.research.google.com"},
    }


def effective_config() -> Path:
    """Write the configuration of this build: _config.yml, and more once an address is set."""
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    address = read_address(config)
    if address is not None:
        for key, values in published_settings(address).items():
            config.setdefault(key, {}).update(values)
    extensions = config["sphinx"]["local_extensions"]  # read relative to the file written here
    extensions.update({name: str(ROOT / folder) for name, folder in extensions.items()})
    target = BUILD / "config.yml"
    target.write_text(yaml.safe_dump(config, sort_keys=False), encoding="utf-8")
    return target


def build() -> None:
    """Build everything anew; a site with a warning is taken away again so that nobody reads it."""
    started = time.monotonic()
    for folder in (HTML, BUILD / ".doctrees", BUILD / "jupyter_execute"):
        shutil.rmtree(folder, ignore_errors=True)
    jupyter_book = shutil.which("jupyter-book", path=str(Path(sys.executable).parent))
    command = [jupyter_book or "jupyter-book", "build", str(ROOT)]
    command += ["--config", str(effective_config()), "--path-output", str(ROOT)]
    command += ["--warningiserror", "--nitpick", "--keep-going", "--quiet"]
    if subprocess.run(command, cwd=ROOT, check=False).returncode or not HTML.exists():
        shutil.rmtree(HTML, ignore_errors=True)
        sys.exit("The site was not built: mend the warnings above (each names its file and line).")
    pages = len(list(HTML.rglob("*.html")))
    print(
        f"{pages} pages in {time.monotonic() - started:.0f} s: {HTML.relative_to(ROOT)}/index.html"
    )


def serve(port: int) -> None:
    """Serve the built site on this machine until Ctrl-C."""
    if not (HTML / "index.html").exists():
        sys.exit("There is no site to serve yet: run `make book` first.")
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(HTML))
    with http.server.ThreadingHTTPServer(("127.0.0.1", port), handler) as server:
        print(
            f"The book is at http://127.0.0.1:{server.server_port}/ (Ctrl-C stops it)", flush=True
        )
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print("\nStopped.")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["build"]:
            build()
        case ["serve", *port]:
            serve(int(port[0]) if port else 8000)
        case _:
            sys.exit(__doc__)
