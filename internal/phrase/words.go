package phrase

import "strings"

// Words are those of a language, or of English, of which one can be a yes that nobody types by accident.
func Words(tag string) []string {
	return strings.Fields(catalogueOrEnglish(tag).text(acceptWords))
}

// DecideBy is Decide with another word for a yes.
func DecideBy(tag, word string) string {
	c := catalogueOrEnglish(tag)
	return strings.Replace(c.text(Decide), " "+c.yes[0]+" ", " "+word+" ", 1)
}
