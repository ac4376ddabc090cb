// Package files opens, describes and changes single files of a tree, one system
// call at a time, for what has to be able to stop after any of them. It follows
// no symlink, and acts with the rights of one user where it is told to.
package files

// opLand is what could not be done, in the words of an error.
const opLand = "land the changes"
