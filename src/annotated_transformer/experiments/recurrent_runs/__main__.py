"""Train the recurrent translators of chapter 1 and record them (about 15 minutes)."""

from annotated_transformer.experiments.recurrent_runs import make_record

if __name__ == "__main__":
    make_record()
