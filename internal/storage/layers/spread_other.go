//go:build !linux

package layers

func spread(string) {}
