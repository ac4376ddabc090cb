package policy

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
)

func manual(t *testing.T) string {
	page, err := os.ReadFile("../../docs/LIMITS.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

// TestManualFiles: the files in the page for users can be read, and what it
// says is built in is.
func TestManualFiles(t *testing.T) {
	builtin, configs, projects := 0, 0, 0
	for _, block := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(manual(t), -1) {
		text := block[1]
		if strings.HasPrefix(text, "# forkbox.yaml\n") {
			projects++
			if read, err := parseProject("forkbox.yaml", []byte(text)); err != nil || len(read.Limits) == 0 {
				t.Errorf("%s%v, %v", text, read, err)
			}
			continue
		}
		configs++
		c, err := parseConfig("config.yaml", []byte(text))
		if err != nil || !strings.HasPrefix(text, "# config.yaml") {
			t.Errorf("%s%v", text, err)
		}
		if strings.HasPrefix(text, "# config.yaml: what is built in\n") {
			builtin++
			stated(t, text, c)
		}
	}
	if builtin != 1 || configs != 2 || projects != 1 {
		t.Errorf("%d, %d and %d examples", builtin, configs, projects)
	}
}

// stated: the page says all that is built in. Reading it over the built-in
// configuration would hide what it leaves out, so its figures are counted.
func stated(t *testing.T, text string, c Config) {
	if !reflect.DeepEqual(c, Builtin()) {
		t.Errorf("%+v is not built in", c)
	}
	for _, figure := range []string{"pids: 4096", "memory: 90%", "memory: 60, io: 90", "wait: 1m", "5%, least: 256m, most: 2g", "2%, least: 1g, most: 10g"} {
		if !strings.Contains(text, figure) {
			t.Errorf("the page does not say %q", figure)
		}
	}
}

// TestManualFlags: every resource of the table has its row, with its example, in
// the table of what can be limited, and its place in that of what holds it. All
// values in the pages are such as the flags take.
func TestManualFlags(t *testing.T) {
	holds := manual(t)[strings.Index(manual(t), "| limit | "):]
	for _, r := range forkbox.Resources {
		start := "| `--" + string(r) + " " + r.Info().Example + "` | `" + string(r) + "` | "
		row := regexp.MustCompile("(?m)^" + regexp.QuoteMeta(start) + ".* \\| (yes)? ?\\|$").FindStringSubmatch(manual(t))
		if row == nil || (row[1] == "yes") != r.PerExec() {
			t.Errorf("docs/LIMITS.md has no row that begins with %s, or it is wrong about one exec: %q", start, row)
		}
		if !regexp.MustCompile(`(?m)^\|([a-z, -]*,)? ` + string(r) + `[,\s]`).MatchString(holds) {
			t.Errorf("docs/LIMITS.md does not say what holds %s", r)
		}
	}
	page := manual(t) + networkManual(t)
	for _, flag := range regexp.MustCompile("--([a-z-]+) ([0-9][^\\s`]*)").FindAllStringSubmatch(page, -1) {
		r := forkbox.Resource(flag[1])
		if !r.Known() {
			r = map[string]forkbox.Resource{"size": forkbox.Disk, "wait": forkbox.Timeout, "host-port": forkbox.Inodes, "let-in": forkbox.Inodes, "port": forkbox.Inodes}[flag[1]]
		}
		if _, err := forkbox.ParseLimit(r, flag[2]); err != nil && flag[0] != "--wait 0" {
			t.Errorf("%s: %v", flag[0], err)
		}
	}
}

// TestManualCauses: each way to end is explained.
func TestManualCauses(t *testing.T) {
	page := manual(t)
	for _, c := range []forkbox.Cause{forkbox.CauseExited, forkbox.CauseSignalled, forkbox.CauseTimeout, forkbox.CauseStopped, forkbox.CauseOOM, forkbox.CausePids,
		forkbox.CauseDisk, forkbox.CauseTTL, forkbox.CauseIdle, forkbox.CauseShutdown, forkbox.CauseLost, forkbox.CauseNotRun} {
		if !strings.Contains(page, "\n| `"+string(c)+"` | ") {
			t.Errorf("%s is not explained", c)
		}
	}
}
