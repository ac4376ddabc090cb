package strictjson

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/spelling"
)

const op = "understand the request"

// explain is a decoder's error in the words of JSON instead of Go's.
func explain(err error, into any) error {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return wrongType(wrong)
	}
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return unknownField(strings.Trim(name, `"`), into)
	}
	return err
}

// unknownField names the field that an unknown one was probably meant to be, or
// those that there are.
func unknownField(name string, into any) error {
	err := forkbox.Errorf(forkbox.Invalid, op, "unknown field %q", name)
	names := map[string]bool{}
	addNames(reflect.TypeOf(into), names, map[reflect.Type]bool{})
	if meant := spelling.Nearest(name, slices.Sorted(maps.Keys(names))); meant != "" {
		return err.Hint("did you mean %q?", meant)
	}
	if own := slices.Sorted(maps.Keys(memberNames(into))); len(own) > 0 {
		return err.Hint("there are %s", strings.Join(own, ", "))
	}
	return err.Hint("it takes none")
}

// wrongType says what a value is, and what it has to be.
func wrongType(wrong *json.UnmarshalTypeError) error {
	err := forkbox.Errorf(forkbox.Invalid, op, "%s is a JSON %s", fieldOf(wrong), wrong.Value)
	if strings.HasPrefix(wrong.Value, "number ") { // one that does not fit
		err.Why = fmt.Sprintf("%s is %s", fieldOf(wrong), strings.TrimPrefix(wrong.Value, "number "))
	}
	return err.Hint("it takes %s", kindOf(wrong.Type))
}

// fieldOf is where the value is: "exec.size.rows". Structs that are embedded have
// no name in JSON.
func fieldOf(wrong *json.UnmarshalTypeError) string {
	var parts []string
	for part := range strings.SplitSeq(wrong.Field, ".") {
		if part != "" && (part[0] < 'A' || part[0] > 'Z') {
			parts = append(parts, part)
		}
	}
	if len(parts) == 0 {
		return "it"
	}
	return fmt.Sprintf("%q", strings.Join(parts, "."))
}

func kindOf(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return kindOf(t.Elem())
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Uint8, reflect.Uint16, reflect.Uint32:
		return fmt.Sprintf("a whole number from 0 to %d", uint64(1)<<t.Bits()-1)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint64:
		return "a whole number"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return "bytes in base64"
		}
		return "a list"
	}
	return "an object"
}

// memberNames are the JSON names of the fields of the struct that into points
// to.
func memberNames(into any) map[string]bool {
	names := map[string]bool{}
	for _, f := range reflect.VisibleFields(reflect.TypeOf(into).Elem()) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
			names[name] = true
		}
	}
	return names
}

// addNames collects the JSON names in a type and in what it is made of: a
// decoder does not say in which object the unknown one was.
func addNames(t reflect.Type, names map[string]bool, seen map[reflect.Type]bool) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		addNames(t.Elem(), names, seen)
	case reflect.Struct:
		if seen[t] {
			return
		}
		seen[t] = true
		for i := range t.NumField() {
			f := t.Field(i)
			if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
				names[name] = true
			}
			addNames(f.Type, names, seen)
		}
	}
}
