"""Measure how sure trained translators are and record it."""

from annotated_transformer.experiments.heads_measured import main

if __name__ == "__main__":
    main()
