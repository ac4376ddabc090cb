//go:build !unix

package main

func fileOwner(string) (uid int, known bool) { return 0, false }
