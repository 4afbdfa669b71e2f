"""Exercises on positional encoding (section 3.5)."""

from annotated_transformer.exercises.exercise import Exercise
from annotated_transformer.exercises.positional.shift_matrix import SHIFT_MATRIX
from annotated_transformer.exercises.positional.sinusoidal import SINUSOIDAL
from annotated_transformer.exercises.positional.wavelengths import WAVELENGTHS

EXERCISES: tuple[Exercise, ...] = (SINUSOIDAL, SHIFT_MATRIX, WAVELENGTHS)
