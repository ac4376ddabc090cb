# make demo    build, break a copy of this machine on purpose, race three fixes of a bug, fork a database
# make test    the whole suite, as root and as an unprivileged user
# make help    the rest

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
GOFLAGS_BUILD := -trimpath -ldflags '-s -w -X main.release=$(VERSION)'

export CGO_ENABLED = 0
# For all that is compiled: what tests, linters and releases share is compiled
# once, and once for all checkouts.
export GOFLAGS = -trimpath

.PHONY: help build demo recording test test-all test-fast soak hold services test-vm lint check bench bench-record bench-compare release install clean deps man

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

build: ## bin/forkbox, one static binary
	go build $(GOFLAGS_BUILD) -o bin/forkbox ./cmd/forkbox

demo: build ## break a copy of this machine; race three fixes, land the right one, undo it; fork a database
	@scripts/deps demo || echo "the demo leaves out what it lacks" >&2
	@scripts/demo bin/forkbox

recording: build ## docs/demo.svg, from commands that are run for it
	go run ./scripts/recording -forkbox bin/forkbox -o docs/demo.svg

deps: ## what the tests and the benchmark need from the distribution
	@scripts/deps

test: deps build ## the whole suite, as root (when we are) and as an unprivileged user
	go run ./scripts/suite

test-all: deps build ## test and test-vm, beside each other
	go build -o bin/test-vm ./scripts/vm
	go run ./scripts/suite -vm bin/test-vm

test-fast: ## what needs neither root nor much time, for between two edits
	go run ./scripts/suite -fast

SOAK ?= 5000
SOAK_BESIDE ?= 6
soak: build ## random histories of boxes, landings and edits, and where every line went: SOAK=5000 SOAK_SEED=1; faster with TMPDIR in memory
	SOAK=$(SOAK) go test ./cmd/forkbox -run '^TestSoakNothingIsLost$$' -count=1 -timeout 0 -parallel $(SOAK_BESIDE) -v

hold: build ## the long forms of what holds the API: attacks, streams, terminals, kill -9, load; some ten minutes
	HOLD=long go test ./cmd/forkbox -run '^(TestHold|TestPromise8FilesStayInTheBox)' -parallel 1 -count=1 -timeout 0 -v

services: deps build ## copies of services under load, each way and each engine twenty times; some half an hour
	SERVICES=long go test ./cmd/forkbox -run '^TestServicesAreConsistent$$' -count=1 -timeout 0 -v

test-vm: deps ## what needs control groups of version 2 and project quotas, in a machine that is booted for it
	go build -o bin/test-vm ./scripts/vm
	@bin/test-vm -json bin/test-vm.json

lint: ## gofmt, vet on three systems, staticcheck, import rules
	@scripts/lint

check: lint test ## lint and test

bench: deps build ## against the bare system, bubblewrap and a container engine
	@mkdir -p bench
	go run ./scripts/bench -forkbox bin/forkbox -json bench/results.json | tee bench/results.txt

bench-record: deps build ## add a line to bench/history.jsonl, for a release: the short cases, × bubblewrap
	go run ./scripts/bench -forkbox bin/forkbox -only short -record $(VERSION)

bench-compare: deps build ## the short cases beside the last line of bench/history.jsonl; fails if one is slower by a tenth
	go run ./scripts/bench -forkbox bin/forkbox -only short -compare

DIST ?= dist
release: ## archives, checksums and bills of materials in dist/: VERSION=v1.2.3 TARGETS=linux/amd64,linux/arm64
	go run ./scripts/release -version $(VERSION) -out $(DIST) $(if $(TARGETS),-targets $(TARGETS)) -- $(GOFLAGS_BUILD)

man: build ## the manual page, as bin/forkbox.1
	bin/forkbox man > bin/forkbox.1

install: build ## /usr/local/bin, man pages and completions
	install -D bin/forkbox $(DESTDIR)/usr/local/bin/forkbox
	mkdir -p $(DESTDIR)/usr/local/share/man/man1 && bin/forkbox man > $(DESTDIR)/usr/local/share/man/man1/forkbox.1
	mkdir -p $(DESTDIR)/usr/local/share/bash-completion/completions
	bin/forkbox completion bash > $(DESTDIR)/usr/local/share/bash-completion/completions/forkbox

clean: ## what was built
	rm -rf bin dist bench/results.*
