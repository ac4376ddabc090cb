// Package greet greets people.
package greet

// Hello greets somebody. Since 1.1.0 it does so without an exclamation mark,
// which many found loud; [Loud] has it.
func Hello(name string) string { return "Hello, " + name + "." }

// Loud greets somebody as Hello did before 1.1.0.
func Loud(name string) string { return "Hello, " + name + "!" }
