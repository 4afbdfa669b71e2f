"""Section 5.1: one byte-pair vocabulary shared by source and target.

The pieces are learned by Hugging Face `tokenizers`. A word carries its leading space as a mark
(U+2581), and punctuation is a piece of its own, so that pieces put together give the text back.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from annotated_transformer.errors import CallError, WorkError

SPECIALS = ("<pad>", "<s>", "</s>", "<unk>")
WORD_MARK = "\N{LOWER ONE EIGHTH BLOCK}"  # the sign that stands for the space before a word


class Vocabulary:
    """Text to ids and back. Ids 0 to 3 are padding, start, end and unknown."""

    pad_id = 0
    bos_id = 1
    eos_id = 2
    unk_id = 3

    def __init__(self, tokenizer: Tokenizer) -> None:
        # A user's text may hold "<s>": it is text, never the start sign.
        tokenizer.encode_special_tokens = True
        self.tokenizer = tokenizer

    @classmethod
    def train(cls, texts: Iterable[str], vocab_size: int, lowercase: bool = False) -> "Vocabulary":
        """Learn a vocabulary from sentences of both languages. The same texts give the same ids.

        Args:
            texts: sentences, source and target together.
            vocab_size: number of pieces at most, the four specials included. A small corpus may
                have fewer pieces to give.
            lowercase: lower-case all text, for good: it is not undone by `decode`.

        Raises:
            CallError: there is no text, or vocab_size is below the number of characters.
        """
        tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
        tokenizer.normalizer = normalizer(lowercase)
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [
                pre_tokenizers.Metaspace(replacement=WORD_MARK, prepend_scheme="always"),
                pre_tokenizers.Punctuation(behavior="isolated"),
            ]
        )
        tokenizer.decoder = decoders.Metaspace(replacement=WORD_MARK, prepend_scheme="always")
        trainer = trainers.BpeTrainer(
            vocab_size=vocab_size, special_tokens=list(SPECIALS), show_progress=False
        )
        tokenizer.train_from_iterator(texts, trainer)
        size = tokenizer.get_vocab_size()
        if size <= len(SPECIALS):
            raise CallError("the vocabulary was given no text to learn from")
        if size > vocab_size:
            raise CallError(
                f"vocab_size is {vocab_size}, and the characters of the text with the "
                f"{len(SPECIALS)} specials are already {size}; give at least {size}"
            )
        return cls(tokenizer)

    @classmethod
    def of_words(cls, texts: Iterable[str], vocab_size: int) -> "Vocabulary":
        """A vocabulary whose tokens are what stands between white space: nothing is split.

        Args:
            texts: sentences, source and target together.
            vocab_size: number of words at most, the four specials included: the most frequent.

        Raises:
            CallError: there is no text.
        """
        tokenizer = Tokenizer(models.WordLevel(unk_token="<unk>"))
        tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
        trainer = trainers.WordLevelTrainer(
            vocab_size=vocab_size, special_tokens=list(SPECIALS), show_progress=False
        )
        tokenizer.train_from_iterator(texts, trainer)
        if tokenizer.get_vocab_size() <= len(SPECIALS):
            raise CallError("the vocabulary was given no text to learn from")
        return cls(tokenizer)

    def encode(self, text: str) -> list[int]:
        """The ids of a sentence, without start and end. Runs of white space count as one space."""
        ids: list[int] = self.tokenizer.encode(text, add_special_tokens=False).ids
        return ids

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """`encode` of many sentences, on all cores."""
        encoded = self.tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
        return [encoding.ids for encoding in encoded]

    def words(self, text: str) -> list[str]:
        """The words and signs that no piece reaches across, each with its mark of a space."""
        normal = self.tokenizer.normalizer.normalize_str(text)
        return [word for word, _ in self.tokenizer.pre_tokenizer.pre_tokenize_str(normal)]

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids. Padding, start and end are left out; an unknown piece reads <unk>."""
        silent = (self.pad_id, self.bos_id, self.eos_id)
        kept = [int(token) for token in ids if int(token) not in silent]
        text: str = self.tokenizer.decode(kept, skip_special_tokens=False)
        return text

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """The piece of each id as it is stored, the word mark included (for figures)."""
        return [self.tokenizer.id_to_token(int(token)) or SPECIALS[self.unk_id] for token in ids]

    def word_indices(self, text: str) -> list[int]:
        """For each piece of `encode(text)`, the index of the word (or sign) it belongs to.

        A word and the punctuation behind it count as two, as in the alignments of `grammar`.
        """
        encoding = self.tokenizer.encode(text, add_special_tokens=False)
        words = list(encoding.word_ids)
        for position, piece in enumerate(encoding.tokens[:-1]):
            if piece == WORD_MARK:  # the space before a sign that stands alone belongs to the sign
                words[position] = words[position + 1]
        order = {word: index for index, word in enumerate(dict.fromkeys(words))}
        return [order[word] for word in words]

    def __len__(self) -> int:
        size: int = self.tokenizer.get_vocab_size()
        return size

    def save(self, path: Path | str) -> None:
        """Write the `tokenizer.json` that any program using `tokenizers` reads."""
        try:
            self.tokenizer.save(str(path))
        except Exception as error:  # the library raises bare Exception
            raise WorkError(f"the vocabulary cannot be written to {path}: {error}") from error

    @classmethod
    def load(cls, path: Path | str) -> "Vocabulary":
        """Read a `tokenizer.json` that `save` wrote.

        Raises:
            CallError: no such file.
            WorkError: the file is truncated, is no tokenizer, or is one whose first four ids are
                not our specials or whose ids leave numbers out.
        """
        path = Path(path)
        if not path.is_file():
            raise CallError(f"{path} is not there; expected the tokenizer.json of a run directory")
        try:
            tokenizer = Tokenizer.from_str(path.read_text(encoding="utf-8"))
        except Exception as error:  # the library raises bare Exception
            raise WorkError(
                f"{path} cannot be read as a tokenizer ({error}): it is truncated or something "
                "else. Restore it, or train anew."
            ) from error
        first = tuple(tokenizer.id_to_token(index) for index in range(len(SPECIALS)))
        if first != SPECIALS:
            raise WorkError(
                f"{path} is a tokenizer of another program: its ids 0 to 3 are "
                f"{', '.join(map(str, first))} and should be {', '.join(SPECIALS)}"
            )
        if max(tokenizer.get_vocab().values()) >= tokenizer.get_vocab_size():
            raise WorkError(
                f"{path} is damaged: its ids are not the numbers from 0 on. Restore it, or train "
                "anew."
            )
        return cls(tokenizer)


def normalizer(lowercase: bool) -> normalizers.Normalizer:
    """NFC (so that u with a separate umlaut is ü), single spaces, and lower case where asked.

    The word mark itself cannot occur in text: it becomes an underscore.
    """
    steps: list[normalizers.Normalizer] = [normalizers.NFC()]
    if lowercase:
        steps.append(normalizers.Lowercase())
    steps += [
        normalizers.Replace(WORD_MARK, "_"),
        normalizers.Replace(Regex(r"\s+"), " "),
        normalizers.Strip(),
    ]
    return normalizers.Sequence(steps)
