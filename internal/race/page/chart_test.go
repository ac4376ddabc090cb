package page_test

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/race/page"
)

func TestChartsShowEveryValue(t *testing.T) {
	d := sound(t, write(t, sample()))
	charts := d.all("figure")
	if got := texts(d.id("charts-title").sections("h3")); !slices.Equal(got, []string{"Time", "build"}) {
		t.Fatalf("the charts are %q", got)
	}
	build := charts[1]
	rows := build.all("g")
	if got := texts(rows); !slices.Equal(got, []string{"patch500 ms", "dep125 ms"}) {
		t.Errorf("the rows are %q", got)
	}
	if n := strings.Count(rows[0].one("path").attr("d"), "M"); n != 4 {
		t.Errorf("of 4 values %d are dots", n)
	}
	box, median := rows[0].class("quartiles")[0], rows[0].class("median")[0]
	low, width, mid := box.number("x"), box.number("width"), median.number("x")
	if !(low < mid && mid < low+width) {
		t.Errorf("the median at %v is not between the quartiles, %v and %v", mid, low, low+width)
	}
	if other := rows[1].class("median")[0].number("x"); other >= low {
		t.Errorf("125 ms is at %v, 438 ms at %v", other, low)
	}
	contains(t, build.one("figcaption").text(), "median", "Lower is better.")
	contains(t, build.text(), "400 ms")
}

// A bar is as long as its value: it begins at zero.
func TestChartOfTimeBeginsAtZero(t *testing.T) {
	bars := sound(t, write(t, sample())).all("figure")[0].class("bar")
	short, long := bars[0].number("width"), bars[1].number("width")
	if math.Abs(long/short-2) > 0.01 {
		t.Errorf("3s is %v long and 1.5s is %v", long, short)
	}
	if bars[3].number("width") != 0 {
		t.Error("what took no time has a bar")
	}
}

// The drawing stays within its frame, whatever was measured.
func TestChartsHoldAnyValue(t *testing.T) {
	for _, values := range [][]float64{
		{0}, {0, 0}, {7, 7, 7}, {-1, 1}, {math.MaxFloat64, -math.MaxFloat64}, {math.MaxFloat64}, {5e-324, 1e-323}, {1e15, 1e15 + 1},
		{math.NaN(), 1}, {math.Inf(1), 2}, {1e-9, 1e9}, {123456789.5, 123456790.5},
	} {
		d := sound(t, write(t, measuredPage("", values)))
		for _, e := range d.all("svg")[0].all("*") {
			for _, name := range []string{"x", "x1", "width"} {
				if v := e.number(name); !(v >= 0 && v <= 860) {
					t.Errorf("of %v: %s of %s is %v", values, name, e.Data, v)
				}
			}
		}
	}
}

func TestChartsOfNothing(t *testing.T) {
	p := measuredPage("no number in the output", nil)
	d := sound(t, write(t, p))
	if n := len(d.all("svg")); n != 0 {
		t.Errorf("there are %d charts of nothing", n)
	}
	contains(t, d.id("result").text(), "no value")
	contains(t, d.id("approach-1").text(), "no number in the output")
}

func TestChartsAreBounded(t *testing.T) {
	p := measuredPage("", make([]float64, forkbox.MostRuns))
	for len(p.Race.Entries) < forkbox.MostApproaches {
		p.Race.Entries = append(p.Race.Entries, p.Race.Entries[0])
	}
	page := write(t, p)
	if len(page) > 4<<20 {
		t.Errorf("the page has %d bytes", len(page))
	}
	d := sound(t, page)
	dots := 0
	for _, e := range d.class("dots") {
		dots += strings.Count(e.attr("d"), "M")
	}
	if dots < 20000 || dots > 40000 {
		t.Errorf("there are %d dots", dots)
	}
	contains(t, d.one("figcaption").text(), "too many runs to show: the first 156 of each")
}

// measuredPage has one approach and one metric.
func measuredPage(why string, values []float64) page.Page {
	m := forkbox.Measured{Name: "size", Values: values, Why: why}
	if len(values) > 0 {
		m.Low, m.High, m.Median = slices.Min(values), slices.Max(values), values[0]
		if math.IsNaN(m.Low) || math.IsInf(m.High, 0) {
			m.Low, m.High, m.Median = 1, 2, 1
		}
	}
	return page.Page{Race: forkbox.Race{Name: "r", Entries: []forkbox.Entry{{Name: "a", Metrics: []forkbox.Measured{m}}}}}
}

// number is an attribute that is one; zero if it is not there.
func (d dom) number(attr string) float64 {
	text := d.attr(attr)
	if text == "" {
		return 0
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		d.Errorf("%s of %s is %q", attr, d.Data, text)
	}
	return v
}

// sections are the elements of a name in the section that a heading is of.
func (d dom) sections(name string) []dom { return dom{d.TB, d.Parent}.all(name) }
