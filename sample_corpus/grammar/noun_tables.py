"""The noun tables: ``english ; french[, feminine] ; gender ; kinds``, read by ``nouns``.

Several lines may share an English word: which one a sentence uses follows from the verb, the
adjective or the complement that chose the kind.
"""

PEOPLE = """
brother ; frère ; m ; person kin young
sister ; sœur ; f ; person kin young
father ; père ; m ; person kin adult
mother ; mère ; f ; person kin adult
son ; fils ; m ; person kin young
daughter ; fille ; f ; person kin young
uncle ; oncle ; m ; person kin adult
aunt ; tante ; f ; person kin adult
cousin ; cousin ; m ; person kin young
grandfather ; grand-père/grands-pères ; m ; person kin adult
grandmother ; grand-mère/grands-mères ; f ; person kin adult
husband ; mari ; m ; person kin adult
wife ; femme ; f ; person kin adult
friend ; ami, amie ; m ; person role
neighbour ; voisin, voisine ; m ; person role adult
colleague ; collègue ; m ; person role adult
boss ; patron, patronne ; m ; person role adult
child ; enfant ; m ; person young child
boy ; garçon ; m ; person young child
girl ; fille ; f ; person young child
baby ; bébé ; m ; child infant
man ; homme ; m ; person adult
woman ; femme ; f ; person adult
student ; étudiant, étudiante ; m ; person learner job
pupil ; élève ; m ; person young learner
teacher ; professeur, professeure ; m ; person adult job
doctor ; médecin ; m ; person adult job
nurse ; infirmière ; f ; person adult job-f
lawyer ; avocat, avocate ; m ; person adult job
engineer ; ingénieur, ingénieure ; m ; person adult job technical
baker ; boulanger, boulangère ; m ; person adult job
cook ; cuisinier, cuisinière ; m ; person adult job
driver ; chauffeur ; m ; person adult
waiter ; serveur ; m ; person adult
actor ; acteur ; m ; person adult artist
actress ; actrice ; f ; person adult artist
singer ; chanteur, chanteuse ; m ; person adult job artist
writer ; écrivain, écrivaine ; m ; person adult job artist
farmer ; agriculteur, agricultrice ; m ; person adult job
gardener ; jardinier, jardinière ; m ; person adult job
policeman ; policier ; m ; person adult
postman ; facteur ; m ; person adult
journalist ; journaliste ; m ; person adult job
mayor ; maire ; m ; person adult
customer ; client, cliente ; m ; person adult
guest ; invité, invitée ; m ; person adult
tourist ; touriste ; m ; person adult
researcher ; chercheur, chercheuse ; m ; person adult job technical
translator ; traducteur, traductrice ; m ; person adult job
developer ; développeur, développeuse ; m ; person adult job technical
manager ; directeur, directrice ; m ; person adult
judge ; juge ; m ; person adult job
witness ; témoin ; m ; person adult
cat ; chat ; m ; animal pet
dog ; chien ; m ; animal pet
horse ; cheval ; m ; animal farm
bird ; oiseau ; m ; animal small-animal
cow ; vache ; f ; animal farm
mouse ; souris ; f ; animal small-animal
mouse ; souris ; f ; peripheral second
rabbit ; lapin ; m ; animal pet
hen ; poule ; f ; animal farm
sheep ; mouton ; m ; animal farm
duck ; canard ; m ; animal farm
crane ; grue ; f ; animal
"""

FOOD = """
apple ; pomme ; f ; fruit snack
banana ; banane ; f ; fruit snack
orange ; orange ; f ; fruit snack
pear ; poire ; f ; fruit snack
strawberry ; fraise ; f ; fruit
tomato ; tomate ; f ; vegetable
potato ; pomme de terre/pommes de terre ; f ; vegetable
carrot ; carotte ; f ; vegetable
egg ; œuf ; m ; snack
sandwich ; sandwich ; m ; snack meal
biscuit ; biscuit ; m ; snack sweet
cake ; gâteau ; m ; baked sweet meal
apple pie ; tarte aux pommes/tartes aux pommes ; f ; baked sweet meal
pancake ; crêpe ; f ; baked sweet
soup ; soupe ; f ; dish meal
salad ; salade ; f ; dish meal
omelette ; omelette ; f ; dish meal
chicken ; poulet ; m ; dish meal
meal ; repas ; m ; meal
date ; datte ; f ; sweet dried
bread ; pain ; m ; food mass loaf
butter ; beurre ; m ; food mass
cheese ; fromage ; m ; food mass
meat ; viande ; f ; food mass
rice ; riz ; m ; food mass
sugar ; sucre ; m ; food mass ingredient
salt ; sel ; m ; food mass ingredient
flour ; farine ; f ; ingredient mass
oil ; huile ; f ; ingredient mass
jam ; confiture ; f ; food mass
chocolate ; chocolat ; m ; food mass
honey ; miel ; m ; food mass
ham ; jambon ; m ; food mass
fish ; poisson ; m ; food mass
fruit ; fruits ; m ; food mass fr-plural
water ; eau ; f ; drink mass
milk ; lait ; m ; drink mass
coffee ; café ; m ; drink mass hot-drink
tea ; thé ; m ; drink mass hot-drink
wine ; vin ; m ; drink mass
beer ; bière ; f ; drink mass
orange juice ; jus d'orange ; m ; drink mass
"""

THINGS = """
shirt ; chemise ; f ; clothing
dress ; robe ; f ; clothing
coat ; manteau ; m ; clothing warm
hat ; chapeau ; m ; clothing
jacket ; veste ; f ; clothing warm
skirt ; jupe ; f ; clothing
jumper ; pull ; m ; clothing warm
scarf/scarves ; écharpe ; f ; clothing warm
tie ; cravate ; f ; clothing
trousers ; pantalon ; m ; clothing en-plural
glasses ; lunettes ; f ; small en-plural fr-plural
ring ; bague ; f ; small jewel
watch ; montre ; f ; small jewel
table ; table ; f ; furniture bookable
chair ; chaise ; f ; furniture seat
bed ; lit ; m ; furniture
desk ; bureau ; m ; furniture
wardrobe ; armoire ; f ; furniture
sofa ; canapé ; m ; furniture seat
shelf ; étagère ; f ; furniture
carpet ; tapis ; m ; furniture
mirror ; miroir ; m ; furniture fragile
drawer ; tiroir ; m ; opening
door ; porte ; f ; opening lockable
window ; fenêtre ; f ; opening
curtain ; rideau ; m ; curtain
box ; boîte ; f ; container
bag ; sac ; m ; container luggage
suitcase ; valise ; f ; container luggage
basket ; panier ; m ; container
bottle ; bouteille ; f ; container fragile
cup ; tasse ; f ; fragile dishware
glass ; verre ; m ; fragile dishware
plate ; assiette ; f ; fragile dishware
bowl ; bol ; m ; fragile dishware
vase ; vase ; m ; fragile
luggage ; bagages ; m ; baggage mass fr-plural
key ; clé ; f ; small
key ; touche ; f ; keyboard-part second
pen ; stylo ; m ; small
pencil ; crayon ; m ; small
umbrella ; parapluie ; m ; small
wallet ; portefeuille ; m ; small
ticket ; billet ; m ; small bookable
map ; carte ; f ; small
knife ; couteau ; m ; tool
spoon ; cuillère ; f ; dishware
ladder ; échelle ; f ; tool
hammer ; marteau ; m ; tool
rope ; corde ; f ; tool
nail ; clou ; m ; hardware
match ; allumette ; f ; fire-lighter second
match ; match ; m ; contest event
candle ; bougie ; f ; fire-light
crane ; grue ; f ; site-machine second
football ; ballon ; m ; ball
doll ; poupée ; f ; toy doll
toy ; jouet ; m ; toy
flower ; fleur ; f ; plant gift growing
tree ; arbre ; m ; plant growing
plant ; plante ; f ; plant growing
plant ; usine ; f ; company second
present ; cadeau ; m ; gift
parcel ; colis ; m ; mail gift
stamp ; timbre ; m ; small
stone ; pierre ; f ; matter
money ; argent ; m ; money mass
bill ; facture ; f ; payable
bill ; addition ; f ; restaurant-bill second
bill ; projet de loi/projets de loi ; m ; political second
photo ; photo ; f ; picture
painting ; tableau ; m ; picture
poster ; affiche ; f ; picture
book ; livre ; m ; text thing
letter ; lettre ; f ; text mail message
newspaper ; journal ; m ; text
novel ; roman ; m ; text
poem ; poème ; m ; text
article ; article ; m ; text document
report ; rapport ; m ; text document
message ; message ; m ; mail message
email ; courriel ; m ; mail message
contract ; contrat ; m ; document
chapter ; chapitre ; m ; text
story ; histoire ; f ; tale
film ; film ; m ; show
play ; pièce ; f ; show
concert ; concert ; m ; show event
programme ; émission ; f ; broadcast
song ; chanson ; f ; music
"""

PLACES = """
house ; maison ; f ; building home
flat ; appartement ; m ; building home
church ; église ; f ; building sight
castle ; château ; m ; building sight
tower ; tour ; f ; building sight
bridge ; pont ; m ; sight
museum ; musée ; m ; building sight
hospital ; hôpital ; m ; building
factory ; usine ; f ; company
school ; école ; f ; building company
hotel ; hôtel ; m ; building company
restaurant ; restaurant ; m ; company
bakery ; boulangerie ; f ; company
shop ; magasin ; m ; company shop
bank ; banque ; f ; company institution
company ; entreprise ; f ; company institution
library ; bibliothèque ; f ; building
station ; gare ; f ; building stop
airport ; aéroport ; m ; stop
kitchen ; cuisine ; f ; room
bedroom ; chambre ; f ; room
room ; pièce ; f ; room
room ; chambre ; f ; bookable second
bathroom ; salle de bains/salles de bains ; f ; room
living room ; salon ; m ; room
garage ; garage ; m ; room
office ; bureau ; m ; room workplace
garden ; jardin ; m ; green
park ; parc ; m ; green
field ; champ ; m ; green
forest ; forêt ; f ; green nature
river ; rivière ; f ; water-place nature
lake ; lac ; m ; water-place nature
sea ; mer ; f ; water-place definite
beach ; plage ; f ; nature
island ; île ; f ; nature
mountain ; montagne ; f ; nature high
valley ; vallée ; f ; nature
bank ; rive ; f ; riverside second
street ; rue ; f ; way
road ; route ; f ; way
path ; chemin ; m ; way
village ; village ; m ; town
town ; ville ; f ; town
car ; voiture ; f ; vehicle own-vehicle
bike ; vélo ; m ; own-vehicle
motorbike ; moto ; f ; own-vehicle
van ; camionnette ; f ; vehicle
boat ; bateau ; m ; own-vehicle
train ; train ; m ; transport
bus ; bus ; m ; transport
plane ; avion ; m ; transport flying
"""

TECHNOLOGY = """
computer ; ordinateur ; m ; device machine
printer ; imprimante ; f ; device machine
washing machine ; machine à laver/machines à laver ; f ; machine
fridge ; réfrigérateur ; m ; machine
camera ; appareil photo/appareils photo ; m ; small device
phone ; téléphone ; m ; small device
radio ; radio ; f ; device audible
television ; télévision ; f ; device audible
lamp ; lampe ; f ; lamp
light ; lumière ; f ; lamp definite
heating ; chauffage ; m ; heating definite
oven ; four ; m ; heating
alarm ; alarme ; f ; alarm
screen ; écran ; m ; device
keyboard ; clavier ; m ; peripheral
engine ; moteur ; m ; machine
program ; programme ; m ; software
script ; script ; m ; software
command ; commande ; f ; software
application ; application ; f ; software
file ; fichier ; m ; data file
folder ; dossier ; m ; data file
document ; document ; m ; data file
database ; base de données/bases de données ; f ; data service
server ; serveur ; m ; service
website ; site ; m ; service
network ; réseau ; m ; service
password ; mot de passe/mots de passe ; m ; secret-word
update ; mise à jour/mises à jour ; f ; update
driver ; pilote ; m ; software-driver second
model ; modèle ; m ; model
dictionary ; dictionnaire ; m ; text thing
sentence ; phrase ; f ; language-unit
word ; mot ; m ; language-unit
page ; page ; f ; language-unit
table ; tableau ; m ; figure second
line ; ligne ; f ; language-unit
error ; erreur ; f ; error
bug ; bogue ; m ; error
test ; test ; m ; trial
experiment ; expérience ; f ; trial
analysis/analyses ; analyse ; f ; trial
"""

ABSTRACT = """
meeting ; réunion ; f ; event appointment
party ; fête ; f ; event merry
wedding ; mariage ; m ; event merry
exhibition ; exposition ; f ; event show
conference ; conférence ; f ; event appointment
race ; course ; f ; contest event
trip ; voyage ; m ; event journey
holidays ; vacances ; f ; leisure en-plural fr-plural
exam ; examen ; m ; exam
lesson ; leçon ; f ; lesson
language ; langue ; f ; language
problem ; problème ; m ; problem
question ; question ; f ; question
answer ; réponse ; f ; answer
idea ; idée ; f ; idea
suggestion ; proposition ; f ; idea
plan ; projet ; m ; idea plan
project ; projet ; m ; plan
decision ; décision ; f ; decision
mistake ; erreur ; f ; error slip
promise ; promesse ; f ; promise
secret ; secret ; m ; secret
truth ; vérité ; f ; truth definite
choice ; choix ; m ; choice
advice ; conseils ; m ; advice mass fr-plural
news ; nouvelle ; f ; news definite
result ; résultat ; m ; outcome
conclusion ; conclusion ; f ; conclusion
price ; prix ; m ; price
salary ; salaire ; m ; price
rule ; règle ; f ; rule
law ; loi ; f ; law
job ; travail/travaux ; m ; job-post
offer ; offre ; f ; offer idea
invitation ; invitation ; f ; offer mail
record ; record ; m ; record
noise ; bruit ; m ; noise
homework ; devoirs ; m ; homework mass fr-plural
subject ; sujet ; m ; subject
method ; méthode ; f ; plan method
hand ; main ; f ; body
arm ; bras ; m ; body limb
leg ; jambe ; f ; body limb
head ; tête ; f ; body
back ; dos ; m ; body
tooth ; dent ; f ; body
knee ; genou ; m ; body
foot ; pied ; m ; body limb
finger ; doigt ; m ; body limb
team ; équipe ; f ; team
fire ; incendie ; m ; fire definite
shopping list ; liste de courses/listes de courses ; f ; small
"""
