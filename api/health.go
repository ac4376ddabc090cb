package api

// Health is whether a daemon works, part by part.
type Health struct {
	OK    bool   `json:"ok"`
	Parts []Part `json:"parts"`
}

// Part is something that a daemon needs.
type Part struct {
	Name string `json:"name"` // provider, store, ledger, reserve
	OK   bool   `json:"ok"`
	Why  string `json:"why,omitempty"` // when it is not
}
