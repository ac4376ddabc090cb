// Command release makes what a release consists of, in one directory: for each
// target an archive with the binary, the licence, the README, the manual and
// completions; for each binary a bill of materials; and the checksums of them
// all. The same source and toolchain give the same bytes: nothing in them
// depends on when, where or by whom they were made.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "error: cannot make the release:", err)
		os.Exit(1)
	}
}

func run() error {
	version := flag.String("version", "", "of the release")
	out := flag.String("out", "dist", "the directory to write to")
	list := flag.String("targets", "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64,windows/amd64", "systems and processors; all but linux are clients only")
	flag.Parse() // the rest are flags for go build
	if *version == "" || strings.ContainsAny(*version, "/ ") {
		return fmt.Errorf("%q is no version", *version)
	}
	targets, err := parseTargets(*list)
	if err != nil {
		return err
	}
	moment, err := sourceTime()
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "forkbox-release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	r := &releaser{version: *version, out: *out, work: work, moment: moment, flags: flag.Args()}
	return r.make(targets)
}

// releaser is what the steps share.
type releaser struct {
	version   string
	out, work string
	moment    time.Time // of every file in the archives
	flags     []string  // for go build
}

func (r *releaser) make(targets []target) error {
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return err
	}
	pages, err := r.pages()
	if err != nil {
		return err
	}
	var made []string
	for _, t := range targets {
		names, err := r.release(t, pages)
		if err != nil {
			return fmt.Errorf("%s: %w", t, err)
		}
		made = append(made, names...)
	}
	return writeChecksums(r.out, made)
}

// release makes the files of one target, and names them.
func (r *releaser) release(t target, pages []file) ([]string, error) {
	binary, err := r.build(t)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	base := fmt.Sprintf("forkbox-%s-%s-%s", r.version, t.os, t.arch)
	archive, bill := base+".tar.gz", base+".spdx.json"
	files := append([]file{{name: t.binary(), mode: 0o755, text: text}}, pages...)
	if err := writeArchive(filepath.Join(r.out, archive), base, files, r.moment); err != nil {
		return nil, err
	}
	if err := r.writeBill(filepath.Join(r.out, bill), base, binary); err != nil {
		return nil, err
	}
	return []string{archive, bill}, nil
}

// sourceTime is SOURCE_DATE_EPOCH, as other tools for reproducible builds have
// it, or else when the last commit was made.
func sourceTime() (time.Time, error) {
	text := os.Getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		out, err := exec.Command("git", "log", "-1", "--format=%ct").Output()
		if err != nil {
			return time.Time{}, fmt.Errorf("cannot tell when the source was made: %w (set SOURCE_DATE_EPOCH)", err)
		}
		text = strings.TrimSpace(string(out))
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
	}
	return time.Unix(seconds, 0).UTC(), nil
}
