"""Lines of n-best lists equal those of a plain writer, byte for byte."""

from __future__ import annotations

from pathlib import Path

import pytest

from moses_integration.decoder.decoder import Decoder
from moses_integration.decoder.output import nbest_lines
from moses_integration.decoder.settings import NBestSettings, OutputSettings
from moses_integration.ini.moses_ini import MosesIni
from moses_integration.nbest.format import format_entry, parse_entry
from tests.support.random_system import random_sentences, write_random_system


@pytest.mark.parametrize("trace", [False, True])
@pytest.mark.parametrize("segmentation", [False, True])
@pytest.mark.parametrize("alignment", [False, True])
def test_lines_are_those_of_the_plain_writer(
    tmp_path: Path, trace: bool, segmentation: bool, alignment: bool
) -> None:
    """Lines are unchanged after reading and writing, also for an empty sentence."""
    decoder = Decoder(MosesIni.read(write_random_system(tmp_path, 3)))
    settings = OutputSettings(
        report_segmentation=trace,
        include_segmentation_in_n_best=segmentation,
        print_alignment_info_in_n_best=alignment,
    )
    sentences = [*random_sentences(3, 3, 2, 6), ()]
    loaded = decoder.load(sentences)
    for decoded in decoder.decode(loaded, nbest=NBestSettings(20)):
        lines = nbest_lines(decoded, settings, 15).split(b"\n")[:-1]
        assert len(lines) == min(15, len(decoded))
        for number, line in enumerate(lines):
            entry = parse_entry(line)
            assert format_entry(entry) == line + b"\n"
            assert (entry.segmentation is not None) == segmentation
            assert (entry.alignment is not None) == alignment
            words = [word for word in entry.words.split(b" ") if not word.startswith(b"|")]
            assert trace or words == (decoded.words(number) or [b""])
