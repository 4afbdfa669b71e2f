"""Exercises on byte-pair encoding and batches (section 5.1)."""

from annotated_transformer.exercises.exercise import Exercise
from annotated_transformer.exercises.tokenization.bpe_encode import BPE_ENCODE
from annotated_transformer.exercises.tokenization.bpe_train import BPE_TRAIN
from annotated_transformer.exercises.tokenization.pad_batch import PAD_BATCH
from annotated_transformer.exercises.tokenization.token_batches import TOKEN_BATCHES

EXERCISES: tuple[Exercise, ...] = (BPE_TRAIN, BPE_ENCODE, PAD_BATCH, TOKEN_BATCHES)
