package forkbox

// Stray is a directory that an apply left in reality, and of which no receipt
// is known: the apply was killed, and the store with its receipt is gone.
type Stray struct {
	Dir   string `json:"dir"`
	ID    string `json:"id"` // of the receipt
	Owner int    `json:"uid"`
	// Store is where the receipt was kept; empty where it does not say.
	Store string `json:"store,omitempty"`
	// Files is how many there are in it, Kept how many paths of reality it has
	// the old version of, and Paths are the first of these.
	Files int     `json:"files"`
	Kept  int     `json:"kept"`
	Paths Strings `json:"paths,omitempty"`
	// Restorable says that it knows where they belong.
	Restorable bool `json:"restorable"`
	// Why says what is the matter with one that could not be looked at.
	Why string `json:"why,omitempty"`
}

// StrayFate is what to do with a stray.
type StrayFate string

const (
	// RestoreStray takes the apply back. What is at a path by now, and is not
	// what the apply put there, stays.
	RestoreStray StrayFate = "restore"
	// DeleteStray removes it with all that is in it.
	DeleteStray StrayFate = "delete"
)

// StrayMended is what became of a stray.
type StrayMended struct {
	Stray Stray     `json:"stray"` // as it is now, or was when it was deleted
	Fate  StrayFate `json:"fate"`
	// Left are the paths that were not restored, and why.
	Left []Caution `json:"left"`
}
