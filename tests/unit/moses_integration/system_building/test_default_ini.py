"""The ini of a new system."""

from __future__ import annotations

from pathlib import Path

from moses_integration.ini.moses_ini import MosesIni
from moses_integration.system_building.build_settings import (
    BuildSettings,
    SystemFolder,
    default_ini,
)


def test_features_and_weights() -> None:
    """Features, options and weights equal those of train-model.perl for this kind of system."""
    settings = BuildSettings(lm_order=4, distortion_limit=-1)
    ini = MosesIni.parse(default_ini(SystemFolder(Path("/s")), settings))
    assert ini.values("distortion-limit") == ("-1",)
    assert ini.values("mapping") == ("0 T 0",)
    features = {feature.name: feature for feature in ini.features}
    assert features["TranslationModel0"].options["path"] == "/s/phrase-table.gz"
    assert features["TranslationModel0"].options["num-features"] == "4"
    assert features["LexicalReordering0"].options["path"] == "/s/reordering-table.gz"
    assert features["LexicalReordering0"].options["type"] == "wbe-msd-bidirectional-fe-allff"
    assert features["LM0"].kind == "KENLM"
    assert features["LM0"].options == {
        **{"name": "LM0", "factor": "0", "path": "/s/lm.arpa.gz", "order": "4"}
    }
    assert ini.weights == {
        "UnknownWordPenalty0": (1.0,),
        "WordPenalty0": (-1.0,),
        "PhrasePenalty0": (0.2,),
        "TranslationModel0": (0.2,) * 4,
        "LexicalReordering0": (0.3,) * 6,
        "Distortion0": (0.3,),
        "LM0": (0.5,),
    }
