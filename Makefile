# make          every check, as CI does: lint and test-all
# make test     the tests, apart from whatever else runs on the machine; six minutes at most on two cores
# make test-all make lint, and the tests whole: with what make test leaves out, and the race detector where it finds something
# make lint     formatting, vet for three systems, module files, staticcheck
# make bench    benchmarks, with allocations
# make fuzz     each fuzz target in turn, for FUZZTIME
# make races    ten thousand questions, each answered by ten subscribers at once over sockets of their own
# make nodes    ten thousand questions, each answered at three machines at once, while NATS servers are killed; as many while
#               the network between them is torn
# make kills    an agent killed a thousand times, and what it left behind looked at every time; so is one with a log
# make faults   ten minutes through proxies that hold up, split and cut what is sent (AAEP_FAULTS=1h for an hour)
# make soak     an hour of an agent with a log and many listeners, killed and cut off at random (AAEP_SOAK=15m for less)
# make timing   how long the answer to a reply takes, after what is wrong with the reply
# make jose     signed manifests against another implementation; needs npm, which fetches that
# make eval     sentence boundaries against annotated text, where that is at hand
# make sdks     the SDKs of OpenAI, Anthropic and Google, and Genkit, through producer/llm, and what asks in ADK, Eino and Fantasy;
#               they are large to build
# make wine     the tests that need no Unix, as Windows programs, under Wine
# make orca     what Orca says of the web page, on a desktop without a screen; ten minutes, and not part of the others; TIMES=20 for twenty runs
# make real     install the speech server and whatever else the tests use that is real
# make report   the conformance report of our own producer, and the table of cases, into docs
# make cover    statement coverage over the whole module
# make picture  what the demo looks like in a terminal, into docs, from a real run of it
# make api      write down what is exported, in api.txt, where that is meant to change
# make release  the command for six platforms in dist, the same bytes for everybody; VERSION=v0.1.0 says which it is
# make clean    remove what these targets leave behind

FUZZTIME ?= 30s
STATICCHECK := go tool -modfile="$(CURDIR)/tools/go.mod" staticcheck

# Folders that are modules of their own, so that users of the core do not inherit what they need.
MODULES := transports/grpc producer/telemetry producer/mcp

# Modules like these that take minutes to build without a cache, and are tested by make sdks alone.
SDKS := producer/llm/sdktest producer/llm/genkittest producer/adk producer/eino producer/fantasy

# Packages whose tests meet real programs, which keep real time: many of these tests run at once, since they mostly wait.
REAL_TESTS := ./subscriber/speech ./subscriber/web ./subscriber/braille

# Packages in which goroutines share what they work on, for the race detector of make test-all: it makes a test take several times
# as long, and finds nothing where one goroutine owns everything. Those that take longest come first.
RACED := ./producer/serve ./producer ./internal/cli ./internal/cli/listen ./internal/cli/lineio ./internal/cli/serving ./internal/cli/agent \
	./producer/llm ./producer/log/... ./transports/stdio ./transports/... ./subscriber ./subscriber/present ./internal/eventlog \
	./internal/delivery ./internal/replica ./internal/duplex ./internal/httpguard ./internal/idle ./internal/writer

# Of all, those that take longest.
LONG := ./conformance ./producer/serve ./internal/cli ./subscriber/present ./transports/stdio ./examples ./producer/log/jetstream ./bridges/... \
	./internal/cli/... ./internal/release

# What a package may take: on a machine that is busy with something else, several times as long as usual.
LIMIT := -timeout 18m
QUICK = -short -shuffle=on $(LIMIT)
WHOLE = -shuffle=on $(LIMIT) -vet=off # lint vets all of it

# As many packages at once as there are cores would leave one without work where a package waits, most of all those of REAL_TESTS.
AT_ONCE := -p $$(($$(getconf _NPROCESSORS_ONLN) + 1))
WITH_REAL := -p $$(($$(getconf _NPROCESSORS_ONLN) + 3)) -parallel 8

# Tests of the small modules leave nothing out where testing.Short() holds. What follows "++" runs beside what is before it, what
# follows "--" after it. make test-all runs no test twice: a test that is run whole does all of what make test has it do.
QUICK_RUNS = $(QUICK) $(WITH_REAL) $(REAL_TESTS) $(LONG) ./... $(MODULES:%=++ -C % $(QUICK) -p 1 ./...)
WHOLE_RUNS = -race $(WHOLE) $(WITH_REAL) $(REAL_TESTS) -- -race $(WHOLE) $(AT_ONCE) $(RACED) $(MODULES:%=++ -C % -race $(QUICK) -p 1 ./...) -- \
	$(WHOLE) $(AT_ONCE) $$others
SUITE := go run ./internal/suite

.PHONY: all test test-all lint bench fuzz races nodes kills faults soak timing jose eval sdks wine orca report picture api release cover clean compiler real

all: test-all

# The packages' own tests hold the checks of the architecture (internal/arch) and the seeds of every fuzz target. What a test
# leaves out where testing.Short() holds is slow and deep, such as more rounds, more transports, or servers that are torn apart.
# Nothing hides anything: internal/suite runs all of it and reports at the end.
test: real
	@$(SUITE) $(QUICK_RUNS)

test-all: compiler real
	@status=0; $(MAKE) --no-print-directory lint || status=$$?; \
	raced=$$(go list $(REAL_TESTS) $(RACED)) && others=$$(go list $(LONG) ./... | grep -vxF "$$raced") && CGO_ENABLED=1 $(SUITE) $(WHOLE_RUNS) || status=$$?; \
	[ $$status = 0 ] || echo "FAIL: what did is above; lint is at the top" >&2; exit $$status

lint:
	@unformatted=$$(gofmt -l .) || exit 1; \
	if [ -n "$$unformatted" ]; then \
		echo "These files are not formatted; run gofmt -w on them:"; \
		echo "$$unformatted" | sed 's/^/  /'; exit 1; \
	fi >&2
	@set -e; for module in . $(MODULES); do \
		(set -x; cd $$module; go vet ./...; CGO_ENABLED=0 GOOS=windows go vet ./...; CGO_ENABLED=0 GOOS=darwin go vet ./...; go mod tidy -diff; go mod verify; $(STATICCHECK) ./...); \
	done; set -x; for system in plan9 freebsd; do CGO_ENABLED=0 GOOS=$$system go vet $(SYSTEM_PACKAGES); done

# What people may use that tells systems apart has to build for those, too, of which nothing else here knows.
SYSTEM_PACKAGES := ./transports/stdio ./transports/ipc ./subscriber/terminal

# The race detector links C code, so go needs gcc and the C library's headers.
compiler:
	@works() { echo '#include <stdlib.h>' | gcc -E - >/dev/null 2>&1; }; \
	works && exit 0; \
	if [ -w /var/lib/dpkg ] && command -v apt-get >/dev/null; then \
		echo "gcc is missing: installing the packages gcc and libc6-dev"; \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends gcc libc6-dev; \
	fi >&2; \
	works || { echo "The race detector needs a C compiler: install the packages gcc and libc6-dev." >&2; exit 1; }

# What the tests need to meet real assistive technology, and what operators run: names of Debian packages. Without them those
# tests are skipped, and say so; with AAEP_REAL=1 they fail.
REAL_PACKAGES := speech-dispatcher speech-dispatcher-espeak-ng speech-dispatcher-audio-plugins espeak-ng pulseaudio dbus-daemon \
	dbus feedbackd brltty liblouis-bin liblouis-data chromium xvfb xdotool xbindkeys xterm nginx prometheus systemd

# What make orca needs besides.
ORCA_PACKAGES := orca xvfb openbox xdotool at-spi2-core libglib2.0-bin gsettings-desktop-schemas

orca: REAL_PACKAGES += $(ORCA_PACKAGES)
orca: real
	AAEP_ORCA=$(or $(TIMES),1) AAEP_REAL=1 go test -count=1 -timeout 0 -run '^TestOrca$$' -v ./subscriber/web
	AAEP_ORCA=1 AAEP_REAL=1 go test -count=1 -run '^TestOldOrca$$' -v ./subscriber/orca

real:
	@command -v dpkg-query >/dev/null || { echo "Not Debian: tests with real programs run if those are there."; exit 0; }; \
	missing=; for package in $(REAL_PACKAGES); do \
		dpkg-query -W -f '$${Status}' $$package 2>/dev/null | grep -q 'ok installed' || missing="$$missing $$package"; \
	done; \
	[ -n "$$missing" ] || exit 0; \
	if [ -w /var/lib/dpkg ]; then \
		echo "Installing for the tests, without starting them as services:$$missing"; \
		starts=/usr/sbin/policy-rc.d; \
		if [ ! -e $$starts ]; then trap 'rm -f '$$starts EXIT; printf '#!/bin/sh\nexit 101\n' >$$starts && chmod +x $$starts; fi; \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 install -y -qq --no-install-recommends --no-remove $$missing || \
			echo "That failed; the tests that need them are skipped."; \
	else \
		echo "Tests with real programs are skipped without the packages:$$missing"; \
	fi >&2

bench:
	@set -e; for module in . $(MODULES); do (cd $$module; go test -run '^$$' -bench . -benchmem ./...); done

fuzz:
	@set -e; packages=$$(go list ./...); \
	for package in $$packages; do \
		names=$$(go test -list '^Fuzz' $$package); \
		for name in $$names; do \
			case $$name in Fuzz*) \
				echo "$$package $$name, $(FUZZTIME)"; \
				go test -run '^$$' -fuzz "^$$name\$$" -fuzzminimizetime 1x -fuzztime $(FUZZTIME) $$package;; \
			esac; \
		done; \
	done

races:
	AAEP_LONG=1 go test -count=1 -timeout 30m -run '^TestTenRace$$' -v ./producer/serve

nodes:
	AAEP_LONG=1 go test -count=1 -timeout 60m -run '^(TestRacingReplies|TestTorn.*|TestAllServersGone)$$' -v ./producer/log/jetstream

kills:
	AAEP_LONG=1 go test -count=1 -timeout 60m -run '^(TestKill|TestKillWithLog)$$' -v ./producer/serve
	AAEP_LONG=1 go test -count=1 -timeout 60m -run '^(TestStore|TestTornTail)$$' -v ./producer/log/sqlite

faults:
	AAEP_LONG=1 go test -count=1 -timeout 0 -run '^(TestFaultRun|TestCutAtEveryByte)$$' -v ./producer/serve

soak:
	AAEP_SOAK=$${AAEP_SOAK:-1h} go test -count=1 -timeout 0 -run '^TestSoak$$' -v ./internal/soak

timing:
	AAEP_LONG=1 go test -count=1 -timeout 30m -run '^TestReplyTiming$$' -v ./producer/serve

# Not those that need temporary files: Wine 8 cannot delete as Go does, and a test that leaves files behind fails.
WINE_PACKAGES := . ./coalesce ./internal/budget ./internal/shaper ./internal/negotiation ./internal/delivery ./internal/replica ./handshake/... ./transports/... ./producer ./producer/log ./internal/eventlog ./subscriber ./subscriber/nvda ./schemas ./conformance/...

wine:
	@tools/wine
	CGO_ENABLED=0 GOOS=windows GOARCH=amd64 go test -short -count=1 -exec "$(CURDIR)/tools/wine" $(WINE_PACKAGES)

sdks:
	@set -e; for module in $(SDKS); do (set -x; cd $$module; go vet ./...; go mod tidy -diff; go mod verify; go test -count=1 -timeout 5m ./...); done

jose:
	AAEP_REAL=1 go test -count=1 -run '^TestJOSE$$' -v ./manifest

report:
	AAEP_REPORT=1 go test -count=1 -run '^(TestPublishedReport|TestTable)$$' -v ./conformance

picture:
	{ echo '$$ go run ./cmd/aaep demo --answer accept'; go run ./cmd/aaep demo --answer accept | sed '/^The agent produced/,$$d'; } | tools/picture > docs/demo.svg

api:
	AAEP_API=1 go test -count=1 -run '^TestAPI$$' ./internal/arch

release:
	go run ./internal/release -version "$(VERSION)"
	go test -count=1 -run '^TestReproducible$$' -v ./internal/release

cover:
	go test -coverpkg=./... -coverprofile=cover.out ./...
	go tool cover -func=cover.out | tail -n 1

clean:
	rm -rf aaep cover.out dist
	find . -name '*.test' -type f -delete

# The annotated texts and their harness are no part of this repository: some may be shared only under their own
# licence. Where they are not at hand the test says so and is skipped.
eval:
	@AAEP_EVAL=1 go test -count=1 -timeout 30m -run '^TestEval$$' -v ./internal/segmentio
