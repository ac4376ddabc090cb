package forkbox

import (
	"encoding/json"
	"maps"
	"testing"
	"time"
)

func TestParseLimit(t *testing.T) {
	for _, c := range []struct {
		r    Resource
		text string
		want int64
	}{
		{CPUs, "1.5", 1500}, {CPUs, "2", 2000}, {CPUs, "0.01", 10}, {CPUs, "unlimited", Unlimited},
		{Memory, "2g", 2 << 30}, {Memory, "2GiB", 2 << 30}, {Memory, "512M", 512 << 20}, {Memory, "1.5gb", 3 << 29}, {Memory, "8388608", 8 << 20},
		{Swap, "0", 0}, {Pids, "512", 512}, {Inodes, "100k", 100000}, {Files, "1024", 1024},
		{Timeout, "10m", int64(10 * time.Minute)}, {TTL, "7d", int64(7 * 24 * time.Hour)}, {TTL, "1d12h", int64(36 * time.Hour)}, {Idle, "90s", int64(90 * time.Second)},
	} {
		got, err := ParseLimit(c.r, c.text)
		if err != nil || got != c.want {
			t.Errorf("%s %q: %d, %v", c.r, c.text, got, err)
		}
		if again, err := ParseLimit(c.r, FormatLimit(c.r, got)); err != nil || again != got {
			t.Errorf("%s %q reads back as %d, %v", c.r, FormatLimit(c.r, got), again, err)
		}
	}
	for r, texts := range map[Resource][]string{
		CPUs: {"", "-1", "NaN", "inf", "x", "0", "0x1p4", "1_0"}, Memory: {"", "1", "-2g", "2x", "g", "1e3", "99999999999t", "1.2.3g"},
		Pids: {"1", "1.5.1", "-3", "2g"}, TTL: {"", "-1h", "5", "0s", "xd", "-3d", "1d-1h"}, Files: {"3"}, "nothing": {"1"},
	} {
		for _, text := range texts {
			if v, err := ParseLimit(r, text); CodeOf(err) != Invalid || err == nil {
				t.Errorf("%s %q: %d, %v", r, text, v, err)
			}
		}
	}
}

func TestLimitsJSON(t *testing.T) {
	all := Limits{CPUs: 1500, Memory: 2 << 30, Swap: 0, TTL: int64(time.Hour), Pids: Unlimited}
	text, err := json.Marshal(all)
	if want := `{"cpus":1.5,"memory":2147483648,"pids":-1,"swap":0,"ttl":3600000000000}`; err != nil || string(text) != want {
		t.Errorf("%s, %v", text, err)
	}
	var back Limits
	if err := json.Unmarshal(text, &back); err != nil || !maps.Equal(back, all) {
		t.Errorf("%v, %v", back, err)
	}
	if err := json.Unmarshal([]byte(`{"memory":"512m","cpus":"0.5","ttl":"2h"}`), &back); err != nil || back[Memory] != 512<<20 || back[CPUs] != 500 {
		t.Errorf("%v, %v", back, err)
	}
	for _, bad := range []string{`{"memory":-5}`, `{"memory":1}`, `{"cpu":1}`, `{"memory":"much"}`, `{"cpus":-0.5}`, `[]`, `{"memory":1e30}`, `{"memory":null}`} {
		if err := json.Unmarshal([]byte(bad), new(Limits)); err == nil {
			t.Errorf("%s was taken", bad)
		}
	}
}

func FuzzParseLimit(f *testing.F) {
	for _, text := range []string{"1.5", "2g", "10m", "7d", "unlimited", "-1", "1e9", "9223372036854775807"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, r := range Resources {
			v, err := ParseLimit(r, text)
			if err != nil {
				continue
			}
			if v < Unlimited {
				t.Fatalf("%s %q is %d", r, text, v)
			}
			if again, err := ParseLimit(r, FormatLimit(r, v)); err != nil || again != v {
				t.Fatalf("%s %q is %d, printed as %q, read as %d, %v", r, text, v, FormatLimit(r, v), again, err)
			}
		}
	})
}

func TestTighter(t *testing.T) {
	for _, c := range []struct {
		a, b int64
		want bool
	}{{1, 2, true}, {2, 1, false}, {1, Unlimited, true}, {Unlimited, 1, false}, {Unlimited, Unlimited, false}, {0, 1, true}} {
		if Tighter(c.a, c.b) != c.want {
			t.Errorf("%d, %d", c.a, c.b)
		}
	}
}

func TestLimitsThatCannotBeCounted(t *testing.T) {
	for r, v := range map[Resource]int64{Memory: 1<<63 - 1, CPUs: 1 << 40, TTL: 1<<63 - 1, Disk: 1 << 61} {
		if err := (Limits{r: v}).Check(); CodeOf(err) != Invalid {
			t.Errorf("%s %d: %v", r, v, err)
		}
	}
}
