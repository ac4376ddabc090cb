package page_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/race/page"
)

// attacks are what a box may call a file, print, or write into one.
var attacks = []string{
	`</script><script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `' onmouseover='alert(1)`, `</style><style>*{display:none}`,
	`</title></pre></svg></table><h1>x`, `<!-- `, `]]>`, `{{.Script}}`, "`${alert(1)}`", `javascript:alert(1)`, `&lt;b&gt;&#0;&nosuch;`,
	"\x00\x01\x1b[31m\x1b]0;x\a\x7f", "\xff\xfe\xc0\xaf\xed\xa0\x80", "a\u202eb\u2066c\u200bd\ufeff\u2028", "a\r\nb\tc\rd", "<plaintext>", "<svg onload=alert(1)>",
	"http-equiv=refresh url=https://example.com", "\U000e0041\ufff9", strings.Repeat("x", 3<<20), strings.Repeat("\x1b", 1<<20), strings.Repeat("é", 5000),
}

// Whatever it is, and wherever it stands, it is text.
func TestHostileTextStaysText(t *testing.T) {
	for i, attack := range attacks {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			page := write(t, hostilePage(attack))
			sound(t, page)
			if len(page) > 2<<20 {
				t.Errorf("the page has %d bytes", len(page))
			}
		})
	}
}

// hostilePage has the text in every field that is one.
func hostilePage(text string) page.Page {
	var race forkbox.Race
	fill(reflect.ValueOf(&race).Elem(), text, 8)
	var change forkbox.Change
	fill(reflect.ValueOf(&change).Elem(), text, 8)
	twin := change
	twin.PathBytes, twin.Patch = nil, []byte("@@ -1,3 +1,9 @@\n-"+text+"\n+"+text+"\n"+text)
	return page.Page{
		Race: race, Diffs: map[string][]forkbox.Change{text: {change, twin}}, Cut: map[string]bool{text: true}, Version: text,
	}
}

// fill gives every string below v the text, and every list two elements. Some
// types have themselves in them: depth ends that.
func fill(v reflect.Value, text string, depth int) {
	if depth == 0 {
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return
		}
		for i := range v.NumField() {
			fill(v.Field(i), text, depth-1)
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes([]byte(text))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range 2 {
			fill(v.Index(i), text, depth-1)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), text, depth-1)
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	case reflect.Float64:
		v.SetFloat(7)
	case reflect.Bool:
		v.SetBool(true)
	}
}

// What cannot be seen is shown: a reviewer must not be fooled by it.
func TestHiddenCharactersAreShown(t *testing.T) {
	p := sample()
	p.Diffs["patch"][0].Patch = []byte("@@ -1 +1 @@\n-if ok {\u202e // \u2066return\n+\xff\x1b[2K\x00x\r\n")
	text := sound(t, write(t, p)).id("approach-1").one("pre").text()
	contains(t, text, "-if ok {<U+202E> // <U+2066>return\n", "+<FF>^[[2K^@x^M\n")
	p.Diffs["patch"][0].PathBytes = []byte("/home/me/app/a\nb\xfe")
	contains(t, sound(t, write(t, p)).id("approach-1").one("summary").text(), "a^Jb<FE>")
}

func FuzzPage(f *testing.F) {
	for _, attack := range attacks {
		f.Add(attack[:min(len(attack), 2000)])
	}
	f.Fuzz(func(t *testing.T, text string) { sound(t, write(t, hostilePage(text))) })
}
