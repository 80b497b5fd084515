package sound

import (
	"encoding/binary"
	"math"
	"time"
)

// sampleRate is how many samples a second of sound has.
const sampleRate = 44100

// tone is a sine with its octave, which fades out. Zero hertz is silence.
type tone struct {
	hertz  float64
	length time.Duration
}

// ownSounds are the sounds that are made here: two rising tones for a question, a short one for a
// tool, three rising ones for the end, two low falling ones for a failure, three falling ones for a
// link that is lost.
var ownSounds = map[string][]tone{
	Question: {{660, 110 * time.Millisecond}, {0, 30 * time.Millisecond}, {990, 220 * time.Millisecond}},
	Tool:     {{880, 50 * time.Millisecond}},
	Done: {{523, 80 * time.Millisecond}, {0, 20 * time.Millisecond}, {659, 80 * time.Millisecond},
		{0, 20 * time.Millisecond}, {784, 200 * time.Millisecond}},
	Failed: {{247, 180 * time.Millisecond}, {0, 60 * time.Millisecond}, {175, 320 * time.Millisecond}},
	Lost: {{784, 90 * time.Millisecond}, {0, 60 * time.Millisecond}, {587, 90 * time.Millisecond},
		{0, 60 * time.Millisecond}, {392, 260 * time.Millisecond}},
}

// makeTones returns the 16-bit samples of tones, one after the other, at sampleRate. Each tone
// begins without a click and fades out.
func makeTones(tones []tone) (samples []int16) {
	const (
		loudest = 0.4 * math.MaxInt16
		attack  = 0.004 // seconds, so that it does not click
	)
	for _, tone := range tones {
		seconds := tone.length.Seconds()
		for i := range int(seconds * sampleRate) {
			second := float64(i) / sampleRate
			turn := 2 * math.Pi * tone.hertz * second
			fade := min(second/attack, 1) * (1 - second/seconds)
			samples = append(samples, int16(loudest*fade*(0.8*math.Sin(turn)+0.2*math.Sin(2*turn))))
		}
	}
	return samples
}

// encodeWAV returns samples as a WAV file with one channel.
func encodeWAV(samples []int16) []byte {
	const bytesEach = 2
	size := uint32(len(samples) * bytesEach)
	b := []byte("RIFF")
	b = binary.LittleEndian.AppendUint32(b, 36+size)
	b = append(b, "WAVEfmt "...)
	b = binary.LittleEndian.AppendUint32(b, 16) // of what follows before the data
	b = binary.LittleEndian.AppendUint16(b, 1)  // plain samples
	b = binary.LittleEndian.AppendUint16(b, 1)  // channel
	b = binary.LittleEndian.AppendUint32(b, sampleRate)
	b = binary.LittleEndian.AppendUint32(b, sampleRate*bytesEach)
	b = binary.LittleEndian.AppendUint16(b, bytesEach)
	b = binary.LittleEndian.AppendUint16(b, 8*bytesEach)
	b = append(b, "data"...)
	b = binary.LittleEndian.AppendUint32(b, size)
	for _, s := range samples {
		b = binary.LittleEndian.AppendUint16(b, uint16(s))
	}
	return b
}
