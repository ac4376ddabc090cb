// Package patch compares two versions of a file and tells the difference the
// way git does: as edits of lines, as hunks with context, as a patch that
// `git apply` takes forwards and backwards, binary content included. It reads
// such patches too, and makes the version in between in which only some hunks
// are applied.
//
// It works on bytes that were read before; it opens nothing. Paths are raw
// bytes: they may hold newlines, quotes and what is not UTF-8.
package patch
