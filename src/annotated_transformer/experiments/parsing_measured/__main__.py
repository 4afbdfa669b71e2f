"""Measure parsers, or make silver trees."""

from annotated_transformer.experiments.parsing_measured import main

if __name__ == "__main__":
    main()
