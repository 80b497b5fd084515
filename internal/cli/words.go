package cli

import (
	"fmt"
	"math"

	"github.com/aaep-go/aaep/internal/words"
)

// dollars is an amount of money; cents are told where there are any.
func dollars(amount float64) string {
	cents := int64(math.Round(amount * 100))
	text := "$" + words.Thousands(cents/100)
	if cents%100 != 0 {
		text += fmt.Sprintf(".%02d", cents%100)
	}
	return text
}
