package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
)

// The first byte of a connection says what the server is to do. None of them
// begins a protocol that a proxy on the way would want to read more of.
const (
	askEcho    byte = 1 // send that byte back
	askSwallow byte = 2 // read until the end, then tell how much it was
	askPour    byte = 3 // send as much as the next eight bytes say
)

// answerAll is the server of the network cases: it prints its readiness and ends
// with its stdin.
func answerAll(address string) error {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go answer(c)
		}
	}()
	fmt.Println("ready")
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

func answer(c net.Conn) {
	defer c.Close()
	ask := make([]byte, 1)
	for {
		if _, err := io.ReadFull(c, ask); err != nil {
			return
		}
		switch ask[0] {
		case askEcho:
			_, _ = c.Write(ask)
		case askSwallow:
			n, _ := io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{c}, make([]byte, streamChunk))
			_ = binary.Write(c, binary.BigEndian, n)
			return
		case askPour:
			var n int64
			if binary.Read(c, binary.BigEndian, &n) == nil {
				_ = pour(c, n)
			}
			return
		}
	}
}

// streamChunk is how much is written and read at once.
const streamChunk = 256 << 10

func pour(w io.Writer, n int64) error {
	chunk := make([]byte, streamChunk)
	for n > 0 {
		m, err := w.Write(chunk[:min(n, streamChunk)])
		if n -= int64(m); err != nil {
			return err
		}
	}
	return nil
}
