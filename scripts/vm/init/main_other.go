//go:build !linux

// Command init is the first process of a test machine, which runs Linux.
package main

func main() { panic("this is the init of a Linux machine") }
