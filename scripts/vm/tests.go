package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"path"
	"slices"
	"strings"
)

// tests are the tests of one job by name.
type tests map[string]*testResult

type testResult struct {
	action string // pass, fail or skip
	output string
}

// convert makes events of what a test binary wrote.
func convert(ctx context.Context, pkg string, output []byte) ([]byte, error) {
	module, err := modulePath(ctx)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, "go", "tool", "test2json", "-t", "-p", path.Join(module, pkg))
	cmd.Stdin = bytes.NewReader(output)
	return cmd.Output()
}

func modulePath(ctx context.Context) (string, error) {
	name, err := output(ctx, "go", "list", "-m")
	return strings.TrimSpace(name), err
}

func readTests(converted []byte) (tests, error) {
	found := tests{}
	for events := json.NewDecoder(bytes.NewReader(converted)); ; {
		var e struct{ Action, Test, Output string }
		if err := events.Decode(&e); errors.Is(err, io.EOF) {
			return found, nil
		} else if err != nil {
			return nil, err
		}
		if e.Test != "" {
			found.note(e.Test, e.Action, e.Output)
		}
	}
}

func (t tests) note(name, action, output string) {
	if t[name] == nil {
		t[name] = &testResult{}
	}
	switch action {
	case "output":
		t[name].output += output
	case "pass", "fail", "skip":
		t[name].action = action
	}
}

// names lists the tests that ended so.
func (t tests) names(action string) (names []string) {
	for name, result := range t {
		if result.action == action {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// reason is what the test said when it was skipped.
func (r *testResult) reason() string {
	for _, line := range strings.Split(r.output, "\n") {
		if _, why, ok := strings.Cut(line, ".go:"); ok {
			return strings.TrimSpace(why)
		}
	}
	return "it does not say why"
}
