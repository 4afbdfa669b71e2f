"""Exercises on byte-pair encoding and batches (section 5.1)."""

from annotated_transformer.exercises.content.tokenization.bpe_encode import BPE_ENCODE
from annotated_transformer.exercises.content.tokenization.bpe_train import BPE_TRAIN
from annotated_transformer.exercises.content.tokenization.pad_batch import PAD_BATCH
from annotated_transformer.exercises.content.tokenization.token_batches import TOKEN_BATCHES
from annotated_transformer.exercises.exercise import Exercise

EXERCISES: tuple[Exercise, ...] = (BPE_TRAIN, BPE_ENCODE, PAD_BATCH, TOKEN_BATCHES)
