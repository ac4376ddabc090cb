// Package rank judges the approaches of a race: what their checks say, which
// numbers differ by more than noise, who comes before whom and why. It is pure:
// the same entries, in whatever order, always end in the same verdict.
//
// Entry.Checks[i] is about RaceSpec.Checks[i] everywhere here, and
// Entry.Metrics[i] about RaceSpec.Metrics[i].
package rank
