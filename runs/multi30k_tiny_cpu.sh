#!/usr/bin/env bash
# Multi30k, English to German, the tiny model on a CPU. No GPU is needed.
#
# Usage:     bash runs/multi30k_tiny_cpu.sh
# Time:      recorded once: 108 minutes of processor time (2 shared cores, results/multi30k_tiny_prenorm_106)
# Cost:      none but the electricity
# Score:     recorded once: 39.67 on test_2016_flickr,
#            nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0 (beam 5, alpha chosen on valid).
#            Another seed moves it by about a point. Literature: 41.02 lower-cased and tokenised,
#            Transformer-Tiny (Wu and others, 2021, "Good for Misconceived Reasons").
# Departs from the paper: norms first, a linear decay, byte dropout; see book/multi30k_run.md.
set -euo pipefail
cd "$(dirname "$0")/.."  # the run lies in runs/multi30k_tiny_cpu/
run=runs/multi30k_tiny_cpu

annotated-transformer data get multi30k

# Killed, or the machine taken away: the same command goes on from the last checkpoint.
if [ -f "$run/config.json" ]; then
  annotated-transformer train --run-dir "$run" --resume
else
  annotated-transformer train --run-dir "$run" \
    --data multi30k --preset tiny --epochs 106 --max-tokens 2048 \
    --dropout 0.3 --norm pre --learning-rate 4e-3 --warmup 400 --decay 0.6 \
    --byte-dropout --keep 10 --average 10 --device cpu
fi

annotated-transformer evaluate --run-dir "$run" --split test_2016_flickr --beam 5 --alpha-from valid
