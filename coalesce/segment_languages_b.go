package coalesce

// The columns are explained at language. This file: eastern Europe, Turkey, central Asia.

var polish = &language{
	tags: "pl",
	before: "n_med m_st Ul ~Al m_in dr prof mgr inż Inż hab ~ks Ks św Św np Np tzn Tzn tj Tj tzw m.in M.in ul ~al ~pl ~ok por Por zob Zob im ~gen płk kpt ppłk lek ~red ~doc " +
		"p.o ~ds ~ww ~ang łac niem ~ros ~dot ~por ~im ~os",
	number:  "~m dn nr Nr s str Str art Art ust pkt poz maks ~min zał Zał sygn rys Rys ~tab tel Tel rozdz t godz ~sty lut kwi cze ~lip ~sie wrz paź ~lis gru",
	list:    "itd itp zł tys mln mld gr",
	may:     "woj pow m.st sp Sp ~z cd",
	close:   "~r ~w S.A o.o n.e p.n.e",
	starts:  "To Ten Ta Te On Ona Ono Oni My Ja Ty Wy Pan Pani I A Ale Lub Jeśli Gdy Kiedy Potem Teraz Tu Tam W We Na Z Ze Do Od Po Przed Przy Dla O Co Kto Gdzie Jak Dlaczego Czy Jest Są Był Była Tak Nie Dziękuję Też Więc Jednak Dlatego Weź Proszę Jego Jej Ich Mu Im Mnie Nas Was Mój Nasz Twój Wtedy Następnie Później",
	dated:   "stycznia lutego marca kwietnia maja czerwca lipca sierpnia września października listopada grudnia",
	letters: "Rozdział Część Akt Artykuł Sekcja Krok Opcja opcja Plan plan Załącznik Grupa grupa Klasa Witamina witamina Typ typ Poziom poziom wersja krok rozdział Przykład Pytanie",
}

var czech = &language{
	tags:   "cs",
	before: "Dr dr Mgr Ing Bc prof Prof ~doc ~Doc MUDr JUDr RNDr PhDr sv Sv např Např tzv tzn tj Tj mj resp Resp ul nám cca vč srov Srov ~p pí ~gen plk kpt npor",
	number: "č Č čís str s odst obr ~tab tel Tel kap roč",
	list:   "atd apod hod Kč tis mil mld ~min",
	may:    "aj př stol",
	close:  "n.l s.r.o a.s",
	starts: "To Ten Ta Tento Tato On Ona Oni My Já Ty Vy A Ale Nebo Pokud Když Pak Potom Teď Nyní Zde Tam V Ve Na Z Ze Do Od Po Před Při Pro O Co Kdo Kde Jak Proč Kdy Je Jsou Byl Byla Ano Ne Děkuji Také Proto",
	dated:  "ledna února března dubna května června července srpna září října listopadu prosince století",
}

var slovak = &language{
	tags:   "sk",
	before: "Dr dr Mgr Ing Bc prof Prof ~doc ~Doc MUDr JUDr sv Sv napr Napr tzv tzn tj t.j Tj resp Resp ul nám cca porov ~p ~gen plk",
	number: "č Č čís str s ods obr ~tab tel Tel kap",
	list:   "atď a.i apod hod tis mil mld",
	may:    "stor",
	close:  "n.l s.r.o a.s",
	starts: "To Ten Tá Tento Táto On Ona Oni My Ja Ty Vy A Ale Alebo Ak Keď Potom Teraz Tu Tam V Vo Na Z Zo Do Od Po Pred Pri Pre O Čo Kto Kde Ako Prečo Kedy Je Sú Bol Bola Áno Nie Ďakujem Tiež Preto",
	dated:  "januára februára marca apríla mája júna júla augusta septembra októbra novembra decembra storočia",
}

var hungarian = &language{
	tags:   "hu",
	before: "dr Dr prof Prof ifj ~id özv Szt pl Pl ún Ún kb Kb vö Vö ~Ill ld Ld tkp ~pl ~ill",
	number: "sz o ~old fej tel Tel ker jan febr márc ápr máj jún júl aug szept okt nov dec",
	list:   "stb Ft",
	may:    "ui i.e i.sz ~M ~u út",
	close:  "Kft Rt Zrt Nyrt Bt",
	starts: "Az A Egy Ez Ő Ők Mi Én Te Ti Ön És De Vagy Ha Amikor Mikor Aztán Majd Most Itt Ott Mit Ki Hol Hogyan Miért Van Volt Igen Nem Köszönöm Is Kérem",
	dated:  "január február március április május június július augusztus szeptember október november december század kerület",
	years:  true,
}

var croatian = &language{
	tags:   "hr sr bs sh",
	before: "~г гђа гђица др мр проф инж св нпр Нпр тј Тј тзв ул dr Dr mr prof Prof ~mag ~g gđa gđica gosp sv Sv npr Npr tj Tj tzv ul inž akad ~red ~doc ak Dr_sc dr_sc",
	number: "бр Бр стр чл br Br str čl sl ~tab tel Tel st",
	list:   "itd i.t.d itsl итд tis mil mlrd kn ~din",
	may:    "~i ~god ~pr Kr",
	close:  "d.o.o d.d n.e p.n.e",
	starts: "To Taj Ta On Ona Oni Mi Ja Ti Vi I A Ali Ili Ako Kad Kada Zatim Sada Ovdje Tamo U Na S Sa Iz Do Od Po Prije Kod Za O Što Šta Tko Ko Gdje Gde Kako Zašto Je Su Bio Bila ~Da Ne Hvala Također",
	dated:  "siječnja veljače ožujka travnja svibnja lipnja srpnja kolovoza rujna listopada studenoga studenog prosinca januara februara marta aprila maja juna jula avgusta septembra oktobra novembra decembra јануара фебруара марта априла маја јуна јула августа септембра октобра новембра децембра века stoljeća veka",
}

var slovene = &language{
	tags:   "sl",
	before: "dr Dr ~mag prof Prof ~g ga gdč sv Sv npr Npr tj t.i oz Oz inž ul ~doc",
	number: "št Št str čl sl tel Tel",
	list:   "itd ipd idr",
	may:    "d.o.o d.d ~pr Kr n.št tis mio mrd",
	starts: "To Ta Tisti On Ona Oni Mi Jaz Ti Vi In A Ampak Ali Če Ko Potem Zdaj Tu Tam V Na S Z Iz Do Od Po Pred Pri Za O Kaj Kdo Kje Kako Zakaj Je So Bil Bila ~Da Ne Hvala Tudi",
	dated:  "januarja februarja marca aprila maja junija julija avgusta septembra oktobra novembra decembra stoletja",
}

var romanian = &language{
	tags:   "ro mo",
	before: "Dl dl D-na Dna dna dlui dvs Dvs Dr dr Prof prof Sf ~ing Ing ~av ~ex Ex de.ex cca str Str bd Bd ~gen conf Conf cf",
	number: "bl sc et ap nr Nr pag p art alin fig ~cap vol tel Tel ian feb mar apr iun iul aug sept oct noiem nov dec ~sec",
	list:   "ș.a ş.a mil mld",
	may:    "SRL",
	close:  "S.A S.R.L d.Hr î.Hr",
	starts: "El Ea Ei Ele Eu Tu Noi Voi Acesta Aceasta Acest Această Un O Și Dar Sau Dacă Când Apoi Acum Aici Acolo În La De Din Cu Pentru Pe Ce Cine Unde Cum De Este Sunt A Au Era ~Da Nu Mulțumesc",
}

var estonian = &language{
	tags:   "et",
	before: "hr ~pr dr Dr prof nt Nt s.o st St vt Vt ca Ca ~u nn",
	number: "nr Nr lk ptk tel Tel",
	list:   "jne jt jm",
	may:    "vms OÜ AS eKr pKr",
	starts: "See Ta Tema Nad Me Mina Sina Te Ja Aga Või Kui Siis Nüüd Siin Seal Mis Kes Kus Kuidas Miks On Oli Jah Ei Aitäh Ka",
	dated:  "jaanuar jaanuaril veebruar veebruaril märts märtsil aprill aprillil mai mail juuni juunil juuli juulil august augustil september septembril oktoober oktoobril november novembril detsember detsembril sajand sajandi",
}

var latvian = &language{
	tags:   "lv",
	before: "Dr dr prof Prof piem Piem t.i T.i t.s sv k-gs kdze",
	number: "nr Nr lpp tel Tel p",
	list:   "utt u.tml",
	may:    "u.c ~g plkst tūkst milj",
	starts: "Tas Tā Viņš Viņa Viņi Mēs Es Tu Jūs Un Bet Vai Ja Kad Tad Tagad Šeit Tur Kas Kur Kā Kāpēc Ir Bija Jā Nē Paldies Arī",
	dated:  "janvāris janvārī janvāra februārī februāra martā marta aprīlī aprīļa maijā maija jūnijā jūnija jūlijā jūlija augustā augusta septembrī septembra oktobrī oktobra novembrī novembra decembrī decembra gadsimtā gadsimta gada gadā",
}

var lithuanian = &language{
	tags:   "lt",
	before: "~p dr Dr prof Prof pvz Pvz t.y T.y vad šv Šv ~doc a.a",
	number: "~d nr Nr psl tel Tel str",
	list:   "t.t t_t",
	may:    "pan kt val tūkst mln mlrd",
	starts: "Tai Tas Ta Jis Ji Jie Mes Aš Tu Jūs Ir Bet Ar Jei Kai Tada Dabar Čia Ten Kas Kur Kaip Kodėl Yra Buvo Taip Ne Ačiū",
	small:  false,
}

var greek = &language{
	tags:    "el",
	before:  "συμπ κ Κ κα Κα κος κκ Δρ δρ Καθ καθ Αγ αγ π.χ Π.χ δηλ Δηλ βλ Βλ περ λεωφ Λεωφ οδ Άγ Σεβ στρ ταγμ υπ πλ Πλ",
	number:  "αρ Αρ σελ Σελ σ άρθ εικ Εικ κεφ Κεφ τόμ τηλ Τηλ παρ σκ Δευτ Τετ Πέμ Σάβ Φεβρ Ιαν Φεβ Μαρ Απρ Μαΐ Ιουν Ιουλ Αυγ Σεπ Σεπτ Οκτ Νοε Δεκ",
	list:    "κ.λπ κλπ κ.ά κ.τ.λ κτλ κ.ο.κ",
	may:     "κ.α χλμ εκατ δισ Η.Π.Α",
	close:   "π.Χ μ.Χ Α.Ε Ε.Π.Ε",
	clock:   "π.μ μ.μ",
	starts:  "Ο Η Το Οι Τα Τον Την Του Της Των Ένας Μια Μία Ένα Αυτός Αυτή Αυτό Εγώ Εσύ Εμείς Και Αλλά Ή Αν Όταν Μετά Τώρα Εδώ Εκεί Σε Στο Στη Στην Στον Στις Στα Στους Από Με Για Προς Τι Ποιος Ποια Πού Πώς Γιατί Πότε Είναι Ήταν Έχει Ναι Όχι Δεν Ευχαριστώ Επίσης Θα Να Ας",
	letters: "Κεφάλαιο Μέρος Άρθρο Ενότητα Βήμα Επιλογή επιλογή Σχέδιο Παράρτημα Ομάδα ομάδα Τάξη Βιταμίνη βιταμίνη Τύπος τύπος Επίπεδο έκδοση βήμα κεφάλαιο Παράδειγμα Ερώτηση",
}

var turkish = &language{
	tags:   "tr az",
	before: "Dr_med Yarg küç Dr Prof Doç Yrd Av Sn sn ~Hz Müh Op Uzm Alb Yzb Gen Org Arş örn Örn bkz Bkz yak yakl ör Ör məs Məs Mah Cad Sok Apt Blv krş Krş Öğr Gör ~St",
	number: "~sa dk ~m Oca Şub Mar Nis May Haz Tem Ağu Eyl Eki Kas Ara No no s sf sh Md md c C Şek şek Tab ~tab Tel tel bl Bl səh Səh",
	may:    "vb vs vd Ltd T.C M.Ö M.S İ.Ö yy",
	close:  "A.Ş Şti",
	starts: "Bu O Şu Onlar Biz ~Ben ~Sen Siz Bir Ve Ama Fakat Ancak Veya Eğer Sonra Şimdi Burada Orada Ne Kim Nerede Nasıl Neden Niçin Hangi Evet Hayır Teşekkürler Lütfen Ayrıca Daha Her Çünkü Böylece Onun Benim Bunun Bunu Onu",
	said:   "dedi diye sordu",
	dated: "Ocak Şubat Mart Nisan Mayıs Haziran Temmuz Ağustos Eylül Ekim Kasım Aralık yüzyıl yüzyılda yüzyılın Yüzyıl Dünya Cumhurbaşkanı Bölüm Madde Dönem Sınıf Kat Ordu Yıl Yılı Maddesi Selim Mehmed Mehmet Murad Abdülhamid Abdülhamit Mahmud Mahmut Ahmed Ahmet Mustafa Bayezid Osman Süleyman Katip " +
		"Lui Louis Caddesi Sokak Cad Sok Mah Lig",
	letters: "Bölüm Kısım Madde Adım Seçenek seçenek Plan plan Ek Grup grup Sınıf Vitamin vitamin Tip tip Seviye seviye sürüm adım bölüm Örnek Soru",
}

var russian = &language{
	tags: "ru be", words: "я",
	before: "вкл искл пост распор ~с вул Вул т_ч т.ч т_е т_к им ул Ул пл Пл пр просп пер д кв корп проф Проф акад доц гр гос т.е Т.е т.н тн напр Напр ок пос дер ст.л св Св ср Ср см См пгт " +
		"тов ген полк кап лейт инж зам Зам н бульв наб ш нач англ лат нем фр рус греч итал исп прим прибл",
	number: "макс прил Прил стр Стр рис Рис табл гл Гл п пп ст Ст т тт № вып изд тел Тел ч янв февр фев мар апр авг сент сен окт нояб ноя дек пн вт чт пт",
	list:   "кг т_д т_п т.д т.п руб коп тыс млн млрд трлн долл дол чел шт ~мин сек экз",
	may:    "и_пр и_др др проч час км куб.м кв.м куб обл р-н о-в ж.д мес США ред у.е",
	close:  "н_э г гг в вв н.э до.н.э э",
	starts: "Я Ты Он Она Оно Мы Вы Они Это Этот Эта Эти Тот Та Те То И А Но Или Если Когда Пока Затем Потом После До Теперь Сейчас Здесь Там Тут В Во На По С Со К Ко У О Об От Из За Для При Без Под Над " +
		"Что Кто Где Как Почему Зачем Сколько Какой Какая Какие Есть Был Была Было Были Да Нет Не Ни Спасибо Также Однако Поэтому Так Его Её Ее Их Мой Наш Ваш Все Всё Просьба Кроме Дом Нужно Ему Ей Им Нам Вам Мне Меня Тебя Нас Вас Моя Моё Наша Ваш Ваша Свой Тогда Именно Сам Сама",
	said:    "спросил спросила сказал сказала",
	small:   true,
	letters: "Глава Часть Акт Статья Раздел Шаг Вариант вариант План план Приложение Группа группа Класс Витамин витамин Тип тип Уровень уровень версия шаг глава Пример Вопрос",
}

var ukrainian = &language{
	tags: "uk", words: "я є",
	before:  "вкл пост розп т_ч т.ч ~с т_зв ~п ім вул Вул пл пров просп буд кв проф Проф акад доц т.зв напр Напр пор Пор див Див св Св англ лат рос ред прибл",
	number:  "макс мін дод Дод стор рис Рис табл розд ст Ст т № вип тел Тел ч січ лют бер квіт трав черв лип серп вер жовт лист груд",
	list:    "т_д т_п т.д т.п грн коп тис млн млрд шт ~хв ~год",
	may:     "та_ін ін н чел обл",
	close:   "н_е р рр н.е до.н.е",
	starts:  "Я Ти Він Вона Воно Ми Ви Вони Це Цей Ця Ці Той Та Те І Й А Але Або Якщо Коли Поки Потім Після До Тепер Зараз Тут Там В У На По З Із До Від За Для При Без Що Хто Де Як Чому Скільки Який Є Був Була Було Були Так Ні Не Дякую Також Однак Тому Його Її Їх Йому Їй Їм Нам Вам Мені Мій Наш Ваш Свій Тоді",
	small:   true,
	letters: "Розділ Частина Акт Стаття Крок Варіант варіант План план Додаток Група група Клас Вітамін вітамін Тип тип Рівень рівень версія крок розділ Приклад Питання",
}

var bulgarian = &language{
	tags:   "bg mk",
	before: "т_е г-н г-жа гр Гр ул бул пл Пл проф Проф акад доц д-р инж св Св напр Напр т.е т.нар вж Вж срв им ген",
	number: "стр с рис фиг табл гл чл ал т № тел Тел ян февр апр авг септ окт ноем дек",
	list:   "лв хил млн млрд",
	may:    "т.н др и пр ст т.г пр.Хр сл.Хр",
	close:  "г гг в",
	starts: "Той Тя То Те Ние Аз Ти Вие Това Този Тази Тези И А Но Или Ако Когато След Сега Тук Там В Във На По С Със За От До Какво Кой Къде Как Защо Има Е Са Беше Да Не Благодаря",
	small:  true,
}

var kazakh = &language{
	tags:   "kk ky mn tt uz tg",
	before: "проф акад мыс Мыс қар Қар ред",
	number: "бет б сур № тел ж",
	may:    "т.б т г ғ ғғ млн млрд мың тг б.з.б б.з.д б.з",
	starts: "Бұл Ол Олар Біз Мен Сен Сіз Осы Сол Және Бірақ Егер Кейін Енді Не Кім Қайда Қалай Неге Бар Иә Жоқ Рахмет",
	small:  true,
}

var armenian = &language{tags: "hy", before: "Պրն պրն Տկն Պրոֆ պր տկն օր Օր դոկտ պրոֆ փող", number: "էջ նկ գլ հատ", may: "և այլն"}

var georgian = &language{tags: "ka", before: "იხ ბ-ნი ქ-ნი პროფ დოქტ მაგ ე.ი ე.წ ქ", number: "გვ № სურ ტ", list: "ა.შ", may: " და სხვ ძვ"}
