"""The gradients of a run's steps, from the pairs of a step to the model's `.grad`.

Training, the fast rungs of the ladder and this package's side of the benchmark make them here: they
load the batches, ahead of time where a GPU computes, and there replay a recording where all batches
have one shape and a step is one of them.
"""

from collections.abc import Sequence
from functools import partial

from torch import Tensor

from annotated_transformer.data import EncodedSplit
from annotated_transformer.fast.graphs import RecordedGradients
from annotated_transformer.fast.shared_rows import SharedRowBatch
from annotated_transformer.training.loading import Loader
from annotated_transformer.training.planning import PlanRule
from annotated_transformer.training.settings import TrainingConfig
from annotated_transformer.training.step import (
    Part,
    batch_loss,
    seed_dropout,
    start_gradients,
)
from annotated_transformer.transformer import Transformer


class StepGradients:
    """Makes gradients, step after step.

    Args:
        model: what they are of.
        settings: of the run.
        longest: of all sentences, as model positions.
        parts_of_one: how many batches of a step each process takes, at most.
        ahead: whether announced batches are made by a second thread; None: on a GPU only.
        recording: whether a step is recorded, to be replayed; on a GPU, where sentences share rows
            and a step is one batch.
        packed: as in `start_gradients`.

    Attributes:
        rule: how pairs are dealt to batches.
        loader: makes the batches.

    Raises:
        CallError: where sentences share rows, and a row is larger than a batch.
    """

    def __init__(
        self,
        model: Transformer,
        settings: TrainingConfig,
        longest: int,
        *,
        parts_of_one: int = 1,
        ahead: bool | None = None,
        recording: bool = True,
        packed: bool | None = None,
    ) -> None:
        self.model, self.settings, self.packed = model, settings, packed
        on_gpu = model.device.type == "cuda"
        self.rule = PlanRule.of(settings, longest)
        ahead = on_gpu if ahead is None else ahead
        self.loader = Loader(model.config.pad_id, model.device, ahead, self.rule.shape)
        self.recorded: RecordedGradients | None = None
        if recording and on_gpu and settings.share_rows and parts_of_one == 1:
            self.recorded = RecordedGradients(model, partial(batch_loss, model, settings))

    def start(self, split: EncodedSplit, parts: Sequence[Part], target_tokens: int) -> list[Tensor]:
        """Make the gradient of a step's parts the model's; a GPU may still be at work afterwards.

        Args:
            split: the pairs.
            parts: those that this process takes.
            target_tokens: of the whole step, whoever takes it.

        Returns:
            The loss of each part, summed over its tokens: scalars on the model's device.
        """
        batches = [self.loader.batch(split, part) for part in parts]
        if self.recorded is None or len(parts) != 1:  # at an epoch's end there may be none
            return start_gradients(
                self.model, self.settings, split, parts, target_tokens, batches, self.packed
            )
        (part,), (batch,) = parts, batches
        assert isinstance(batch, SharedRowBatch)
        if self.settings.accumulate > 1:
            seed_dropout(self.settings.seed, part)
        return [self.recorded.make(batch, target_tokens)]

    def announce(self, split: EncodedSplit, parts: Sequence[Part]) -> None:
        """Begin to make the batches of the next step.

        To be called when a GPU has got its work; earlier it would delay the thread that hands the
        work out.
        """
        self.loader.announce(split, parts)

    def close(self) -> None:
        """End the thread that makes batches."""
        self.loader.close()
