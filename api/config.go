package api

import "time"

// Configuration is what a daemon goes by, and where each part of it is from.
type Configuration struct {
	Files    []ConfigFile `json:"files"` // in the order in which they are read
	Settings []Setting    `json:"settings"`
	// Loaded is when the files were last read without a mistake.
	Loaded time.Time `json:"loaded,omitzero"`
	// Refused is why the last reload changed nothing, nil if it did not fail.
	Refused *ConfigRefusal `json:"refused,omitempty"`
	// Notes are what the configuration counts on and this host cannot give.
	Notes []string `json:"notes,omitempty"`
}

// ConfigFile is a file that counts.
type ConfigFile struct {
	Path   string `json:"path"`
	Origin string `json:"origin"` // system, user, named or project
	Found  bool   `json:"found"`
}

// ConfigRefusal is a reload that failed: what held before holds on.
type ConfigRefusal struct {
	Time  time.Time `json:"time"`
	Why   string    `json:"why"`
	Hints []string  `json:"hints,omitempty"`
}

// Setting is a key with its value.
type Setting struct {
	Key   string `json:"key"`
	File  string `json:"file"`  // which kind of file has it: config.yaml or forkbox.yaml
	Value string `json:"value"` // as a file would have it; empty for none
	Said
	// Below are what sources say that this one stands above, the strongest
	// first. One that binds holds as well.
	Below []Below `json:"below,omitempty"`
	// Next is the value that it has from the next start of the daemon on, if
	// that is another.
	Next *string `json:"next,omitempty"`
	// Live says that a reload is enough to change it.
	Live bool `json:"live"`
}

// Said is who said something, and where.
type Said struct {
	Origin string `json:"origin"`         // default, system, user, named, project, environment or flag
	From   string `json:"from,omitempty"` // the file, variable or flag
	Line   int    `json:"line,omitempty"`
}

// Below is what a weaker source says.
type Below struct {
	Value string `json:"value"`
	Said
	Binds bool `json:"binds,omitempty"`
}
