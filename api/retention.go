package api

// KeepRequest says whether gc leaves a box alone. Keep has to be there: a
// request without it does not mean no.
type KeepRequest struct {
	Keep *bool `json:"keep"`
}
