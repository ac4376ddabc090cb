//go:build unix

package page_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/forkbox/forkbox"
)

const firstColumn = `[...document.querySelectorAll("#result tbody tr")].map(r => r.cells[1].querySelector("bdi").textContent)`

func TestBrowserSortsTheTable(t *testing.T) {
	b := open(t, write(t, sample()))
	for _, step := range []struct {
		click string
		want  []string
	}{
		{"Time", []string{"revert", "patch", "dep", "agent"}},
		{"Time", []string{"agent", "dep", "patch", "revert"}},
		{"build", []string{"dep", "patch", "agent", "revert"}},
		{"build", []string{"patch", "dep", "agent", "revert"}}, // who has no value stays last
		{"Approach", []string{"agent", "dep", "patch", "revert"}},
		{"Rank", []string{"patch", "dep", "agent", "revert"}},
	} {
		value[bool](b, `[...document.querySelectorAll("#result thead button")].find(b => b.textContent === "`+step.click+`").click() || true`)
		if got := value[[]string](b, firstColumn); !slices.Equal(got, step.want) {
			t.Errorf("by %s: %q", step.click, got)
		}
	}
	if got := value[string](b, `document.querySelector("#result th[aria-sort]").textContent`); got != "Rank" {
		t.Errorf("the head that says it is sorted is %q", got)
	}
}

func TestBrowserFoldsFiles(t *testing.T) {
	p := sample()
	p.Diffs["dep"] = []forkbox.Change{sampleChange(), sampleChange(), sampleChange()}
	b := open(t, write(t, p))
	const opened = `document.querySelectorAll("#approach-2 details[open]").length`
	for _, want := range []int{0, 3, 0} {
		if got := value[int](b, opened); got != want {
			t.Errorf("%d files are open, not %d", got, want)
		}
		value[bool](b, `document.querySelector("#approach-2 button").click() || true`)
	}
	// Lines of a patch are below each other.
	tops := value[[]float64](b, `[...document.querySelectorAll("#approach-1 pre span")].map(s => s.getBoundingClientRect().top)`)
	if len(tops) != 8 || !slices.IsSorted(tops) || tops[0] == tops[7] {
		t.Errorf("the lines are at %v", tops)
	}
}

// The style that the policy names is the one that holds, in both schemes.
func TestBrowserTakesTheStyle(t *testing.T) {
	b := open(t, write(t, sample()))
	for scheme, want := range map[string]string{"light": "rgb(255, 255, 255)", "dark": "rgb(13, 17, 23)"} {
		b.ask("Emulation.setEmulatedMedia", map[string]any{"features": []any{map[string]any{"name": "prefers-color-scheme", "value": scheme}}}, nil)
		if got := value[string](b, `getComputedStyle(document.body).backgroundColor`); got != want {
			t.Errorf("%s: the page is %s", scheme, got)
		}
	}
	if got := value[string](b, `getComputedStyle(document.querySelector("svg .bar")).fill`); !strings.HasPrefix(got, "rgb(") {
		t.Errorf("a bar is %q", got)
	}
}

// What boxes wrote runs nothing. Should it ever get into the page as markup,
// the policy still keeps it from running and from loading anything.
func TestBrowserRunsNothingOfABox(t *testing.T) {
	var asked atomic.Int32
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	server.Listener = listener
	server.Start()
	defer server.Close()
	attack := `</script></title></pre></svg><script>owned=1</script><img src=` + server.URL + ` onerror=owned=2><svg onload=owned=3>`
	b := open(t, write(t, hostilePage(attack)))
	const state = `[typeof owned, document.images.length, document.scripts.length].join()`
	if got := value[string](b, state); got != "undefined,0,1" {
		t.Errorf("the page is no more what it was: %s", got)
	}
	refused := value[[]string](b, `new Promise(done => {
		const refused = [];
		document.addEventListener("securitypolicyviolation", e => {
			refused.push(e.effectiveDirective);
			if (new Set(refused).size == 3) done([...new Set(refused)].sort());
		});
		document.body.insertAdjacentHTML("beforeend", '<img src="`+server.URL+`" onerror="owned=2"><b style="color:red">');
	})`)
	if !slices.Equal(refused, []string{"img-src", "script-src-attr", "style-src-attr"}) || asked.Load() != 0 {
		t.Errorf("the policy refused %q; the server was asked %d times", refused, asked.Load())
	}
	if got := value[string](b, `typeof owned`); got != "undefined" {
		t.Error("a script of the box ran")
	}
}
