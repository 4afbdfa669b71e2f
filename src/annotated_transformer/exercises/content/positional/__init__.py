"""Exercises on positional encoding (section 3.5)."""

from annotated_transformer.exercises.content.positional.shift_matrix import SHIFT_MATRIX
from annotated_transformer.exercises.content.positional.sinusoidal import SINUSOIDAL
from annotated_transformer.exercises.content.positional.wavelengths import WAVELENGTHS
from annotated_transformer.exercises.exercise import Exercise

EXERCISES: tuple[Exercise, ...] = (SINUSOIDAL, SHIFT_MATRIX, WAVELENGTHS)
