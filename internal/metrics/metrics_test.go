package metrics

import (
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestOperationsPage: docs/OPERATIONS.md names each metric with its type, and no
// other.
func TestOperationsPage(t *testing.T) {
	doc, err := os.ReadFile("../../docs/OPERATIONS.md")
	if err != nil {
		t.Fatal(err)
	}
	m := New(source())
	told := map[string]bool{}
	for line := range strings.Lines(m.text(nil)) {
		if words := strings.Fields(line); len(words) == 4 && words[1] == "TYPE" {
			told[words[2]] = true
			if !strings.Contains(string(doc), "| `"+words[2]+"` | "+words[3]+" |") {
				t.Errorf("docs/OPERATIONS.md has no row for the %s %s", words[3], words[2])
			}
		}
	}
	for line := range strings.Lines(string(doc)) {
		name, _, row := strings.Cut(strings.TrimPrefix(line, "| `"), "`")
		if row && (strings.HasPrefix(name, "forkbox_") || strings.HasPrefix(name, "go_")) && !told[name] {
			t.Errorf("docs/OPERATIONS.md names %s, which there is not", name)
		}
	}
}

func TestWhatIsTold(t *testing.T) {
	m := New(source())
	m.Version(`1"2`)
	m.Request("createBox", "ok", 3*time.Millisecond)
	m.Request("createBox", "exists", time.Hour)
	m.Operation("exec", time.Millisecond)
	m.Operation("list events", time.Hour) // as long as its caller wants
	m.Operation(waits, 3*time.Second)
	m.Traces(func() (uint64, uint64) { return 15, 16 })
	m.Write(time.Microsecond)
	text := m.text(nil)
	for _, want := range []string{
		`forkbox_info{version="1\"2"} 1`, `forkbox_boxes{state="running"} 2`, `forkbox_boxes{state="stopped"} 3`,
		"forkbox_queue_length 4", "forkbox_store_free_bytes 5",
		`forkbox_requests_total{route="createBox",code="exists"} 1`, `forkbox_errors_total{code="exists"} 1`,
		`forkbox_request_seconds_bucket{route="createBox",le="0.002"} 0`, `forkbox_request_seconds_bucket{route="createBox",le="0.004"} 1`,
		`forkbox_request_seconds_bucket{route="createBox",le="64"} 1`, `forkbox_request_seconds_bucket{route="createBox",le="+Inf"} 2`,
		`forkbox_request_seconds_count{route="createBox"} 2`, `forkbox_operation_seconds_bucket{operation="exec",le="0.001"} 1`,
		`forkbox_queue_wait_seconds_bucket{le="2"} 0`, `forkbox_queue_wait_seconds_bucket{le="4"} 1`,
		`forkbox_disk_bytes{uid="0"} 7`, `forkbox_disk_bytes{uid="1000"} 8`, "forkbox_disk_measured_timestamp_seconds 9",
		`forkbox_gate_decisions_total{decision="allowed"} 10`, `forkbox_gate_decisions_total{decision="denied"} 11`,
		`forkbox_trace_spans_total{outcome="sent"} 15`, `forkbox_trace_spans_total{outcome="dropped"} 16`,
		"forkbox_gc_runs_total 12", "forkbox_gc_removed_boxes_total 13", "forkbox_gc_freed_bytes_total 14",
		"forkbox_ledger_write_seconds_count 1", "forkbox_ledger_write_seconds_sum 1e-06",
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("it does not say %s in\n%s", want, text)
		}
	}
	if strings.Contains(text, "list") {
		t.Error("it measures what follows something")
	}
	checkFormat(t, text)
	one := 1000
	if text := m.text(&one); strings.Contains(text, `uid="0"`) || !strings.Contains(text, `uid="1000"`) {
		t.Errorf("what another takes is told as well:\n%s", text)
	}
}

func source() Source {
	return Source{
		Boxes:   func() map[string]int { return map[string]int{"running": 2, "stopped": 3} },
		Waiting: func() int { return 4 }, Free: func() float64 { return 5 },
		Disk:    func() (map[int]int64, time.Time) { return map[int]int64{0: 7, 1000: 8}, time.Unix(9, 0) },
		Decided: func() (uint64, uint64) { return 10, 11 },
		Cleared: func() (int, int, int64) { return 12, 13, 14 },
	}
}

// sample is a line of Prometheus' text format: a name, labels whose values are
// escaped, and a number.
var sample = regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:]*)(\{[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*"(?:,[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*")*\})? (\S+)$`)

// checkFormat reads the text as strictly as scrapers do: each family begins with
// HELP and TYPE and lies in one piece, no sample is there twice, and the buckets of
// a histogram rise to its count.
func checkFormat(t *testing.T, text string) {
	t.Helper()
	if !strings.HasSuffix(text, "\n") {
		t.Error("the last line has no end")
	}
	family, kind, seen, families := "", "", map[string]bool{}, map[string]bool{}
	last := math.Inf(-1)
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if name, help, ok := strings.Cut(strings.TrimPrefix(line, "# HELP "), " "); strings.HasPrefix(line, "# HELP ") {
			if !ok || help == "" || families[name] {
				t.Errorf("%s: no help, or twice", name)
			}
			family, families[name], last = name, true, math.Inf(-1)
			continue
		}
		if words := strings.Fields(line); strings.HasPrefix(line, "# TYPE ") {
			if kind = words[3]; words[2] != family || !slices.Contains([]string{"counter", "gauge", "histogram"}, kind) || kind == "counter" != strings.HasSuffix(family, "_total") {
				t.Errorf("%s, after %s", line, family)
			}
			continue
		}
		parts := sample.FindStringSubmatch(line)
		if parts == nil {
			t.Errorf("it is no sample: %s", line)
			continue
		}
		name, bucket := parts[1], false
		if kind == "histogram" {
			name, bucket = strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(name, "_bucket"), "_sum"), "_count"), strings.HasSuffix(name, "_bucket")
		}
		value, err := strconv.ParseFloat(parts[3], 64)
		if err != nil || name != family || seen[parts[1]+parts[2]] {
			t.Errorf("%s, after %s: %v", line, family, err)
		}
		seen[parts[1]+parts[2]] = true
		if bucket && value < last {
			t.Errorf("%s is below the bucket before", line)
		}
		if strings.HasSuffix(parts[1], "_count") && value != last {
			t.Errorf("%s is not the last bucket", line)
		}
		switch {
		case bucket:
			last = value
		case strings.HasSuffix(parts[1], "_count"):
			last = math.Inf(-1)
		}
	}
}
