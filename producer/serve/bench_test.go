package serve_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// BenchmarkWire measures what one event costs from the agent's call to the listener's socket, on every wire, beside two
// that know only frames that are encoded already: "bare" is a handler with a channel and a goroutine for each listener,
// "raw" one loop over the sockets, which writes what belongs together in one call. One operation is one delivery to one
// listener. "single" sends one event and waits until all have it, "burst" sends 32. The listeners are another process:
// bytes, allocations and cpu-ns are the server's alone, ×raw and ×bare what it takes of the processor against those two in
// the same run; p50 and p99 are from the call to the receipt, idle-KiB is what the heap and the stacks grew by for each
// listener.
func BenchmarkWire(b *testing.B) {
	cpu := ratios{}
	for _, wire := range wireNames {
		for _, listeners := range []int{1, 100, 1000} {
			for _, burst := range []int{1, 32} {
				for _, server := range []string{"raw", "bare", "aaep"} {
					load := map[int]string{1: "single", 32: "burst"}[burst]
					b.Run(fmt.Sprintf("%s/listeners=%d/%s/%s", wire, listeners, load, server), func(b *testing.B) {
						cpu.of(b, server, fmt.Sprint(wire, listeners, load), measure(b, wire, server, listeners, burst, alike, servers[server]))
					})
				}
			}
		}
	}
}

var servers = map[string]func(*testing.B, string, int) target{"aaep": startAAEP, "bare": startBare, "raw": startRaw}

// ratios are what the servers took for each load, in one run.
type ratios map[string]float64

func (r ratios) of(b *testing.B, what, load string, cpu float64) {
	r[what+load] = cpu
	for _, floor := range []string{"raw", "bare", "alike"} {
		if least := r[floor+load]; least > 0 && what != floor {
			b.ReportMetric(cpu/least, "×"+floor)
		}
	}
}

// What the listeners ask for.
const (
	alike    = "alike"    // all the same
	shapes   = "shapes"   // one of 16 languages and verbosities each
	critical = "critical" // nothing but what is critical
)

// BenchmarkShapes measures bursts to 1,000 listeners that want them in 16 ways, against 1,000 that want them in one.
func BenchmarkShapes(b *testing.B) {
	cpu := ratios{}
	for _, asks := range []string{alike, shapes} {
		b.Run(asks, func(b *testing.B) {
			cpu.of(b, asks, "", measure(b, "sse", "aaep", 1000, 32, asks, startTranslated))
		})
	}
}

// BenchmarkIdle measures what 5,000 listeners take that hear nothing. One operation is nothing; ask for -benchtime 1x.
func BenchmarkIdle(b *testing.B) {
	for _, wire := range wireNames {
		for _, server := range []string{"bare", "aaep"} {
			b.Run(wire+"/"+server, func(b *testing.B) {
				measure(b, wire, server, 5000, 1, alike, servers[server])
			})
		}
	}
}

// BenchmarkFlood measures how late what is critical comes to one listener, while 1,000 others are idle and while they are
// flooded: they want everything, and the one only what is critical.
func BenchmarkFlood(b *testing.B) {
	b.Run("idle", func(b *testing.B) { amid(b, 0) })
	b.Run("flooded", func(b *testing.B) { amid(b, 32) })
}

// BenchmarkURL measures another server, at $AAEP_BENCH_URL: an AAEP producer where the URL has no path, and otherwise any
// stream of Server-Sent Events. What it sends must have "Event ", the time as unix nanoseconds and "." in it. With its
// process id in $AAEP_BENCH_PID, its processor time and memory are measured too, where there is a /proc.
func BenchmarkURL(b *testing.B) {
	at, err := url.Parse(os.Getenv("AAEP_BENCH_URL"))
	if check(b, err); at.Host == "" {
		b.Skip("AAEP_BENCH_URL names no server")
	}
	server := "aaep"
	if at.Path != "" {
		server = at.RequestURI()
	}
	const listeners = 100
	pid := os.Getenv("AAEP_BENCH_PID")
	before := resident(pid)
	in, says := readBy(b, "sse", server, at.Host, listeners, 1, alike)
	time.Sleep(time.Second) // nothing says when that server has its last listener
	used, grown := ticks(pid), resident(pid)-before
	b.ResetTimer()
	n := 0
	for ; n < b.N && says.Scan(); n += listeners {
	}
	b.StopTimer()
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "deliveries/s")
	if pid != "" {
		b.ReportMetric(float64(ticks(pid)-used)*1e7/float64(n), "cpu-ns")
		b.ReportMetric(float64(grown)/1024/listeners, "idle-RSS-KiB")
	}
	in.Close()
	report(b, says)
}

// ticks are the hundredths of a second for which a process has had a processor.
func ticks(pid string) (sum int64) {
	stat, _ := os.ReadFile("/proc/" + pid + "/stat")
	_, rest, _ := strings.Cut(string(stat), ") ")
	if f := strings.Fields(rest); len(f) > 12 {
		for _, s := range f[11:13] {
			n, _ := strconv.ParseInt(s, 10, 64)
			sum += n
		}
	}
	return sum
}

// A target is what is measured.
type target struct {
	addr string
	emit func(events int) // sends so many to all
	here func() int       // how many listeners there are
	// alarm sends one that is critical.
	alarm func()
}

func measure(b *testing.B, wire, server string, listeners, burst int, asks string, start func(*testing.B, string, int) target) (cpuNS float64) {
	t := start(b, wire, listeners)
	before := atRest()
	in, says := readBy(b, wire, server, t.addr, listeners, burst, asks)
	defer in.Close()
	eventually(b, "all are there", func() bool { return t.here() == listeners })
	idle := atRest() - before
	round := func() {
		t.emit(burst)
		if !says.Scan() {
			b.Fatal("the reader is gone")
		}
	}
	for range 3 {
		round()
	}
	cpu := cpuTime()
	b.ReportAllocs()
	b.ResetTimer()
	n := 0
	for ; n < b.N; n += listeners * burst {
		round()
	}
	b.StopTimer()
	cpuNS = float64(cpuTime()-cpu) / float64(n)
	b.ReportMetric(cpuNS, "cpu-ns")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/op") // the last round may go past b.N
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "deliveries/s")
	b.ReportMetric(float64(idle)/1024/float64(listeners), "idle-KiB")
	in.Close()
	report(b, says)
	return cpuNS
}

// readBy starts listeners in a process of their own and waits until all are there.
func readBy(b *testing.B, wire, server, addr string, listeners, burst int, asks string) (in io.WriteCloser, says *bufio.Scanner) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childVariable+"="+fmt.Sprint("reader ", wire, " ", server, " ", addr, " ", listeners, " ", burst, " ", asks))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	check(b, err)
	out, err := cmd.StdoutPipe()
	check(b, err)
	check(b, cmd.Start())
	b.Cleanup(func() { cmd.Wait() })
	says = bufio.NewScanner(out)
	if !says.Scan() || says.Text() != "ready" {
		b.Fatalf("the reader says %q", says.Text())
	}
	return in, says
}

// report says what the listeners measured.
func report(b *testing.B, says *bufio.Scanner) {
	for says.Scan() {
		for _, field := range strings.Fields(says.Text()) {
			name, value, _ := strings.Cut(field, "=")
			if v, err := strconv.ParseFloat(value, 64); err == nil {
				b.ReportMetric(v, name)
			}
		}
	}
}

// amid sends bursts of noise to 1,000, four a second, and b.N critical events to all.
func amid(b *testing.B, noise int) {
	t := startAAEP(b, "sse", 1002)
	others, rest := readBy(b, "sse", "aaep", t.addr, 1000, 1, alike)
	in, says := readBy(b, "sse", "aaep", t.addr, 1, 1, critical)
	eventually(b, "all are there", func() bool { return t.here() == 1001 })
	go func() {
		for rest.Scan() {
		}
	}()
	ctx, stop := context.WithCancel(context.Background())
	var flooding sync.WaitGroup
	if noise > 0 {
		flooding.Go(func() {
			for every := time.NewTicker(250 * time.Millisecond); ctx.Err() == nil; <-every.C {
				t.emit(noise)
			}
		})
	}
	time.Sleep(time.Second)
	b.ResetTimer()
	for range b.N {
		time.Sleep(37 * time.Millisecond) // at any moment between two bursts
		t.alarm()
		if !says.Scan() {
			b.Fatal("the reader is gone")
		}
	}
	b.StopTimer()
	stop()
	flooding.Wait()
	in.Close()
	others.Close()
	report(b, says)
}

// resident is what a process has of the machine's memory, in bytes, or 0 where nobody says.
func resident(pid string) int64 {
	statm, _ := os.ReadFile("/proc/" + pid + "/statm")
	var total, pages int64
	fmt.Sscan(string(statm), &total, &pages)
	return pages * int64(os.Getpagesize())
}

// atRest is what is in use when nothing happens.
func atRest() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}
