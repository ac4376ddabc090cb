package providertest

import (
	"fmt"
	"io"
	"net"
	"os"
)

// tools are those that the suite itself runs in boxes.
var tools = Tools{"listen": listen, "argv": argv, "setxattr": setxattr}

// listen binds an address, says so, answers "hello" to every client, and ends
// with its standard input.
func listen(args []string) int {
	l, err := net.Listen("tcp", args[0])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(c, args[1])
			c.Close()
		}
	}()
	fmt.Println("listening")
	_, _ = io.Copy(io.Discard, os.Stdin)
	return 0
}

// argv writes its arguments, each in Go's notation.
func argv(args []string) int {
	for _, a := range args {
		fmt.Printf("%q\n", a)
	}
	return 0
}
