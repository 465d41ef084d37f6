"""The verb tables, read by ``verbs``: ``english ; french ; subject ; object ; setting ; flags``.

``_`` is the place of the object and ``*`` a particle that may stand after it ("turn on* _": "turn
the lamp on"). Several lines may share an English verb: the kind of the object decides ("run a
hotel", "run a script"). Settings name the circumstances that suit (see ``adjuncts``). Flags:

* ``state``: no progressive; the past is an imparfait;
* ``event``: happens at a point in time; no progressive, no "used to";
* ``the``, ``own``, ``one``, ``several``: the object is definite, the subject's, single, plural;
* ``liked``: the object is meant in general ("I like cheese", "j'aime le fromage");
* ``whole``: the object is never a pronoun.
"""

HOUSEHOLD = """
buy _ ; acheter _ ; person ; clothing snack gift furniture food text vehicle ; town ;
sell _ ; vendre _ ; person ; vehicle furniture building company painting own-vehicle ; none ;
eat _ ; manger _ ; person ; snack dish baked =bread =cheese =meat ; home ;
eat _ ; manger _ ; person ; =rice =fish =chocolate =ham =fruit ; home ;
drink _ ; boire _ ; person ; drink ; home ;
cook _ ; préparer _ ; person ; dish =meal ; home ;
make _ ; faire _ ; person ; baked ; home ;
make _ ; préparer _ ; person ; hot-drink ; home ;
cut _ ; couper _ ; person ; =bread =cheese =meat =cake ; home ; the
peel _ ; éplucher _ ; person ; vegetable =apple =orange ; home ; several
taste _ ; goûter _ ; person ; dish food ; home ; the
order _ ; commander _ ; person ; dish drink ; restaurant ;
wash _ ; laver _ ; person ; clothing dishware =car =window ; home ;
clean _ ; nettoyer _ ; person ; room =oven own-vehicle ; home ; the
tidy _ ; ranger _ ; person ; =bedroom =garage =kitchen =office ; home ; own
sweep _ ; balayer _ ; person ; =kitchen =garage ; home ; the
paint _ ; repeindre _ ; person ; room opening ; home ; the
paint _ ; peindre _ ; person ; picture ; none ;
open _ ; ouvrir _ ; person ; opening container mail ; home ;
close _ ; fermer _ ; person ; opening container ; home ; the
lock _ ; fermer _ à clé ; person ; lockable ; home ; the
draw _ ; tirer _ ; person ; curtain ; home ; the several
draw _ ; dessiner _ ; person ; tree animal castle flower =map ; home ;
break _ ; casser _ ; person ; fragile =toy doll ; home ; event
repair _ ; réparer _ ; person ; machine vehicle own-vehicle furniture device ; home ;
use _ ; utiliser _ ; person ; tool machine software device ; none ;
turn on* _ ; allumer _ ; person ; lamp device heating audible ; home ; the
turn off* _ ; éteindre _ ; person ; lamp device heating audible ; home ; the
turn down* _ ; baisser _ ; person ; =heating =radio =television ; home ; the
turn down* _ ; refuser _ ; person ; offer job-post ; none ; the
put out* _ ; éteindre _ ; person ; fire fire-light ; none ; the event
light _ ; allumer _ ; person ; fire-light ; home ;
strike _ ; gratter _ ; person ; fire-lighter ; none ; event
put on* _ ; mettre _ ; person ; warm =hat =shirt =glasses =trousers ; home ; own
take off* _ ; enlever _ ; person ; warm =hat =shirt =glasses =ring ; home ; own
try on* _ ; essayer _ ; person ; clothing ; town ;
wear _ ; porter _ ; person ; clothing jewel =glasses ; none ;
iron _ ; repasser _ ; person ; =shirt =dress =skirt ; home ;
fold _ ; plier _ ; person ; =shirt =trousers =map ; home ;
carry _ ; porter _ ; person ; luggage container baggage ; travel ;
pack _ ; préparer _ ; person ; =suitcase baggage ; travel ; own
fill _ ; remplir _ ; person ; container dishware ; home ; the
empty _ ; vider _ ; person ; container =drawer ; home ; the
throw away* _ ; jeter _ ; person ; =newspaper toy =box =letter ; home ; event
pick up* _ ; ramasser _ ; person ; toy small stone plant ; out ;
pick up* _ ; aller chercher _ ; person ; =child parcel =son =daughter ; none ; the
pick _ ; cueillir _ ; person ; =flower =strawberry =apple ; out ; several
plant _ ; planter _ ; person ; =tree =flower =tomato ; out ; several
water _ ; arroser _ ; person ; =garden growing ; out ; the
grow _ ; cultiver _ ; person ; vegetable =flower ; out ; several
feed _ ; nourrir _ ; person ; pet farm infant ; home ; the
look for _ ; chercher _ ; person ; small clothing pet job-post tool ; home ;
look after _ ; s'occuper de _ ; person ; child pet plant ; home ; the
look at _ ; regarder _ ; person ; picture sight =map ; none ;
find _ ; trouver _ ; person ; small clothing job-post answer ; none ; event
lose _ ; perdre _ ; person ; small luggage ; travel ; own event
lose _ ; perdre _ ; person team ; contest ; none ; the event
forget _ ; oublier _ ; person ; small appointment secret-word promise ; none ; event
hide _ ; cacher _ ; person ; gift money letter ; home ;
hide _ ; cacher _ ; person ; truth ; none ;
keep _ ; garder _ ; person ; secret small picture ; none ;
keep _ ; tenir _ ; person ; promise ; none ; own
break _ ; rompre _ ; person ; promise contract ; none ; own event
break _ ; enfreindre _ ; person company ; law rule ; none ; the event
break _ ; battre _ ; person ; record ; none ; the event
save _ ; économiser _ ; person ; money ; none ;
spend _ ; dépenser _ ; person ; money ; town ;
spend _ ; passer _ ; person ; leisure ; travel ; own
earn _ ; gagner _ ; person ; money ; none ;
pay _ ; payer _ ; person ; payable restaurant-bill ; none ; the
ask for _ ; demander _ ; person ; restaurant-bill advice =map =water =bread ; restaurant ;
like _ ; aimer _ ; person ; food snack drink music fruit pet ; none ; liked state
love _ ; adorer _ ; person ; food baked music small-animal ; none ; liked state
hate _ ; détester _ ; person ; vegetable noise exam dish homework ; none ; liked state
prefer _ ; préférer _ ; person ; clothing room seat show ; none ; state
need _ ; avoir besoin de _ ; person ; tool small device advice money seat warm ; none ; state
want _ ; vouloir _ ; person ; snack gift clothing device ; none ; state
own _ ; posséder _ ; person ; building vehicle farm company ; none ; state
"""

PEOPLE = """
see _ ; voir _ ; person ; person animal show ; town ; event
meet _ ; rencontrer _ ; person ; role artist adult ; town ; event
know _ ; connaître _ ; person ; role artist town rule method music ; none ; state
recognise _ ; reconnaître _ ; person ; adult role music ; town ; event
visit _ ; visiter _ ; person ; sight town company exhibition ; travel ;
visit _ ; rendre visite à _ ; person ; kin role ; none ;
call _ ; appeler _ ; person ; kin role =doctor =policeman ; none ;
invite _ ; inviter _ ; person ; kin role ; none ;
help _ ; aider _ ; person ; kin role learner ; home ;
thank _ ; remercier _ ; person ; role =doctor =nurse =waiter ; none ; event
wait for _ ; attendre _ ; person ; kin role transport mail ; none ;
listen to _ ; écouter _ ; person ; =teacher audible music kin ; home ;
hear _ ; entendre _ ; person ; noise music infant ; none ; event
watch _ ; regarder _ ; person ; show broadcast contest ; home ;
follow _ ; suivre _ ; person ; rule advice lesson =policeman ; none ;
answer _ ; répondre à _ ; person ; message =invitation question customer role ; none ;
obey _ ; obéir à _ ; young ; =teacher =father =mother ; none ;
trust _ ; faire confiance à _ ; person ; role kin =doctor ; none ; state
believe _ ; croire _ ; person ; tale witness kin ; none ; state
laugh at _ ; se moquer de _ ; person ; slip young ; none ;
think about _ ; penser à _ ; person ; kin leisure exam problem ; none ;
talk about _ ; parler de _ ; person ; job-post leisure plan subject exhibition ; restaurant ;
dream of _ ; rêver de _ ; person ; leisure island journey home ; none ;
be afraid of _ ; avoir peur de _ ; person ; =dog =mouse =horse exam ; none ; state several
be interested in _ ; s'intéresser à _ ; person ; music language painting subject ; none ; state
remember _ ; se souvenir de _ ; person ; journey event tale promise ; none ; state
forgive _ ; pardonner à _ ; person ; kin role ; none ; event
introduce _ ; présenter _ ; person ; kin role ; none ; event
marry _ ; épouser _ ; person ; artist =doctor =engineer =lawyer ; none ; one event
raise _ ; élever _ ; =woman =man farmer kin ; =child =daughter =son ; none ; the
raise _ ; élever _ ; =farmer ; farm ; none ; several
raise _ ; augmenter _ ; company =boss ; price ; none ; the event
raise _ ; soulever _ ; person ; problem question ; work ; event
hire _ ; embaucher _ ; company =boss =manager ; technical =cook =gardener ; none ; event
fire _ ; licencier _ ; company =boss =manager ; technical =cook =gardener ; none ; event
run _ ; diriger _ ; adult ; company ; none ;
lead _ ; diriger _ ; adult ; team ; none ;
join _ ; rejoindre _ ; person ; team kin role ; none ; event
beat _ ; battre _ ; person ; team ; none ; the event
win _ ; gagner _ ; person team ; contest ; none ; the event
arrest _ ; arrêter _ ; =policeman ; =man =tourist ; none ; the event
serve _ ; servir _ ; =waiter =cook ; dish meal customer ; restaurant ; the
hold _ ; tenir _ ; person ; =rope =umbrella =baby ; none ;
hold _ ; organiser _ ; company =manager =teacher ; appointment exhibition ; work ;
organise _ ; organiser _ ; person ; event journey ; none ;
cancel _ ; annuler _ ; person company ; event journey appointment ; none ; the event
call off* _ ; annuler _ ; person company ; =meeting =wedding =concert ; none ; the event
put off* _ ; reporter _ ; person ; appointment journey decision ; none ; the event
attend _ ; assister à _ ; person ; appointment =wedding =concert ; work ; event
take part in _ ; participer à _ ; person ; contest appointment plan ; none ; event
miss _ ; rater _ ; person ; transport exam ; travel ; the event
miss _ ; manquer _ ; person ; appointment lesson ; none ; the event
catch _ ; attraper _ ; person pet ; small-animal =football ; out ; event
catch _ ; prendre _ ; person ; transport ; travel ; the event
take _ ; prendre _ ; person ; transport way luggage ; travel ; the
take _ ; passer _ ; learner ; exam ; none ;
take _ ; prendre _ ; person ; =photo ; travel ; several event
make _ ; prendre _ ; person company ; decision ; work ; one event
make _ ; faire _ ; person ; slip noise choice ; none ; one event
make _ ; faire _ ; person ; promise ; none ; one event
draw _ ; tirer _ ; technical =judge ; conclusion ; none ; one event
drive _ ; conduire _ ; person ; vehicle =bus ; travel ;
park _ ; garer _ ; person ; vehicle own-vehicle ; town ; own
cross _ ; traverser _ ; person ; way =river forest =bridge ; out ; the
leave _ ; quitter _ ; person ; home company town ; none ; the event
book _ ; réserver _ ; person ; bookable ; travel ; event
rent _ ; louer _ ; person ; home vehicle own-vehicle ; travel ;
learn _ ; apprendre _ ; learner person ; language music poem ; none ;
teach _ ; enseigner _ ; =teacher =woman ; language ; none ;
learn _ ; apprendre _ ; person ; =news truth ; none ; the event
tell _ ; raconter _ ; person ; tale ; home ;
tell _ ; dire _ ; person =witness ; truth ; none ;
find out _ ; découvrir _ ; person ; truth secret ; none ; the event
give up* _ ; abandonner _ ; person ; plan trial ; none ; the event
get _ ; recevoir _ ; person ; mail gift ; none ; event
get _ ; obtenir _ ; technical learner ; outcome answer ; work ; event
send _ ; envoyer _ ; person ; mail document ; work ;
"""

WORK = """
read _ ; lire _ ; person ; text ; home ;
write _ ; écrire _ ; person ; message =novel =poem =article =report =story ; home ;
write down* _ ; noter _ ; person ; =password answer =word idea ; work ; event
translate _ ; traduire _ ; translator technical learner ; text language-unit ; work ;
correct _ ; corriger _ ; =teacher technical translator ; slip homework document ; work ; the
sign _ ; signer _ ; person ; =contract =letter ; work ; the event
check _ ; vérifier _ ; person technical ; outcome answer =bill document ; work ; the
understand _ ; comprendre _ ; person ; question rule text language-unit ; none ; state
explain _ ; expliquer _ ; person ; rule problem decision method ; work ;
solve _ ; résoudre _ ; person technical ; problem ; work ; event
ask _ ; poser _ ; person learner ; question ; work ; event
discuss _ ; discuter de _ ; person ; problem plan price ; work ;
describe _ ; décrire _ ; person witness ; method =man trial ; work ;
accept _ ; accepter _ ; person ; offer gift ; none ; the event
reject _ ; rejeter _ ; person company ; offer plan ; none ; the event
finish _ ; finir _ ; person ; text homework job-post =meal ; none ; own event
start _ ; commencer _ ; person ; text plan =job ; none ; event
prepare _ ; préparer _ ; person ; =exam lesson journey appointment ; work ;
do _ ; faire _ ; learner person ; homework ; home ; own
do _ ; réaliser _ ; technical ; trial ; work ; event
carry out* _ ; réaliser _ ; technical ; trial ; work ; event
run _ ; exécuter _ ; technical ; software ; tech ;
run _ ; lancer _ ; technical ; trial ; tech ;
train _ ; entraîner _ ; technical ; model ; tech ;
train _ ; entraîner _ ; =teacher =man =woman ; team ; none ;
test _ ; tester _ ; technical ; software service update ; tech ;
install _ ; installer _ ; technical person ; software software-driver update ; tech ;
set up* _ ; configurer _ ; technical ; service device ; tech ;
update _ ; mettre à jour _ ; technical ; software =website =database software-driver ; tech ;
restart _ ; redémarrer _ ; technical ; service =computer ; tech ; the event
save _ ; enregistrer _ ; technical person ; file ; tech ; the event
save _ ; sauver _ ; =doctor =policeman ; =child =man =woman ; none ; the event
open _ ; ouvrir _ ; technical person ; file ; tech ;
close _ ; fermer _ ; technical person ; file =application ; tech ; the
delete _ ; supprimer _ ; technical person ; data message language-unit ; tech ; event
copy _ ; copier _ ; technical person ; data language-unit ; tech ;
print _ ; imprimer _ ; person ; document ticket picture ; work ;
download _ ; télécharger _ ; technical person ; data update =application ; tech ;
share _ ; partager _ ; technical person ; file idea outcome ; work ;
back up* _ ; sauvegarder _ ; technical ; data ; tech ; the
fix _ ; corriger _ ; technical ; error ; tech ; the event
fix _ ; réparer _ ; technical person ; machine ; tech ;
cause _ ; provoquer _ ; update software ; error problem ; none ; event
charge _ ; charger _ ; person ; =phone =camera ; home ; own
press _ ; appuyer sur _ ; person ; keyboard-part ; none ; the event
type _ ; taper _ ; person technical ; =password =command ; tech ; the event
change _ ; changer _ ; person technical ; secret-word rule method ; none ;
improve _ ; améliorer _ ; technical company ; software service outcome method model ; work ;
build _ ; construire _ ; =farmer company ; building sight ; none ;
build _ ; créer _ ; technical ; software =website model ; tech ;
compare _ ; comparer _ ; technical ; outcome price method ; work ; several
drive in* _ ; enfoncer _ ; person ; hardware ; none ; event
cut _ ; réduire _ ; company ; price ; none ; the event
"""

INTRANSITIVE = """
sleep ; dormir ; person infant pet ; - ; home ;
work ; travailler ; person ; - ; work ;
work ; fonctionner ; machine device software ; - ; none ; state
run ; courir ; person pet ; - ; out ;
run ; tourner ; software service machine ; - ; tech ;
swim ; nager ; person ; - ; water ;
walk ; marcher ; person ; - ; out ;
dance ; danser ; person ; - ; party ;
sing ; chanter ; person artist ; - ; party ;
cry ; pleurer ; infant child ; - ; home ;
smile ; sourire ; person infant ; - ; none ;
laugh ; rire ; person ; - ; party ;
shout ; crier ; person ; - ; none ;
smoke ; fumer ; person ; - ; out ;
lie ; mentir ; person witness ; - ; none ;
travel ; voyager ; person ; - ; travel ;
cook ; faire la cuisine ; person ; - ; home ;
go shopping ; faire les courses ; person ; - ; town ;
do the washing-up ; faire la vaisselle ; person ; - ; home ;
do the housework ; faire le ménage ; person ; - ; home ;
go for a walk ; se promener ; person ; - ; out ;
have breakfast ; prendre le petit déjeuner ; person ; - ; home ;
have lunch ; déjeuner ; person ; - ; restaurant ;
have dinner ; dîner ; person ; - ; restaurant ;
have a shower ; prendre une douche ; person ; - ; none ;
have fun ; s'amuser ; person child ; - ; party ;
take a nap ; faire la sieste ; person infant ; - ; home ;
get up ; se lever ; person ; - ; none ; event
wake up ; se réveiller ; person infant ; - ; none ; event
go to bed ; se coucher ; person ; - ; none ; event
fall asleep ; s'endormir ; person infant pet ; - ; home ; event
get dressed ; s'habiller ; person ; - ; none ; event
hurry ; se dépêcher ; person ; - ; none ; event
rest ; se reposer ; person ; - ; home ;
get lost ; se perdre ; person ; - ; nature ; event
get married ; se marier ; person ; - ; none ; event
get angry ; se mettre en colère ; person ; - ; none ; event
get bored ; s'ennuyer ; person ; - ; party ;
fall ; tomber ; person ; - ; out ; event
fall ; baisser ; price ; - ; none ; event
go up ; augmenter ; price ; - ; none ; event
leave ; partir ; person transport ; - ; none ; event
arrive ; arriver ; person transport mail ; - ; none ; event
come back ; revenir ; person ; - ; none ; event
go home ; rentrer ; person ; - ; none ; event
go out ; sortir ; person ; - ; none ; event
stay at home ; rester à la maison ; person ; - ; none ;
grow up ; grandir ; person ; - ; none ; event
grow ; pousser ; plant ; - ; green ;
take off ; décoller ; flying ; - ; none ; event
ring ; sonner ; alarm phone ; - ; none ; event
crash ; planter ; software device ; - ; none ; event
stop working ; tomber en panne ; machine ; - ; none ; event
break down ; tomber en panne ; vehicle own-vehicle ; - ; travel ; event
give up ; abandonner ; person ; - ; none ; event
make progress ; faire des progrès ; learner person ; - ; none ;
lose weight ; maigrir ; person ; - ; none ; event
put on weight ; grossir ; person ; - ; none ; event
pay attention ; faire attention ; person learner ; - ; none ;
take a break ; faire une pause ; person technical ; - ; work ; event
catch a cold ; attraper un rhume ; person ; - ; none ; event
tell the truth ; dire la vérité ; person witness ; - ; none ;
make the bed ; faire le lit ; person ; - ; none ;
lay the table ; mettre la table ; person ; - ; none ;
ride a bike ; faire du vélo ; person ; - ; out ;
ride a horse ; monter à cheval ; person ; - ; out ;
go fishing ; aller à la pêche ; person ; - ; water ;
play cards ; jouer aux cartes ; person ; - ; home ;
play chess ; jouer aux échecs ; person ; - ; home ;
play football ; jouer au football ; person child ; - ; out ;
play tennis ; jouer au tennis ; person ; - ; out ;
play hide-and-seek ; jouer à cache-cache ; child young ; - ; out ;
play the piano ; jouer du piano ; person artist ; - ; home ;
play the guitar ; jouer de la guitare ; person artist ; - ; party ;
play the violin ; jouer du violon ; person artist ; - ; home ;
play the drums ; jouer de la batterie ; person artist ; - ; home ;
play ; jouer ; child pet ; - ; out ;
watch television ; regarder la télévision ; person ; - ; home ;
listen to the radio ; écouter la radio ; person ; - ; home ;
log in ; se connecter ; technical person ; - ; tech ; event
work hard ; travailler dur ; person learner ; - ; none ;
speak French ; parler français ; person ; - ; none ; state
be hungry ; avoir faim ; person child ; - ; none ; state
be thirsty ; avoir soif ; person child ; - ; none ; state
be sleepy ; avoir sommeil ; person infant ; - ; none ; state
be cold ; avoir froid ; person child ; - ; none ; state
be hot ; avoir chaud ; person ; - ; none ; state
be right ; avoir raison ; person ; - ; none ; state
be wrong ; avoir tort ; person ; - ; none ; state
be late ; être en retard ; person transport ; - ; none ; state
be on time ; être à l'heure ; person transport ; - ; none ; state
be on holiday ; être en vacances ; person ; - ; none ; state
be ashamed ; avoir honte ; person ; - ; none ; state
be lucky ; avoir de la chance ; person ; - ; none ; state
be homesick ; avoir le mal du pays ; person ; - ; none ; state
have a headache ; avoir mal à la tête ; person ; - ; none ; state
"""
