package page_test

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// Text can be read by people who see little contrast, in both schemes: 4.5 to 1
// is what the WCAG ask for.
func TestContrast(t *testing.T) {
	style := sound(t, write(t, sample())).one("style").text()
	light, dark, found := strings.Cut(style, "prefers-color-scheme: dark")
	if !found {
		t.Fatal("there is no dark scheme")
	}
	for scheme, css := range map[string]string{"light": light, "dark": dark} {
		colours := coloursOf(css)
		for back, texts := range map[string]string{
			"page": "text quiet link good doubtful bad none", "panel": "text quiet link good doubtful bad none",
			"added": "text", "removed": "text", "hunk": "text", "mark": "text",
		} {
			for _, text := range strings.Fields(texts) {
				if c := contrast(t, colours[text], colours[back]); c < 4.5 {
					t.Errorf("%s: %s on %s has a contrast of %.2f", scheme, text, back, c)
				}
			}
		}
	}
}

func coloursOf(css string) map[string]string {
	all := map[string]string{}
	for _, m := range regexp.MustCompile(`--([a-z]+): #([0-9a-f]{6});`).FindAllStringSubmatch(css, -1) {
		all[m[1]] = m[2]
	}
	return all
}

func contrast(t *testing.T, a, b string) float64 {
	t.Helper()
	x, y := luminance(t, a), luminance(t, b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// luminance is how bright a colour is, by the definition of WCAG 2.
func luminance(t *testing.T, colour string) (sum float64) {
	t.Helper()
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		n, err := strconv.ParseUint(colour[2*i:2*i+2], 16, 8)
		if err != nil {
			t.Fatal(err)
		}
		c := float64(n) / 255
		if c <= 0.04045 {
			sum += weight * c / 12.92
		} else {
			sum += weight * math.Pow((c+0.055)/1.055, 2.4)
		}
	}
	return sum
}
