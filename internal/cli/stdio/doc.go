// Package stdio lends a command in a box the caller's terminal, pipes and
// signals, ctrl-Z included, and says what of the caller's process it inherits.
package stdio
