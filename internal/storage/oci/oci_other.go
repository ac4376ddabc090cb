//go:build !linux

package oci

import (
	"context"
	"io"

	"github.com/forkbox/forkbox"
)

func notHere(op string) error {
	return forkbox.Errorf(forkbox.Unsupported, op, "that needs Linux")
}

func writeTrees(context.Context, io.Writer, []Tree, Options) (Left, error) {
	return Left{}, notHere(opWrite)
}

func unpackRoot(context.Context, string, []Layer, Form) (Unpacked, error) {
	return Unpacked{}, notHere(opUnpack)
}

func unpackLayer(context.Context, Layer, func(string) (string, string, error), Form) (Unpacked, error) {
	return Unpacked{}, notHere(opUnpack)
}
