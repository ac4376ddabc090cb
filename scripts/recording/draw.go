package main

import (
	"fmt"
	"html"
	"strings"
	"unicode/utf8"
)

// Sizes are in pixels, times in seconds.
const (
	columns    = 118
	charWidth  = 8
	lineHeight = 19
	margin     = 16
	bar        = 34 // the title of the window

	afterSaying  = 0.8
	afterCommand = 1.0
	afterLine    = 0.08
	afterStep    = 1.4
)

const head = `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" role="img" aria-label="forkbox in a terminal">
<style>
text { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #d0d7de; white-space: pre; }
.say { fill: #8b949e; } .command { fill: #ffffff; font-weight: bold; } .gone { fill: #ff7b72; } .new { fill: #7ee787; } .hint { fill: #8b949e; }
g { opacity: 0; animation: appear 0.1s forwards; }
@keyframes appear { to { opacity: 1; } }
@media (prefers-reduced-motion: reduce) { g { opacity: 1; animation: none; } }
</style>
<rect width="100%%" height="100%%" rx="8" fill="#0d1117"/>
<circle cx="20" cy="17" r="6" fill="#ff5f56"/><circle cx="40" cy="17" r="6" fill="#ffbd2e"/><circle cx="60" cy="17" r="6" fill="#27c93f"/>
`

// picture is a terminal that is being filled.
type picture struct {
	body strings.Builder
	row  int
	time float64
}

func draw(shots []shot) string {
	var p picture
	for i, s := range shots {
		if s.say != "" {
			if i > 0 {
				p.row++
			}
			p.line("say", "# "+s.say, afterSaying)
		}
		for i, part := range wrapCommand(s.command) {
			prompt := "$ "
			if i > 0 {
				prompt = "    "
			}
			p.line("command", prompt+part, 0)
		}
		p.time += afterCommand
		for _, line := range s.lines {
			p.line(class(line), line, afterLine)
		}
		p.time += afterStep
	}
	width, height := columns*charWidth+2*margin, bar+p.row*lineHeight+margin
	return fmt.Sprintf(head, width, height) + p.body.String() + "</svg>\n"
}

// line adds one, and waits.
func (p *picture) line(class, text string, wait float64) {
	y := bar + p.row*lineHeight + lineHeight*3/4
	if utf8.RuneCountInString(text) > columns {
		text = string([]rune(text)[:columns-1]) + "…"
	}
	fmt.Fprintf(&p.body, "<g style=\"animation-delay:%.2fs\"><text class=%q x=\"%d\" y=\"%d\">%s</text></g>\n", p.time, class, margin, y, html.EscapeString(text))
	p.row++
	p.time += wait
}

// class is how a line is coloured, by its first word.
func class(line string) string {
	word, _, _ := strings.Cut(strings.TrimSpace(line), " ")
	switch {
	case word == "deleted":
		return "gone"
	case word == "added" || word == "modified" || word == "landed" || strings.Contains(line, " wins: "):
		return "new"
	case word == "kept":
		return "hint"
	}
	return "output"
}

// wrapCommand breaks a command that is too wide at its flags, as a person would.
func wrapCommand(command string) (parts []string) {
	for utf8.RuneCountInString(command) > columns-6 {
		at := strings.LastIndex(command[:columns-6], " --")
		if at <= 0 {
			break
		}
		parts = append(parts, command[:at]+` \`)
		command = command[at+1:]
	}
	return append(parts, command)
}
