#!/usr/bin/env bash
# Tatoeba, English to German, the base model on one GPU.
#
# Usage:     bash recipes/tatoeba_base_gpu.sh
# Time:      not recorded yet. 20,000 steps of at most 8,192 tokens a side: chapter 10 computes
#            the hours for your card from its peak and its utilisation.
# Cost:      the hours it takes, at your price
# Score:     not recorded yet, and no published figure compares: the split is this package's own
#            (no sentence of the test is in the training, data/tatoeba.py). So there is no band.
# Departs from the paper: data, vocabulary of 16,000, dropout 0.3, weights of the best validation.
set -euo pipefail
cd "$(dirname "$0")/.."  # the run lies in runs/tatoeba_base_gpu/
if [ -d .venv/bin ]; then export PATH="$PWD/.venv/bin:$PATH"; fi  # activated or not
run=runs/tatoeba_base_gpu

# Ends here, with a sentence, where there are fewer GPUs.
annotated-transformer doctor --gpus 1

annotated-transformer data get tatoeba

# Killed, or the machine taken away: the same command goes on from the last checkpoint.
if [ -f "$run/config.json" ]; then
  annotated-transformer train --run-dir "$run" --resume
else
  annotated-transformer train --run-dir "$run" \
    --data tatoeba --preset base --vocab-size 16000 --steps 20000 --max-tokens 8192 \
    --dropout 0.3 --final best --device cuda
fi

annotated-transformer evaluate --run-dir "$run" --split test --beam 4 --alpha 0.6 --device cuda
