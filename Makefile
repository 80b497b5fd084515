# make          every check: what must pass before a change is merged
# make lint     the static half of it
# make bench    benchmarks, with allocations
# make fuzz     each fuzz target in turn, for FUZZTIME
# make races    ten thousand questions, each answered by ten subscribers at once over sockets of their own
# make kills    an agent killed a thousand times, and what it left behind looked at every time
# make timing   how long the answer to a reply takes, after what is wrong with the reply
# make jose     signed manifests against another implementation; needs npm, which fetches that
# make eval     sentence boundaries against annotated text, where that is at hand
# make cover    statement coverage over the whole module
# make clean    remove what these targets leave behind

FUZZTIME ?= 30s
STATICCHECK := go tool -modfile=tools/go.mod staticcheck

.PHONY: test lint bench fuzz races kills timing jose eval cover clean compiler

# The packages' own tests hold the checks of the architecture (internal/arch) and the seeds of every fuzz target.
test: lint compiler
	CGO_ENABLED=1 go test -race -shuffle=on ./...

lint:
	@unformatted=$$(gofmt -l .) || exit 1; \
	if [ -n "$$unformatted" ]; then \
		echo "These files are not formatted; run gofmt -w on them:"; \
		echo "$$unformatted" | sed 's/^/  /'; exit 1; \
	fi >&2
	go vet ./...
	go mod tidy -diff
	go mod verify
	$(STATICCHECK) ./...

# The race detector links C code, so go needs gcc and the C library's headers.
compiler:
	@works() { echo '#include <stdlib.h>' | gcc -E - >/dev/null 2>&1; }; \
	works && exit 0; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		echo "gcc is missing: installing the packages gcc and libc6-dev"; \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends gcc libc6-dev; \
	fi >&2; \
	works || { echo "The race detector needs a C compiler: install the packages gcc and libc6-dev." >&2; exit 1; }

bench:
	go test -run '^$$' -bench . -benchmem ./...

fuzz:
	@set -e; packages=$$(go list ./...); \
	for package in $$packages; do \
		names=$$(go test -list '^Fuzz' $$package); \
		for name in $$names; do \
			case $$name in Fuzz*) \
				echo "$$package $$name, $(FUZZTIME)"; \
				go test -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) $$package;; \
			esac; \
		done; \
	done

races:
	AAEP_LONG=1 go test -count=1 -timeout 30m -run '^TestTenRace$$' -v ./producer/serve

kills:
	AAEP_LONG=1 go test -count=1 -timeout 60m -run '^TestKill$$' -v ./producer/serve

timing:
	AAEP_LONG=1 go test -count=1 -timeout 30m -run '^TestReplyTiming$$' -v ./producer/serve

jose:
	AAEP_JOSE=1 go test -count=1 -run '^TestJOSE$$' -v ./manifest

cover:
	go test -coverpkg=./... -coverprofile=cover.out ./...
	go tool cover -func=cover.out | tail -n 1

clean:
	rm -f aaep cover.out
	find . -name '*.test' -type f -delete

# The annotated texts and their harness are no part of this repository: some may be shared only under their own
# licence. Where they are not at hand the test says so and is skipped.
eval:
	@AAEP_EVAL=1 go test -count=1 -timeout 30m -run '^TestEval$$' -v ./internal/segmentio
