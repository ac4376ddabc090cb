// Package greet greets people.
package greet

// Hello greets somebody.
func Hello(name string) string { return "Hello, " + name + "!" }
