package policy

import (
	"os"
	"reflect"
	"regexp"
	"slices"
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
			if read, err := parseProject("forkbox.yaml", []byte(text)); err != nil || len(read.limits) == 0 {
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

// TestManualFlags: every resource has its row, those of the gate in the page on
// the network, and all values in the pages are such as the flags take.
func TestManualFlags(t *testing.T) {
	page := manual(t) + networkManual(t)
	for _, r := range forkbox.Resources {
		row := regexp.MustCompile("(?m)^\\| `--" + string(r) + " [^`]+` \\| `" + string(r) + "` \\| .* \\| (yes)? ?\\|$").FindStringSubmatch(page)
		if row == nil || (row[1] == "yes") != r.PerExec() {
			t.Errorf("%s: %q", r, row)
		}
	}
	for _, flag := range regexp.MustCompile("--([a-z-]+) ([0-9][^\\s`]*)").FindAllStringSubmatch(page, -1) {
		r := forkbox.Resource(flag[1])
		if !slices.Contains(forkbox.Resources, r) {
			r = map[string]forkbox.Resource{"size": forkbox.Disk, "wait": forkbox.Timeout, "host-port": forkbox.Inodes, "port": forkbox.Inodes}[flag[1]]
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
