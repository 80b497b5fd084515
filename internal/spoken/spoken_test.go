package spoken

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"
)

// sentences are what an agent may ask, each with how many seconds eSpeak NG 1.51 takes for it at
// 170 words a minute.
var sentences = []struct {
	voice   string
	seconds float64
	text    string
}{
	{"en", 8.2, "Transfer five hundred dollars from checking to your retirement savings. The money moves at once and cannot be taken out before you are sixty."},
	{"en", 8.1, "Transfer $500 from checking to your retirement savings. The money moves at once and cannot be taken out before you are 60."},
	{"es", 9.1, "Transferir quinientos dólares de la cuenta corriente a sus ahorros para la jubilación. El dinero se mueve ya y no puede sacarse antes de los sesenta años."},
	{"de", 9.3, "Fünfhundert Dollar vom Girokonto auf Ihre Altersvorsorge überweisen. Das Geld wird sofort bewegt und kann vor dem sechzigsten Lebensjahr nicht entnommen werden."},
	{"de", 3.7, "Rindfleischetikettierungsüberwachungsaufgabenübertragungsgesetz"},
	{"fr-fr", 6.9, "Virer cinq cents dollars du compte courant vers votre épargne retraite. L’argent part immédiatement et ne peut pas être retiré avant soixante ans."},
	{"fi", 5.7, "Siirrä viisisataa dollaria käyttötililtä eläkesäästöihisi. Rahat siirtyvät heti."},
	{"pl", 0, "Przelać pięćset dolarów z rachunku bieżącego na oszczędności emerytalne. Pieniądze zostaną przekazane natychmiast."},
	{"tr", 0, "Vadesiz hesabınızdan emeklilik birikiminize beş yüz dolar aktarılsın. Para hemen gider ve geri alınamaz."},
	{"vi", 4.3, "Chuyển năm trăm đô la từ tài khoản vãng lai sang tiết kiệm hưu trí của bạn."},
	{"ru", 7.6, "Перевести пятьсот долларов с текущего счёта на пенсионные накопления. Деньги уходят сразу, и их нельзя снять до шестидесяти лет."},
	{"el", 0, "Μεταφορά πεντακοσίων δολαρίων από τον τρεχούμενο λογαριασμό στις αποταμιεύσεις σας. Τα χρήματα φεύγουν αμέσως."},
	{"hy", 0, "Փոխանցել հինգ հարյուր դոլար ձեր խնայողություններին։ Գումարը հետ վերցնել հնարավոր չէ։"},
	{"ka", 0, "ხუთასი დოლარის გადარიცხვა თქვენს დანაზოგზე. თანხის დაბრუნება შეუძლებელია."},
	{"ar", 10.2, "سيتم تحويل خمسمائة دولار من الحساب الجاري إلى مدخراتك التقاعدية. لا يمكن استرجاع المال قبل سن الستين."},
	{"he", 4.5, "העבר חמש מאות דולר מחשבון העובר ושב לחיסכון הפנסיוני שלך."},
	{"fa", 5.3, "پانصد دلار از حساب جاری به پس\u200cانداز بازنشستگی شما منتقل شود."},
	{"cmn", 13, "从支票账户转账五百美元到您的退休储蓄。钱会立即转出,六十岁之前无法取出。"},
	{"cmn", 8.2, "转账500美元到您的退休储蓄。60岁之前无法取出。"},
	{"ja", 7, "たいしょくちょちくに ごひゃくドルを そうきんします。おかねは すぐに うごき、ろくじゅっさいまで ひきだせません。"},
	{"ko", 9.2, "당좌 계좌에서 은퇴 저축으로 오백 달러를 이체합니다. 돈은 즉시 이동하며 예순 살 전에는 인출할 수 없습니다."},
	{"th", 9.8, "โอนเงินห้าร้อยดอลลาร์จากบัญชีของคุณไปยังเงินออมเพื่อการเกษียณ เงินจะถูกโอนทันทีและถอนไม่ได้"},
	{"my", 5, "သင့်အကောင့်မှ ဒေါ်လာငါးရာကို အငြိမ်းစားစုဆောင်းငွေသို့ လွှဲပြောင်းပါ။"},
	{"hi", 9.6, "अपने चालू खाते से पाँच सौ डॉलर अपनी सेवानिवृत्ति बचत में भेजें। पैसा तुरंत चला जाता है और साठ वर्ष की आयु से पहले नहीं निकाला जा सकता।"},
	{"ta", 4.4, "உங்கள் கணக்கிலிருந்து ஐந்நூறு டாலரை ஓய்வூதிய சேமிப்புக்கு மாற்றவும்."},
	{"am", 4.8, "ከሂሳብዎ አምስት መቶ ዶላር ወደ ጡረታ ቁጠባዎ ያስተላልፉ።"},
}

// others are no sentences. A voice may be quicker with them than another, so they only have a lower
// bound.
var others = []struct {
	voice   string
	seconds float64
	text    string
}{
	{"en", 0.7, "y"}, {"en", 0.6, "Pay."}, {"en", 0.8, "7"}, {"en", 4.3, "777777"}, {"ar", 5, "777777"}, {"ar", 5, "٧٧٧٧٧٧"},
	{"de", 4.4, "777777"}, {"hi", 3, "७७७७७७"}, {"cmn", 3.4, "777777"}, {"en", 5.3, "1,234,567.89"}, {"en", 12.2, "49291234567890121234"},
	{"en", 9, "DE89370400440532013000"}, {"en", 12.2, "550e8400-e29b-41d4-a716-446655440000"}, {"en", 5, "https://evil.example/a/b?c=d"},
	{"en", 6.8, "aGVsbG8gd29ybGQgdGhpcyBpcyBhIHRlc3Q"}, {"en", 2.5, "a1b2c3d4e5"}, {"en", 8.3, "WWWWW WWWWW WWWWW WWWWW"},
	{"en", 2.9, "HTTP XML WWW"}, {"en", 1.4, "xkcdq"}, {"en", 3.7, "I am. Go on. No. Yes. It is so."}, {"en", 3.1, "a, b, c, d, e, f, g"},
	{"en", 2.4, "½ ⅔ ¾ ²"}, {"en", 2.4, "€5 £6 ¥7"}, {"en", 3.7, `@#%&*+=<>^|~\/`}, {"en", 1.7, "→→→→→"}, {"en", 1.3, "😂😅🥲🤣"},
	{"en", 1.9, "👩‍👩‍👧‍👦"}, {"en", 4.8, "2026-11-23 08:44:19"}, {"ru", 1.7, "Caps Lock включён"}, {"he", 2.7, "מסמך של RealPix"},
	{"en", 3.7, "ⓅⒶⓎ"}, {"ar", 6.1, "ⓅⒶⓎ"}, {"en", 3.8, "⠏⠁⠽"}, {"de", 4.9, "Ⅷ Ⅻ ⅔"}, {"ar", 5.5, "Ⅷ Ⅻ ⅔"}, {"ar", 2, "ﷲ ﷽"},
	{"de", 3.3, "㏂㎏㎡"}, {"hi", 3, "㈱ ㊙"}, {"de", 3.3, "ﬁﬂ"}, {"ar", 3.9, "ﬁﬂ"}, {"ar", 5.1, "ⅷⅸ"},
	{"ar", 2, "دفع Microsoft الآن"}, {"cmn", 3.1, "付款给 Microsoft 公司"}, {"en", 1.9, "Pay Москва now"},
}

// A text takes no less than a voice takes for it, as measured once and, where eSpeak NG is
// installed, now; and a sentence at most twice as long, so that no user waits for a voice that
// ended long ago.
func TestTime(t *testing.T) {
	check := func(voice, text string, seconds, most float64) {
		now := measure(t, voice, text)
		if took := Time(text, 170).Seconds(); took < seconds || took < now || seconds > 0 && took > most*max(seconds, now) {
			t.Errorf("%s %q takes %.1f s; a voice took %.1f s, and now takes %.1f s", voice, text, took, seconds, now)
		}
	}
	for _, s := range sentences {
		check(s.voice, s.text, s.seconds, 2)
	}
	for _, s := range others {
		check(s.voice, s.text, s.seconds, 100)
	}
}

// A voice of another language has its time too, also where it names each letter; one of the text's
// own has no more than Time says.
func TestTimeBy(t *testing.T) {
	for _, s := range sentences {
		for _, voice := range []string{"en", "es", "de", "ru", "ar", "cmn"} {
			took, now := TimeBy(s.text, 170, voice).Seconds(), measure(t, voice, s.text)
			if took < now {
				t.Errorf("%s by the voice %s takes %.1f s, and TimeBy says %.1f s: %q", s.voice, voice, now, took, s.text)
			}
			if unknown := TimeBy(s.text, 170).Seconds(); unknown < took {
				t.Errorf("by a voice that is not known %q takes %.1f s, and by %s %.1f s", s.text, unknown, voice, took)
			}
		}
		if own, by := Time(s.text, 170), TimeBy(s.text, 170, s.voice); own != by {
			t.Errorf("%s %q takes %v by its own voice, and %v by any that speaks it", s.voice, s.text, by, own)
		}
	}
	const arabic = "ادفع ٥ دولارات." // 7.2 s by eSpeak NG's English voice, 2 s by its Arabic one
	if got := TimeBy(arabic, 170, "en-US"); got < 7200*time.Millisecond {
		t.Errorf("an English voice has %v for %q", got, arabic)
	}
}

// The signs of a path have the time of a voice that has long names for them, and for no other.
func TestPath(t *testing.T) {
	for _, path := range []string{"/var/log/apt/history.log.1.gz", "a/b/c/d/e/f/g/h", `C:\Users\ada\letters\old`} {
		for _, voice := range []string{"ka", "lt", "bg", "te", "lv", "et", "sl", "sv", "en", "de", "ru"} {
			if took, now := TimeBy(path, 170, voice).Seconds(), measure(t, voice, path); took < now {
				t.Errorf("%s by the voice %s takes %.1f s, and TimeBy says %.1f s", path, voice, now, took)
			}
		}
		if Time(path, 170) != TimeBy(path, 170, "en") || TimeBy(path, 170) < TimeBy(path, 170, "ka-GE") {
			t.Errorf("%s takes %v by an English voice, %v by one that is not known", path, TimeBy(path, 170, "en"), TimeBy(path, 170))
		}
	}
}

// Letters that a voice has no words for take the time of their names: those of other styles and
// widths, rare ones of a script that the voice reads, and scripts that no voice of it does.
func TestNamedLetters(t *testing.T) {
	for name, from := range map[string]rune{"bold": 0x1d400, "full width": 0xff21, "phonetic": 0x1d00, "half-width Hangul": 0xffa1,
		"historic Cyrillic": 0x460, "Arabic shapes": 0xfe8d, "Oriya": 0xb15, "polytonic": 0x1f00, "Cherokee": 0x13a0, "Runic": 0x16a0,
		"Brahmi": 0x11005, "Latin with hooks": 0x2c60, "Telugu": 0xc15, "signs": 0x2100, "Yi": 0xa000, "Hanja": 0xf900} {
		var text strings.Builder
		for i := range rune(18) {
			if r := from + i; unicode.IsGraphic(r) {
				text.WriteRune(r)
			}
			if i%6 == 5 {
				text.WriteByte(' ')
			}
		}
		least := 15 * 200 // hundredths: two words a letter
		if took := countHundredths(text.String()) + countExtra(text.String(), []string{"en"}); took < least {
			t.Errorf("%s: %q takes %d hundredths of a word, want at least %d", name, text.String(), took, least)
		}
		for _, voice := range []string{"en", "ar", "de"} {
			if took, now := TimeBy(text.String(), 170, voice).Seconds(), measure(t, voice, text.String()); took < now {
				t.Errorf("%s by the voice %s takes %.1f s, and TimeBy says %.1f s: %q", name, voice, now, took, text.String())
			}
		}
	}
}

// measure is how many seconds eSpeak NG takes for a text; 0 where it is not installed.
func measure(t *testing.T, voice, text string) float64 {
	t.Helper()
	espeak, err := exec.LookPath("espeak-ng")
	if err != nil {
		return 0
	}
	const header, second = 44, 2 * 22050 // bytes
	file := filepath.Join(t.TempDir(), "spoken.wav")
	if err := exec.Command(espeak, "-v", voice, "-s", "170", "-w", file, "--", text).Run(); err != nil {
		t.Logf("espeak-ng has no voice %s: %v", voice, err)
		return 0
	}
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	return float64(info.Size()-header) / second
}

// Scripts without a voice take about as long as those that have one; no script puts a long question
// into one word.
func TestScripts(t *testing.T) {
	for script, text := range map[string]string{
		"Khmer": "ផ្ទេរប្រាំរយដុល្លារពីគណនីរបស់អ្នកទៅប្រាក់សន្សំចូលនិវត្តន៍", "Lao": "ໂອນຫ້າຮ້ອຍໂດລາຈາກບັນຊີຂອງທ່ານໄປຫາເງິນຝາກບຳນານ",
		"Tibetan": "ཁྱེད་ཀྱི་རྩིས་ཁྲ་ནས་སྒོར་ལྔ་བརྒྱ་སྤོ་བ།", "Yi": "ꆈꌠꁱꂷꉬꄜꋩꌋ", "Cherokee": "ᎠᏂᏴᏫᏯ ᎠᏕᎳ ᎯᏍᎩᏧᏈ", "capitals": strings.Repeat("PAYALL", 8),
		"one word": strings.Repeat("a", 50), "no spaces": "Transfer.all.money.to.Mallory.and.delete.the.account",
		"full width": "Ｔｒａｎｓｆｅｒａｌｌｔｈｅｍｏｎｅｙ", "bold": "𝐓𝐫𝐚𝐧𝐬𝐟𝐞𝐫𝐚𝐥𝐥𝐦𝐨𝐧𝐞𝐲",
	} {
		if took := Time(text, 170); took < 2*time.Second {
			t.Errorf("%s: %q takes %v", script, text, took)
		}
	}
	for plain, same := range map[string]string{"cafe": "cafe\u0301\u0302\u0303", "👍": "👍🏽\ufe0f", "سلام": "سَلَامٌ", "a b": "a \n\t b"} {
		if Time(plain, 100) != Time(same, 100) {
			t.Errorf("%q takes %v, and %q takes %v", plain, Time(plain, 100), same, Time(same, 100))
		}
	}
	if Words("") != 0 || Words(" \n") != 0 || Words("One or two words") != 3 {
		t.Error(Words(""), Words("One or two words"))
	}
}

// Every character that is seen takes time, and nothing else does.
func TestEach(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		attached := unicode.In(r, unicode.M, unicode.Cf) || r >= 0x1f3fb && r <= 0x1f3ff
		if seen := unicode.In(r, unicode.L, unicode.N, unicode.P, unicode.S) && !attached; seen != (countHundredths(string(r)) > 0) && unicode.IsGraphic(r) {
			t.Errorf("%U takes %d", r, countHundredths(string(r)))
		}
	}
}
