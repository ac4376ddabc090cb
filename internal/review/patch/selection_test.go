package patch

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
)

func TestParseSelection(t *testing.T) {
	for arg, want := range map[string]struct {
		file    string
		numbers []int
	}{
		"f:1":           {"f", []int{1}},
		"f:1,3-5":       {"f", []int{1, 3, 4, 5}},
		"f:5,1,1-2":     {"f", []int{1, 2, 5}},
		"a:b,c:2":       {"a:b,c", []int{2}},
		"a:1:2":         {"a:1", []int{2}},
		"::7-7":         {":", []int{7}},
		"x y\n\xff:10":  {"x y\n\xff", []int{10}},
		"/abs/f.go:007": {"/abs/f.go", []int{7}},
	} {
		file, numbers, err := ParseSelection(arg)
		if err != nil || file != want.file || !slices.Equal(numbers, want.numbers) {
			t.Errorf("%q: %q %v %v", arg, file, numbers, err)
		}
	}
}

func TestParseSelectionRefuses(t *testing.T) {
	for arg, why := range map[string]string{
		"":                        "no colon",
		"f":                       "no colon",
		":1":                      "names no file",
		"f:":                      `"" is not a number`,
		"f:1,":                    `"" is not a number`,
		"f:0":                     "numbered from 1",
		"f:0-3":                   "numbered from 1",
		"f:-1":                    `"" is not a number`,
		"f:+1":                    `"+1" is not a number`,
		"f:1 ":                    `"1 " is not a number`,
		"f:1-":                    `"" is not a number`,
		"f:1-2-3":                 `"2-3" is not a number`,
		"f:5-3":                   "backwards",
		"f:all":                   `"all" is not a number`,
		"f:99999999999999999999":  "too large",
		"f:1-9223372036854775807": "too many",
		"f:1-1048576,1":           "too many",
	} {
		file, numbers, err := ParseSelection(arg)
		if err == nil || !strings.Contains(err.Error(), why) || forkbox.CodeOf(err) != forkbox.Invalid || numbers != nil || file != "" {
			t.Errorf("%q: %q %v %v", arg, file, numbers, err)
		}
	}
}

func FuzzParseSelection(f *testing.F) {
	for _, arg := range []string{"f:1,3-5", "a:b:2", ":", "f:1-", "f:0"} {
		f.Add(arg)
	}
	f.Fuzz(func(t *testing.T, arg string) {
		file, numbers, err := ParseSelection(arg)
		if err != nil {
			return
		}
		if !strings.HasPrefix(arg, file+":") || file == "" || len(numbers) == 0 || numbers[0] < 1 {
			t.Fatalf("%q %v", file, numbers)
		}
		// Written out one by one they mean the same.
		if len(numbers) > 1000 {
			return
		}
		plain := file + ":" + strings.ReplaceAll(strings.Trim(fmt.Sprint(numbers), "[]"), " ", ",")
		file2, numbers2, err := ParseSelection(plain)
		if err != nil || file2 != file || !slices.Equal(numbers, numbers2) {
			t.Fatalf("%q: %q %v %v", plain, file2, numbers2, err)
		}
	})
}
