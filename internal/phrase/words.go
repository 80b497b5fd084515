package phrase

import "strings"

// Words returns words of a language, or of English, one of which can be asked for as a yes: none is
// typed by accident.
func Words(tag string) []string {
	return strings.Fields(catalogueOrEnglish(tag).text(acceptWords))
}

// DecideBy is Decide with another word for a yes.
func DecideBy(tag, word string) string {
	c := catalogueOrEnglish(tag)
	return strings.Replace(c.text(Decide), " "+c.yes[0]+" ", " "+word+" ", 1)
}
