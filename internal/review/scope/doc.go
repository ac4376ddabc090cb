// Package scope says who cares about a change: is it work that somebody asked
// for, a change of the machine, or noise. It also names what deserves a second
// look before it lands, and what package managers did.
//
// The package is pure: what it must know of reality it reads through functions
// given to it.
//
// When in doubt a change is shown. An ignore file that cannot be read, is too
// large or is malformed hides nothing, and a box cannot hide what it did to
// files that existed: its own ignore files count only for what it added.
package scope
