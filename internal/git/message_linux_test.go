package git

import (
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
)

func TestMessage(t *testing.T) {
	const trailers = "\n\nForkbox-Box: brave-cat\nForkbox-Receipt: r7"
	for _, c := range []struct{ name, config, message, want string }{
		{"default", "", "", "Apply changes of box brave-cat" + trailers},
		{"message", "", "Fix it\n\nIt was broken.\n# not a comment", "Fix it\n\nIt was broken.\n# not a comment" + trailers},
		{"trailers of its own", "", "Fix it\n\nSigned-off-by: A <a@b>", "Fix it\n\nSigned-off-by: A <a@b>\nForkbox-Box: brave-cat\nForkbox-Receipt: r7"},
		{"a line of dashes", "", "Fix it\n\n---\nmore", "Fix it\n\n---\nmore" + trailers},
		{"placeholder in the message", "", "use {box}", "use {box}" + trailers},
		{"co-authors", `git config --add forkbox.coAuthor 'C <c@d>'; git config --add forkbox.coAuthor 'E F <e@f>'`, "x",
			"x" + trailers + "\nCo-authored-by: C <c@d>\nCo-authored-by: E F <e@f>"},
		{"template", `git config forkbox.commitTemplate $'box({box}): {message}\n\n{count} files, {receipt}, {unknown}'`, "say {box}",
			"box(brave-cat): say {box}\n\n1 files, r7, {unknown}"},
		{"template and co-author", `git config forkbox.commitTemplate '{message}'; git config forkbox.coAuthor 'C <c@d>'`, "x", "x\n\nCo-authored-by: C <c@d>"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, "echo 1 >f; echo '*.log' >.gitignore")
			w.sh("echo 2 >f; echo 1 >x.log; true; " + c.config)
			w.mustCommit(CommitSpec{Paths: w.path("f", "x.log"), Message: c.message, Box: "brave-cat", Receipt: "r7"}, w.path("x.log")...)
			w.want("git log -1 --format=%B", c.want+"\n")
			w.want("git log -1 --format='%an <%ae> %cn'", "Ada <ada@example.org> Ada")
		})
	}
}

func TestAuthor(t *testing.T) {
	w := newWorld(t, "echo 1 >f")
	w.sh("git config forkbox.author 'An Agent <agent@example.org>'; echo 2 >f")
	w.mustCommit(CommitSpec{Paths: w.path("f")})
	w.want("git log -1 --format='%an <%ae> %cn'", "An Agent <agent@example.org> Ada")
}

func TestBadPolicy(t *testing.T) {
	for _, config := range []string{"forkbox.author Ada", "forkbox.author ''", "forkbox.coAuthor '<c@d>'", `forkbox.coAuthor $'C\nX: y <c@d>'`, "forkbox.coAuthor 'C <c@d> '"} {
		w := newWorld(t, "echo 1 >f")
		w.sh("echo 2 >f; git config " + config)
		e := w.refused(t.Context(), CommitSpec{Paths: w.path("f")}, "in the git configuration")
		if e.Code != forkbox.Invalid || len(e.Hints) == 0 {
			t.Errorf("%+v", e)
		}
	}
	w := newWorld(t, "echo 1 >f")
	w.sh("echo 2 >f")
	w.refused(t.Context(), CommitSpec{Paths: w.path("f"), Message: strings.Repeat("x", maxMessage+1)}, "the message has")
	w.refused(t.Context(), CommitSpec{Paths: w.path("f"), Message: "a\x00b"}, "the message has")
	w.sh("git config forkbox.commitTemplate ' '")
	w.refused(t.Context(), CommitSpec{Paths: w.path("f"), Message: "lost"}, "empty commit message")
}

func TestNobodyCommits(t *testing.T) {
	w := newWorld(t, "echo 1 >f")
	w.sh("echo 2 >f; git config --global --unset user.email; git config --global user.useConfigOnly true")
	e := w.refused(t.Context(), CommitSpec{Paths: w.path("f")}, "tell me who you are")
	if e.Code != forkbox.Invalid || len(e.Hints) == 0 || !strings.Contains(e.Hints[0], "user.email") {
		t.Errorf("%+v", e)
	}
}
