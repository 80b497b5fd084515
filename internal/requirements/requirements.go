// Package requirements holds what the specification demands, one row for each duty.
package requirements

import (
	_ "embed"
	"encoding/csv"
	"strings"
	"sync"
)

//go:embed requirements.csv
var table string

// Requirement is one row.
type Requirement struct {
	ID    string
	Level string // "1", "2", "3" or "any"
	Side  string // "producer", "subscriber", "both" or "transport"
	// Strength is MUST, SHOULD or MAY.
	Strength string
	Text     string
}

// All returns the rows in the order of the table. It is shared: do not change it.
var All = sync.OnceValue(func() (all []Requirement) {
	rows, err := csv.NewReader(strings.NewReader(table)).ReadAll()
	if err != nil {
		panic("requirements.csv: " + err.Error()) // it is compiled in, and a test has read it
	}
	for _, r := range rows[1:] {
		all = append(all, Requirement{r[0], r[1], r[2], r[3], r[4]})
	}
	return all
})

// Find returns the requirement with an id, in capitals or small letters, or false.
func Find(id string) (Requirement, bool) {
	for _, r := range All() {
		if strings.EqualFold(r.ID, id) {
			return r, true
		}
	}
	return Requirement{}, false
}
