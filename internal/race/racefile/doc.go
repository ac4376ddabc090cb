// Package racefile reads what people write down to have a race: race.yaml, and
// the flags that stand for parts of it. Whatever is not understood is an error
// with its line; nothing is ignored. testdata/race.yaml has all there is.
package racefile
