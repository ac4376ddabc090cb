package file

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
	"github.com/forkbox/forkbox/client"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/cli/terminal"
)

// FilesVerb is what can be done to files of a box beside copying them.
func FilesVerb(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "files ls|cat|write|stat|mkdir|mv|rm|watch BOX PATH",
		Short: "Look at and change files of a box",
		Long: `Look at and change files of a box without running a command in it. It sees what
your commands in the box would see, with the same rights, and what it writes is a
change of the box like any other. A relative PATH begins in the directory of the box.

To copy files in and out there is forkbox cp.`,
		Example: `  forkbox files ls try
  forkbox files cat try /etc/hosts
  date | forkbox files write try now.txt
  forkbox files watch -r try src`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return errors.New("files needs a verb: ls, cat, write, stat, mkdir, mv, rm or watch")
		},
	}
	cmd.AddCommand(lsVerb(a), catVerb(a), writeVerb(a), statVerb(a), mkdirVerb(a), mvVerb(a), rmVerb(a), watchVerb(a))
	return cmd
}

// pathVerb makes a verb about one path of a box.
func pathVerb(a *app.App, use, short, long, example string, do func(context.Context, client.Files, string) error) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Long: long, Example: example,
		Args:              app.Exactly(2, "a box and a path in it"),
		ValidArgsFunction: completePath(a),
		RunE: func(cmd *cobra.Command, args []string) error {
			c := a.Client()
			defer c.Close()
			return a.Tidily(cmd.Context(), func() string { return cmd.Name() + " " + terminal.Printable(args[1]) }, func(ctx context.Context) error {
				return do(ctx, c.Files(args[0]), args[1])
			})
		},
	}
}

func lsVerb(a *app.App) *cobra.Command {
	var depth int
	cmd := &cobra.Command{
		Use:   "ls [--depth N] BOX [PATH]",
		Short: "List a directory of a box",
		Long: `List a directory of a box, sorted, with modes, owners and sizes; with --depth also what
is in the directories below it. Without PATH it is the directory of the box.`,
		Example:           "  forkbox files ls try\n  forkbox files ls --depth 3 try src",
		Args:              app.Between(1, 2, "a box and a directory in it: forkbox files ls BOX [PATH]"),
		ValidArgsFunction: completePath(a),
		RunE: func(cmd *cobra.Command, args []string) error {
			path := "."
			if len(args) == 2 {
				path = args[1]
			}
			return list(cmd.Context(), a, args[0], path, depth)
		},
	}
	cmd.Flags().IntVar(&depth, "depth", 1, "how many levels of directories: `N`")
	return cmd
}

// list prints as it reads: a directory can have any number of names.
func list(ctx context.Context, a *app.App, box, path string, depth int) error {
	if depth < 1 {
		return errors.New("--depth is at least 1")
	}
	c := a.Client()
	defer c.Close()
	show := func(f api.File) error {
		_, err := fmt.Fprintf(a.Stdout, "%s %4s %5d %5d %9s  %s  %s\n", typeLetter(f.Type), f.Mode, f.UID, f.GID, sizeText(f), f.Modified.Local().Format("2006-01-02 15:04"), nameText(f))
		return err
	}
	if !a.JSON {
		return c.Files(box).List(ctx, path, depth, show)
	}
	first := true
	if _, err := io.WriteString(a.Stdout, `{"files":[`); err != nil {
		return err
	}
	err := c.Files(box).List(ctx, path, depth, func(f api.File) error {
		text, err := json.Marshal(f)
		if err == nil && !first {
			text = append([]byte(","), text...)
		}
		first = false
		if err == nil {
			_, err = a.Stdout.Write(append(text, '\n'))
		}
		return err
	})
	_, werr := io.WriteString(a.Stdout, "]}\n")
	return errors.Join(err, werr)
}

func typeLetter(kind string) string {
	switch kind {
	case "file":
		return "-"
	case "symlink":
		return "l"
	}
	return kind[:min(1, len(kind))]
}

func sizeText(f api.File) string {
	if f.Type != "file" {
		return "-"
	}
	return forkbox.FormatSize(f.Size)
}

func nameText(f api.File) string {
	name := terminal.Printable(f.Path)
	switch f.Type {
	case "directory":
		return name + "/"
	case "symlink":
		return name + " -> " + terminal.Printable(f.Target)
	}
	return name
}

func catVerb(a *app.App) *cobra.Command {
	var part client.Span
	cmd := pathVerb(a, "cat [--offset N] [--length N] BOX PATH", "Print a file of a box", `Print a file of a box, or a part of it, as it is. With --json the document has its
content in base64.`, "  forkbox files cat try /etc/hosts\n  forkbox files cat --length 512 try disk.img | xxd",
		func(ctx context.Context, files client.Files, path string) error {
			if part.Offset < 0 || part.Length < 0 {
				return errors.New("--offset and --length are not negative")
			}
			content, err := files.Read(ctx, path, part)
			if err != nil {
				return err
			}
			defer content.Close()
			if !a.JSON {
				_, err = io.Copy(a.Stdout, content)
				return err
			}
			all, err := io.ReadAll(content)
			if err != nil {
				return err
			}
			return a.PrintJSON(map[string]any{"path": path, "mode": content.Mode, "tag": content.Tag, "content": all})
		})
	cmd.Flags().Int64Var(&part.Offset, "offset", 0, "begin after so many `bytes`")
	cmd.Flags().Int64Var(&part.Length, "length", 0, "no more than so many `bytes`")
	return cmd
}

func writeVerb(a *app.App) *cobra.Command {
	var o client.WriteOptions
	cmd := pathVerb(a, "write [-p] [--mode MODE] [--new | --match TAG] BOX PATH", "Write stdin to a file of a box", `Write stdin to a file of a box. The file is replaced when all of stdin is there: what
runs in the box sees the old one or the new one. A file that is replaced keeps its mode
and owner.`, "  date | forkbox files write try now.txt\n  forkbox files write -p --mode 0755 try bin/hello < hello",
		func(ctx context.Context, files client.Files, path string) error {
			info, err := files.Write(ctx, path, os.Stdin, o)
			if err != nil || !a.JSON {
				return err
			}
			return a.PrintJSON(info)
		})
	cmd.Flags().BoolVarP(&o.Parents, "parents", "p", false, "make the directories above it")
	cmd.Flags().StringVar(&o.Mode, "mode", "", "its permissions, like 0644: `MODE`")
	cmd.Flags().BoolVar(&o.New, "new", false, "only if it is not there yet")
	cmd.Flags().StringVar(&o.Match, "match", "", "only if its tag, as stat shows it, is still `TAG`")
	cmd.MarkFlagsMutuallyExclusive("new", "match")
	return cmd
}

func statVerb(a *app.App) *cobra.Command {
	var follow bool
	cmd := pathVerb(a, "stat [-L] BOX PATH", "Show what is at a path of a box", "Show type, mode, owner, size, time and tag of what is at a path of a box. The tag\nchanges whenever the file is written or replaced.", "  forkbox files stat try src/main.go",
		func(ctx context.Context, files client.Files, path string) error {
			f, err := files.Stat(ctx, path, follow)
			if err != nil {
				return err
			}
			if a.JSON {
				return a.PrintJSON(f)
			}
			return a.Table("", func(w io.Writer) {
				fmt.Fprintf(w, "path\t%s\ntype\t%s\nmode\t%s\nowner\t%d:%d\nsize\t%d\nmodified\t%s\ntag\t%s\n", nameText(f), f.Type, f.Mode, f.UID, f.GID, f.Size, f.Modified.Local().Format("2006-01-02 15:04:05"), f.Tag)
			})
		})
	cmd.Flags().BoolVarP(&follow, "follow", "L", false, "what a symlink leads to")
	return cmd
}

func mkdirVerb(a *app.App) *cobra.Command {
	var parents bool
	var mode string
	cmd := pathVerb(a, "mkdir [-p] [--mode MODE] BOX PATH", "Make a directory in a box", "Make a directory in a box.", "  forkbox files mkdir -p try a/b/c",
		func(ctx context.Context, files client.Files, path string) error {
			f, err := files.Mkdir(ctx, path, mode, parents)
			if err != nil || !a.JSON {
				return err
			}
			return a.PrintJSON(f)
		})
	cmd.Flags().BoolVarP(&parents, "parents", "p", false, "also those above it; one that is there is fine")
	cmd.Flags().StringVar(&mode, "mode", "", "its permissions, like 0755: `MODE`")
	return cmd
}

func mvVerb(a *app.App) *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:               "mv [-f] BOX FROM TO",
		Short:             "Move a file or directory within a box",
		Long:              "Move a file or directory within a box. Nothing may be at TO; with -f a file there is\nreplaced.",
		Example:           "  forkbox files mv try old.txt new.txt",
		Args:              app.Exactly(3, "a box, a path in it, and where to: forkbox files mv BOX FROM TO"),
		ValidArgsFunction: completePath(a),
		RunE: func(cmd *cobra.Command, args []string) error {
			c := a.Client()
			defer c.Close()
			f, err := c.Files(args[0]).Move(cmd.Context(), args[1], args[2], force)
			if err != nil || !a.JSON {
				return err
			}
			return a.PrintJSON(f)
		},
	}
	cmd.Flags().BoolVarP(&force, "force", "f", false, "replace a file that is there")
	return cmd
}

func rmVerb(a *app.App) *cobra.Command {
	var recursive bool
	cmd := pathVerb(a, "rm [-r] BOX PATH", "Remove a file of a box", "Remove a file or an empty directory of a box; with -r a directory with what is in it.", "  forkbox files rm -r try build",
		func(ctx context.Context, files client.Files, path string) error {
			if err := files.Remove(ctx, path, recursive); err != nil || !a.JSON {
				return err
			}
			return a.PrintJSON(map[string]string{"removed": path})
		})
	cmd.Flags().BoolVarP(&recursive, "recursive", "r", false, "a directory with what is in it")
	return cmd
}

func watchVerb(a *app.App) *cobra.Command {
	var recursive bool
	cmd := &cobra.Command{
		Use:   "watch [-r] BOX PATH",
		Short: "Show what changes below a path of a box",
		Long: `Show what is created, changed and removed in a directory of a box, or what happens to a
file, as it happens; with -r also in the directories below it. Changes within a moment
are told as one. Where more happens than can be told, "overflow" says so. It ends with
ctrl-C, or when the path is removed. With --json each line is a document.`,
		Example:           "  forkbox files watch -r try src",
		Args:              app.Exactly(2, "a box and a path in it"),
		ValidArgsFunction: completePath(a),
		RunE: func(cmd *cobra.Command, args []string) error {
			c := a.Client()
			defer c.Close()
			return c.Files(args[0]).Watch(cmd.Context(), args[1], recursive, func(change api.FileChange) error {
				if a.JSON {
					return json.NewEncoder(a.Stdout).Encode(change)
				}
				if change.Kind == api.Watching {
					a.Say("watching %s of %s; ctrl-C ends it", terminal.Printable(args[1]), args[0])
					return nil
				}
				_, err := fmt.Fprintf(a.Stdout, "%-8s  %s\n", change.Kind, terminal.Printable(change.Path))
				return err
			})
		},
	}
	cmd.Flags().BoolVarP(&recursive, "recursive", "r", false, "also in the directories below")
	return cmd
}

// completePath offers a box, and then paths in it.
func completePath(a *app.App) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 0 {
			return a.CompleteBoxes(1)(cmd, args, word)
		}
		return pathsIn(cmd.Context(), a, args[0], word, ""), app.NoFiles | cobra.ShellCompDirectiveNoSpace
	}
}

// complete offers boxes with a colon and what is here, and after the colon paths in the
// box.
func (c *copier) complete(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(args) >= 2 {
		return nil, app.NoFiles
	}
	if box, rest, ok := strings.Cut(word, ":"); ok {
		return pathsIn(cmd.Context(), c.App, box, rest, box+":"), app.NoFiles | cobra.ShellCompDirectiveNoSpace
	}
	boxes, _ := c.CompleteBoxes(0)(cmd, nil, word)
	var names []string
	for _, box := range boxes {
		name, about, _ := strings.Cut(box, "\t")
		if strings.HasPrefix(name, word) {
			names = append(names, name+":\t"+about)
		}
	}
	if len(names) == 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return names, cobra.ShellCompDirectiveNoSpace
}

// mostOffered is how many paths a shell is offered.
const mostOffered = 200

// pathsIn are the paths of a box that begin with a word. Only a box that runs is
// asked: to press TAB must wake none.
func pathsIn(ctx context.Context, a *app.App, ref, word, before string) []string {
	ctx, cancel := context.WithTimeout(ctx, app.CompletionPatience)
	defer cancel()
	c := a.ShyClient()
	box, err := c.Box(ctx, ref)
	if err != nil || box.State != forkbox.Running {
		return nil
	}
	dir, begun := "", word
	if i := strings.LastIndexByte(word, '/'); i >= 0 {
		dir, begun = word[:i+1], word[i+1:]
	}
	var paths []string
	errFull := errors.New("enough")
	where := dir
	if where == "" {
		where = "."
	}
	_ = c.Files(ref).List(ctx, where, 1, func(f api.File) error {
		if !strings.HasPrefix(f.Path, begun) || f.PathBytes != nil || strings.ContainsAny(f.Path, "\n\t") {
			return nil
		}
		name := before + dir + f.Path
		if f.Type == "directory" {
			name += "/"
		}
		if paths = append(paths, name); len(paths) == mostOffered {
			return errFull
		}
		return nil
	})
	return paths
}
