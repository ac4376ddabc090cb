package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"text/tabwriter"
	"time"
)

// row is one line of the table.
type row struct {
	Name   string  `json:"name"`
	Count  int     `json:"count,omitempty"`
	Median float64 `json:"median_ms,omitempty"`
	P95    float64 `json:"p95_ms,omitempty"`
	Ratio  float64 `json:"ratio_to_bwrap,omitempty"`
	Unit   string  `json:"unit,omitempty"` // if it is not milliseconds
	Note   string  `json:"note,omitempty"`
}

// goal is a figure the project wants to reach.
type goal struct {
	Name string  `json:"name"`
	Want float64 `json:"at_most"`
	Have float64 `json:"measured"`
	Unit string  `json:"unit"`
	Met  bool    `json:"met"`
}

type report struct {
	Rows  []row  `json:"rows"`
	Goals []goal `json:"goals"`
}

func (r row) title() string {
	if r.Unit == "" {
		return r.Name
	}
	return r.Name + " (" + r.Unit + ")"
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func quantile(d []time.Duration, q float64) float64 {
	if len(d) == 0 {
		return 0
	}
	d = slices.Sorted(slices.Values(d))
	return ms(d[min(len(d)-1, int(q*float64(len(d))))])
}

func (r *report) add(name string, times []time.Duration, note string) {
	r.Rows = append(r.Rows, row{Name: name, Count: len(times), Median: quantile(times, 0.5), P95: quantile(times, 0.95), Note: note})
}

func (r *report) median(name string) float64 {
	for _, row := range r.Rows {
		if row.Name == name {
			return row.Median
		}
	}
	return 0
}

// want compares with a goal, unless what it is about was not measured.
func (r *report) want(name string, most, have float64, unit string) {
	if have == 0 || math.IsNaN(have) || math.IsInf(have, 0) {
		return
	}
	r.Goals = append(r.Goals, goal{Name: name, Want: most, Have: have, Unit: unit, Met: have <= most})
}

// judge fills in ratios and compares with the goals.
func (r *report) judge() {
	bwrap := r.median(caseBwrap)
	for i := range r.Rows {
		if bwrap > 0 && r.Rows[i].Median > 0 && r.Rows[i].Ratio == 0 && r.Rows[i].Unit == "" {
			r.Rows[i].Ratio = r.Rows[i].Median / bwrap
		}
	}
	if bwrap > 0 {
		r.want("create + first exec / bwrap", 1, r.median(caseFirst)/bwrap, "×")
		r.want("forkbox version / bwrap", 1, r.median(caseVersion)/bwrap, "×")
		r.want("forkbox run --discard -- true / bwrap", 3, r.median(caseRun)/bwrap, "×")
	}
	r.want("exec in a running box, over bare", 1.5, r.median(caseExec)-r.median(caseBare), "ms")
	r.want("exec over a WebSocket, over one with descriptors", 1, r.median(caseSocket)-r.median(caseExec), "ms")
	r.want("GET over HTTPS, over one by the socket", 0.5, r.median(caseHTTPS)-r.median(caseGet), "ms")
	r.want("PSS of a running box", 8, r.median(casePSS), "MiB")
	r.want("create, 100 000 files in the base / 10", 1.5, r.median(grown("create", "base", 100000))/r.median(grown("create", "base", 10)), "×")
	r.want("diff, 100 000 files in the base / 10", 1.5, r.median(grown("diff", "base", 100000))/r.median(grown("diff", "base", 10)), "×")
	r.judgeBurst()
	r.judgeChanges()
	r.judgeSnapshots()
	r.judgeLimits()
	r.judgeNetwork()
	r.judgeRace()
	r.judgeServices()
}

func (r *report) print(w io.Writer) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "\tmedian\tp95\t× bwrap\tn\t")
	for _, row := range r.Rows {
		fmt.Fprintf(t, "%s\t%.2f\t%.2f\t%.2f\t%d\t %s\n", row.title(), row.Median, row.P95, row.Ratio, row.Count, row.Note)
	}
	t.Flush()
	fmt.Fprintln(w)
	t = tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, g := range r.Goals {
		verdict := "met"
		if !g.Met {
			verdict = "NOT MET"
		}
		fmt.Fprintf(t, "%s\t%.2f %s\tat most %.2f\t%s\n", g.Name, g.Have, g.Unit, g.Want, verdict)
	}
	t.Flush()
}

func (r *report) write(path string) error {
	raw, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(raw, '\n'), 0o644)
}
