package forkbox

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"
)

// unlimited is how people say [Unlimited].
const unlimited = "unlimited"

// ParseLimit reads a value as people write it: 1.5 for cpus, 2g for bytes, 10m
// for times, "unlimited".
func ParseLimit(r Resource, text string) (int64, error) {
	if text == unlimited || text == "none" {
		return Unlimited, nil
	}
	if !r.Known() {
		return 0, unknownResource(r)
	}
	unit := units[r.Info().Unit]
	v, ok := unit.parse(text)
	if !ok {
		return 0, Errorf(Invalid, "read the limit "+string(r), "%q is no value for it", text).Hint("%s", unit.hint)
	}
	return v, checkLimit(r, v)
}

// checkLimit refuses what nothing could run with.
func checkLimit(r Resource, v int64) error {
	least, most := r.Info().Least, units[r.Info().Unit].most
	if v > most {
		return Errorf(Invalid, "set the limit "+string(r), "%s is more than can be counted", FormatLimit(r, v)).
			Hint("the most is %s; or say unlimited", FormatLimit(r, most))
	}
	if v != Unlimited && v < least {
		return Errorf(Invalid, "set the limit "+string(r), "%s is too little", FormatLimit(r, v)).
			Hint("the least is %s", FormatLimit(r, least))
	}
	return nil
}

// Check refuses limits of things that do not exist, and senseless values.
func (l Limits) Check() error {
	for r, v := range l {
		if !r.Known() {
			return unknownResource(r)
		}
		if v < Unlimited {
			return Errorf(Invalid, "read the limit "+string(r), "%d is below zero", v)
		}
		if err := checkLimit(r, v); err != nil {
			return err
		}
	}
	return nil
}

// Unit is what the values of a limit are counted in.
type Unit int

const (
	UnitProcessors Unit = iota + 1 // thousandths of one
	UnitBytes
	UnitCount
	UnitTime // nanoseconds
)

// units is how people write and read the values of each.
var units = map[Unit]struct {
	word  string // for the value of a flag
	hint  string
	most  int64 // the kernel takes that, with room for what is added to it
	parse func(string) (int64, bool)
	print func(int64) string
}{
	UnitProcessors: {"n", "for example 2 or 0.5: processors", 1 << 30, parseCPUs, formatCPUs},
	UnitBytes:      {"size", "for example 512m, 2g or 1048576: bytes", 1 << 60, parseBytes, formatBytes},
	UnitCount:      {"n", "for example 512 or 100k", 1 << 60, parseCount, formatCount},
	UnitTime:       {"time", "for example 90s, 10m, 2h or 7d", 1 << 60, parseSpan, formatSpan},
}

// Word is what the value of a flag is called that has the unit.
func (u Unit) Word() string { return units[u].word }

func parseCPUs(text string) (int64, bool) {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(f) || f < 0 || f > 1<<20 || strings.ContainsAny(text, "xXpP_") {
		return 0, false
	}
	return int64(math.Round(f * 1000)), true
}

func formatCPUs(v int64) string { return strconv.FormatFloat(float64(v)/1000, 'f', -1, 64) }

var byteUnits = map[string]float64{"": 1, "b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}

// parseBytes takes 2g, 2G, 2gb, 2GiB, 1.5g and plain bytes.
func parseBytes(text string) (int64, bool) {
	number, unit := cutNumber(text)
	unit = strings.ToLower(unit)
	if len(unit) > 1 {
		unit = strings.TrimSuffix(strings.TrimSuffix(unit, "b"), "i")
	}
	return scaled(number, byteUnits, unit)
}

var countUnits = map[string]float64{"": 1, "k": 1000, "m": 1000 * 1000}

func parseCount(text string) (int64, bool) {
	number, unit := cutNumber(text)
	return scaled(number, countUnits, strings.ToLower(unit))
}

func formatCount(v int64) string { return strconv.FormatInt(v, 10) }

func cutNumber(text string) (number, unit string) {
	unit = strings.TrimLeft(text, "0123456789.")
	return text[:len(text)-len(unit)], unit
}

func scaled(number string, units map[string]float64, unit string) (int64, bool) {
	scale, ok := units[unit]
	if whole, err := strconv.ParseInt(number, 10, 64); ok && err == nil && whole <= math.MaxInt64/int64(scale) {
		return whole * int64(scale), true
	}
	f, err := strconv.ParseFloat(number, 64)
	if !ok || err != nil || f*scale > 1<<62 {
		return 0, false
	}
	return int64(f * scale), true
}

// parseSpan is a duration that may also have days.
func parseSpan(text string) (int64, bool) {
	days, rest, has := strings.Cut(text, "d")
	if !has {
		d, err := time.ParseDuration(text)
		return int64(d), err == nil && d >= 0
	}
	n, err := strconv.ParseInt(days, 10, 32)
	if err != nil || n < 0 || n > 365*100 {
		return 0, false
	}
	d := time.Duration(0)
	if rest != "" {
		if d, err = time.ParseDuration(rest); err != nil || d < 0 {
			return 0, false
		}
	}
	return int64(d) + n*int64(24*time.Hour), true
}

// FormatLimit is a value as people read it; [ParseLimit] reads it back.
func FormatLimit(r Resource, v int64) string {
	if v == Unlimited {
		return unlimited
	}
	if !r.Known() { // of a record that another forkbox wrote
		return formatCount(v)
	}
	return units[r.Info().Unit].print(v)
}

// formatBytes uses the largest unit that divides it: nothing is rounded.
func formatBytes(v int64) string {
	for _, unit := range []string{"t", "g", "m", "k"} {
		if scale := int64(byteUnits[unit]); v != 0 && v%scale == 0 {
			return strconv.FormatInt(v/scale, 10) + unit
		}
	}
	return strconv.FormatInt(v, 10)
}

// formatSpan leaves out the zeros that Go writes: 2h for 2h0m0s.
func formatSpan(v int64) string {
	text := time.Duration(v).String()
	if rest, ok := strings.CutSuffix(text, "m0s"); ok {
		text = rest + "m"
	}
	if rest, ok := strings.CutSuffix(text, "h0m"); ok {
		text = rest + "h"
	}
	return text
}

// MarshalJSON writes cpus as processors, and all else in its own unit.
func (l Limits) MarshalJSON() ([]byte, error) {
	plain := map[Resource]any{}
	for r, v := range l {
		plain[r] = v
		if r.Info().Unit == UnitProcessors && v != Unlimited {
			plain[r] = float64(v) / 1000
		}
	}
	return json.Marshal(plain)
}

// UnmarshalJSON reads numbers as they are written by MarshalJSON, and text as
// [ParseLimit] does.
func (l *Limits) UnmarshalJSON(data []byte) error {
	var raw map[Resource]json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil || raw == nil {
		return err
	}
	*l = Limits{}
	for r, text := range raw {
		v, err := limitOf(r, string(text))
		if err != nil {
			return err
		}
		(*l)[r] = v
	}
	return nil
}

func limitOf(r Resource, raw string) (int64, error) {
	if strings.HasPrefix(raw, `"`) {
		var text string
		if err := json.Unmarshal([]byte(raw), &text); err != nil {
			return 0, err
		}
		return ParseLimit(r, text)
	}
	if raw == "-1" {
		return Unlimited, nil
	}
	if !r.Known() {
		return 0, unknownResource(r)
	}
	unit := r.Info().Unit
	if unit == UnitProcessors {
		return ParseLimit(r, raw)
	}
	v, err := strconv.ParseInt(raw, 10, 64)
	if err != nil || v < 0 {
		return 0, Errorf(Invalid, "read the limit "+string(r), "%s is no value for it", raw).Hint("%s", units[unit].hint)
	}
	return v, checkLimit(r, v)
}
