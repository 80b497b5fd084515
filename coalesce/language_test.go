package coalesce

import (
	"os"
	"slices"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/aaep-go/aaep"
)

// segCases are texts by rule, with their sentences divided by |.
var segCases = []struct{ lang, text string }{
	// Titles and other abbreviations that stand before something.
	{"en", "Ask Mrs. Obi or Sgt. Ray. |Rev. Ojo and Hon. Bell came, too. |Gov. Lee did not."},
	{"en", "Some fruit, i.e. Apples. |Compare it, cf. Smith 2020. |It is cats vs. Dogs."},
	{"en", "He lives on St. Mary's Street. |It is near Mt. Kenya."},
	// Abbreviations that may end a sentence.
	{"en", "She works for Acme Corp. and lives in Washington, D.C. |She likes it."},
	{"en", "The firm is Acme Ltd. |It was founded by John Doe Jr. |He is retired."},
	{"en", "The U.K. Parliament met. |It moved to the U.K. |Then it rained."},
	{"en", "I met Adams et al. |They were late."},
	{"en", "We leave at 6 a.m. |Bring water. |The train at 7 p.m. Monday is full. |Lunch is at 1 p.m. GMT."},
	{"en", "The meeting in the hall ends at 5 p.m. |Ada will lock up."},
	{"en", "She has a Ph.D. in physics. |He has an M.B.A. |They met there."},
	// Initials and letters that are names.
	{"en", "C. S. Lewis met J.R.R. Tolkien. |George W. Bush spoke. |Malcolm X. |The end."},
	{"en", "Choose Plan B. |Nobody likes option C. |She and I. |Then Maria I. Costa left."},
	{"en", "So it is him and I. |Was it late?"},
	// Numbers.
	{"en", "Add 2.5 kg of rice and 1,000.75 of flour. |The ratio is 3:1. |It grew by .5 points."},
	{"en", "It happened in 1999. |The next was in 2004. |We came 3rd."},
	{"en", "Turn to p. 12 and pp. 20-25. |See No. 7, Ch. 3, Vol. II and Fig. B. |No. |I said no."},
	{"en", "See Eq. (4) and Tab. 2. |It is on Nov. 3. |It was cold in Dec. |We stayed in."},
	{"en", "Version 2. |Then version 3."},
	{"en", "Install Node.js v18.2.1. |Use fmt.Println and os.Args[1]. |Run ./a.out or ../b.sh. |Ok."},
	{"en", "Open www.example.com/a?b=1.2. |Mail me at a.b@example.org. |Ping 10.0.0.1. |Done."},
	{"en", "Look in C:\\Temp\\new.d\\file.txt. |It is there. |Or in ~/.config/app.toml."},
	// Marks.
	{"en", "Really?! |Yes!!! |Are you sure??? |I am…"},
	{"en", "So... what now? |He said… nothing. |Well... |Then he left."},
	{"en", "The word [...] was left out. |She wrote \"[...]\" there. |Ok (?) now."},
	{"en", "I use Yahoo! Mail. |I use Yahoo! |It works."},
	{"en", "i think so. |it works for me now. |ok."},
	// Quotations and brackets.
	{"en", "\"Stop!\" he cried. |\"Stop!\" Ada said. |\"Stop!\" |Ada ran."},
	{"en", "“Is it on?” Ada asked. |“It is.” |She left. |‘Go.’ |He went."},
	{"en", "He asked, \"Why?\" |She laughed. |(He did not.) |[Nor did I.] |“(Yes.)” |Ok."},
	{"en", "The plan (see below!) failed. |Use it (e.g. here). |Good."},
	// Markdown.
	{"en", "# One. Title\n\n|Text here. |More.\n|## 2. Steps\n|- [ ] Buy milk. |Then eggs.\n|- [x] Rest\n|* a\n|+ b"},
	{"en", "1. One\n   |1. Inner\n   |2. Inner two. |Really.\n|10) Ten\n|(a) First\n|(iv) Fourth\n|B. Second"},
	{"en", "> Quoted text. |More of it.\n|>\n> And more.\n\n|Done."},
	{"en", "Look:\n\n|| A. B | C |\n||---|---|\n|| 1. x | 2. Y |\n\n|Good."},
	{"en", "Run:\n|```go\nfmt.Println(\"Hi. There!\")\n\n// Done. Next.\n```\n|That is all. |Yes."},
	{"en", "~~~\na. B\n```\nc. D\n~~~\n|Ok.\n    |```\n    x. Y\n    ```\n|End."},
	{"en", "Set `a.b. C` to ``x ` y. Z``. |If `x`. |Then `y`! |Use `make`. |Ok."},
	{"en", "**Warning:** do not. |__Really.__ |***No!*** |_Then_ go. |~~Old.~~ |New."},
	{"en", "See [the docs. Part two](https://a.b/c. d). |Or ![fig. 2](x.png). |[Click here.](u) |Or <https://a.b/c?d=1>. |Ok."},
	{"en", "It helps.[1] |It does.[^note] |So it is.[2][3] |They say so.【4†source】 |It is true.¹ |The end. [5] |Ok."},
	{"en", "Let $x.Y$ be so. |Then \\(a. B\\) holds. |It costs $5. |That is $10. |So $y = 2.$ |$$a. B$$. |Good."},
	{"en", "It sent {\"a\": \"B. C\", \"d\": [1. , 2]} back. |A set {x. |It never closed."},
	{"en", "Press <kbd>Ctrl. X</kbd>. |<b>Now.</b> |It is<br>done.<br/>|Yes.</p>|No."},
	{"en", "Steps: 1) go, 2) stop. |Done.\n|1) Go now |2) Stop"},
	{"en", "The code `unclosed. |It goes on. |Fine\n|Next."},
	{"en", "Use <T> and a < b. |Then c > d."},
	// Lines.
	{"en", "This was wrapped in the middle of\na sentence. |The next was\n|Not."},
	{"en", "- a list item that was wrapped in\n  the middle\n|- another\n|no item"},
	{"en", "Name: Ada\n|Role: Dr. of physics\n|Next?"},
	{"en", "It is ready.|Please look.|It works!|Then use strings.Builder.Or not.|Thanks."},
	// Emoji.
	{"en", "Done! 🎉 |Next. 👍🏽 |Go. |✅Ok."},
	// German.
	{"de", "Am 1. Mai und am 24. Dezember ist zu. |Das 3. Quartal war gut. |Er wurde 3. |Dann kam Max."},
	{"de", "Ludwig XIV. König von Frankreich. |Das gilt d. h. immer, u. a. Montags. |Vgl. Kap. 3 bzw. Abs. 2. |Ok."},
	{"de", "Die Nr. 5 lebt. |Frau Dr. med. Ada Lang kommt ca. 10 Min. später. |Er aß Brot, Käse usw. |Dann ging er."},
	{"de", "Er rief: „Halt!“ |Dann lief er. |»Wirklich?«, fragte sie. |Am 3. 5. 2026 war es."},
	// French, Spanish, Portuguese, Italian, Catalan.
	{"fr", "Mme Durand et M. Le Goff sont là. |Voir p. 12. |« Vraiment ? » demanda-t-il. |Oui !"},
	{"fr", "Il est né av. J.-C. et mort en 12. |Prenez du pain, du lait, etc. |Ensuite, partez."},
	{"es", "¡Hola! |¿Viene el Dr. Ruiz? |Vive en la Av. Central, núm. 5. |En EE. UU. hay más. |¿Sí?"},
	{"es", "Traiga p. ej. Agua. |Compre pan, etc. |Luego venga."},
	{"pt", "O Sr. Costa e a Dra. Lima vêm. |Veja a pág. 3, p. ex. Hoje. |Pão, leite, etc. |Depois venha."},
	{"it", "Il sig. Rossi e la dott.ssa Bianchi sono qui. |Vedi pag. 4. |Pane, latte, ecc. |Poi vieni."},
	{"ca", "El Sr. Puig ve demà. |Què vols?"},
	// Dutch and the North.
	{"nl", "Dhr. Jansen komt d.w.z. Maandag. |Neem bijv. Brood. |Goed."},
	{"da", "Den 3. Juni er lukket. |Det er f.eks. Hr. Holm. |Godt."},
	{"sv", "Ta t.ex. Bröd. |Bl.a. Anna kom. |Bra."},
	{"nb", "Ta f.eks. Brød. |Bra."},
	{"fi", "Ota esim. Leipää. |Hyvä."},
	// The East of Europe.
	{"pl", "Dr Nowak mieszka przy ul. Polnej 3. |Weź np. Chleb, tzn. Bułkę. |Prof. Lis i inż. Wilk przyszli. |Dobrze."},
	{"cs", "Přijede např. Petr. |Ing. Novák bydlí v ul. Krátké. |Dne 5. května. |Ano."},
	{"hu", "Pl. Anna jön. |Dr. Kiss itt van. |Jó."},
	{"ro", "Dl. Popescu stă pe str. Lungă. |De ex. Ana. |Bine."},
	{"hr", "Npr. Ana dolazi. |Dana 5. svibnja. |Da."},
	{"ru", "Он живёт на ул. Мира, д. 5. |Это т. е. Москва. |Л. Н. Толстой умер в 1910 г. |Он был стар. |Хлеб, сыр и т. д. |Потом он ушёл."},
	{"ru", "— Ты здесь? — спросил он. |— Да. |Рис. 5 и стр. 7. |Он бежал 400 м. |Затем упал."},
	{"uk", "Він живе на вул. Миру. |Напр. Олена. |Так."},
	{"el", "Τι θέλεις; |Ο κ. Νίκου ήρθε, π.χ. Χθες. |Καλά!"},
	{"tr", "Dr. Kaya ve Av. Demir geldi. |Örn. Ankara. |29. Ekim geldi. |II. Dünya Savaşı bitti. |Elma, armut vb. |Sonra gitti."},
	{"hy", "Ո՞ւր ես գնում: |Տուն։ |Լավ:"},
	{"kk", "Бұл жақсы. |Иә!"},
	// The Near East and India.
	{"ar", "جاء د. سامي مع أ. ليلى. |هل أنت هنا؟ |قال: «نعم.» |ثم خرج. |«لماذا؟» سأل الرجل. |حسنا."},
	{"fa", "سلام. |خوبی؟ |بله!"},
	{"ur", "یہ ٹھیک ہے۔ |کیا آپ آئیں گے؟ |ہاں!"},
	{"he", "ד\"ר לוי כאן. |מה שלומך? |וכו' וגם כן. |טוב."},
	{"hi", "डॉ. राम और श्री. श्याम आए। |क्या आप ठीक हैं? |हाँ।"},
	{"bn", "ড. রহমান এসেছেন। |আপনি কেমন আছেন? |ভালো।"},
	{"ta", "திரு. குமார் வந்தார். |நீங்கள் நலமா? |ஆம்."},
	{"te", "డా. రావు వచ్చారు. |సరే."},
	// Asia.
	{"zh", "他说：“好。”|然后走了。|“真的？”老师问。|是的！|版本是2.5。|我……我不知道。"},
	{"ja", "「はい。」と言った。|「そう？」って聞く。|終わり。|（注意。）|次へ。|本は3.5キロです。"},
	{"ko", "\"갑시다.\"라고 말했다. |네. |좋아요..."},
	{"vi", "Ông ở TP. Hồ Chí Minh. |Gặp TS. Lan. |Vâng."},
	{"id", "Temui Bpk. Budi di Jl. Merdeka. |Beli roti, susu, dll. |Kemudian pulang."},
	{"km", "សួស្តី។ |អរគុណ។"},
	{"my", "မင်္ဂလာပါ။ |ကောင်းပါတယ်။"},
	// Africa, where a small letter is a word.
	{"yo", "Ó wà ní ilé o. |Mo rí i. |Dk. Adé dé."},
	{"ig", "Lee ya a. |Ọ dị mma."},
	{"ha", "Na gode. |Alh. Musa ya zo. |To!"},
	{"sw", "Bw. Juma na Dkt. Asha wapo. |Sawa."},
	{"am", "ዶ/ር አበበ መጣ፡፡ |ደህና ነህ፧ |እሺ።"},
	// No language given.
	{"", "Dr. Li kam z. B. Gestern. |Le Sr. Paz, p. ex. Hoje. |Он и т. д. |Also, etc. |The end."},
}

// HS-071, D-52, I18N-012: the rules, by kind and language, however the text is divided.
func TestSegmenterRules(t *testing.T) {
	for _, tt := range slices.Concat(segCases, segStreams, segAnswers, segChats, segFile(t)) {
		text, want := segRule(tt.text)
		for _, tokens := range append(segWays(text), segEvery(text, 11)) {
			s := NewSegmenter(aaep.BoundarySentence, 0)
			s.SetLanguage(tt.lang)
			var got []string
			for _, tok := range tokens {
				for _, p := range s.Write(tok) {
					got = append(got, p.Text)
				}
			}
			for _, p := range s.Flush(true) {
				got = append(got, p.Text)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s, %d tokens\ngot  %s\nwant %s", tt.lang, len(tokens), strings.Join(got, "|"), tt.text)
				break
			}
		}
	}
}

// segFile are the cases of testdata/sentences.txt, as segStreams.
func segFile(t testing.TB) (cases []struct{ lang, text string }) {
	data, err := os.ReadFile("testdata/sentences.txt")
	if err != nil {
		t.Fatal(err)
	}
	unescape := strings.NewReplacer(`\\`, `\`, `\n`, "\n")
	for line := range strings.Lines(string(data)) {
		if lang, text, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " "); ok && lang != "#" {
			cases = append(cases, struct{ lang, text string }{strings.TrimPrefix(lang, "-"), unescape.Replace(text)})
		}
	}
	if len(cases) == 0 {
		t.Fatal("testdata/sentences.txt has no cases")
	}
	return cases
}

// segRule divides a text of segCases; || stands for a boundary before a table row's |. In one with ¦ that is the mark, and | is text.
func segRule(marked string) (text string, want []string) {
	if strings.Contains(marked, "¦") {
		return strings.ReplaceAll(marked, "¦", ""), strings.Split(marked, "¦")
	}
	const bar = "\x00"
	marked = strings.ReplaceAll(marked, "\n||", "\n|"+bar)
	row := false
	var b strings.Builder
	for line := range strings.Lines(marked) {
		if row = strings.HasPrefix(line, "|"+bar); row {
			line = "|" + strings.ReplaceAll(line[1:], "|", bar)
		}
		b.WriteString(line)
	}
	for part := range strings.SplitSeq(b.String(), "|") {
		want = append(want, strings.ReplaceAll(part, bar, "|"))
	}
	return strings.Join(want, ""), want
}

// Tables that a native speaker can mend must not break in silence.
func TestLanguageTables(t *testing.T) {
	seen := map[string]bool{}
	for _, l := range languages {
		for tag := range strings.FieldsSeq(l.tags) {
			if seen[tag] || tag != strings.ToLower(tag) {
				t.Errorf("%s has two tables, or capitals", tag)
			}
			seen[tag] = true
		}
		columns := map[string]string{"before": l.before, "number": l.number, "may": l.may, "clock": l.clock, "list": l.list, "words": l.words, "starts": l.starts,
			"said": l.said, "letters": l.letters, "dated": l.dated}
		in := map[string]string{}
		for name, list := range columns {
			for w := range strings.FieldsSeq(list) {
				w, tilde := strings.CutPrefix(w, "~")
				short := name == "before" || name == "number" || name == "may" || name == "clock" || name == "list"
				switch {
				case !norm.NFC.IsNormalString(w):
					t.Errorf("%s, %s: %q is not NFC, as text is here", l.tags, name, w)
				case strings.HasSuffix(w, ".") || len(w) > len(spelled{}.b):
					t.Errorf("%s, %s: %q ends in a full stop or is too long to match", l.tags, name, w)
				case !tilde && (name == "before" || name == "may") && len(w) == 1 && l != english:
					t.Errorf("%s, %s: a single letter means something else elsewhere: write ~%s", l.tags, name, w)
				case short && in[w] != "" && in[w] != name:
					t.Errorf("%s: %q is in %s and %s", l.tags, w, in[w], name)
				case name == "starts" && strings.IndexFunc(w, unicode.IsLower) == 0:
					t.Errorf("%s, starts: %q does not begin with a capital", l.tags, w)
				}
				if short {
					in[w] = name
				}
			}
		}
	}
}
