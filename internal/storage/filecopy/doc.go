// Package filecopy copies one file: its content, with its holes or by sharing its
// blocks, and what it has besides, so that a copy of a tree is like the tree. Who
// walks the tree, and what it is for, is its callers' business.
package filecopy
