// Package merge brings together what two sides made of a file, line by line,
// the way git does. It is careful rather than clever: where the sides changed
// the same or touching lines in different ways, both versions are kept between
// markers, and no line of either side is ever lost.
package merge
