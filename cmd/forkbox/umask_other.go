//go:build !unix

package main

func callerUmask() *int { return nil }
