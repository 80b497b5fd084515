package braille

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"
)

// Whatever comes, what is read is a packet within the limit, and is written back as it came.
func FuzzReadPacket(f *testing.F) {
	f.Add(packet{packetVersion, appendNumbers(8)}.encodeWire())
	f.Add(packet{packetSize, appendNumbers(40, 1)}.encodeWire())
	f.Add(writePacketFor([]rune("Hi ⠶")).encodeWire())
	f.Add([]byte{0, 0, 0, 5, 0, 0, 0, 'k', 1})
	f.Add([]byte{0, 0, 0, 5, 0, 0, 0, 'k'})
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0, 0, 0, 'k'})
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := readPacket(bytes.NewReader(data))
		if err != nil {
			if err == io.EOF && len(data) > 0 {
				t.Error("half a packet counts as none")
			}
			return
		}
		for i := range 5 {
			p.numberAt(i)
		}
		if len(p.body) > maxPacket || !bytes.HasPrefix(data, p.encodeWire()) {
			t.Errorf("%x is read as %v", data, p)
		}
	})
}

// A packet of more than 4096 bytes is refused.
func TestReadPacketLimits(t *testing.T) {
	big := packet{packetKey, make([]byte, maxPacket)}
	if _, err := readPacket(bytes.NewReader(big.encodeWire())); err != nil {
		t.Error(err)
	}
	big.body = append(big.body, 0)
	if _, err := readPacket(bytes.NewReader(big.encodeWire())); err == nil ||
		!strings.Contains(err.Error(), "4097 bytes") {
		t.Error(err)
	}
}

// Region, text, what of it stays, dots, cursor, charset. Text is for the table, dots are not.
func TestWriting(t *testing.T) {
	want := "\x00\x00\x00\x7e" + "\x00\x00\x00\x01\x00\x00\x00\x02" + "\x00\x00\x00\x04a⠶" + "\xff\x00" + "\x00\x36" +
		"\x00\x00\x00\x00" + "\x05UTF-8"
	if got := string(writePacketFor([]rune("a⠶")).body); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// The longest line there can be fits a packet.
func TestWritingFits(t *testing.T) {
	if n := len(writePacketFor([]rune(strings.Repeat("🔉", maxCells))).body); n > maxPacket {
		t.Errorf("%d cells take %d bytes", maxCells, n)
	}
}

// As libbrlapi reads BRLAPI_HOST.
func TestAddresses(t *testing.T) {
	local := [][2]string{{"unix", "/var/lib/BrlAPI/0"}, {"tcp", "127.0.0.1:4101"}, {"tcp", "[::1]:4101"}}
	for host, want := range map[string][][2]string{
		"": local, ":0": local, ":2": {{"unix", "/var/lib/BrlAPI/2"}, {"tcp", "127.0.0.1:4103"}, {"tcp", "[::1]:4103"}},
		"localhost": {{"tcp", "localhost:4101"}}, "braille.example:3": {{"tcp", "braille.example:4104"}},
		"::1:0": {{"tcp", "[::1]:4101"}}, ":../../tmp/x": nil, "host:": nil, "host:61435": nil,
		"host:61434": {{"tcp", "host:65535"}},
	} {
		got, err := hostAddresses(host)
		if len(want) == 3 && len(got) == 2 {
			got = append(want[:1:1], got...) // Windows
		}
		if !slices.Equal(got, want) || (err == nil) != (want != nil) {
			t.Errorf("%q: %v, %v; want %v", host, got, err, want)
		}
	}
}

// The file with the key is found in whatever form BRLAPI_AUTH names it.
func TestKeyFile(t *testing.T) {
	for auth, want := range map[string]string{
		"": "", "none": "", "/etc/key": "/etc/key", "keyfile:/etc/key": "/etc/key", "user:joe+keyfile:/k": "/k",
		"relative": "",
	} {
		if got := keyFile(auth); got != want {
			t.Errorf("%q: %q, want %q", auth, got, want)
		}
	}
}

// The terminal is where libbrlapi and screen readers look for it.
func TestTerminal(t *testing.T) {
	for _, tc := range []struct {
		path, display, vt string
		want              []uint32
	}{
		{"7", "", "", []uint32{7}}, {"1:7", ":0", "3", []uint32{1, 7}}, {"", ":0", "3", []uint32{3}},
		{"", "", "3", nil}, {"", "", "", nil},
	} {
		t.Setenv("WINDOWPATH", tc.path)
		t.Setenv("DISPLAY", tc.display)
		t.Setenv("XDG_VTNR", tc.vt)
		if got := terminalPath(); !slices.Equal(got, tc.want) {
			t.Errorf("%+v: %v", tc, got)
		}
	}
}
