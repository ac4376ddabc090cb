package forkbox

import "time"

// RaceSpec is what to try and how to judge it. From one point a box is forked
// for each approach; all run at the same time and are judged by the same
// checks. Only Approaches must be there.
type RaceSpec struct {
	Name  string    `json:"name,omitempty"` // generated if empty
	Start RaceStart `json:"start,omitzero"`
	// Setup is run once, before the fork: every approach begins with what it
	// left.
	Setup      []Command   `json:"setup,omitempty"`
	Approaches []Approach  `json:"approaches"`
	Checks     []RaceCheck `json:"checks,omitempty"`
	Metrics    []Metric    `json:"metrics,omitempty"`
	// Protect are patterns, as in an ignore file, of paths in the race's
	// directory that approaches are judged with as they were when the race
	// began, whatever an approach made of them. So are, beside them, the tests
	// and scripts that checks and metrics name. [NoProtect] alone: nothing is.
	Protect Strings `json:"protect,omitempty"`
	// TieBreaks decide, one after another, between those whom checks and
	// metrics do not. [DefaultTieBreaks] if nil.
	TieBreaks []TieBreak `json:"tie_breaks,omitempty"`
	Stop      StopRule   `json:"stop,omitempty"` // StopAll if empty
	// Deadline is how long the race lasts at most: what has not ended then is
	// out, and the rest is judged. Zero is no deadline.
	Deadline time.Duration `json:"deadline_ns,omitempty"`
	// Timeout is how long the steps of one approach may take together.
	Timeout time.Duration `json:"timeout_ns,omitempty"`
	// Parallel is how many approaches run at a time at most. Zero leaves that
	// to the host: who finds no room waits.
	Parallel int `json:"parallel,omitempty"`
	// Retries is how often an approach begins anew, in a new box, when a step
	// of it fails.
	Retries int `json:"retries,omitempty"`
	// Seed decides what is left to chance: the order in which approaches begin
	// and are measured. Approaches find it, plus their place in the list, in
	// FORKBOX_SEED. One is made up if it is zero.
	Seed int64 `json:"seed,omitempty"`
	// Rerun is the race that this one repeats.
	Rerun string `json:"rerun,omitempty"`
}

// RaceStart is what the boxes of a race begin as, and what holds for all of
// them. It means what the same words mean for a new box.
type RaceStart struct {
	From         string   `json:"from,omitempty"`
	Template     string   `json:"template,omitempty"`
	Dir          string   `json:"dir,omitempty"`
	Env          Strings  `json:"env,omitempty"`
	AllowSecrets []string `json:"allow_secrets,omitempty"`
	Places       Strings  `json:"places,omitempty"` // as in [Box]
	Net          string   `json:"net,omitempty"`
	NetWish      NetWish  `json:"net_wish,omitzero"`
	Wish         Wish     `json:"wish,omitzero"`
	// With are services that each approach gets copies of.
	With     []string                   `json:"with,omitempty"`
	Pause    *time.Duration             `json:"pause_ns,omitempty"`
	Services map[string]ServiceSettings `json:"services,omitempty"`
}

// Command is something that is run in a box of a race: a line for sh, or a
// program with its arguments.
type Command struct {
	Name    string        `json:"name,omitempty"` // what people call it; the command itself if empty
	Run     string        `json:"run,omitempty"`
	Argv    Strings       `json:"argv,omitempty"` // instead of Run
	Dir     string        `json:"dir,omitempty"`  // absolute, or below the race's
	Env     Strings       `json:"env,omitempty"`  // NAME=VALUE, beside the box's
	Timeout time.Duration `json:"timeout_ns,omitempty"`
	// MayFail says that its exit does not matter.
	MayFail bool `json:"may_fail,omitempty"`
}

// Approach is one way to try.
type Approach struct {
	Name  string    `json:"name"`
	Steps []Command `json:"steps"`
	Env   Strings   `json:"env,omitempty"` // NAME=VALUE, for its steps and for what judges it
	// Limits, Net and Rules are its own; those of the race hold beside them. A
	// race in which they differ says so: it may not be a fair one.
	Limits Limits   `json:"limits,omitempty"`
	Net    string   `json:"net,omitempty"`
	Rules  []string `json:"rules,omitempty"` // "allow X", "deny X"
	// Provider is the isolation it asks for; the host's own if empty.
	Provider string `json:"provider,omitempty"`
	// Prompt is what an agent was asked, for people: it is in Steps already.
	Prompt string `json:"prompt,omitempty"`
}

// RaceCheck judges an approach. One that must pass and does not puts the
// approach out of the race; the others add to its score, by their weight.
type RaceCheck struct {
	Command
	Must   bool    `json:"must,omitempty"`
	Weight float64 `json:"weight,omitempty"` // 1 if zero
	// Score, where given, is a number in what it printed; without, a check that
	// exits with 0 scores 1 and any other 0. Of is the full score.
	Score *Extract `json:"score,omitempty"`
	Of    float64  `json:"of,omitempty"` // 1 if zero
	// Once says that it is not repeated to find out whether it is flaky.
	Once bool `json:"once,omitempty"`
}

// Extract finds a number.
type Extract struct {
	// Pattern is a regular expression: the first group of its last match, or
	// the whole match, is the number. Without it and JSON the text is.
	Pattern string `json:"pattern,omitempty"`
	// JSON is a path into a JSON document: results[0].mean
	JSON string `json:"json,omitempty"`
	// File is looked at instead of what the command printed.
	File string `json:"file,omitempty"`
}

// Metric is a number that approaches are compared by.
type Metric struct {
	// Command makes the number. A metric without one reads a file.
	Command
	Extract Extract `json:"extract,omitzero"`
	// Time measures how long Command takes, again and again, instead of reading
	// a number.
	Time   bool   `json:"time,omitempty"`
	Higher bool   `json:"higher,omitempty"` // the higher the better; lower is better otherwise
	Unit   string `json:"unit,omitempty"`   // "s" for times
	Warmup int    `json:"warmup,omitempty"` // runs that do not count
	Runs   int    `json:"runs,omitempty"`   // at least so many; 10 if it is a time, otherwise 1
	// Most is how many runs there are at most, and Budget how long they take at
	// most for one approach, while noise could still explain the difference.
	Most   int           `json:"most,omitempty"`
	Budget time.Duration `json:"budget_ns,omitempty"`
	// Tolerance is the relative difference that does not matter: 0.02.
	Tolerance float64 `json:"tolerance,omitempty"`
}

// TieBreak decides between approaches that are otherwise as good.
type TieBreak string

const (
	SmallerDiff TieBreak = "smaller-diff" // fewer lines added and removed
	FewerFiles  TieBreak = "fewer-files"  // fewer paths changed
	Faster      TieBreak = "faster"       // its steps took clearly less time
)

// DefaultTieBreaks are those of a race that names none.
func DefaultTieBreaks() []TieBreak { return []TieBreak{SmallerDiff, FewerFiles} }

// StopRule says when a race ends.
type StopRule string

const (
	StopAll       StopRule = "all"        // when every approach has ended
	StopFirstPass StopRule = "first-pass" // when one has passed; the others are cancelled
	StopDeadline  StopRule = "deadline"   // as StopAll, at the deadline at the latest; it must be given
)

// RaceState says what a race is doing.
type RaceState string

const (
	RaceRunning   RaceState = "running"
	RaceFinished  RaceState = "finished" // judged, whether or not an approach won
	RaceCancelled RaceState = "cancelled"
	RaceFailed    RaceState = "failed" // it could not be run; Why says why
)

// Race is the durable record of one.
type Race struct {
	ID      string    `json:"id"`
	Name    string    `json:"name"` // unique per owner
	Owner   Owner     `json:"owner"`
	Spec    RaceSpec  `json:"spec"`
	State   RaceState `json:"state"`
	Created time.Time `json:"created"`
	Ended   time.Time `json:"ended,omitzero"`
	Why     string    `json:"why,omitempty"`
	// Fence is the moment that every box of it was forked at.
	Fence time.Time `json:"fence,omitzero"`
	// SetupBox is the box in which the setup ran, and Point the snapshot that
	// approaches begin as. SetupRuns are its commands.
	SetupBox  string `json:"setup_box,omitempty"`
	Point     string `json:"point,omitempty"`
	SetupRuns []Ran  `json:"setup_runs,omitempty"`
	// Entries are in the order of the approaches while the race runs, and
	// ranked, the best first, when it is finished.
	Entries []Entry `json:"entries"`
	Winner  string  `json:"winner,omitempty"`  // the name of an approach
	Verdict string  `json:"verdict,omitempty"` // why, in a sentence
	// Landed is the approach that was applied, and Receipt what undoes that.
	Landed  string `json:"landed,omitempty"`
	Receipt string `json:"receipt,omitempty"`
	// Notes are what its owner should know: limits that differ, a reality that
	// changed meanwhile.
	Notes []string `json:"notes,omitempty"`
	// Resumed counts how often a daemon took it over from one that had died.
	Resumed int `json:"resumed,omitempty"`
}

// Phase says what an approach is doing.
type Phase string

const (
	PhaseWaiting   Phase = "waiting" // for its turn, or for room
	PhaseForking   Phase = "forking"
	PhaseRunning   Phase = "running"   // its steps
	PhaseChecking  Phase = "checking"  // what judges it
	PhaseMeasuring Phase = "measuring" // its metrics
	PhaseDone      Phase = "done"
)

// Outcome is what became of an approach.
type Outcome string

const (
	OutcomePassed    Outcome = "passed"    // every check that must pass did
	OutcomeFlaky     Outcome = "flaky"     // so it did, but not each time
	OutcomeFailed    Outcome = "failed"    // a check that must pass did not
	OutcomeBroken    Outcome = "broken"    // a step failed
	OutcomeTimedOut  Outcome = "timed-out" // it took longer than it may
	OutcomeLimited   Outcome = "limited"   // it met a limit of its box
	OutcomeCancelled Outcome = "cancelled" // it was not needed any more, or the race was cancelled
	OutcomeError     Outcome = "error"     // its box could not be made, or was lost
)

// Entry is an approach in a race.
type Entry struct {
	Name    string    `json:"name"`
	Box     string    `json:"box,omitempty"` // its id
	BoxName string    `json:"box_name,omitempty"`
	Phase   Phase     `json:"phase"`
	Outcome Outcome   `json:"outcome,omitempty"` // when it is done
	Why     string    `json:"why,omitempty"`
	Attempt int       `json:"attempt,omitempty"` // from 1
	Started time.Time `json:"started,omitzero"`
	Ended   time.Time `json:"ended,omitzero"`
	// Took is how long its steps took.
	Took    time.Duration `json:"took_ns,omitempty"`
	Steps   []Ran         `json:"steps,omitempty"`
	Checks  []Checked     `json:"checks,omitempty"`
	Metrics []Measured    `json:"metrics,omitempty"`
	Score   float64       `json:"score"` // from 0 to 1, over all checks
	// CPU and MemoryPeak are what its box used, with what judged it.
	CPU        time.Duration `json:"cpu_ns,omitempty"`
	MemoryPeak int64         `json:"memory_peak_bytes,omitempty"`
	Diff       DiffSize      `json:"diff,omitzero"`
	// Risks are what deserves a second look before it lands.
	Risks   []Caution `json:"risks,omitempty"`
	Refused int       `json:"refused,omitempty"` // connections
	// Rank counts from 1; who ties shares it, and Ties names with whom. Reason
	// says why it is not before the one that it comes after.
	Rank   int      `json:"rank,omitempty"`
	Ties   []string `json:"ties,omitempty"`
	Reason string   `json:"reason,omitempty"`
	// Saved is the snapshot of its box as its steps left it, or as it was brought
	// up to date and checked again: what is judged and landed. What checks write
	// is thrown away.
	Saved string `json:"saved,omitempty"`
	// Unclean says that the box may be something else than Saved: checks run in
	// it, or it is being brought up to date. It goes back before it lands.
	Unclean bool `json:"unclean,omitempty"`
	// Protected are paths that it changed and was judged without: the first of
	// them. See [RaceSpec].Protect.
	Protected Strings `json:"protected,omitempty"`
}

// Ran is a command that was run.
type Ran struct {
	Name string        `json:"name"`
	Exec string        `json:"exec,omitempty"` // its id in the box
	Exit *Exit         `json:"exit,omitempty"` // nil while it runs
	Took time.Duration `json:"took_ns,omitempty"`
}

// Checked is what came of a check.
type Checked struct {
	Name   string    `json:"name"`
	Must   bool      `json:"must,omitempty"`
	Weight float64   `json:"weight"`
	Passed bool      `json:"passed"` // more often than not
	Flaky  bool      `json:"flaky,omitempty"`
	Score  float64   `json:"score"` // from 0 to 1, the middle one of all runs
	Runs   []Ran     `json:"runs"`
	Scores []float64 `json:"scores,omitempty"` // of each run
	// Why says what is wrong with it, where that is not its exit.
	Why string `json:"why,omitempty"`
}

// Measured is what came of a metric.
type Measured struct {
	Name   string    `json:"name"`
	Unit   string    `json:"unit,omitempty"`
	Higher bool      `json:"higher,omitempty"`
	Values []float64 `json:"values,omitempty"` // in the order in which they were measured
	Median float64   `json:"median"`
	// Low and High are the quartiles.
	Low  float64 `json:"low"`
	High float64 `json:"high"`
	// Why says why there is no value.
	Why string `json:"why,omitempty"`
}

// DiffSize is how much an approach changed in the workspace, and System how
// many paths elsewhere.
type DiffSize struct {
	Files  int   `json:"files"`
	Plus   int   `json:"plus"`
	Minus  int   `json:"minus"`
	Bytes  int64 `json:"bytes"`
	System int   `json:"system,omitempty"`
	// Paths are some of the files, the first of them.
	Paths Strings `json:"paths,omitempty"`
}

// RaceEventKind says what an event of a race tells.
type RaceEventKind string

const (
	RaceBegins RaceEventKind = "race"   // Race is the whole record: the first event that a follower hears
	RaceEntry  RaceEventKind = "entry"  // Entry is an approach as it is now
	RaceOutput RaceEventKind = "output" // Line is the last that an approach printed
	RaceUsage  RaceEventKind = "usage"  // CPU and Memory are what an approach uses
	RaceNote   RaceEventKind = "note"   // Line is for people: setup, waiting, a daemon that came back
	RaceEnds   RaceEventKind = "end"    // Race is the whole record: the last event
)

// RaceEvent is what a follower of a race hears. What they missed does not
// matter: each tells all of what it is about.
type RaceEvent struct {
	Race     string        `json:"id"`
	Time     time.Time     `json:"time"`
	Kind     RaceEventKind `json:"kind"`
	Approach string        `json:"approach,omitempty"`
	Record   *Race         `json:"race,omitempty"`
	Entry    *Entry        `json:"entry,omitempty"`
	// Line is printable: control characters and what is not UTF-8 are escaped,
	// and what is long is cut.
	Line   string  `json:"line,omitempty"`
	CPU    float64 `json:"cpu_percent,omitempty"`
	Memory int64   `json:"memory_bytes,omitempty"`
}

// RaceApply is which approach of a race to land, and how.
type RaceApply struct {
	Approach string `json:"approach,omitempty"` // the winner if empty
	// Unjudged accepts an approach that has not passed. It is another yes than
	// the one to what deserves a second look.
	Unjudged bool `json:"unjudged,omitempty"`
	ApplySpec
}

// RaceLanding is what came of it.
type RaceLanding struct {
	Approach string  `json:"approach"`
	Receipt  Receipt `json:"receipt"`
	// Drifted says, in a dry run, that reality has changed: what lands will be
	// brought up to date and checked again before.
	Drifted bool `json:"drifted,omitempty"`
	// Synced and Checked are there when reality had changed: the approach was
	// brought up to date and checked again before it landed.
	Synced  *SyncResult `json:"synced,omitempty"`
	Checked []Checked   `json:"checked,omitempty"`
}

// RaceLog is a piece of what an approach printed: its transcript.
type RaceLog struct {
	Part string `json:"part"` // "setup: npm ci", "step: go mod tidy", "check: go test (2)"
	LogRecord
}

// How much a race can have. Any user who may open the daemon's socket can send
// one.
const (
	MostApproaches = 256
	MostCommands   = 100 // of a setup, an approach, checks or metrics
	MostRuns       = 1000
	MostRetries    = 10
)
