package rules

import (
	"strings"
	"sync"
)

// Every box has the rules of its preset, they are read several times on its way
// from a wish to a gate, and a race makes many boxes: so what a text means is
// remembered. The texts are anybody's who may make a box, so little is kept of
// them, and not what is large: no paths, of which each is a compiled pattern.
const (
	memoMost = 1024 // texts
	memoText = 256  // bytes of one
)

// readRule is a rule, and its one way of writing.
type readRule struct {
	Rule
	text string
}

var memo struct {
	mu  sync.RWMutex
	all map[string]readRule
}

// read is Parse, with the rule's one way of writing. What it returns is shared.
func read(text string) (readRule, error) {
	memo.mu.RLock()
	known, has := memo.all[text]
	memo.mu.RUnlock()
	if has {
		return known, nil
	}
	text = strings.Clone(text) // which may be a part of something large
	rule, err := parse(text)
	if err != nil {
		return readRule{}, err
	}
	r := readRule{rule, rule.String()}
	if len(text) <= memoText && rule.path == nil {
		remember(text, r)
	}
	return r, nil
}

// remember forgets all the others when there are too many: an order would cost
// more than to read them again.
func remember(text string, r readRule) {
	memo.mu.Lock()
	defer memo.mu.Unlock()
	if memo.all == nil || len(memo.all) >= memoMost {
		memo.all = map[string]readRule{}
	}
	memo.all[text] = r
}
