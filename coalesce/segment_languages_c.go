package coalesce

// The columns are explained at language. This file: Asia and Africa.

var arabic = &language{
	tags:    "ar",
	before:  "د أ م ا أ.د ا.د د.م ب",
	number:  "ص رقم ت هاتف ج ط ع",
	list:    "إلخ الخ",
	may:     "ه هـ ق.م ب.م ش.م.م كم كلم",
	starts:  "ثم هل هذا هذه هو هي هم نحن أنا لكن إذا عندما بعد قبل الآن هنا هناك ما من أين كيف لماذا متى نعم لا شكرا وقد وكان وقال كان إن",
	said:    "قال قالت سأل سألت أجاب أجابت صاح صاحت تساءل تساءلت وقال وسأل",
	letters: "المادة مادة الفصل الباب القسم الخطوة السؤال",
}

var persian = &language{
	tags: "fa prs ckb ku", before: "د م آ ر.ک", number: "ص ش ج", list: "غیره",
	may:     "ق.م ه.ش ه.ق",
	starts:  "این آن او آنها ما من شما و اما یا اگر وقتی سپس اکنون اینجا چه کی کجا چرا چگونه آیا بله خیر ممنون",
	said:    "گفت پرسید گفتند پرسیدند",
	letters: "ماده مادهٔ فصل بخش مرحله گام پرسش",
}

var urdu = &language{
	tags: "ur ps sd", before: "ڈ م", number: "ص نمبر", list: "وغیرہ",
	may:  "",
	said: "کہا پوچھا",
}

var hebrew = &language{
	tags: "he iw yi", before: "לדוג ר׳", number: "עמ טל", may: "וכו וכד",
	starts:  "זה זאת הוא היא הם הן אנחנו אני אתה את אבל או אם כאשר אז עכשיו כאן שם מה מי איפה איך למה מתי האם כן לא תודה",
	said:    "אמר אמרה שאל שאלה ענה ענתה צעק צעקה",
	letters: "סעיף פרק חלק שלב שאלה",
}

var hindi = &language{
	tags:    "hi ne sa mai bho",
	words:   "है हैं हूँ हूं हो था थे थी थीं दो लो जा भी ही",
	before:  "एड एफ एच एल एम एन आर एस एक्स प्रा डॉ डा डाॅ श्री प्रो पं स्व मो कु मि इं ई.पू उदा",
	number:  "पृ सं नं क्र रु भा खं",
	may:     "कि.मी कि.ग्रा मी ई",
	starts:  "यह वह ये वे मैं हम आप तुम और लेकिन या अगर जब फिर अब यहाँ वहाँ क्या कौन कहाँ कैसे क्यों कब हाँ नहीं धन्यवाद",
	said:    "कहा पूछा बोला बोली",
	letters: "अनुच्छेद धारा अध्याय चरण प्रश्न",
}

var marathi = &language{
	tags: "mr kok", before: "डॉ श्री सौ प्रा पं कै चि कु उदा", number: "पृ क्र नं रु", may: "इ कि.मी", said: "म्हणाला म्हणाली विचारले",
}

var bengali = &language{
	tags: "bn as", before: "এফ এইচ এল এম এন আর এস এক্স ড ডা ডঃ মো মোঃ মি অধ্যা ইঞ্জি", number: "নং পৃ খ", may: "কি.মি",
	said:    "বলল বললেন জিজ্ঞেস জিজ্ঞাসা",
	letters: "অনুচ্ছেদ ধারা অধ্যায় ধাপ প্রশ্ন",
}

var gujarati = &language{tags: "gu", words: "છે છો છું હા ના દો લો જા શું", before: "ડૉ ડો શ્રી પ્રો સ્વ કુ", number: "નં પૃ રૂ", may: "કિ.મી"}

var punjabi = &language{tags: "pa", before: "ਡਾ ਸ ਪ੍ਰੋ ਸ੍ਰੀ", number: "ਨੰ ਪੰ", may: "ਕਿ.ਮੀ"}

var tamil = &language{
	tags: "ta", before: "எஃப் எச் எல் எம் என் ஆர் எஸ் எக்ஸ் திரு திருமதி செல்வி டாக்டர் டாக் முனைவர் பேரா மு வி எ.கா தி", number: "எண் எண பக் ப ரூ தொ", may: "கி.மீ கி.பி கி.மு மு.ப பி.ப முதலி",
	said: "என்றார் என்றான் என்றாள் என்றனர் என்று எனக்",
}

var telugu = &language{tags: "te", before: "ఎఫ్ హెచ్ ఎల్ ఎమ్ ఎన్ ఆర్ ఎస్ ఎక్స్ డా శ్రీ శ్రీమతి ప్రొ డాక్టర్ ఉదా", number: "నెం పే రూ సం", may: "కి.మీ క్రీ.పూ క్రీ.శ", said: "అని అన్నాడు"}

var kannada = &language{tags: "kn", before: "ಎಫ್ ಎಚ್ ಎಲ್ ಎಮ್ ಎನ್ ಆರ್ ಎಸ್ ಎಕ್ಸ್ ಡಾ ಶ್ರೀ ಶ್ರೀಮತಿ ಪ್ರೊ ಉದಾ", number: "ಸಂ ಪು ರೂ", may: "ಕಿ.ಮೀ ಕ್ರಿ.ಪೂ ಕ್ರಿ.ಶ"}

var malayalam = &language{tags: "ml", before: "എഫ് എച്ച് എൽ എൻ ആർ എസ് എക്സ് ഡോ ശ്രീ ശ്രീമതി പ്രൊഫ അഡ്വ ഉദാ", number: "നം പേ രൂ", may: "കി.മീ ക്രി.മു"}

// Chinese and Japanese write no spaces: their said are looked for in the first characters behind a
// quotation.

var chinese = &language{tags: "zh yue wuu", said: "说 說 问 問 道 答 喊 叫 嚷 称 稱 回答"}

var japanese = &language{tags: "ja", said: "と って 」と"}

var korean = &language{
	tags: "ko", said: "물었다 말했다 외쳤다 대답했다 물었습니다 말했습니다 대답했습니다 라고 하고 이라고 라며 라는 하며 고 며", number: "제", years: true, may: "등",
	starts: "그 이 저 그것은 그는 그녀는 우리는 나는 저는 그리고 그러나 하지만 또 만약 그런데 지금 여기 무엇 누가 어디 어떻게 왜 네 아니요 감사합니다",
}

var vietnamese = &language{
	tags: "vi", before: "TS ThS GS PGS BS KS TP Tp tp ~Q Ô vd Vd VD ~ô Th.S Gs Ts ĐH ~Ngài ~x Tx", number: "tr Tr đ ~t",
	list:    "v.v",
	may:     "vv TCN SCN Tcn k.m",
	starts:  "Tôi Anh Chị Em Ông Bà Họ Chúng Nó Đây Đó Này Và Nhưng Hoặc Nếu Khi Sau Bây Ở Trong Của Với Cho Gì Ai Đâu Sao Thế Là Có Không Vâng Cảm Xin Còn Bạn Hãy Các Những Một Để",
	letters: "Chương Phần Điều Mục Bước bước Phương Phụ Nhóm nhóm Lớp Vitamin vitamin Loại loại Cấp bản chương Quy Câu",
}

var indonesian = &language{
	tags: "id ms jv su", before: "Lih lih ~En Pn Bpk Bp Tn Ny Nn Sdr Sdri dr Dr drs Drs Ir ~ir Prof ~H Hj K.H ~mis Mis Jl jl Jln a.n u.p d.a Yth yth Kol Jend ~Let ~Kab ~Prov ~Kec s.d",
	number:  "Put Kav kav Lt lt Ps Jan Feb Mar Apr Jun Jul Agu Agt Sep Okt Nov Des No no hlm hal ~Hal tgl Tgl Tel telp Telp Psl",
	list:    "dll dsb dst mnt",
	may:     "dkk PT CV Rp ~M SM ttd",
	close:   "Tbk S.H S.E M.H M.M S.T S.Pd M.Pd S.Kom",
	starts:  "Ini Itu Dia Ia Mereka Kami Kita Saya Anda Kamu Dan Tetapi Tapi Atau Jika Kalau Ketika Saat Setelah Kemudian Lalu Sekarang Di Ke Dari Dengan Untuk Pada Apa Siapa Mana Bagaimana Mengapa Kapan Apakah Ada Adalah Ya Tidak Terima Juga Namun Silakan",
	letters: "Bab Bagian Pasal Langkah langkah Opsi opsi Rencana Lampiran Kelompok kelompok Kelas Vitamin vitamin Tipe tipe Tingkat tingkat versi bab Contoh Pertanyaan",
}

var thai = &language{tags: "th lo km my", before: "กทม โทร ถ ดร นพ พญ ทพ ภก น.ส ผศ รศ ศ พล.อ พ.ศ ค.ศ ม.ค ก.พ มี.ค เม.ย พ.ค มิ.ย ก.ค ส.ค ก.ย ต.ค พ.ย ธ.ค จ อ ต ถ", may: "ฯลฯ น"}

var filipino = &language{
	tags: "tl fil ceb", before: "~G Gng Bb Dr Dra Prof Sta Sto ~hal ~Hal Atty Engr Kgg", number: "Blg blg p",
	list:   "atbp",
	clock:  "n.u n.h n.g",
	may:    "Jr",
	starts: "Ang Ito Iyan Iyon Siya Sila Kami Tayo Ako Ikaw Ka At Ngunit Pero O Kung Kapag Pagkatapos Ngayon Dito Doon Sa Ano Sino Saan Paano Bakit Kailan Oo Hindi Salamat May Mayroon Na",
}

// In these a single small letter is a word.

var swahili = &language{
	tags: "sw", before: "Bw Bi Bwn Dk Dkt Prof Mhe Mh k.v k.m mf Mf Mch Kap", number: "dak Na uk Uk Sh", list: "n.k",
	may:     "nk S.L.P S.L.B",
	starts:  "Hii Hiyo Hizi Huyu Yeye Wao Sisi Mimi Wewe Ninyi Na Lakini Au Kama Ikiwa Baada Kisha Halafu Sasa Hapa Kwa Katika Nini Nani Wapi Vipi Kwa Je Ni Ndiyo Hapana Asante Tafadhali Pia",
	letters: "Sura Sehemu Kifungu Hatua hatua Chaguo chaguo Mpango Kundi kundi Vitamini Aina aina Toleo toleo Mfano Swali",
}

var yoruba = &language{
	tags: "yo", before: "Ọ̀gb Ogb Alh Dk Ẹnjin Arc Rev Engr Barr", number: "No",
	starts: "Ó O Mo Mi Wọ́n A Ẹ Èyí Yìí Àwọn Ṣé Ǹjẹ́ Kí Kín Ta Níbo Báwo Nígbà Tí Bí Ṣùgbọ́n Àti Nítorí Lẹ́yìn Ní Fún Bẹ́ẹ̀ Rárá Jọ̀wọ́ Inú",
	list:   "abbl",
	may:    "",
}

var igbo = &language{
	tags: "ig", before: "Maz Dk Alh Rev Engr Barr Prof", number: "No", list: "dgz wdg",
	may:    "",
	starts: "Ọ O Ị I Anyị Ha M Unu Nke Ihe Ma Ka Mgbe Ebe Gịnị Onye Olee Ee Mba Biko Daalụ Na Site N A",
}

var hausa = &language{
	tags: "ha", before: "~Mal Alh Dkt Inj Barr Rev Hon", number: "No Sh", list: "d.s d.s.s",
	may:    "~ds",
	starts: "Wannan Wancan Shi Ita Su Mu Ni Kai Ke Ku Da Amma Ko Idan Lokacin Bayan Sannan Yanzu Nan Can A Na Za Mene Wane Wa Ina Yaya Don Me Eh Aʼa Nagode",
	clock:  "n.y n.s n.d",
}

var amharic = &language{
	tags: "am ti", before: "ዶ ዶ/ር ፕ/ር አ ወ ወ/ሮ ወ/ሪት", number: "ቁ ገጽ", may: "ዓ.ም ዓ.ዓ እ.ኤ.አ ወዘተ ኪ.ሜ ከ",
	said:    "አለ አለች አሉ ብሎ ብላ ጠየቀ ጠየቀች",
	letters: "አንቀጽ ምዕራፍ ክፍል ደረጃ ጥያቄ",
}

var somali = &language{tags: "so om", before: "Md Mdm Dr Prof Eng", number: "Lr", may: "iwm IWM kwf"}

var zulu = &language{tags: "zu xh st tn sn rw ny lg", before: "UDkt uDkt UMnu uMnu UNkz uNkz Mnu Nkz Dkt Prof Rev Mfu", number: "No", may: "njll njl"}
