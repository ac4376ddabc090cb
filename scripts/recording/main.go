// Command recording makes the picture in the README: it runs the scene's
// commands with a real forkbox, in a home directory made for it, and draws what
// they print as a terminal whose lines appear one after another. The same
// program gives the same picture, byte for byte.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	binary := flag.String("forkbox", "bin/forkbox", "the binary to record")
	out := flag.String("o", "docs/demo.svg", "where the picture goes")
	flag.Parse()
	if err := record(*binary, *out); err != nil {
		fmt.Fprintln(os.Stderr, "error: cannot record:", err)
		os.Exit(1)
	}
}

func record(binary, out string) error {
	shots, err := play(binary, scene)
	if err != nil {
		return err
	}
	return os.WriteFile(out, []byte(draw(shots)), 0o644)
}
