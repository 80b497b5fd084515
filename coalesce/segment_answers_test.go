package coalesce

// segAnswers are as segStreams: what language models stream, and what was once cut wrongly or held, by the rule it is about.
var segAnswers = []struct{ lang, text string }{
	// Formulas of several lines are one unit, until they close or a blank line ends them.
	{"en", "We have:\n|$$\nx = 3. \ny = 4.\n$$\n|So that's it."},
	{"en", "Solve it:\n\n|\\[\n\\begin{aligned}\na &= b. C \\\\\nc &= d.\n\\end{aligned}\n\\]\n\n|Done. |Next."},
	{"en", "1. Compute:\n   |$$ a = b. C\n   = d. E $$\n|2. Done."},
	{"en", "\\begin{equation}\n\\begin{cases} a. B \\\\\nC. D\n\\end{cases}\n\\end{equation}\n|Yes. |No."},
	{"en", "$$\na = b. C\n\n|Never closed. |On it goes."},
	{"en", "- $$: cheap. |It is fine.\n|- $$$: dear. |It is not."},
	// JSON of several lines, comments.
	{"en", "It sent\n|{\"name\": \"Ann. Lee\",\n |\"note\": \"Hi. There.\"}\n|Good. |Bye."},
	{"en", "[\n  |{\"a\": \"b. C\"},\n  |\"d. E\"\n|]\n|\"Yes.\" |\"No.\""},
	{"en", "<!-- One. Two. -->\n|Three <!-- a. B --> four. |Five."},
	// Items called by numbers of several levels, Roman numerals, letters with numbers.
	{"en", "1.1. First item\n|1.2. Second item. |More.\n|2.1.3. Third item"},
	{"en", "I. Introduction\n|II. Methods\n|III. Results. |Good.\n|IV) Discussion"},
	{"en", "Q1. What is it?\n|A1. It's a test. |Really.\n|**Q2.** Why?\n|**1.1.** Deeper."},
	// References behind the white space.
	{"en", "Text. ([source](https://a.b/c.d)) |More. ([one](https://a.b), [two](https://c.d))\n|End. ([Click.](u)) |([Ok](u) is it.)"},
	{"en", "Text.[[1]](https://a.b) |More.[2](https://c.d) |Then. [2, 3] |End."},
	{"en", "See the picture. |![Alt. Text](x.png)\n|Good! |[Click](u) it."},
	{"en", "Thanks! :) |You're welcome. ;-) |Love it! <3 |Me too. :P |Note: <3 items. |Bye! :("},
	// Pictures at the beginning.
	{"en", "✅ Passed. |❌ Failed. |⚠️ Be careful. |ℹ️ Info. |It works! 🎉 |Great. 👍\n|Next."},
	{"en", "Open it. |👉 Click here. |💡 Tip: wait. |🚀 Go! 🎉\n|Done. 🎉 |Yes."},
	// What begins small and is a name, or with a full stop.
	{"en", "It runs on iOS. |iPhone users agree. |eBay too. |Then, e.g. iPads. |macOS 14 works. |It is 5 p.m. eBay time."},
	{"en", "We target .NET. |.NET is fine. |Use the .NET CLI, then .env files. |He paused. |...Then he left. |…and came back."},
	{"nl", "Het is laat. |'t Is goed. |’s Avonds niet. |Hij zei 'ja'. |'k Weet het."},
	{"ko", "Python 3.12를 쓰세요. |pip install numpy를 실행하세요. |끝!"},
	{"he", "פתחו את הקובץ. |npm install יעזור. |טוב! |git push."},
	{"ja", "これはテストです. |npmを使う. |終わり."},
	// Amounts end a sentence before any word but the name of a currency.
	{"en", "Bake for 30 min. |Remove from oven. |Chill 2 hrs. |Serve with 2 oz. rum. |Use 3 tbsp. |Mix. |It is 6 ft. 2 in. tall."},
	{"ru", "Стоит 5 руб. |Дорого! |Это 3 млн. |Много! |Осталось 10 мин. |Жду. |Цена 5 тыс. USD или 3 млн. руб. |Да."},
	{"uk", "Коштує 5 грн. |Дорого! |Це 3 млн. |Багато!"},
	{"bg", "Струва 5 лв. |Скъпо! |Живее в гр. София."},
	{"sv", "Det kostar 10 kr. |Dyrt! |Han fick 5 milj. kr. |Bra. |Den fick 3 milj. EUR. |Jaha."},
	{"da", "Det koster 5 kr. |Billigt! |Mødet er den 12. |Kom til tiden. |Den 3. Juni er lukket."},
	{"nb", "Møtet er den 12. |Kom! |Det koster 3 mill. |Dyrt!"},
	{"cs", "Má 5 tis. |To je moc. |Cena je 3 mil. Kč. |Stojí 2 mil. EUR. |Draho!"},
	{"pl", "To 3 mln. |Dużo. |Ma 5 tys. zł. |Mało."},
	{"sr", "Košta 5 din. |Skupo! |Dr. sc. Horvat."},
	{"ro", "Costă 5 lei. |Are 3 mil. lei. |Bine."},
	{"it", "Dura 10 min. |Bene."},
	{"hu", "Ma 2026. november 22. |Szép nap. |A 3. emelet. |Az 5. oldal."},
	{"ar", "الساعة 3 م. |والساعة 8:30 ص. |تعال! |ولد عام 2019 م. في القاهرة. |مع د. أحمد. |نعم."},
	// Abbreviations.
	{"en", "Roe v. Wade was decided in 1973. |See U.S. v. Jones and Acme Corp. v. The State. |The velocity is v. |Then it falls."},
	{"en", "See Fed. R. Civ. P. 12. |The 9th Cir. agreed. |See 1 Cor. 13:4, Ps. 23 and Matt. 5:3. |I saw Matt. |He left."},
	{"en", "I saw Profs. Lee and Kim, Drs. Ray and Day, and Brig. Gen. Lee. |His B.Tech. was from IIT. |It's on X.com. |Nobody reads it."},
	{"de", "Er lebte 100 v. Chr. in Rom. |Er wohnt in der Goethestr. 5. |Die Goethestr. |Sie ist lang. |Beide sind bei der Bosch GmbH. |Beide sind nett."},
	{"fr", "Mort le 3 fév. 2020. |Voir le chap. 3 et suiv. |Voir aussi l'annexe."},
	{"es", "Nació en el s. XX. |Vive en Col. Centro. |Es de Ud. |Yo no."},
	{"it", "L'art. 5 del D.Lgs. 196/2003 dice no. |Va bene."},
	{"sv", "Kl. 8 börjar det. |Kap. 3 är bra. |Kl. |Dyl."},
	{"vi", "PGS.TS. Lê và GS.TS. Trần đến. |Họ nói."},
	{"th", "นพ. สมศักดิ์ มาแล้ว"},
	{"en", "By Lem. 2 and Prop. 4, yes. |Take Rte. 5 to Bldg. 4. |Model No. XJ-5 and No. A4. |No. |PDF is fine. |Attn. Mr. Lee. |It is Rs. 500."},
	{"en", "Monday, Jan. 5\n|9:00 a.m. – Meeting\n|Lunch with Dr. – No. |Yes."},
	{"es", "Sí, a las 5 p.m. |¡Perfecto! |Habló el Sr. ¿quién? |No sé... ¿y tú? |Pese a EE.UU. |¿Viene?"},
	{"ru", "Умер в 1950 г. |Ему было 70 лет. |Это я. |Потом ушёл. |Прим. 3 дня, т. е. – Она?"},
	{"uk", "Помер у 2020 р. |Йому було 70. |Це я. |Тоді пішов."},
	{"de", "Siehe im Kapitel 3. |Herr Maier kam. |Das 3. Kapitel. |Am 5. Tag."},
	// A turn that a dash begins, and what is told of it.
	{"sv", "– Kommer du? sa han.\n|– Ja! |Kommer du? frågade hon.\n|Kommer du? |eller inte."},
	{"fi", "– Tuletko? hän kysyi. |– Kyllä. |– Hyvä."},
	{"en", "\"But I—\" |She stopped. |\"No—\" Ada said. |“Wait—” |He ran. |He said—\"Go.\" |\"Well...\" Ada said. |\"Well...\" |She left. |True.† |False.‡ |Ok."},
	{"ja", "「でも…」|「何？」|「……うん」『え…』|「そう。」"},
	{"ur", "’’کیا آپ آئیں گے؟‘‘ |اس نے پوچھا۔ |’’ہاں۔‘‘ |وہ گئے۔"},
}
