package speech

// paces is what eSpeak NG was measured to speak at some of SSIP's rates, silence at the end
// included. The line between them is not straight, and users hear the difference.
var paces = [...]struct{ rate, wpm int }{
	{-100, 84}, {-50, 127}, {0, 172}, {25, 247}, {50, 317}, {75, 396}, {100, 473},
}

// rateFor returns the SSIP rate, from -100 to 100, nearest to a pace in words a minute, between the
// paces that were measured; a pace beyond those gets the rate of the slowest or fastest.
func rateFor(wpm int) int {
	for i, hi := range paces {
		if wpm > hi.wpm {
			continue
		}
		if i == 0 {
			return hi.rate
		}
		lo := paces[i-1]
		span := hi.wpm - lo.wpm
		return lo.rate + ((wpm-lo.wpm)*(hi.rate-lo.rate)+span/2)/span
	}
	return paces[len(paces)-1].rate
}
