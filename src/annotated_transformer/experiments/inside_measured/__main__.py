"""Measure what trained runs do inside, and record it."""

from annotated_transformer.experiments.inside_measured import main

if __name__ == "__main__":
    main()
