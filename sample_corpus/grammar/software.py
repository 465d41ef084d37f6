"""How programs and their manuals speak: messages, instructions, measurements."""

from __future__ import annotations

from sample_corpus.grammar.clauses import NOT, Clause, Predicate, imperative, infinitive
from sample_corpus.grammar.constructions import agreeing, construction
from sample_corpus.grammar.draw import Draw
from sample_corpus.grammar.french_groups import FrenchVerb
from sample_corpus.grammar.french_words import with_de
from sample_corpus.grammar.noun_phrases import ME, YOU, noun_phrase
from sample_corpus.grammar.nouns import nouns_of
from sample_corpus.grammar.predicates import action, scene
from sample_corpus.grammar.tenses import CAN, FUTURE, PAST, PRESENT
from sample_corpus.grammar.text import Text, full_stop, texts
from sample_corpus.grammar.verbs import ACTIONS

_TASKS = tuple(f for f in ACTIONS if f.setting == "tech")
_BUTTONS = texts("""
the icon = l'icône ; the link = le lien ; the green button = le bouton vert
the red cross = la croix rouge ; the first tab = le premier onglet
""")
_TROUBLES = texts("""
the disk is full = le disque est plein ; the file does not exist = le fichier n'existe pas
the password is wrong = le mot de passe est incorrect
the server is not responding = le serveur ne répond pas
the network is down = le réseau est en panne
there is not enough memory = il n'y a pas assez de mémoire
access was denied = l'accès a été refusé
two lines have different lengths = deux lignes n'ont pas la même longueur
the format is not supported = le format n'est pas pris en charge
a word is missing from the table = un mot manque dans le tableau
""")
_STEPS = texts("""
log in first = connectez-vous d'abord ; close all the windows = fermez toutes les fenêtres
type your password = tapez votre mot de passe ; press this key = appuyez sur cette touche
restart the server = redémarrez le serveur ; wait a few minutes = attendez quelques minutes
choose the right option = choisissez la bonne option ; open the main menu = ouvrez le menu principal
run the following command = exécutez la commande suivante
make a copy of the folder = faites une copie du dossier
""")
_RATES = texts("""
per minute = par minute ; in an hour = en une heure ; at a time = à la fois
per second = par seconde
""")
_AMOUNTS = texts("10 = 10 ; 200 = 200 ; 1,000 = 1 000 ; 5,000 = 5 000 ; 40,000 = 40 000")


@construction(3)
def error_message(draw: Draw) -> Text:
    """Cannot open the file: *impossible d'ouvrir le fichier*."""
    task = infinitive(action(draw, _TASKS, ME))
    trouble = draw.choose(_TROUBLES)
    style = draw.choose(("cannot", "failed", "unable", "sorry"))
    if style == "cannot":
        return Text(
            f"cannot {task.english}: {trouble.english}.",
            f"impossible de {task.french} : {trouble.french}.",
        )
    if style == "failed":
        return Text(
            f"the program failed to {task.english} because {trouble.english}.",
            f"le programme n'a pas pu {task.french} car {trouble.french}.",
        )
    if style == "unable":
        return Text(
            f"error: {trouble.english}; it is not possible to {task.english}.",
            f"erreur : {trouble.french} ; il n'est pas possible de {task.french}.",
        )
    return Text(
        f"if {trouble.english}, you cannot {task.english}.",
        f"si {trouble.french}, vous ne pouvez pas {task.french}.",
    )


@construction(3)
def instruction(draw: Draw) -> Text:
    """Click on the icon to save the file."""
    task = infinitive(action(draw, _TASKS, YOU), YOU)
    button = draw.choose(_BUTTONS)
    if draw.chance(0.5):
        return Text(
            f"click on {button.english} to {task.english}.",
            f"cliquez sur {button.french} pour {task.french}.",
        )
    step = draw.choose(_STEPS)
    if draw.chance(0.5):
        return Text(f"to {task.english}, {step.english}.", f"pour {task.french}, {step.french}.")
    order = imperative(action(draw, _TASKS, YOU), 2, True)
    return Text(f"{step.english}, then {order.english}.", f"{step.french}, puis {order.french}.")


@construction(2)
def what_a_program_does(draw: Draw) -> Text:
    """This command lets you ...: *permet de*."""
    tool = noun_phrase(
        draw, "software service", determiner=draw.choose(("this", "the")), adjectives=0.3
    )
    doing = scene(draw, _TASKS, YOU)
    task = infinitive(doing.predicate, YOU)
    assert tool.noun is not None
    draw.note(tool.noun.english[0], doing.frame.english)
    verb = draw.choose(("lets you", "is used to", "cannot"))
    if verb == "lets you":
        predicate = Predicate(
            "let", f"you {task.english}", FrenchVerb("permettre"), f"de {task.french}"
        )
    elif verb == "is used to":
        predicate = Predicate(
            "be", f"used to {task.english}", FrenchVerb("servir"), f"à {task.french}", stative=True
        )
    else:
        own = infinitive(doing.predicate, tool)
        return Text(
            f"{tool.english} cannot {own.english}.", f"{tool.french} ne peut pas {own.french}."
        )
    text = Clause(tool, predicate, PRESENT).statement()
    return full_stop(text)


def _amount(draw: Draw, kinds: str) -> Text:
    number, unit = draw.choose(_AMOUNTS), draw.choose(nouns_of(kinds))
    return Text(f"{number.english} {unit.english[1]}", f"{number.french} {unit.french[1]}")


@construction(2)
def measurement(draw: Draw) -> Text:
    """The model was trained on 5,000 sentences; the script processes 200 files."""
    tool = noun_phrase(
        draw, "model software", determiner=draw.choose(("this", "the")), adjectives=0.3
    )
    assert tool.noun is not None
    amount = _amount(draw, "=sentence =word =page =file =document =line")
    draw.note(tool.noun.english[0], amount.english)
    if draw.chance(0.5):
        runs = texts("trained = entraîné ; evaluated = évalué")
        tests = texts("tested = testé ; run = exécuté ; evaluated = évalué")
        done = draw.choose(runs if tool.noun.has("model") else tests)
        return full_stop(
            Text(f"{tool.english} was {done.english} on", ""),
            Text("", f"{tool.french} a été {agreeing(done.french, tool.agreement)} sur"),
            amount,
        )
    processing = Predicate("process", amount.english, FrenchVerb("traiter"), amount.french)
    text = Clause(tool, processing, draw.choose((PAST, FUTURE, CAN))).statement()
    return full_stop(text, draw.choose(_RATES))


@construction(1.5)
def size_of_data(draw: Draw) -> Text:
    """The file contains 200 lines; the number of words in the file has doubled."""
    amount = _amount(draw, "=sentence =word =line")
    data = noun_phrase(draw, "data text figure", determiner="the", adjectives=0.3)
    assert data.noun is not None
    draw.note(data.noun.english[0], amount.english)
    if draw.chance(0.5):
        holding = Predicate("contain", amount.english, FrenchVerb("contenir"), amount.french)
        return full_stop(Clause(data, holding, PRESENT).statement())
    unit = draw.choose(nouns_of("=sentence =word =line"))
    return full_stop(
        Text(
            f"the number of {unit.english[1]} in {data.english}",
            f"le nombre {with_de(unit.french[1])} dans {data.french}",
        ),
        draw.choose(texts("has doubled = a doublé ; is too high = est trop élevé")),
    )


@construction(2)
def warning(draw: Draw) -> Text:
    """Do not do this; do not forget to do that."""
    found = scene(draw, _TASKS, YOU)
    text = infinitive(found.predicate, YOU)
    if draw.chance(0.5):
        return Text(
            f"do not forget to {text.english} before tonight.",
            f"n'oubliez pas de {text.french} avant ce soir.",
        )
    step = draw.choose(_STEPS)
    order = imperative(found.predicate, 2, True, NOT)
    return Text(f"{order.english}: {step.english}.", f"{order.french} : {step.french}.")
