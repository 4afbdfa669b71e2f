"""Archives of WMT 2014's form, with few and short sentences, on a server of this machine."""

import gzip
import io
import tarfile
from dataclasses import replace

from annotated_transformer.data import wmt14
from annotated_transformer.data.published import Published, Source
from local_server import Server, digest

SGM = '<srcset>\n<doc>\n<seg id="1"> {0}  one </seg>\n<seg id="2">{0} &amp; two</seg>\n</doc>'
MEMBERS = {
    "training-parallel-europarl-v7.tgz": {
        "training/europarl-v7.de-en.en": "ep one\nep two\n",
        "training/europarl-v7.de-en.de": "ep eins\nep zwei\n",
        "training/europarl-v7.fr-en.en": "ep one\n",
        "training/europarl-v7.fr-en.fr": "ep un",  # without a newline at the end
    },
    "training-parallel-commoncrawl.tgz": {
        "commoncrawl.de-en.de": "cc\u2028eins\n",
        "commoncrawl.de-en.annotation": "ignored\n",
        "commoncrawl.de-en.en": "cc one\n",
        "commoncrawl.fr-en.en": "cc one\n",
        "commoncrawl.fr-en.fr": "cc un\n",
    },
    "training-parallel-nc-v9.tgz": {
        f"training/news-commentary-v9.{pair}-en.{language}": f"nc {language}\n"
        for pair in ("de", "fr")
        for language in (pair, "en")
    },
    "training-parallel-un.tgz": {
        "un/undoc.2000.fr-en.en": "un one\n",
        "un/undoc.2000.fr-en.fr": "un un\n",
    },
    "training-giga-fren.tar": {
        "giga-fren.release2.fixed.en.gz": "giga one\n",
        "giga-fren.release2.fixed.fr.gz": "giga un\n",
    },
    "dev.tgz": {
        **{
            f"dev/newstest2013.{language}": f"valid {language}\n" for language in ("en", "de", "fr")
        },
        "dev/newstest2014-deen-ref.en.sgm": SGM.format("test"),
        "dev/newstest2014-deen-src.de.sgm": SGM.format("Test"),
        "dev/newstest2014-fren-ref.en.sgm": SGM.format("test"),
        "dev/newstest2014-fren-src.fr.sgm": SGM.format("essai"),
    },
}


def packed(name: str, members: dict[str, str]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz" if name.endswith("tgz") else "w") as tar:
        for member, text in members.items():
            content = text.encode()
            if member.endswith(".gz"):
                content = gzip.compress(content)
            entry = tarfile.TarInfo(member)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


def on_server(server: Server, other: str, members: dict[str, dict[str, str]]) -> Published:
    """The corpus made from archives that lie on the server."""
    bodies = {name: packed(name, inside) for name, inside in members.items()}
    server.files.update(bodies)
    archives = tuple(
        replace(
            archive,
            source=Source(
                server.url + archive.source.name,
                len(bodies[archive.source.name]),
                digest(bodies[archive.source.name]),
            ),
        )
        for archive in wmt14.ARCHIVES
    )
    return wmt14.published_from(other, archives)
