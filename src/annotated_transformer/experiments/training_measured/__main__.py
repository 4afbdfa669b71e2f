"""Train chapter 8's translators with and without label smoothing and record them."""

from annotated_transformer.experiments.training_measured import make_record

if __name__ == "__main__":
    make_record()
