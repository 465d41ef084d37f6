"""Common words that mean different things in different company: time, run, leave, light, bank ...

A line reads ``English ; French ; flags`` as in ``fixed_expressions``; the company is in the line.
"""

from __future__ import annotations

from sample_corpus.grammar import adjuncts
from sample_corpus.grammar.clauses import NOT, Clause, infinitive
from sample_corpus.grammar.constructions import construction
from sample_corpus.grammar.draw import Draw
from sample_corpus.grammar.fixed_expressions import expression_tenses, whole
from sample_corpus.grammar.noun_phrases import person, pronoun
from sample_corpus.grammar.tenses import CAN, CONDITIONAL, MUST, SHOULD
from sample_corpus.grammar.text import NOTHING, Text, full_stop, rows

_TABLE = """
go to the bank ; aller à la banque ;
sit on the bank of the river ; s'asseoir sur la rive de la rivière ; once
have a date with Marie ; avoir rendez-vous avec Marie ; state
choose a date for the meeting ; choisir une date pour la réunion ; once
eat dates and nuts ; manger des dattes et des noix ;
turn right ; tourner à droite ; once
turn left after the church ; tourner à gauche après l'église ; once
write with POSS right hand ; écrire de la main droite ; state
have the right to vote ; avoir le droit de voter ; state
give the right answer ; donner la bonne réponse ; once
wait for spring ; attendre le printemps ;
drink from the spring ; boire à la source ;
repair the spring of the clock ; réparer le ressort de l'horloge ; once
break the glass in the window ; casser la vitre de la fenêtre ; once
drink a glass of water ; boire un verre d'eau ;
pay the bill at the restaurant ; payer l'addition au restaurant ; once
pay the phone bill ; payer la facture de téléphone ;
leave a note on the door ; laisser un mot sur la porte ; once
take notes ; prendre des notes ;
sing the wrong note ; chanter une fausse note ; once
write a line of code ; écrire une ligne de code ; once
draw a straight line ; tracer un trait droit ; once
read the paper ; lire le journal ;
write a paper for the conference ; écrire un article pour la conférence ;
wrap the box in paper ; emballer la boîte dans du papier ; once
have a good time ; passer un bon moment ;
ask the time ; demander l'heure ; once
waste time ; perdre du temps ;
save time ; gagner du temps ;
arrive on time ; arriver à l'heure ; once
stop at the traffic lights ; s'arrêter au feu ; once
travel light ; voyager léger ;
sleep with the light on ; dormir avec la lumière allumée ;
turn the light off before going out ; éteindre la lumière avant de sortir ;
live on the third floor ; habiter au troisième étage ; state
sleep on the floor ; dormir par terre ;
sweep the floor ; balayer le sol ;
change trains at Lyon ; changer de train à Lyon ; once
keep the change ; garder la monnaie ; once
change the sheets ; changer les draps ;
print a sheet of paper ; imprimer une feuille de papier ; once
have a cold ; avoir un rhume ; state
take the first step ; faire le premier pas ; once
climb the steps ; gravir les marches ;
study law ; étudier le droit ;
obey the law ; respecter la loi ;
leave a tip ; laisser un pourboire ; once
leave school at sixteen ; quitter l'école à seize ans ; once
leave early ; partir tôt ; once
leave the door open ; laisser la porte ouverte ; once
leave for Italy ; partir pour l'Italie ; once
leave the keys on the table ; laisser les clés sur la table ; once
run a bath ; faire couler un bain ; once
run a marathon ; courir un marathon ;
run for mayor ; se présenter à la mairie ; once
run a temperature ; avoir de la fièvre ; state
run a red light ; brûler un feu rouge ; once
run a family business ; diriger une entreprise familiale ;
pass the exam ; réussir l'examen ; once
fail the exam ; rater l'examen ; once
pass the salt ; passer le sel ; once
take a seat ; s'asseoir ; once
take medicine ; prendre des médicaments ;
take a deep breath ; respirer profondément ; once
take the dog for a walk ; promener le chien ;
take the children to school ; emmener les enfants à l'école ;
take the rubbish out ; vider les poubelles ;
play a role in the project ; jouer un rôle dans le projet ;
play a trick on Paul ; jouer un tour à Paul ; once
play the lottery ; jouer à la loterie ;
play for time ; chercher à gagner du temps ;
save a seat ; garder une place ; once
save a life ; sauver une vie ; once
make room for Paul ; faire de la place à Paul ; once
make money ; gagner de l'argent ;
make an effort ; faire un effort ; once
make an appointment ; prendre rendez-vous ; once
make a phone call ; passer un coup de téléphone ; once
make fun of everyone ; se moquer de tout le monde ;
make sure of the result ; s'assurer du résultat ; once
book a room ; réserver une chambre ; once
clean POSS room ; nettoyer SA chambre ;
raise POSS voice ; élever la voix ; once
raise POSS hand ; lever la main ; once
raise money for the school ; collecter de l'argent pour l'école ;
raise doubts ; susciter des doutes ; once
draw a conclusion ; tirer une conclusion ; once
draw water from the well ; puiser de l'eau au puits ;
break the news ; annoncer la nouvelle ; once
watch the news ; regarder les informations ;
hold POSS breath ; retenir SON souffle ;
meet the deadline ; respecter le délai ; once
meet the conditions ; remplir les conditions ; state
meet Sophie at the café ; retrouver Sophie au café ; once
fill in the form ; remplir le formulaire ; once
fill the tank ; faire le plein ; once
keep a diary ; tenir un journal ;
keep silent ; garder le silence ;
keep bees ; élever des abeilles ; state
keep the receipt ; garder le reçu ; once
give orders ; donner des ordres ;
put the books in order ; mettre les livres en ordre ; once
order a pizza ; commander une pizza ; once
be in charge of the project ; être responsable(s) du projet ; state
charge the battery ; charger la batterie ; once
work in a plant ; travailler dans une usine ;
plant roses ; planter des roses ; once
score a point ; marquer un point ; once
get the point ; comprendre l'idée ; once
get off the bus ; descendre du bus ; once
get on the train ; monter dans le train ; once
get home late ; rentrer tard ; once
get better ; se rétablir ; once
get a raise ; obtenir une augmentation ; once
catch the last train ; attraper le dernier train ; once
look ill ; avoir l'air malade(s) ; state
look out of the window ; regarder par la fenêtre ;
look for a needle in a haystack ; chercher une aiguille dans une botte de foin ;
hit the wall ; heurter le mur ; once
work on a difficult case ; travailler sur une affaire difficile ;
pack POSS case ; faire SA valise ;
sit on a chair ; s'asseoir sur une chaise ; once
chair the meeting ; présider la réunion ; once
press the right key ; appuyer sur la bonne touche ; once
lose the key to the garage ; perdre la clé du garage ; once
know the key to success ; connaître la clé du succès ; state
set the table ; mettre la table ; once
set the alarm ; mettre le réveil ; once
set fire to the barn ; mettre le feu à la grange ; once
spend money ; dépenser de l'argent ;
spend the night at the hotel ; passer la nuit à l'hôtel ; once
miss the beginning of the film ; rater le début du film ; once
speak in a low voice ; parler à voix basse ;
drive a car ; conduire une voiture ;
drive the children home ; ramener les enfants à la maison ; once
drive Paul mad ; rendre Paul fou ;
tell lies ; dire des mensonges ;
tell jokes ; raconter des blagues ;
tell the difference ; faire la différence ; state
serve as an example ; servir d'exemple ; once
serve dinner ; servir le dîner ;
cross the border ; franchir la frontière ; once
cross out a word ; rayer un mot ; once
cut POSS finger ; se couper le doigt ; once
cut POSS nails ; se couper les ongles ; once
hit POSS thumb with the hammer ; se taper sur le pouce avec le marteau ; once
share a flat with Julie ; partager un appartement avec Julie ; state
fly to Japan ; aller au Japon en avion ; once
fly a kite ; faire voler un cerf-volant ;
feel cold ; avoir froid ; state
catch cold ; prendre froid ; once
miss an opportunity ; laisser passer une occasion ; once
buy a second-hand car ; acheter une voiture d'occasion ; once
hang the picture on the wall ; accrocher le tableau au mur ; once
hang up ; raccrocher ; once
wear glasses ; porter des lunettes ; state
wear out POSS shoes ; user SES chaussures ;
try hard ; faire de gros efforts ;
hit the ball hard ; frapper fort dans le ballon ; once
ring the bell ; sonner à la porte ; once
wear a gold ring ; porter une bague en or ; state
win a race ; gagner une course ; once
do the shopping ; faire les courses ;
"""
_LINES = rows(_TABLE)


def _persons(forms: str) -> dict[str, str]:
    return dict(zip(("I", "you", "he", "she", "we", "they"), forms.split(","), strict=True))


# nobody must, should or can do these
_UNWANTED = ("fail", "miss", "waste", "lose", "run a red", "run a temp", "catch cold", "hit POSS")
# English, what follows the French verb, the French verb for I, you, he, she, we, they
_OPENINGS = (
    ("decided to", "décidé de", _persons("ai,avez,a,a,avons,ont")),
    ("forgot to", "oublié de", _persons("ai,avez,a,a,avons,ont")),
    ("wanted to", "", _persons("voulais,vouliez,voulait,voulait,voulions,voulaient")),
    ("{be} trying to", "de", _persons("essaie,essayez,essaie,essaie,essayons,essaient")),
    ("would like to", "", _persons("voudrais,voudriez,voudrait,voudrait,voudrions,voudraient")),
    ("{be} going to", "", _persons("vais,allez,va,va,allons,vont")),
    ("had to", "dû", _persons("ai,avez,a,a,avons,ont")),
)


@construction(13)
def word_in_company(draw: Draw) -> Text:
    """A common word whose French follows from its company."""
    row = draw.choose(_LINES)
    subject = person(draw)
    predicate = whole(row[0], row[1], subject.agreement, row[2] == "state")
    tense = draw.choose(expression_tenses(row[2]))
    unwanted = row[0].startswith(_UNWANTED)
    if row[2] != "state" and not unwanted and draw.chance(0.2):
        tense = draw.choose((CAN, MUST, SHOULD, CONDITIONAL))
    draw.note(row[0], subject.english)
    negation = NOT if draw.chance(0.2) else None
    clause = Clause(subject, predicate, tense, negation)
    if subject.pronoun and subject.agreement.person != 1 and draw.chance(0.12):
        return Text(f"{clause.english_question()}?", f"est-ce que {clause.statement().french} ?")
    text = clause.statement()
    when = adjuncts.time(draw, tense.time) if draw.chance(0.35) and not negation else NOTHING
    if when.english and adjuncts.may_be_fronted(when) and draw.chance(0.4):
        return Text(f"{when.english}, {text.english}.", f"{when.french}, {text.french}.")
    return full_stop(text, when)


@construction(4)
def intention_in_company(draw: Draw) -> Text:
    """The same words after another verb: "we decided to run a bath"."""
    row = draw.choose([row for row in _LINES if row[2] != "state"])
    subject = pronoun(draw)
    task = infinitive(whole(row[0], row[1], subject.agreement, False), subject)
    draw.note(row[0], subject.english)
    english, french, person_forms = draw.choose(_OPENINGS)
    verb = person_forms[subject.english]
    return Text(
        f"{subject.english} {english.format(be=_be(subject.english))} {task.english}.",
        f"{subject.french} {verb} {french} {task.french}.".replace("  ", " "),
    )


def _be(subject: str) -> str:
    return {"I": "am", "he": "is", "she": "is"}.get(subject, "are")
