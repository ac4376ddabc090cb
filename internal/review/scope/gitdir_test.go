package scope

import (
	"testing"

	"github.com/forkbox/forkbox"
)

func TestGitDirectory(t *testing.T) {
	reality := with(gitProject, files{"/w/.gitignore": ".git*\nhooks\nconfig\nobjects/\nvendored/\n"})
	for want, names := range map[forkbox.Scope][]string{
		forkbox.Workspace: {"", "/config", "/hooks/pre-commit", "/hooks/x.lock", "/index", "/HEAD", "/refs/heads/a", "/refs/heads/ORIG_HEAD", "/logs/HEAD",
			"/objects/ab/cdef", "/objects/pack/pack-1.pack", "/objects/info/commit-graph", "/packed-refs", "/info/exclude", "/MERGE_HEAD",
			"/modules/a/b/hooks/x.lock", "/modules/objects/hooks/tmp_x", "/worktrees/t/HEAD"},
		forkbox.Noise: {"/index.lock", "/config.lock", "/refs/heads/a.lock", "/ORIG_HEAD", "/FETCH_HEAD", "/COMMIT_EDITMSG", "/gc.pid", "/gc.log",
			"/objects/pack/tmp_pack_x", "/objects/ab/tmp_obj_x", "/objects/pack/.tmp-1-pack", "/objects/tmp_objdir-incoming-x/ab/cd",
			"/objects/maintenance.lock", "/modules/a/ORIG_HEAD", "/worktrees/t/index.lock"},
	} {
		for _, name := range names {
			for _, repo := range []string{"/w/.git", "/w/sub/.git"} {
				if got := scopeOf(reality, "/w", forkbox.Change{Path: repo + name}); got != want {
					t.Errorf("%q is %s, not %s", repo+name, got, want)
				}
			}
		}
	}
	for p, want := range map[string]forkbox.Scope{
		"/w/vendored/.git/config": forkbox.Noise, // it lies in what is ignored
		"/w/.gitx":                forkbox.Noise,
	} {
		if got := scopeOf(reality, "/w", forkbox.Change{Path: p}); got != want {
			t.Errorf("%q is %s, not %s", p, got, want)
		}
	}
}

// TestLinkedWorkTree: its repository lies elsewhere, and a commit made in the
// box is work all the same.
func TestLinkedWorkTree(t *testing.T) {
	reality := files{
		"/w/.git":                          "gitdir: ../main/.git/worktrees/w\n",
		"/main/.git/worktrees/w/HEAD":      "ref: refs/heads/x\n",
		"/main/.git/worktrees/w/commondir": "../..\n",
		"/main/.git/info/exclude":          "notes\n",
	}
	for p, want := range map[string]forkbox.Scope{
		"/w/notes": forkbox.Noise, "/w/x.swp": forkbox.Workspace, "/w/.git": forkbox.Workspace,
		"/main/.git/objects/ab/cd": forkbox.Workspace, "/main/.git/worktrees/w/index": forkbox.Workspace,
		"/main/.git/worktrees/w/index.lock": forkbox.Noise, "/main/.git/hooks/x.lock": forkbox.Workspace, "/main/src": forkbox.System,
	} {
		if got := scopeOf(reality, "/w", forkbox.Change{Path: p}); got != want {
			t.Errorf("%q is %s, not %s", p, got, want)
		}
	}
	gone := forkbox.Change{Path: "/main", Kind: forkbox.Deleted, Type: "dir"}
	if got := scopeOf(reality, "/w", gone); got != forkbox.Workspace {
		t.Errorf("to delete the repository is %s", got)
	}
}

// TestBrokenGitLink: what .git names is no repository, so this is a plain
// directory.
func TestBrokenGitLink(t *testing.T) {
	for _, link := range []string{"gitdir: /gone\n", "not a link\n", ""} {
		reality := files{"/w/.git": link, "/gone/info/exclude": "*\n"}
		for p, want := range map[string]forkbox.Scope{"/w/a": forkbox.Workspace, "/w/a~": forkbox.Noise, "/gone/x": forkbox.System} {
			if got := scopeOf(reality, "/w", forkbox.Change{Path: p}); got != want {
				t.Errorf("%q: %q is %s, not %s", link, p, got, want)
			}
		}
	}
}

// TestGitLinkToEverything: a .git that names a directory around the workspace
// does not make all of that workspace.
func TestGitLinkToEverything(t *testing.T) {
	reality := files{"/srv/w/.git": "gitdir: /srv\n", "/srv/HEAD": "x", "/HEAD": "x"}
	if got := scopeOf(reality, "/srv/w", forkbox.Change{Path: "/srv/other"}); got != forkbox.System {
		t.Error(got)
	}
}
