package page

import "strings"

// lay places rows and the axis.
func (c *chart) lay(s scale, in measure) {
	c.Width, c.Height = chartWidth, len(c.Rows)*rowHeight+30
	c.AxisY, c.TextX = coordinate(float64(len(c.Rows)*rowHeight)), coordinate(chartWidth-chartRight+12)
	for i := range c.Rows {
		c.Rows[i].Y = coordinate(middle(i) - barHeight/2)
		c.Rows[i].TextY = coordinate(middle(i) + 4)
	}
	for _, v := range s.ticks() {
		text := strings.TrimSpace(tickText(v*in.factor) + " " + in.unit)
		c.Ticks = append(c.Ticks, tick{X: coordinate(s.at(v)), Text: text})
	}
}

func middle(row int) float64 { return float64(row*rowHeight) + rowHeight/2 }

// dots are points of one path. They are moved up and down a little, in the order
// of the runs, so that equal ones do not hide each other.
func dots(values []float64, s scale, row, most int) string {
	var b strings.Builder
	for i, v := range values {
		if i == most {
			break
		}
		up := float64(i*7%11) - 5
		b.WriteString("M" + coordinate(s.at(v)) + " " + coordinate(middle(row)+up) + "h0")
	}
	return b.String()
}

// onChart is a name that fits beside a row.
func onChart(name string) string {
	text := []rune(short(name, mostName))
	if len(text) > mostOnChart {
		return string(text[:mostOnChart-1]) + "…"
	}
	return string(text)
}
