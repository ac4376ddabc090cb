package forkbox

// Repair is what was brought back to a ledger that did not know it.
type Repair struct {
	Boxes     []Repaired `json:"boxes"`
	Templates []Repaired `json:"templates"`
	Receipts  []Repaired `json:"receipts"`
	// Left is what lies in the store, is not in the ledger, and could not be
	// brought back. It stays where it is.
	Left []Repaired `json:"left"`
}

// Repaired is one thing that the ledger did not know, or knew wrongly.
type Repaired struct {
	ID   string `json:"id"`
	Name string `json:"name,omitempty"`
	// Snapshots is how many came back with a box.
	Snapshots int `json:"snapshots,omitempty"`
	// Why says what is the matter with it, if anything is.
	Why string `json:"why,omitempty"`
}
