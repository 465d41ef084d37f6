"""Adjectives of both languages, by the kinds of noun they go with.

A line reads ``english ; french[:feminine[:before a vowel]] ; place ; kinds``. The place is
``pre`` or ``post``; ``fixed`` (always after the noun) marks forms that never agree, such as
"bleu clair". One English adjective has as many lines as French words: "a light bag" is *léger*,
"a light room" is *claire*.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from sample_corpus.grammar import french_words
from sample_corpus.grammar.nouns import Noun
from sample_corpus.grammar.text import rows, words

_TABLE = """
old ; vieux:vieille:vieil ; pre ; =man =woman =friend =neighbour pet clothing furniture
old ; vieux:vieille:vieil ; pre ; vehicle own-vehicle building container
former ; ancien ; pre ; role job
ancient ; ancien ; post ; text
young ; jeune ; pre ; job artist =man =woman
new ; nouveau:nouvelle:nouvel ; pre ; role device software data service model document job plan
new ; neuf ; post ; clothing furniture vehicle own-vehicle
big ; gros:grosse ; pre ; container animal fruit baked error toy
big ; grand ; pre ; building room town company green tree show
great ; grand ; pre ; artist record
tall ; grand ; pre ; =man =woman =boy =girl =tree plant
tall ; haut:haute ; post ; =tower
high ; haut:haute ; post ; high
high ; élevé ; post ; price
small ; petit ; pre ; container animal building room town company child dishware furniture toy
little ; petit ; pre ; animal young infant gift
long ; long:longue ; pre ; text way journey contest message conclusion =rope show
long ; long:longue ; post ; clothing
short ; court ; pre ; text way document tale
short ; court ; post ; clothing
short ; petit ; pre ; =man =woman
beautiful ; beau:belle:bel ; pre ; green nature sight picture music jewel animal plant town gift
good ; bon:bonne ; pre ; idea advice text show meal food role answer outcome method restaurant
bad ; mauvais ; pre ; idea outcome answer news decision method
bad ; grave ; post ; error
serious ; grave ; post ; problem error
serious ; sérieux ; post ; learner job offer
pretty ; joli ; pre ; clothing gift town jewel picture
nice ; sympathique ; post ; role adult job
nice ; agréable ; post ; home journey merry town
heavy ; lourd ; post ; container luggage tool baggage
light ; léger:légère ; post ; luggage dish =jacket =coat baggage
light ; clair ; post ; room home
dark ; sombre ; post ; room way
dark ; foncé ; post ; curtain
hard ; dur ; post ; seat =bed loaf matter
hard ; difficile ; post ; exam question contest language lesson decision
difficult ; difficile ; post ; text exam journey choice problem
easy ; facile ; post ; exam question lesson language trial
soft ; moelleux:moelleuse ; post ; seat
soft ; doux:douce ; post ; music
sweet ; sucré ; post ; fruit drink
cold ; froid ; post ; drink dish water-place
hot ; chaud ; post ; dish hot-drink baked
warm ; chaud ; post ; warm
fresh ; frais:fraîche ; post ; fruit food snack vegetable
dry ; sec:sèche ; post ; clothing
dry ; sec:sèche ; post ; =wine
wet ; mouillé ; post ; clothing
sharp ; tranchant ; post ; =knife
clean ; propre ; post ; clothing dishware room
own ; propre ; pre ; own
dirty ; sale ; post ; clothing dishware own-vehicle vehicle
empty ; vide ; post ; container
full ; plein ; post ; container
broken ; cassé ; post ; fragile =toy doll device machine furniture
expensive ; cher:chère ; post ; clothing jewel restaurant device
dear ; cher:chère ; pre ; role
cheap ; bon marché ; fixed ; clothing restaurant
free ; gratuit ; post ; software show
free ; libre ; post ; =chair
rich ; riche ; post ; =man =woman company
poor ; pauvre ; pre ; infant pet =man =woman
famous ; célèbre ; post ; artist sight picture text music
interesting ; intéressant ; post ; text show idea subject lesson job-post
boring ; ennuyeux ; post ; text show lesson
funny ; drôle ; post ; tale broadcast
strange ; étrange ; post ; noise answer tale
important ; important ; post ; mail document decision rule appointment outcome
useful ; utile ; post ; software tool advice document rule
useless ; inutile ; post ; update gift document
dangerous ; dangereux ; post ; way animal journey
quiet ; calme ; post ; town way
noisy ; bruyant ; post ; machine child
right ; bon:bonne ; pre ; answer =key =ticket =password decision method
right ; droit ; post ; hand-side
left ; gauche ; post ; hand-side
wrong ; mauvais ; pre ; answer =key =ticket =password method
true ; vrai ; post ; tale
real ; véritable ; pre ; problem
clear ; clair ; post ; answer rule
clear ; transparent ; post ; =bottle =water
strong ; fort ; post ; hot-drink
strong ; solide ; post ; tool furniture
tired ; fatigué ; post ; learner adult
kind ; gentil:gentille ; pre ; role adult job
clever ; intelligent ; post ; young pet
lazy ; paresseux ; post ; learner pet
brave ; courageux ; post ; =policeman =girl =boy
polite ; poli ; post ; customer young
angry ; en colère ; fixed ; customer =boss
lost ; perdu ; post ; small
red ; rouge ; post ; coloured
blue ; bleu ; post ; coloured
green ; vert ; post ; coloured
white ; blanc:blanche ; post ; coloured
black ; noir ; post ; coloured
grey ; gris ; post ; coloured
brown ; marron ; fixed ; coloured
light blue ; bleu clair ; fixed ; coloured
dark green ; vert foncé ; fixed ; coloured
large ; grand ; pre ; figure data
recent ; récent ; post ; document trial update text
slow ; lent ; post ; software service machine
fast ; rapide ; post ; software service machine vehicle transport
corrupt ; corrompu ; post ; file
missing ; manquant ; post ; file language-unit
hidden ; caché ; post ; file
secret ; secret:secrète ; post ; plan
neural ; neuronal ; post ; model
statistical ; statistique ; post ; model method
French ; français ; post ; food artist company text language-made
English ; anglais ; post ; text artist language-made
Italian ; italien ; post ; restaurant artist
"""

# kinds of nouns that have a colour one would mention
_COLOURED = words("clothing vehicle own-vehicle luggage furniture curtain =door =pen")


@dataclass(frozen=True)
class Adjective:
    """An adjective: masculine, feminine, and the masculine used before a vowel."""

    english: str
    masculine: str
    feminine: str
    liaison: str
    place: str
    kinds: tuple[str, ...]

    def french(self, is_feminine: bool, plural: bool) -> str:
        """Return the form that agrees, before a consonant."""
        if self.place == "fixed":
            return self.masculine
        form = self.feminine if is_feminine else self.masculine
        return french_words.plural(form) if plural else form

    def suits(self, noun: Noun) -> bool:
        """Tell whether one says this adjective of this noun."""
        if "coloured" in self.kinds:
            return any(noun.has(kind) for kind in _COLOURED)
        return any(noun.has(kind) for kind in self.kinds)


def _read(row: tuple[str, ...]) -> Adjective:
    english, french, place, kinds = row
    forms = french.split(":")
    woman = forms[1] if len(forms) > 1 else french_words.feminine(forms[0])
    liaison = forms[2] if len(forms) > 2 else forms[0]
    return Adjective(english, forms[0], woman, liaison, place, tuple(kinds.split()))


ADJECTIVES = tuple(_read(row) for row in rows(_TABLE))


@cache
def adjectives_for(noun: Noun) -> tuple[Adjective, ...]:
    """Return the adjectives one says of this noun."""
    return tuple(adjective for adjective in ADJECTIVES if adjective.suits(noun))


def adjective(english: str, french: str) -> Adjective:
    """Return one adjective by its word in each language, the French in the masculine."""
    for candidate in ADJECTIVES:
        if candidate.english == english and candidate.masculine == french:
            return candidate
    raise ValueError(f"no adjective {english!r} / {french!r}")
