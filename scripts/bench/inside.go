package main

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
)

// insideArg as the first argument says that this program runs in a box.
const insideArg = "inside-a-box"

// inside does one thing in a box: fill DIR FILES CONTENT, read DIR, write FILE
// or agent SERVER. Beside a box it can also answer ADDRESS.
func inside(args []string) {
	err := fmt.Errorf("nothing is known of %q", args)
	switch {
	case len(args) == 4 && args[0] == "fill":
		var n int
		if n, err = strconv.Atoi(args[2]); err == nil {
			err = fill(args[1], n, args[3])
		}
	case len(args) == 2 && args[0] == "read":
		err = readTwice(args[1])
	case len(args) == 2 && args[0] == "write":
		err = writeOn(args[1])
	case len(args) == 2 && args[0] == "agent":
		err = (&agent{server: args[1]}).run()
	case len(args) == 2 && args[0] == "answer":
		err = answerAll(args[1])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// readTwice tells in nanoseconds how long it takes to read every file, for the
// first time since the box was mounted and for the second.
func readTwice(dir string) error {
	for range 2 {
		start := time.Now()
		if err := readAll(dir); err != nil {
			return err
		}
		fmt.Println(time.Since(start).Nanoseconds())
	}
	return nil
}

func readAll(dir string) error {
	return filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		if _, err := os.Lstat(path); err != nil {
			return err
		}
		_, err = os.ReadFile(path)
		return err
	})
}

// writeOn writes to a file until its process is ended.
func writeOn(name string) error {
	f, err := os.Create(name)
	for i := 0; err == nil; i++ {
		_, err = f.WriteAt([]byte(strings.Repeat("x", 4096)), int64(i%16)*4096)
		time.Sleep(100 * time.Microsecond)
	}
	return err
}

// inside has this program do something in a box and tells what it printed.
func (d *daemon) inside(ctx context.Context, box string, args ...string) (string, error) {
	argv, err := insideArgv(args)
	if err != nil {
		return "", err
	}
	// A box takes nothing but pipes, and what it says fits into one.
	out, in, err := os.Pipe()
	if err != nil {
		return "", err
	}
	defer out.Close()
	req := api.ExecRequest{ExecSpec: forkbox.ExecSpec{Argv: argv, Dir: "/"}}
	session, err := d.Exec(ctx, box, req, forkbox.Stdio{Out: in, Err: in})
	in.Close()
	if err != nil {
		return "", err
	}
	failed := finish(ctx, session)
	raw, err := io.ReadAll(out)
	if failed != nil {
		return "", fmt.Errorf("%w: %s", failed, raw)
	}
	return string(raw), err
}

func insideArgv(args []string) ([]string, error) {
	self, err := os.Executable()
	return append([]string{self, insideArg}, args...), err
}
