"""Measure latency and throughput of the decoder and record them."""

from annotated_transformer.experiments.serving_measured import main

if __name__ == "__main__":
    main()
