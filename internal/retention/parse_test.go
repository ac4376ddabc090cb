package retention

import (
	"math"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
)

func TestParsePolicy(t *testing.T) {
	with := func(change func(*Policy)) Policy {
		p := Default()
		change(&p)
		return p
	}
	for text, want := range map[string]Policy{
		"":                                   Default(),
		"applied=24h,failed=7d,max-size=50G": with(func(p *Policy) { p.MaxSize = 50 << 30 }),
		"applied=never":                      with(func(p *Policy) { p.Applied = 0 }),
		"lost=3h":                            with(func(p *Policy) { p.Lost = 3 * time.Hour }),
		"discarded=90m":                      with(func(p *Policy) { p.Discarded = 90 * time.Minute }),
		"untouched=2w,failed=1d12h":          with(func(p *Policy) { p.Untouched, p.Failed = 14*day, 36*time.Hour }),
		"unreviewed=4w":                      with(func(p *Policy) { p.Unreviewed = 28 * day }),
		"max-size=1":                         with(func(p *Policy) { p.MaxSize = 1 }),
		"applied=never,failed=never,untouched=never,discarded=never,lost=never": {},
	} {
		if got, err := Default().With(text); err != nil || got != want {
			t.Errorf("With(%q) = %v, %v, want %v", text, got, err, want)
		}
	}
}

// TestParsePolicyRefuses: what is not understood is an error that says what,
// and the policy that comes with it removes nothing.
func TestParsePolicyRefuses(t *testing.T) {
	for text, part := range map[string]string{
		" ":                        `" " is not KEY=VALUE`,
		"applied":                  `"applied" is not KEY=VALUE`,
		"applied=24h,":             `"" is not KEY=VALUE`,
		",applied=24h":             `"" is not KEY=VALUE`,
		"applied=24h, failed=7d":   `" failed" is not something it knows`,
		"Applied=24h":              `"Applied" is not something it knows`,
		"rejected=24h":             `"rejected" is not something it knows`,
		"=24h":                     `"" is not something it knows`,
		"applied=24h,applied=1h":   `"applied" is there twice`,
		"max-size=1G,max-size=1G":  `"max-size" is there twice`,
		"applied=":                 `applied: "" is not an age`,
		"applied=0s":               `applied: "0s" is not an age above zero`,
		"applied=-24h":             `applied: "-24h" is not an age`,
		"applied=24":               `applied: "24" is not an age`,
		"applied=24h=1":            `applied: "24h=1" is not an age`,
		"failed=Never":             `failed: "Never" is not an age`,
		"failed=99999999w":         `failed: "99999999w" is too long an age`,
		"max-size=never":           `max-size: "never" is not a size`,
		"max-size=0":               `max-size: "0" is not a size above zero`,
		"max-size=-1G":             `max-size: "-1G" is not a size`,
		"max-size=99999999999T":    `max-size: "99999999999T" is too large`,
		"applied=1h;failed=7d":     `applied: "1h;failed=7d" is not an age`,
		"failed=7d,max-size=50 GB": `max-size: "50 GB" is not a size`,
		"applied=1h\n":             `applied: "1h\n" is not an age`,
	} {
		got, err := Default().With(text)
		if forkbox.CodeOf(err) != forkbox.Invalid || !strings.Contains(err.Error(), part) {
			t.Errorf("With(%q): %v, want %s", text, err, part)
		}
		if got != (Policy{}) {
			t.Errorf("With(%q) leaves %v", text, got)
		}
	}
}

func TestParseAge(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"1s": time.Second, "90m": 90 * time.Minute, "24h": day, "7d": 7 * day, "2w": 14 * day,
		"1w1d1h1m1s": 8*day + time.Hour + time.Minute + time.Second, "1d0h": day, "007d": 7 * day,
		"9223372036s": 9223372036 * time.Second,
	} {
		if got, err := ParseAge(text); err != nil || got != want {
			t.Errorf("ParseAge(%q) = %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "d", "1", "0d", "+1d", "1.5d", "1D", "1h1d", "1d1d", "1y", "1ms", "1d ", "٣d",
		"9223372037s", "15250w2d", "99999999999999999999s"} {
		if got, err := ParseAge(text); forkbox.CodeOf(err) != forkbox.Invalid || got != 0 {
			t.Errorf("ParseAge(%q) = %v, %v", text, got, err)
		}
	}
}

func TestParseSize(t *testing.T) {
	for text, want := range map[string]int64{
		"1": 1, "1K": 1024, "500M": 500 << 20, "50G": 50 << 30, "2T": 2 << 40,
		"9223372036854775807": math.MaxInt64, "8388607T": 8388607 << 40,
	} {
		if got, err := ParseSize(text); err != nil || got != want {
			t.Errorf("ParseSize(%q) = %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "0", "0G", "G", "-1", "+1", "1.5G", "1k", "1GB", "1GiB", "1P", " 1", "1 G", "1e9",
		"9223372036854775808", "8388608T"} {
		if got, err := ParseSize(text); forkbox.CodeOf(err) != forkbox.Invalid || got != 0 {
			t.Errorf("ParseSize(%q) = %d, %v", text, got, err)
		}
	}
}

// FuzzParsePolicy: what is refused leaves nothing, and what is read is written
// so that it reads the same.
func FuzzParsePolicy(f *testing.F) {
	for _, s := range []string{"", "applied=24h,failed=7d,max-size=50G", "untouched=never", "discarded=1w1d1h1m1s", "unreviewed=3d", "max-size=7", "a=b,,"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := Default().With(text)
		if err != nil {
			if p != (Policy{}) || forkbox.CodeOf(err) != forkbox.Invalid {
				t.Fatalf("%q: %v with %v", text, err, p)
			}
			return
		}
		if again, err := Default().With(p.String()); err != nil || again != p {
			t.Fatalf("%q is %v, written as %q and read as %v, %v", text, p, p.String(), again, err)
		}
		if min(p.Applied, p.Discarded, p.Lost, p.Failed, p.Untouched, p.Unreviewed) < 0 || p.MaxSize < 0 {
			t.Fatalf("%q is below zero: %v", text, p)
		}
	})
}

// FuzzParseSize: against arithmetic that cannot overflow.
func FuzzParseSize(f *testing.F) {
	for _, s := range []string{"1", "1K", "50G", "8388608T", "9223372036854775808", "0", "x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		digits, shift := text, uint(0)
		if i := strings.IndexByte("KMGT", (text + "\x00")[max(0, len(text)-1)]); i >= 0 {
			digits, shift = text[:len(text)-1], uint(i+1)*10
		}
		want, ok := new(big.Int).SetString(digits, 10)
		ok = ok && strings.Trim(digits, "0123456789") == ""
		if ok {
			want.Lsh(want, shift)
			ok = want.IsInt64() && want.Sign() > 0
		}
		got, err := ParseSize(text)
		if (err == nil) != ok || ok && want.Int64() != got {
			t.Fatalf("%q is %d, %v, want %v (%v)", text, got, err, want, ok)
		}
	})
}

// FuzzParseAge: where Go reads the same text as a duration, it is the same.
func FuzzParseAge(f *testing.F) {
	for _, s := range []string{"24h", "7d", "2w", "1d12h", "1h30m", "15250w", "1h1h", "0s"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := ParseAge(text)
		if err == nil && got <= 0 {
			t.Fatalf("%q is %v", text, got)
		}
		if want, goErr := time.ParseDuration(text); err == nil && goErr == nil && got != want {
			t.Fatalf("%q is %v, Go says %v", text, got, want)
		}
		if err == nil && !strings.ContainsAny(text, "wd") {
			if _, goErr := time.ParseDuration(text); goErr != nil {
				t.Fatalf("%q is %v, Go says %v", text, got, goErr)
			}
		}
	})
}
