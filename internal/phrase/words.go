package phrase

import "strings"

// acceptWords are short and well known, sound unlike each other and are no answers; missing accents make no difference.
var acceptWords = map[string]string{
	"en": `apple bread chair cloud daisy eagle field flute garden hammer island jacket kettle lemon lion maple marble mirror moon mountain
		ocean orange paper pencil piano planet pocket purple rabbit ribbon river rocket saddle salmon silver spoon summer sunset table tiger
		timber tulip tunnel velvet violin wagon window winter yellow zebra`,
	"ar": `قمر شمس باب بيت كتاب قلم نهر بحر جبل مطر رمل حجر خبز ملح عسل تفاح ليمون برتقال موز حصان غزال أرنب طائر مفتاح كرسي مصباح قارب
		جسر طريق ثوب خاتم صندوق شتاء صيف ربيع خريف ذهب نمر أسد فيل جمل ورق سحاب نجم بستان سوق عنب ميناء`,
	"de": `Apfel Berg Birne Blume Brot Brunnen Dach Feder Fenster Fisch Gabel Garten Hammer Hase Himmel Insel Jacke Kerze Kirsche Koffer Lampe
		Löffel Mantel Mond Nadel Nebel Ofen Orange Papier Pinsel Regen Ring Rose Sand Schere Segel Sommer Stein Stern Tanne Tasse Teller Tisch
		Tulpe Vogel Wagen Wolke Zebra Zitrone Zucker`,
	"es": `árbol arena avión barco brisa cama campo carta cielo cocina conejo cuchara dedo espejo estrella flor fuego gato hoja isla jardín
		lago lámpara libro limón luna mano manzana mesa montaña naranja nieve nube oveja papel perro piano piedra playa puente queso rosa
		sombra tambor tigre ventana verano zapato`,
	"fr": `abeille arbre avion balle bateau bougie branche cerise chaise champ cheval citron cloche couleur crayon école étoile fenêtre
		feuille fleur forêt fraise gâteau herbe jardin lampe lapin livre lune maison montagne neige nuage oiseau orange papier piano plage
		plume pomme porte rivière rose sable soleil table tambour violon`,
	"yo": `ilé omi ìwé ọjà ọ̀nà ajá ẹja ẹyẹ igi òkè odò òkun oṣù oòrùn ìràwọ̀ òjò iná ewé òdòdó iyọ̀ oyin iṣu àgbàdo ọsàn ọ̀gẹ̀dẹ̀ aṣọ fìlà bàtà
		ìlù àga tábìlì ilẹ̀kùn fèrèsé àwo ṣíbí ọ̀bẹ ọkọ̀ àfárá ewúrẹ́ màlúù adìẹ erin kìnnìún ehoro àdàbà ìkòkò àpótí`,
}

// Words are those of a language, or of English, of which one can be a yes that nobody types by accident.
func Words(tag string) []string {
	list, ok := acceptWords[known(tag)]
	if !ok {
		list = acceptWords["en"]
	}
	return strings.Fields(list)
}

// DecideBy is Decide with another word for a yes.
func DecideBy(tag, word string) string {
	language := known(tag)
	if language == "" {
		language = "en"
	}
	says, _ := In(language, Decide, "")
	return strings.Replace(says, " "+answers[language].yes[0]+" ", " "+word+" ", 1)
}
