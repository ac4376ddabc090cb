package policy

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
)

const whole = `# a host with everything said
limits: {memory: 8g, cpus: 4, ttl: 7d}
defaults:
  memory: 2GiB
  pids: unlimited
users:
  alice:
    limits: {memory: 4g}
    quota: {boxes: 20, running: 4, memory: 16g, cpus: 2.5, disk: 100g}
  1000: {quota: {running: unlimited}}
  "*":
    quota: {boxes: 5}
admission:
  running: 64
  memory: 150%
  cpus: 32
  pressure: {cpu: 80, memory: 50.5%, io: off}
  wait: 5m
reserve:
  memory: 1g
  disk: {share: 10%, least: 2g, most: 100g}
`

func TestParseConfig(t *testing.T) {
	got, err := parseConfig("config.yaml", []byte(whole))
	want := Config{
		Limits:   forkbox.Limits{forkbox.Memory: 8 << 30, forkbox.CPUs: 4000, forkbox.TTL: int64(7 * 24 * time.Hour)},
		Defaults: forkbox.Limits{forkbox.Memory: 2 << 30, forkbox.Pids: forkbox.Unlimited},
		Users: map[string]User{
			"alice": {forkbox.Limits{forkbox.Memory: 4 << 30}, Quota{Boxes: 20, Running: 4, Memory: 16 << 30, CPUs: 2500, Disk: 100 << 30}},
			"1000":  {Limits: forkbox.Limits{}},
			"*":     {Limits: forkbox.Limits{}, Quota: Quota{Boxes: 5}},
		},
		Admission: Admission{Running: 64, Memory: Share{Percent: 150}, CPUs: 32000, Pressure: map[string]float64{"cpu": 80, "memory": 50.5}, Wait: 5 * time.Minute},
		Reserve:   Reserve{Memory: Share{Bytes: 1 << 30}, Disk: Share{Percent: 10, Least: 2 << 30, Most: 100 << 30}},
		Network:   Builtin().Network,
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v\nwant %+v", got, err, want)
	}
}

// TestUnsaid: what is not named is as it was built in.
func TestUnsaid(t *testing.T) {
	for _, text := range []string{"", "# nothing\n", "---\n", "limits:\nusers:\n", "admission: {}", "reserve: {disk: {share: 2%, least: 1g, most: 10g}}"} {
		if got, err := parseConfig("config.yaml", []byte(text)); err != nil || !reflect.DeepEqual(got, Builtin()) {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	got, err := parseConfig("config.yaml", []byte("admission: {wait: 0, memory: unlimited}\nreserve: {memory: 0}\ndefaults: {memory: 1g}\n"))
	want := Builtin()
	want.Admission.Wait, want.Admission.Memory, want.Reserve.Memory = 0, Share{}, Share{}
	want.Defaults[forkbox.Memory] = 1 << 30
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestBadConfig: every mistake is an error that names the file, the line and
// what is wrong.
func TestBadConfig(t *testing.T) {
	for text, want := range map[string]string{
		"limits: {memory: 8g}\nlimit: {}\n":                 `line 2: "limit" is not something it knows`,
		"limits:\n  memory: 8g\n  mem: 1g\n":                `line 3: limits: there is nothing called "mem" to limit`,
		"limits:\n  memory: 8g\n  memory: 9g\n":             `line 3: "memory" is there twice`,
		"users: {a: {}}\nlimits: {}\nusers: {}\n":           `line 3: "users" is there twice`,
		"limits: [memory]\n":                                `line 1: there should be "key: value" lines`,
		"limits: 8g\n":                                      `line 1: there should be "key: value" lines`,
		"limits: !!set {memory: 8g}\n":                      `line 1: there should be "key: value" lines`,
		"[]\n":                                              `line 1: there should be "key: value" lines`,
		"limits: {memory: -1}\n":                            `line 1: memory: "-1" is no value for it`,
		"limits: {memory: -5g}\n":                           `line 1: memory: "-5g" is no value for it`,
		"limits: {memory: lots}\n":                          `line 1: memory: "lots" is no value for it`,
		"limits: {memory: 1}\n":                             `line 1: memory: 1 is too little`,
		"limits: {memory: true}\n":                          `line 1: "true" is no value for it`,
		"limits:\n  memory:\n":                              `line 2: there is no value`,
		"limits: {memory: [1g]}\n":                          `line 1: there should be a single value`,
		"limits: {memory: !mine 8g}\n":                      `line 1: "8g" is no value for it`,
		"limits: {cpus: .nan}\n":                            `line 1: cpus: ".nan" is no value for it`,
		"limits: {? [a] : 1}\n":                             `line 1: a key is a plain word`,
		"limits: {memory: &a 8g}\ndefaults: {disk: *a}":     `line 2: an alias (*a) is not taken here`,
		"a: &a {x: 1}\nlimits: {<<: *a}\n":                  `line 1: "a" is not something it knows`,
		"limits: &a {<<: *a}\n":                             `line 1: limits: there is nothing called "<<" to limit`,
		"limits: {}\n---\nlimits: {}\n":                     `line 2: a second document begins here`,
		"limits: {\n":                                       `line 1: did not find expected node content`,
		"\tlimits: {}\n":                                    "line 1: found character that cannot start any token",
		"limits: {memory: \"\x01\"}\n":                      `line 1: "\x01" is no text`,
		"limits: {}\n# \xff\n":                              `line 2: "\xff" is no text`,
		"users: {01000: {}}\n":                              `line 1: "01000" is no name of a user`,
		"users: {99999999999: {}}\n":                        `line 1: "99999999999" is no name of a user`,
		"users: {'': {}}\n":                                 `line 1: "" is no name of a user`,
		"users: {'a b': {}}\n":                              `line 1: "a b" is no name of a user`,
		"users: {a: {boxes: 1}}\n":                          `line 1: "boxes" is not something it knows`,
		"users: {a: {quota: {boxes: 0}}}\n":                 `line 1: boxes: 0 is too little`,
		"users: {a: {quota: {boxes: 1.5.}}}\n":              `line 1: boxes: "1.5." is no value for it`,
		"users: {a: {quota: {boxes: 9000000m}}}\n":          `line 1: boxes: 9000000000000 is too much`,
		"admission: {memory: 0%}\n":                         `line 1: memory: "0%" is no share of the whole`,
		"admission: {memory: 0}\n":                          `line 1: memory: 0 is too little`,
		"admission: {memory: nan%}\n":                       `line 1: memory: "nan%" is no share of the whole`,
		"admission: {pressure: {disk: 4}}\n":                `line 1: "disk" is not something it knows`,
		"admission: {pressure: {io: 0}}\n":                  `line 1: io: "0" is no percentage of time`,
		"admission: {pressure: {io: 101}}\n":                `line 1: io: "101" is no percentage of time`,
		"admission: {pressure: {io: NaN}}\n":                `line 1: io: "NaN" is no percentage of time`,
		"admission: {wait: unlimited}\n":                    `line 1: wait: it has to end at some time`,
		"admission: {wait: -5s}\n":                          `line 1: wait: "-5s" is no value for it`,
		"reserve: {disk: 100%}\n":                           `line 1: disk: "100%" is no share of the whole`,
		"reserve: {disk: {least: 1g}}\n":                    `line 1: disk: there is no share`,
		"reserve: {disk: {share: 1g}}\n":                    `line 1: disk: share: "1g" is not a percentage`,
		"reserve: {disk: {share: 1%, least: 2g, most: 1g}}": `line 1: disk: least is more than most`,
	} {
		c, err := parseConfig("config.yaml", []byte(text))
		if err == nil || forkbox.CodeOf(err) != forkbox.Invalid {
			t.Errorf("%q: %+v, %v", text, c, err)
			continue
		}
		if got := err.Error(); !strings.HasPrefix(got, "cannot read config.yaml: line ") || !strings.Contains(got, want) {
			t.Errorf("%q: %s\nwant %s", text, got, want)
		}
	}
}

// TestBombs: what is small and would unfold to much is refused, in no more
// steps than it has bytes.
func TestBombs(t *testing.T) {
	bomb := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c <= 'z'; c++ {
		was := "*" + string(c-1)
		bomb += string(c) + ": &" + string(c) + " [" + strings.Repeat(was+",", 8) + was + "]\n"
	}
	deep := "limits: " + strings.Repeat("{memory: ", 5000) + "1g" + strings.Repeat("}", 5000)
	for _, text := range []string{bomb, deep, "limits: " + strings.Repeat("[", mostText-8)} {
		var bad *forkbox.Error
		if _, err := parseConfig("config.yaml", []byte(text)); !errors.As(err, &bad) || bad.Code != forkbox.Invalid {
			t.Errorf("%.40q: %v", text, err)
		}
	}
}

// parseConfig reads a whole file at once; package config does so key by key.
func parseConfig(path string, text []byte) (Config, error) {
	p, c := page{path}, Builtin()
	top, err := p.parse(text)
	if err != nil || top == nil {
		return c, err
	}
	if err := c.read(p, top); err != nil {
		return Config{}, err
	}
	return c, nil
}
