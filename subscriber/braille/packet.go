package braille

import (
	"encoding/binary"
	"fmt"
	"io"
)

// The packets of BrlAPI, protocol version 8: a size, a type and a body, all numbers in network
// order.
const (
	protocolVersion = 8
	maxPacket       = 4096
)

// packetType says what a packet is for: one letter, or two for the parameters of BrlAPI.
type packetType uint32

const (
	packetVersion   packetType = 'v'
	packetAuth      packetType = 'a'
	packetSize      packetType = 's'
	packetEnter     packetType = 't'
	packetLeave     packetType = 'L'
	packetIgnore    packetType = 'm'
	packetAccept    packetType = 'u'
	packetWrite     packetType = 'w'
	packetKey       packetType = 'k'
	packetAck       packetType = 'A'
	packetError     packetType = 'e'
	packetException packetType = 'E'
	packetValue     packetType = 'P'<<8 | 'V'
	packetRequest   packetType = 'P'<<8 | 'R'
	packetUpdate    packetType = 'P'<<8 | 'U'
)

// String returns the one or two letters of the type, in quotation marks, for errors.
func (t packetType) String() string {
	if t > 0xff {
		return fmt.Sprintf("%q", string([]byte{byte(t >> 8), byte(t)}))
	}
	return fmt.Sprintf("%q", rune(t))
}

// packet is one packet of BrlAPI, sent or received.
type packet struct {
	kind packetType
	body []byte
}

// readPacket reads one packet. One of more than maxPacket bytes is an error; io.EOF is an end
// between two packets.
func readPacket(r io.Reader) (packet, error) {
	var head [8]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return packet{}, err
	}
	size := binary.BigEndian.Uint32(head[:])
	p := packet{kind: packetType(binary.BigEndian.Uint32(head[4:]))}
	if size > maxPacket {
		return packet{}, fmt.Errorf("a packet %v of %d bytes, and %d is the most", p.kind, size, maxPacket)
	}
	p.body = make([]byte, size)
	if _, err := io.ReadFull(r, p.body); err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return packet{}, err
	}
	return p, nil
}

// encodeWire returns the packet as it is on the wire.
func (p packet) encodeWire() []byte {
	b := appendNumbers(uint32(len(p.body)), uint32(p.kind))
	return append(b, p.body...)
}

// appendNumbers returns numbers as the protocol has them: four bytes each, in network order.
func appendNumbers(values ...uint32) []byte {
	var b []byte
	for _, v := range values {
		b = binary.BigEndian.AppendUint32(b, v)
	}
	return b
}

// numberAt returns the i-th number of a body, or 0 if there is none.
func (p packet) numberAt(i int) uint32 {
	if len(p.body) < 4*i+4 {
		return 0
	}
	return binary.BigEndian.Uint32(p.body[4*i:])
}

// What a write contains, in this order.
const (
	writeRegion  = 0x02
	writeText    = 0x04
	writeAnd     = 0x08
	writeOr      = 0x10
	writeCursor  = 0x20
	writeCharset = 0x40
)

// writePacketFor returns the packet that puts a line into the first cells of the display and takes
// the cursor away. A braille pattern is written as dots, whatever table the display uses.
func writePacketFor(line []rune) packet {
	text := string(line)
	// A write has the numbers of its flags, the region and the length of the text, then the text.
	b := appendNumbers(writeRegion|writeText|writeAnd|writeOr|writeCursor|writeCharset, 1, uint32(len(line)),
		uint32(len(text)))
	b = append(b, text...)
	// Two masks of a byte for each cell follow: the dots that stay, and those that are added.
	or := make([]byte, len(line))
	for i, r := range line {
		if r>>8 == blank>>8 {
			b = append(b, 0)
			or[i] = byte(r)
		} else {
			b = append(b, 0xff)
		}
	}
	b = append(b, or...)
	b = append(b, appendNumbers(0)...) // no cursor
	b = append(b, byte(len("UTF-8")))
	return packet{packetWrite, append(b, "UTF-8"...)}
}

// A key is what a key of the display asks for.
type key int

const (
	keyNone     key = iota
	keyForward      // one page on
	keyBack         // one page back
	keyNext         // to the next text
	keyPrevious     // to the beginning, then to the text before
	keyHome         // to the newest text
)

// commands are those of BRLTTY that move through texts; the code is the low half of a key code.
var commands = map[uint32]key{
	0x20000018: keyForward, 0x2000001a: keyForward, // FWINRT, FWINRTSKIP
	0x20000017: keyBack, 0x20000019: keyBack, // FWINLT, FWINLTSKIP
	0x20000002: keyNext, 0x20000001: keyPrevious, // LNDN, LNUP
	0x2000001d: keyHome, 0x2000001f: keyHome, // HOME, RETURN
}
