"""Byte-level byte-pair encoding (Sennrich 2016; bytes as in GPT-2), trained on the corpus itself."""

from collections.abc import Iterable
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

END_OF_TEXT = "<|endoftext|>"
END_OF_TEXT_ID = 0


def train(texts: Iterable[str], *, vocab_size: int) -> Tokenizer:
    """Learn merges from texts; ids are below `vocab_size`, and 0 is the end-of-text token."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=[END_OF_TEXT],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer=trainer)
    return literal(tokenizer)


def load(path: Path) -> Tokenizer:
    """Read a tokenizer file."""
    return literal(Tokenizer.from_file(str(path)))


def literal(tokenizer: Tokenizer) -> Tokenizer:
    """Read special tokens that occur in a text as plain text: only we end documents."""
    tokenizer.encode_special_tokens = True
    return tokenizer
