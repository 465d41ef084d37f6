"""Circumstances: when, where, how and with whom, chosen to suit the tense and the verb."""

from __future__ import annotations

from sample_corpus.grammar.draw import Draw
from sample_corpus.grammar.noun_phrases import NounPhrase, name, noun_phrase
from sample_corpus.grammar.text import NOTHING, Text, rows, texts

# time of the tense, or setting of the verb -> "english = french" pairs
_TIMES = {
    "habit": """
every day = tous les jours ; every morning = tous les matins ; every week = chaque semaine
twice a week = deux fois par semaine ; on Mondays = le lundi ; on Sundays = le dimanche
in the evening = le soir ; at weekends = le week-end ; from time to time = de temps en temps
once a month = une fois par mois ; in summer = en été ; most of the time = la plupart du temps
three times a year = trois fois par an ; in the spring = au printemps
as often as possible = le plus souvent possible ; before going to bed = avant d'aller se coucher
""",
    "now": """
at the moment = en ce moment ; now = maintenant ; right now = en ce moment même
this morning = ce matin ; this time = cette fois ; at the same time = en même temps
this year = cette année ; for the first time = pour la première fois
""",
    "past": """
yesterday = hier ; last week = la semaine dernière ; last night = hier soir
this morning = ce matin ; two days ago = il y a deux jours ; a year ago = il y a un an
last year = l'année dernière ; the other day = l'autre jour ; yesterday morning = hier matin
on Monday = lundi ; last Tuesday = mardi dernier ; three times = trois fois
a long time ago = il y a longtemps ; last month = le mois dernier ; in May = en mai
ten minutes ago = il y a dix minutes ; on Friday evening = vendredi soir
at the last minute = au dernier moment ; in the spring = au printemps
the day before yesterday = avant-hier ; last time = la dernière fois
last spring = au printemps dernier ; last fall = l'automne dernier
during the night = pendant la nuit ; at two o'clock = à deux heures
""",
    "state past": """
at that time = à cette époque ; as a child = dans son enfance ; last year = l'année dernière
at first = au début ; in those days = en ce temps-là
""",
    "perfect": """
this week = cette semaine ; twice = deux fois ; several times = plusieurs fois
at last = enfin ; today = aujourd'hui ; since yesterday = depuis hier ; for once = pour une fois
""",
    "formerly": """
in those days = à cette époque ; every summer = chaque été ; on Sundays = le dimanche
when it rained = quand il pleuvait ; every evening = tous les soirs ; after school = après l'école
a long time ago = il y a longtemps
""",
    "future": """
tomorrow = demain ; next week = la semaine prochaine ; tonight = ce soir ; soon = bientôt
in two days = dans deux jours ; next year = l'année prochaine ; in an hour = dans une heure
tomorrow morning = demain matin ; on Saturday = samedi ; next time = la prochaine fois
before the end of the month = avant la fin du mois ; next Thursday = jeudi prochain
the day after tomorrow = après-demain ; in a few minutes = dans quelques minutes
sooner or later = tôt ou tard ; as soon as possible = dès que possible
in the fall = en automne ; one day = un jour ; in time = à temps
""",
    "any": """
without difficulty = sans difficulté ; as usual = comme d'habitude ; today = aujourd'hui
right away = tout de suite ; this week = cette semaine ; this time = cette fois
""",
}
_SETTINGS = {
    "home": """
at home = à la maison ; in the kitchen = dans la cuisine ; in the living room = dans le salon
upstairs = à l'étage ; after dinner = après le dîner ; carefully = avec soin
in the bedroom = dans la chambre ; quickly = rapidement ; before lunch = avant le déjeuner
with great care = avec beaucoup de soin ; all day long = toute la journée
""",
    "out": """
in the garden = dans le jardin ; in the street = dans la rue ; outside = dehors
in the park = dans le parc ; in the rain = sous la pluie ; all afternoon = tout l'après-midi
in the sun = au soleil ; by the river = au bord de la rivière ; in the snow = dans la neige
on the river bank = sur la rive
""",
    "town": """
in town = en ville ; at the market = au marché ; in the street = dans la rue
in Paris = à Paris ; near the station = près de la gare ; in the town centre = au centre-ville
opposite the bank = en face de la banque ; near the post office = près de la poste
""",
    "restaurant": """
at the restaurant = au restaurant ; at the café = au café ; at work = au travail
with the customers = avec les clients ; over lunch = pendant le déjeuner
""",
    "work": """
at the office = au bureau ; for the meeting = pour la réunion ; carefully = avec soin
before noon = avant midi ; in English = en anglais ; with the team = avec toute l'équipe
without any help = sans aucune aide ; in a hurry = en toute hâte ; at work = au travail
""",
    "tech": """
on the server = sur le serveur ; on my computer = sur mon ordinateur
after the update = après la mise à jour ; without any error = sans erreur
before the backup = avant la sauvegarde ; on the new network = sur le nouveau réseau
in the background = en arrière-plan ; by mistake = par erreur ; at night = pendant la nuit
from the command line = en ligne de commande ; again = de nouveau
""",
    "travel": """
in Italy = en Italie ; in Japan = au Japon ; at the airport = à l'aéroport
at the station = à la gare ; abroad = à l'étranger ; near the beach = près de la plage
in the United States = aux États-Unis ; in Paris = à Paris ; on the way = en chemin
during the holidays = pendant les vacances
""",
    "party": """
at the party = à la fête ; all night = toute la nuit ; at the wedding = au mariage
in front of everyone = devant tout le monde ; all evening = toute la soirée
""",
    "water": """
in the lake = dans le lac ; in the sea = dans la mer ; in the river = dans la rivière
near the island = près de l'île
""",
    "nature": """
in the forest = dans la forêt ; in the mountains = à la montagne ; in the fog = dans le brouillard
""",
    "green": """
in the garden = dans le jardin ; in the field = dans le champ ; in the shade = à l'ombre
very fast = très vite
""",
}
# not every tense can stand before its clause
_FRONTED = frozenset(
    adjunct
    for row in rows("""
yesterday ; last week ; last night ; this morning ; two days ago ; last year ; the other day
last Tuesday ; last month ; tomorrow ; next week ; tonight ; next year ; tomorrow morning ; on
Saturday ; next time ; in the evening ; on Sundays ; on Mondays ; every morning ; every summer
in those days ; at first ; at the moment ; this year ; from time to time ; one day ; sooner or
later ; most of the time ; a long time ago ; as usual ; at that time ; during the night ; last
time ; this time ; a year ago ; next Thursday ; last spring ; in summer
""")
    for adjunct in row
)
_FREQUENCY = (
    Text("often", "souvent"),
    Text("always", "toujours"),
    Text("still", "encore"),
    Text("rarely", "rarement"),
    Text("sometimes", "parfois"),
)
_BY_TIME = {
    "habit": _FREQUENCY,
    "past": (Text("finally", "finalement"), Text("really", "vraiment"), Text("also", "aussi")),
    "perfect": (Text("already", "déjà"), Text("finally", "enfin"), Text("almost", "presque")),
    "future": (Text("probably", "probablement"), Text("certainly", "certainement")),
    "now": (Text("still", "encore"), Text("already", "déjà")),
    "state past": (Text("still", "encore"), Text("also", "aussi"), Text("really", "vraiment")),
    "formerly": (),
    "any": (),
}


_TEXTS = {key: texts(table) for key, table in {**_TIMES, **_SETTINGS}.items()}


def time(draw: Draw, when: str) -> Text:
    """Draw a time that suits a tense's ``time``."""
    return draw.choose(_TEXTS[when])


def place(draw: Draw, setting: str) -> Text:
    """Draw a circumstance that suits a verb's setting; empty for "none"."""
    if setting not in _SETTINGS:
        return NOTHING
    return draw.choose(_TEXTS[setting])


def adverb(draw: Draw, when: str) -> Text:
    """Draw an adverb that stands by the verb, or none."""
    known = _BY_TIME[when]
    return draw.choose(known) if known else NOTHING


def may_be_fronted(adjunct: Text) -> bool:
    """Tell whether the adjunct may open the sentence."""
    return adjunct.english in _FRONTED


def companion(draw: Draw, subject: NounPhrase) -> Text:
    """Draw somebody the subject does it with."""
    if draw.chance(0.4):
        other = name(draw)
    else:
        other = noun_phrase(
            draw, "kin role", determiner="possessive", owner=subject, adjectives=0.1
        )
    if other.english == subject.english:
        return NOTHING
    return Text(f"with {other.english}", f"avec {other.french}")
