"""French conjugation: regular groups with their spelling changes, a table of irregular verbs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from sample_corpus.grammar.text import words

PRESENT, IMPERFECT, FUTURE, CONDITIONAL, SUBJUNCTIVE = (
    "present",
    "imperfect",
    "future",
    "conditional",
    "subjunctive",
)

_IMPERFECT_ENDINGS = ("ais", "ais", "ait", "ions", "iez", "aient")
_FUTURE_ENDINGS = ("ai", "as", "a", "ons", "ez", "ont")
_SUBJUNCTIVE_ENDINGS = ("e", "es", "e", "ions", "iez", "ent")

# infinitive ; present (je ... ils) ; past participle ; future stem [; subjunctive stems: je, nous]
_IRREGULAR = """
être ; suis es est sommes êtes sont ; été ; ser
avoir ; ai as a avons avez ont ; eu ; aur
aller ; vais vas va allons allez vont ; allé ; ir ; aill all
faire ; fais fais fait faisons faites font ; fait ; fer ; fass fass
pouvoir ; peux peux peut pouvons pouvez peuvent ; pu ; pourr ; puiss puiss
savoir ; sais sais sait savons savez savent ; su ; saur ; sach sach
vouloir ; veux veux veut voulons voulez veulent ; voulu ; voudr ; veuill voul
devoir ; dois dois doit devons devez doivent ; dû ; devr
falloir ; - - faut - - - ; fallu ; faudr ; faill faill
pleuvoir ; - - pleut - - - ; plu ; pleuvr ; pleuv pleuv
valoir ; vaux vaux vaut valons valez valent ; valu ; vaudr ; vaill val
connaître ; connais connais connaît connaissons connaissez connaissent ; connu ; connaîtr
naître ; nais nais naît naissons naissez naissent ; né ; naîtr
prendre ; prends prends prend prenons prenez prennent ; pris ; prendr
mettre ; mets mets met mettons mettez mettent ; mis ; mettr
battre ; bats bats bat battons battez battent ; battu ; battr
rompre ; romps romps rompt rompons rompez rompent ; rompu ; rompr
venir ; viens viens vient venons venez viennent ; venu ; viendr
tenir ; tiens tiens tient tenons tenez tiennent ; tenu ; tiendr
partir ; pars pars part partons partez partent ; parti ; partir
sortir ; sors sors sort sortons sortez sortent ; sorti ; sortir
dormir ; dors dors dort dormons dormez dorment ; dormi ; dormir
sentir ; sens sens sent sentons sentez sentent ; senti ; sentir
mentir ; mens mens ment mentons mentez mentent ; menti ; mentir
servir ; sers sers sert servons servez servent ; servi ; servir
courir ; cours cours court courons courez courent ; couru ; courr
mourir ; meurs meurs meurt mourons mourez meurent ; mort ; mourr
ouvrir ; ouvre ouvres ouvre ouvrons ouvrez ouvrent ; ouvert ; ouvrir
offrir ; offre offres offre offrons offrez offrent ; offert ; offrir
cueillir ; cueille cueilles cueille cueillons cueillez cueillent ; cueilli ; cueiller
voir ; vois vois voit voyons voyez voient ; vu ; verr
croire ; crois crois croit croyons croyez croient ; cru ; croir
boire ; bois bois boit buvons buvez boivent ; bu ; boir
lire ; lis lis lit lisons lisez lisent ; lu ; lir
dire ; dis dis dit disons dites disent ; dit ; dir
interdire ; interdis interdis interdit interdisons interdisez interdisent ; interdit ; interdir
écrire ; écris écris écrit écrivons écrivez écrivent ; écrit ; écrir
rire ; ris ris rit rions riez rient ; ri ; rir
suivre ; suis suis suit suivons suivez suivent ; suivi ; suivr
vivre ; vis vis vit vivons vivez vivent ; vécu ; vivr
conduire ; conduis conduis conduit conduisons conduisez conduisent ; conduit ; conduir
recevoir ; reçois reçois reçoit recevons recevez reçoivent ; reçu ; recevr
plaire ; plais plais plaît plaisons plaisez plaisent ; plu ; plair
taire ; tais tais tait taisons taisez taisent ; tu ; tair
éteindre ; éteins éteins éteint éteignons éteignez éteignent ; éteint ; éteindr
craindre ; crains crains craint craignons craignez craignent ; craint ; craindr
résoudre ; résous résous résout résolvons résolvez résolvent ; résolu ; résoudr
asseoir ; assieds assieds assied asseyons asseyez asseyent ; assis ; assiér
fuir ; fuis fuis fuit fuyons fuyez fuient ; fui ; fuir
conclure ; conclus conclus conclut concluons concluez concluent ; conclu ; conclur
"""

# derived verb ; the irregular verb at its end
_DERIVED = """
apprendre prendre ; comprendre prendre ; surprendre prendre ; promettre mettre
permettre mettre ; remettre mettre ; soumettre mettre ; revenir venir ; devenir venir
souvenir venir ; prévenir venir ; obtenir tenir ; contenir tenir ; retenir tenir ; appartenir tenir
ressentir sentir ; endormir dormir ; découvrir ouvrir ; couvrir ouvrir ; souffrir offrir
revoir voir ; décrire écrire ; relire lire ; élire lire ; traduire conduire ; produire conduire
construire conduire ; cuire conduire ; réduire conduire ; reconduire conduire
sourire rire ; poursuivre suivre ; parcourir courir ; reconnaître connaître
disparaître connaître ; paraître connaître ; apparaître connaître ; peindre éteindre
atteindre éteindre ; enfreindre éteindre ; repeindre éteindre ; plaindre craindre
refaire faire ; accueillir cueillir ; apercevoir recevoir ; décevoir recevoir
interrompre rompre ; combattre battre ; détruire conduire
inscrire écrire ; joindre craindre ; rejoindre craindre
"""

_REGULAR_IR = words("""
choisir finir franchir fournir grandir gravir grossir guérir maigrir nourrir obéir réfléchir
remplir rougir réussir rétablir saisir vieillir
""")
_REGULAR_RE = words("""
attendre défendre dépendre descendre entendre fondre mordre pendre perdre rendre répondre tendre
vendre
""")
# -er verbs whose stem doubles its consonant or takes a grave accent before a mute e
_DOUBLING = ("appeler", "rappeler", "jeter", "rejeter", "épeler")
# conjugated with être when they have no object
MOTION_VERBS = words("""
aller arriver partir repartir venir revenir devenir entrer rentrer sortir monter descendre
tomber rester naître mourir retourner
""")
_SPECIAL_SUBJUNCTIVE = {
    "être": "sois sois soit soyons soyez soient",
    "avoir": "aie aies ait ayons ayez aient",
}
_SPECIAL_IMPERATIVE = {
    "être": ("sois", "soyons", "soyez"),
    "avoir": ("aie", "ayons", "ayez"),
    "savoir": ("sache", "sachons", "sachez"),
    "vouloir": ("veuille", "veuillons", "veuillez"),
}
_SPECIAL_GERUND = {"être": "étant", "avoir": "ayant", "savoir": "sachant"}


@dataclass(frozen=True)
class Paradigm:
    """The forms from which all the others follow: six persons where a tuple, ``je`` to ``ils``."""

    present: tuple[str, ...]
    participle: str
    future_stem: str
    subjunctive_stems: tuple[str, str] | None = None


def _read_irregular() -> dict[str, Paradigm]:
    paradigms: dict[str, Paradigm] = {}
    for line in _IRREGULAR.strip().split("\n"):
        columns = [column.strip() for column in line.split(";")]
        stems = columns[4].split() if len(columns) == 5 else None
        paradigms[columns[0]] = Paradigm(
            tuple(columns[1].split()),
            columns[2],
            columns[3],
            (stems[0], stems[1]) if stems else None,
        )
    for pair in _DERIVED.strip().replace("\n", ";").split(";"):
        verb, base = pair.split()
        paradigms[verb] = _derive(verb, base, paradigms[base])
    return paradigms


def _derive(verb: str, base: str, model: Paradigm) -> Paradigm:
    """Put the beginning of ``verb`` before the forms of ``base``; they share all but that."""
    shared = len(base) - 1
    while not verb.endswith(base[-shared:]):
        shared -= 1
    cut, prefix = len(base) - shared, verb[: len(verb) - shared]

    def swap(form: str) -> str:
        return prefix + form[cut:]

    if verb.endswith(base):
        cut, prefix = 0, verb[: len(verb) - len(base)]
    return Paradigm(
        tuple(swap(form) for form in model.present),
        swap(model.participle),
        swap(model.future_stem),
        (swap(model.subjunctive_stems[0]), swap(model.subjunctive_stems[1]))
        if model.subjunctive_stems
        else None,
    )


_PARADIGMS = _read_irregular()


def _grave(stem: str) -> str:
    """Turn the last e or é of a stem into è: achet -> achèt, préfér -> préfèr."""
    at = max(stem.rfind("e"), stem.rfind("é"))
    return stem[:at] + "è" + stem[at + 1 :]


def _last_e(stem: str) -> str:
    return stem[max(stem.rfind("e"), stem.rfind("é"))]


def _mute_stem(verb: str, stem: str) -> str:
    """Return the stem of an -er verb before a mute ending."""
    if verb in _DOUBLING:
        return stem + stem[-1]
    if stem[-1] == "y":
        return stem[:-1] + "i"
    # one or two consonants after the last vowel of the stem, and that vowel an e or é
    tail = stem.rstrip("bcdfghjklmnpqrstvxz")
    consonants = stem[len(tail) :]
    if tail.endswith(("e", "é")) and consonants and not tail.endswith(("ue", "ée")):
        single = len(consonants) == 1 or consonants in ("br", "gl", "gr", "ch", "gn", "tr", "vr")
        if single:
            return _grave(stem)
    return stem


def _first_group(verb: str) -> Paradigm:
    stem = verb[:-2]
    mute = _mute_stem(verb, stem)
    soft = {"g": stem + "e", "c": stem[:-1] + "ç"}.get(stem[-1], stem)
    present = (mute + "e", mute + "es", mute + "e", soft + "ons", stem + "ez", mute + "ent")
    # é keeps its accent in the future: préférerai, but achèterai
    future = (stem if mute != stem and _last_e(stem) == "é" else mute) + "er"
    if verb in ("envoyer", "renvoyer"):
        future = verb[:-4] + "err"
    return Paradigm(present, stem + "é", future)


@cache
def paradigm(verb: str) -> Paradigm:
    """Return the forms of a verb given its infinitive, without reflexive pronoun."""
    if verb in _PARADIGMS:
        return _PARADIGMS[verb]
    stem = verb[:-2]
    if verb.endswith("er"):
        return _first_group(verb)
    if verb in _REGULAR_IR:
        present = tuple(stem + ending for ending in words("is is it issons issez issent"))
        return Paradigm(present, stem + "i", verb)
    if verb in _REGULAR_RE:
        present = tuple(stem + ending for ending in ("s", "s", "", "ons", "ez", "ent"))
        return Paradigm(present, stem + "u", verb[:-1])
    raise ValueError(f"no conjugation for {verb!r}")


def _nous_stem(verb: str) -> str:
    return paradigm(verb).present[3].removesuffix("ons")


def conjugate(verb: str, tense: str, person: int, plural: bool) -> str:
    """Return one finite form, e.g. ``("finir", IMPERFECT, 1, True)`` -> "finissions"."""
    forms, index = paradigm(verb), person - 1 + 3 * plural
    if tense == PRESENT:
        return forms.present[index]
    if tense == IMPERFECT:
        if verb in ("falloir", "pleuvoir"):
            return verb[:-3] + "ait"
        stem = "ét" if verb == "être" else _nous_stem(verb)
        if index in (3, 4):
            if stem.endswith("ge") and verb.endswith("ger"):
                stem = stem[:-1]
            stem = stem[:-1] + "c" if stem.endswith("ç") else stem
        return stem + _IMPERFECT_ENDINGS[index]
    if tense in (FUTURE, CONDITIONAL):
        endings = _FUTURE_ENDINGS if tense == FUTURE else _IMPERFECT_ENDINGS
        return forms.future_stem + endings[index]
    if tense == SUBJUNCTIVE:
        return _subjunctive(verb, index)
    raise ValueError(f"no tense {tense!r}")


def _subjunctive(verb: str, index: int) -> str:
    if verb in _SPECIAL_SUBJUNCTIVE:
        return _SPECIAL_SUBJUNCTIVE[verb].split()[index]
    stems = paradigm(verb).subjunctive_stems
    if index in (3, 4):
        if stems:
            return stems[1] + _SUBJUNCTIVE_ENDINGS[index]
        return conjugate(verb, IMPERFECT, index - 2, True)
    stem = stems[0] if stems else paradigm(verb).present[5].removesuffix("ent")
    return stem + _SUBJUNCTIVE_ENDINGS[index]


def imperative(verb: str, person: int, plural: bool) -> str:
    """Return the imperative of tu, nous or vous."""
    index = person if plural else 0
    if verb in _SPECIAL_IMPERATIVE:
        return _SPECIAL_IMPERATIVE[verb][index]
    form = paradigm(verb).present[(1, 3, 4)[index]]
    mute = form.endswith("es") and index == 0
    return form[:-1] if mute or form == "vas" else form


def gerund(verb: str) -> str:
    """Return the form that follows *en*: "en chantant"."""
    return _SPECIAL_GERUND.get(verb) or _nous_stem(verb) + "ant"


def participle(verb: str, feminine: bool = False, plural: bool = False) -> str:
    """Return the past participle in the given gender and number."""
    base = paradigm(verb).participle
    if base == "dû" and (feminine or plural):
        base = "du"
    base += "e" if feminine else ""
    return base + "s" if plural and not base.endswith("s") else base
