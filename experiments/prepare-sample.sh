#!/usr/bin/env bash
# Builds a small system from the sample corpus, for sample.toml.
set -euo pipefail
cd "$(dirname "$0")"
corpus=../sample_corpus
data=data/sample
mkdir -p "$data"
phrasescore build "$corpus/train.en" "$corpus/train.fr" "$data/system" \
    --tokenize en fr --lowercase --absolute-paths
for text in train dev test; do
    phrasescore preprocess --system "$data/system" "$corpus/$text.en" -o "$data/$text.en"
    phrasescore preprocess --system "$data/system" --side target \
        "$corpus/$text.fr" -o "$data/$text.fr"
done
