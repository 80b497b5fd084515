package coalesce

// The columns are explained at language. This file: English and the languages of western Europe.

var languages = []*language{
	english, german, french, spanish, portuguese, italian, catalan, dutch, danish, norwegian, swedish, finnish, icelandic,
	polish, czech, slovak, hungarian, croatian, slovene, romanian, estonian, latvian, lithuanian, greek, turkish,
	russian, ukrainian, bulgarian, kazakh, armenian, georgian,
	arabic, persian, urdu, hebrew, hindi, marathi, bengali, gujarati, punjabi, tamil, telugu, kannada, malayalam,
	chinese, japanese, korean, vietnamese, indonesian, thai, filipino,
	swahili, yoruba, igbo, hausa, amharic, somali, zulu, afrikaans,
}

var english = &language{
	tags: "en",
	before: "Acct acct Hon Rev Gen Col Capt Cpt Lt Maj Cpl Sgt Cmdr Gov Sen Rep Pres Supt Insp Messrs Mme Mlle Fr Mt Ft " +
		"viz Viz approx Approx resp incl excl ca c.f a.k.a f.k.a Re NB Profs Drs Sens Brig Amb Pvt Pfc Attn Shri Smt Adv ~Adm ~Sr ~Ald ~Atty ",
	number: "FIG VOL ART SEC Lat ~b ~c ~d ~r ~fl ~s ~ss ~cl no nos No Nos p pp P Pp para Para Figs figs Sec ~sec Secs Eq eq Eqs eqs Ch ch Chs Art art Arts Pt Vols vols Ref ref Refs refs Chap chap " +
		"Ex Tab Sect sect App Ser ~ser Op ~op Bk bk Rm Apt Ste Tel tel Ext ext v ver Ver " +
		"Jan Feb Mar Apr Jun Jul Aug Sep Sept Oct Nov Dec Mon Tue Tues Wed Thu Thur Thurs Fri ~Sun " +
		"dep arr pop Lem Def Defn Prop Bldg Fl Rte Sched Rs Pub Cor Ps Matt Rom Heb Isa Deut Lev Exod Prov Eccl Thess Eph Gal",
	list: "Etc O.K min ft oz lb lbs ~hr hrs mins secs mo mos yr yrs wk wks tbsp tsp",
	may: "Pty Proc Acad Sci Phys Chem Biol Lett Commun Soc Assoc Atl Cos Bros Dept dept est Est St Rd Sq Ln Ctr Intl Natl Govt govt Univ Inst Mfg Ent " +
		"misc Misc ed eds Ed Eds trans max avg sq Fed Civ Crim Evid Cir Dist Supp Educ Stat " +
		"inc",
	close: "Ill Ore Ala Ark Neb Nev Wyo Calif Mass Conn Penn Wash Tex Fla Mich Minn Wis Colo Ariz Okla Tenn Assn Esq Ave Blvd Hwy Pkwy M.D B.A M.A J.D LL.B LL.M Ed.D D.Phil",
	clock: "a.m p.m A.M P.M",
	starts: "I It He She We They You The This That These Those There Then And But So If When While My Your His Her " +
		"Our Their Its How What Where Why Who Whom Whose Which Is Are Am Was Were Do Does Did Can Could Would Will Should May Might Must " +
		"Has Have Had Please However Here For To In On At As After Before Now Next No Not Yes Let Also Since Because Although Though " +
		"Once Until With Without By From Of Or Nor Yet Still Just Only Even Some Many Most Each Every All Both Either Neither Any " +
		"Another Other Such Then Thus Therefore Moreover Instead Otherwise Finally First Second Later Meanwhile Perhaps Maybe " +
		"Today Tomorrow Yesterday Thanks Thank Sorry Okay OK Well Hello Hi Try See Click Use Check Make Take Go Turn Add Run Set Press Type Save Select Send Wait Read Write Start Close Enter Install Update Copy Delete Create Tap Keep Note Open Choose An A",
	said: "said says asked asks replied replies cried cries shouted whispered yelled exclaimed called answered wondered added laughed " +
		"screamed demanded inquired murmured muttered thought wrote writes continued begged sighed smiled",
	letters: "a an Plan Option Step Grade Vitamin vitamin Type type Class class Group group Appendix Section Part Team Exhibit Room Gate Terminal " +
		"Building Answer answer Question question Drive drive Hepatitis hepatitis Phase Table Column column Row Point point Vector Variable " +
		"variable Schedule Block Hall Zone Route Line Level Category Choice choice Language Region Item Case Figure Malcolm letter Example Chapter Lesson Rule Task Article Act Scene Book Volume Stage version step page chapter level part phase port",
}

var german = &language{
	tags: "de gsw lb nds",
	before: "Inh ~em ~habil z_Hd Fa frdl Frdl z_B Z_B d_h D_h u_a z_T i_d s_o s_u ~med ~mult ~phil ~rer ~nat ~jur Hr Hrn Fr Frl Dipl Ing Dipl.-Ing Mag St Sankt bzw Bzw vgl Vgl z.B Z.B d.h D.h u.a U.a i.d.R v.a z.T s.o s.u o.ä u.ä i.A " +
		"ggf Ggf evtl Evtl sog inkl exkl zzgl ca Ca ehem geb gest verh ~max ~mind röm kath ~ev östl westl nördl südl " +
		"~z ~Z d.i bspw Bspw insb insbes einschl einschließl entspr allg Allg ~bes betr Betr Chr ~gem lt Lt n.Chr v.Chr wg jew dt engl frz ~lat Univ.-Prof ~Abk ~beil möbl Reg ~Red",
	number: "IdNr USt-IdNr ~Mo ~Di ~Mi ~Do ~Sa ~So Anh Az Nr Nrn nr Abs Art Kap Bd Bde S Abb Abschn Anm Aufl Tab Ziff Pos Tel Fn Rn Rz Jan Jän Feb Febr Apr Jun Jul Aug Sept Okt Nov Dez",
	list:   "o_k o.k usw usf u.s.w u.v.m",
	may:    "v_Chr n_Chr Mio Mrd Std Min Sek Tsd Jh Jhd Jhdt Str ff ~f GmbH e.V a.D Abt Mwst Hrsg Hg Verf Stk Gebr Hbf ~Co ~Ges a.M d.J u.U",
	starts: "Der Die Das Den Dem Ein Eine Einen Einem Er Sie Es Wir Ich Ihr ~Du Man Dies Diese Dieser Dieses Diesen Im In Am An Auf Aus Bei Mit " +
		"Nach Von Vom Vor Zu Zum Zur Für Und Aber Oder Wenn Als ~Da Dann Danach Doch Auch Nun Jetzt Hier Dort So Wie Was Wer Wo Warum " +
		"Wann Welche Welcher Welches Ist Sind War Hat Haben Kann Können Soll Davon Dazu Zudem Somit Zunächst Zuerst Insgesamt Bitte Noch Ja Nein Nicht Kein Keine Mein Meine Dein Sein Seine Ihre Alle " +
		"Alles Jedoch Außerdem Daher Deshalb Dadurch Dabei Damit Darum Denn Weil Obwohl Während Seit Bis Über Unter Durch Ohne Gut Danke Heute Morgen Gestern Beide Viele Einige Manche Jeder Jede Jedes",
	said:    "sagte fragte rief meinte antwortete",
	letters: "Plan Teil Klasse Gruppe Vitamin Anhang Punkt Block Option Typ Abschnitt Kapitel Artikel Schritt Variante Aufgabe Beispiel Regel Frage Antwort",
	dated: "Januar Jänner Februar März April Mai Juni Juli August September Oktober November Dezember Quartal Jahrhundert Jahrhunderts Weltkrieg " +
		"Etage Stock Klasse Platz Liga Runde Kapitel Auflage Tag Geburtstag Jahrestag Mal Halbjahr Bundesliga Armee Division Bezirk " +
		"der die das dem den des am im zum zur vom ab bis seit beim ins jeder jede jedes jeden ein eine einen einem einer und sein seine seinen ihr ihre ihren Der Die Das Am Im Zum Vom Ab Bis Seit",
	small: true,
}

var french = &language{
	tags:   "fr",
	before: "Gal Cass ~égal p_ex ~M MM Mme Mmes Mlle Mlles ~Me Mgr Vve Dr Drs Pr St Ste p.ex P.ex c.-à-d c-à-d cf Cf env ~ex Ex ~av apr ~boul ~bd ~int",
	number: "appt Appt bât Bât n N no nos p pp lun ~mar ~mer jeu ven sam fig figs vol chap art éd t tél Tél réf janv févr fév avr juil sept oct nov déc al alin",
	list:   "hab",
	may:    "prof Prof av.J.-C ~ann ~coll suiv dép Éd P.-S p.m",
	close:  "J.-C S.A S.A.R.L Cie",
	starts: "Le La Les Un Une Des ~Du De Il Elle Ils Elles On Nous Vous Je Tu Ce Cet Cette Ces C’est C'est Ceci Cela Ça Mon Ton Son Ma Sa Ses Notre Votre Leur " +
		"Et Mais Ou Donc Or Car Si Quand Lorsque Comme Puis Ensuite Alors Ainsi Après Avant Dans En Sur Sous Pour Par Avec Sans Chez À Au Aux " +
		"Où Qui Que Quoi Quel Quelle Comment Pourquoi Combien Est Sont Oui Non Pas Ne Merci Voici Voilà Cependant Toutefois Enfin Depuis Pendant Plus Tout Tous Voir Beaucoup Certains ~L ~D ~J ~C ~S ~Qu ~N",
	said:    "demanda demande dit répondit cria s’écria",
	letters: "Chapitre Partie Acte Scène Article Section Étape Option option Plan plan Annexe Groupe groupe Classe Vitamine vitamine Type type Niveau niveau version étape chapitre Tome Règle Exemple Question",
}

var spanish = &language{
	tags: "es ast gl",
	before: "Pza EE p_ej P_ej Sr Sra Sres Sras Srta Srtas Dr Dra Drs Dres ~D Dª Dña Dn Ing Lic Lcdo Lcda Arq Mtro Mtra Prof Profa Excmo Excma Ilmo Ilma Rvdo Sto Sta Mons " +
		"Gral Cnel Tte Fr p.ej P.ej ej Ej ~p Av Avda Col C/ aprox Aprox Pdte Cra",
	number: "apdo figs máx mín s núm Núm núms n No nº pág págs Pág art Art arts ~cap Cap fig Fig vol Vol tel Tel tomo ed Ed " +
		"ene feb mar abr may jun jul ~ago sept oct nov dic Ene Feb Mar Abr Jun Jul Ago Sept Oct Nov Dic lun Lun mié ~vie ~sáb",
	list:  "incl",
	may:   "EE.UU EE_UU a.m p.m vs Depto Dpto dpto Esq izq dcha Hnos Ud Uds Vd Vds ~pp D.F D.C JJ.OO RR.HH",
	close: "S.A S.L a.C d.C a_C d_C Cía Ltda",
	starts: "El La Los Las Lo Un Una Unos Unas Él Ella Ellos Ellas Yo Tú Usted Nosotros Este Esta Esto Estos Estas Ese Esa Eso Aquel Mi Tu Su Sus Nuestro " +
		"Y Pero O Si Sí No Ni Cuando Mientras Como Donde Porque Aunque Después Luego Antes Entonces Ahora Hoy Ayer En De Del Por Para Con Sin Sobre Desde Hasta A Al " +
		"Qué Quién Cómo Cuándo Dónde Cuál Cuánto Es Son Está Están Hay Fue Era Gracias También Además Sin Según Tras Se Le Les Nos Me Te",
	said:    "preguntó dijo respondió gritó exclamó",
	letters: "Capítulo Parte Acto Escena Artículo Sección Paso Opción opción Plan plan Anexo Grupo grupo Clase Vitamina vitamina Tipo tipo Nivel nivel versión paso capítulo Regla Ejemplo Pregunta",
}

var portuguese = &language{
	tags: "pt",
	before: "p_ex P_ex Sr Sra Srs Sras Srta Dr Dra Drs Dras ~D ~Dom Prof Profa Profª Eng Engª Arq Exmo Exma Ilmo Sto Sta Pe Fr Gen Cel ~Ten Sgt p.ex P.ex ~ex Ex Av ~R " +
		"V.Exa V.Sa aprox ~Des ~Min Dep Sen Gov Mons",
	number: "figs máx mín núm n nº No ap pág págs p pp art Art arts ~cap Cap fig Fig vol Vol tel Tel séc jan fev mar abr mai jun jul ~ago nov dez inc",
	list:   "incl",
	may:    "Jr a.m p.m EUA Depto depto obs ~Est",
	close:  "S.A Ltda Cia a.C d.C Lda",
	starts: "O A Os As Um Uma Uns Umas Ele Ela Eles Elas Eu Tu Você Vocês Nós Isto Isso Este Esta Esse Essa Aquele Meu Minha Seu Sua Nosso " +
		"E Mas Ou Se Sim Não Nem Quando Enquanto Como Onde Porque Embora Depois Antes Então Agora Hoje Ontem Em No Na Nos Nas De Do ~Da Dos Das Por Para Com Sem Sobre Desde Até Ao À " +
		"Que Quem Qual Quanto É São Está Estão Há Foi Era Obrigado Obrigada Também Além Segundo Após Já Ainda",
	said:    "perguntou disse respondeu gritou",
	letters: "Capítulo Parte Ato Cena Artigo Seção Passo Opção opção Plano plano Anexo Grupo grupo Classe Vitamina vitamina Tipo tipo Nível nível versão passo capítulo Regra Exemplo Pergunta Etapa etapa",
}

var italian = &language{
	tags: "it",
	before: "sig sigg sig.ra sig.na Sig Sigg Sig.ra Sig.na Sig.ri dott Dott dott.ssa Dott.ssa prof Prof prof.ssa Prof.ssa ~ing Ing avv Avv ~arch ~Arch geom Geom ~rag ~Rag " +
		"~on ~On Mons mons ~S ad.es ~es Es p.es P.es cfr Cfr Gent Spett Egr Ill.mo Gent.ma c.d V.le P.zza p.zza c.so C.so n.b ~sen ~Sen Gen ~col ~dir " +
		"~dr Dr ~lat ingl ca",
	number: "figg par ~app ~co n N nn num pag pagg p pp art Art artt ~cap Cap fig Fig vol Vol tav Tav ~tab Tab tel Tel sez Sez lett gen feb mar apr ~mag giu lug ~ago ~set ott nov dic ~int",
	list:   "ecc incl ~min",
	may:    "segg ~ss ~all ~sec ~ag c.a",
	close:  "S.p.A S.r.l s.r.l s.p.a S.n.c a.C d.C",
	starts: "Il Lo La I Gli Le Un Uno Una L Egli Lui Lei Loro Noi Voi Io Tu Questo Questa Questi Queste Quello Quella Ciò Mio Tuo Suo Sua Nostro " +
		"E Ed Ma O Se Sì No Non Né Quando Mentre Come Dove Perché Dopo Poi Prima Allora Ora Oggi Ieri In Nel Nella Di Del Della ~Da Dal Dalla Per Con Senza Su Sul Sulla A Al Alla Ai " +
		"Che Chi Quale Quanto È Sono Era Ha Hanno C Grazie Anche Inoltre Infatti Secondo Così Però Va",
	said:    "chiese disse rispose gridò esclamò",
	letters: "Capitolo Parte Atto Scena Articolo Sezione Passo Opzione opzione Piano piano Allegato Gruppo gruppo Classe Vitamina vitamina Tipo tipo Livello livello versione passo capitolo Regola Esempio Domanda Fase fase",
}

var catalan = &language{
	tags:   "ca",
	before: "Sr Sra Srs Srta Dr Dra Prof St Sta Mn p.ex P.ex ~ex Av Il·lm Excm",
	number: "núm Núm pàg art fig vol tel ~cap gen feb abr jul ag oct nov des",
	may:    "",
	close:  "S.A S.L aC dC a.C d.C",
	starts: "El La Els Les Un Una Ell Ella Ells Jo Tu Vostè Nosaltres Aquest Aquesta Això I Però O Si Sí No Quan Com On Perquè Després Ara Avui En De Del Per Amb Sense Què Qui És Són Gràcies També",
}

var dutch = &language{
	tags: "nl fy",
	before: "dhr Dhr mevr Mevr mw Mw mr drs Drs ~ir ~ing ~ds prof dr Dr Jhr jhr St bijv Bijv d.w.z D.w.z m.b.t t.a.v i.v.m o.a O.a n.a.v t.o.v ca Ca evt resp Resp incl excl " +
		"z.g zgn vgl Vgl m.a.w t.w.v ~gem ~max ~min aanw zelfst",
	number: "~ma ~di ~wo ~do ~vr ~za ~zo nr nrs Nr blz Blz p pag art Art afb Afb fig hfst Hfst bijl ~tab tel Tel dl jan feb mrt apr jun jul aug sept okt nov dec",
	list:   "enz e.d mln mld",
	may:    "e.a e.v m.i ff vnw ~ww znw bnw",
	close:  "v.Chr n.Chr B.V N.V",
	starts: "De Het Een Hij Zij Ze Wij We Ik Jij Je U Jullie Dit Dat Deze Die En Maar Of Als Toen Dan Daarna Nu Hier Daar Er In Op Aan Bij Met Na Van Voor Naar Uit Om Te " +
		"Wat Wie Waar Wanneer Waarom Hoe Welke Is Zijn Was Heeft Hebben Kan Kunnen Ja Nee Niet Geen Mijn Uw Onze Hun Ook Zo Bedankt Dank Omdat Hoewel Volgens Sinds Vandaag",
	said:    "vroeg zei riep",
	letters: "Hoofdstuk Deel Artikel Sectie Stap Optie optie Plan plan Bijlage Groep groep Klasse Vitamine vitamine Type type Niveau niveau versie stap hoofdstuk Regel Voorbeeld Vraag",
}

var danish = &language{
	tags:   "da",
	before: "hr Hr fr frk Frk dr Dr prof Skt Sct bl.a Bl.a f.eks F.eks d.v.s dvs D.v.s ca Ca hhv inkl ekskl evt jf Jf pga p.gr.a mht vedr vha iflg Iflg fhv ~adv ~max ~min ~gl",
	number: "nr Nr s sd kap art fig tlf Tlf bd jan feb mar apr jun jul aug sept okt nov dec stk pkt",
	list:   "osv mv m.v m.m o.l o.lign m.fl mio mia kr",
	may:    "tdr co A/S ApS E.U st th tv s.u S.U kl",
	close:  "f.Kr e.Kr",
	starts: "Det Den De Der En Et Han Hun Vi Jeg ~Du I Man Dette Denne Disse Og Men Eller Hvis Når ~Da Så Derefter Nu Her I På Ved Med Efter Fra For Til Om Af Hvad Hvem Hvor Hvordan Hvorfor " +
		"Hvornår Er Var Har Kan Skal Vil Ja Nej Ikke Ingen Min Din Hans Hendes Vores Også Tak Mit",
	said:  "sagde spurgte råbte svarede",
	dated: "januar februar marts april maj juni juli august september oktober november december Januar Februar Marts April Maj Juni Juli August September Oktober November December Verdenskrig d Jul",
}

var norwegian = &language{
	tags:   "no nb nn",
	before: "hr Hr fr frk Dr dr prof St f.eks F.eks bl.a Bl.a d.v.s dvs ca Ca inkl ekskl evt jf Jf pga mht vedr iht ifm ~gl",
	number: "nr Nr s kap art fig tlf Tlf jan feb mar apr jun jul aug sept okt nov des pkt",
	list:   "osv m.m m.v o.l mill mrd kr",
	may:    "AS kl",
	close:  "f.Kr e.Kr",
	starts: "Det Den De Der En Ei Et Han Hun Vi Jeg ~Du Dere Man Dette Denne Disse Og Men Eller Hvis Når ~Da Så Deretter Nå Her På Ved Med Etter Fra For Til Om Av Hva Hvem Hvor Hvordan Hvorfor Er Var Har Kan Skal Vil Ja Nei Ikke Ingen Min Din Takk Også",
	dated:  "januar februar mars april mai juni juli august september oktober november desember Januar Februar Mars April Mai Juni Juli August September Oktober November Desember Verdenskrig",
}

var swedish = &language{
	tags:   "sv",
	before: "hr Hr fr Dr dr prof S:t t.ex T.ex bl.a Bl.a d.v.s dvs D.v.s s.k ca Ca inkl exkl ~ev jfr Jfr pga p.g.a m.a.o fr.o.m t.o.m i.o.m f.d resp Resp ~max ~min",
	number: "~p mån tis ons tors lör bil nr Nr s sid prop kap art fig tel Tel jan feb mar apr jun jul aug sept okt nov dec",
	list:   "osv o.s.v m.m m.fl o.d milj mkr kr",
	may:    "dyl kl st",
	close:  "f.Kr e.Kr",
	starts: "Det Den De Där En Ett Han Hon Vi Jag ~Du Ni Man Detta Denna Dessa Och Men Eller Om När Då Så Sedan Nu Här I På Vid Med Efter Från För Till Av Vad Vem Var Hur Varför Är Har Kan Ska Vill Ja Nej Inte Ingen Min Din Tack Också",
}

var finnish = &language{
	tags:   "fi",
	before: "hra Hra rva Rva nti ~tri Tri prof Prof esim Esim ts Ts ~ns ~ent ~n vrt Vrt huom Huom mr ~ks Ks",
	number: "mom tammik helmik maalisk huhtik toukok kesäk heinäk elok syysk lokak marrask jouluk nro Nro s kpl art kuv puh Puh klo Klo",
	list:   "jne ym yms milj mrd krs",
	may:    "eKr jKr Oy ko em synt ~os ao",
	starts: "Se Ne Hän He Me Minä Sinä Te Tämä Tuo Nämä Ja Mutta Tai Jos Kun Sitten Nyt Täällä Siellä Mitä Mikä Kuka Missä Miten Miksi Milloin On Oli Ovat Voi Kyllä Ei Kiitos Myös Minun Hänen",
	dated:  "tammikuuta helmikuuta maaliskuuta huhtikuuta toukokuuta kesäkuuta heinäkuuta elokuuta syyskuuta lokakuuta marraskuuta joulukuuta",
}

var icelandic = &language{
	tags:   "is fo",
	before: "t.d T.d þ.e hr Hr dr Dr sr sbr u.þ.b",
	number: "nr bls gr kl s",
	list:   "o.s.frv o.fl",
	may:    "m.a",
	starts: "Það Hann Hún Þeir Þær Þau Við Ég Þú Þetta Þessi Og En Eða Ef Þegar Þá Nú Hér Í Á Með Hvað Hver Hvar Hvernig Er Var Já Nei Ekki Takk",
	dated:  "janúar febrúar mars apríl maí júní júlí ágúst september október nóvember desember",
}

var afrikaans = &language{
	tags:   "af",
	before: "mnr Mnr mev Mev mej Mej dr Dr prof Prof ~ds bv Bv d.w.s m.b.t ca",
	number: "nr Nr bl art fig tel Tel",
	list:   "ens e.d.m",
	may:    "",
	starts: "Die Dit Hy Sy Ons Ek Jy U Hulle Hierdie Daardie En Maar Of As Toe Dan Nou Hier Daar In Op Met Na Van Vir Wat Wie Waar Wanneer Hoekom Hoe Is Was Het Kan Ja Nee Nie My Ook Dankie",
	clock:  "vm nm",
}
