package forkbox

import (
	"context"
	"time"
)

// OperationState is how long work stands.
type OperationState string

const (
	OperationRunning   OperationState = "running"
	OperationDone      OperationState = "done"
	OperationFailed    OperationState = "failed"    // Error says why
	OperationCancelled OperationState = "cancelled" // what was begun was put back
	// OperationInterrupted is one whose daemon ended under it. Found is what the
	// next daemon knows of it.
	OperationInterrupted OperationState = "interrupted"
)

// Operation is long work that can be followed and cancelled.
type Operation struct {
	ID      string         `json:"id"`
	Kind    string         `json:"kind"`             // the name of the route that began it
	Target  string         `json:"target,omitempty"` // what it is about, as its caller named it
	State   OperationState `json:"state"`
	Request string         `json:"request"` // the id of the request that began it
	UID     int            `json:"uid"`     // whom it is done for
	Began   time.Time      `json:"began"`
	Ended   *time.Time     `json:"ended,omitempty"`
	// Async says that it was asked for with Prefer: respond-async: it goes on without
	// its caller, and is kept for an hour after its end.
	Async    bool     `json:"async"`
	Progress Progress `json:"progress,omitzero"`
	// Result is what the request would have been answered without that.
	Result any    `json:"result,omitempty"`
	Error  *Error `json:"error,omitempty"`
	// Found are the events that tell what an interrupted one did, and what became of
	// that when the next daemon was started.
	Found []Event `json:"found,omitempty"`
	// After is the latest event before it.
	After int64 `json:"after,omitempty"`
}

// Progress is how far long work is.
type Progress struct {
	Step  string `json:"step"` // what is done now
	Done  int64  `json:"done"`
	Total int64  `json:"total,omitempty"` // of so many; 0 where that is not known
	Unit  string `json:"unit"`            // what is counted: "paths", "boxes", "bytes"
}

type progressKey struct{}

// WithProgress is a context for long work, which tells report how far it is.
func WithProgress(ctx context.Context, report func(Progress)) context.Context {
	return context.WithValue(ctx, progressKey{}, report)
}

// ReportOf is what long work tells how far it is. It never is nil.
func ReportOf(ctx context.Context) func(Progress) {
	if report, ok := ctx.Value(progressKey{}).(func(Progress)); ok {
		return report
	}
	return func(Progress) {}
}
