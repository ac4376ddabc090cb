//go:build linux

package client_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
	"github.com/forkbox/forkbox/client"
)

// A command runs in a box. It may delete what it likes: the machine stays as
// it is.
func Example() {
	ctx := context.Background()
	c := client.New(client.DefaultSocket())
	defer c.Close()
	project := newProject("notes", "buy milk\n")
	defer os.RemoveAll(project)

	box, err := c.Create(ctx, api.CreateRequest{Name: "first", Dir: project})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Remove(ctx, box.ID, true)

	// The command writes into a pipe, whose other end stays here.
	read, write, err := os.Pipe()
	if err != nil {
		log.Fatal(err)
	}
	defer read.Close()
	command := forkbox.ExecSpec{Argv: forkbox.Strings{"sh", "-c", "rm *; ls | wc -l"}, Dir: project}
	session, err := c.Exec(ctx, box.ID, api.ExecRequest{ExecSpec: command}, forkbox.Stdio{Out: write})
	write.Close() // the command has its own by now
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	printed, err := io.ReadAll(read)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := session.Wait(ctx); err != nil {
		log.Fatal(err)
	}
	notes, _ := os.ReadFile(filepath.Join(project, "notes"))
	fmt.Printf("files in the box: %s", printed)
	fmt.Printf("notes in reality: %s", notes)
	// Output:
	// files in the box: 0
	// notes in reality: buy milk
}

// Changes are looked at first. The hash of what was seen makes sure that
// exactly this lands, and the receipt takes it back.
func ExampleClient_Apply() {
	ctx := context.Background()
	c := client.New(client.DefaultSocket())
	defer c.Close()
	project := newProject("notes", "buy milk\n")
	defer os.RemoveAll(project)

	box, err := c.Create(ctx, api.CreateRequest{Name: "reviewed", Dir: project})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Remove(ctx, box.ID, true)
	run(ctx, c, box.ID, project, "echo hello > greeting")

	seen, err := c.Changes(ctx, box.ID, forkbox.DiffSpec{Hash: true}, func(change forkbox.Change) error {
		fmt.Println(change.Kind, filepath.Base(change.Path))
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	receipt, err := c.Apply(ctx, box.ID, forkbox.ApplySpec{Reviewed: seen.Hash})
	if err != nil {
		log.Fatal(err)
	}
	text, _ := os.ReadFile(filepath.Join(project, "greeting"))
	fmt.Printf("landed: %s", text)

	if _, err := c.Undo(ctx, receipt.ID, api.UndoRequest{}); err != nil {
		log.Fatal(err)
	}
	_, err = os.Stat(filepath.Join(project, "greeting"))
	fmt.Println("undone:", os.IsNotExist(err))
	// Output:
	// added greeting
	// landed: hello
	// undone: true
}

// Three approaches are tried at the same time, each in a box of its own, and
// judged by the same check.
func ExampleClient_Race() {
	ctx := context.Background()
	c := client.New(client.DefaultSocket())
	defer c.Close()
	project := newProject("fruit", "pear\nfig\npear\n")
	defer os.RemoveAll(project)

	spec := forkbox.RaceSpec{
		Name:  "tidy",
		Start: forkbox.RaceStart{Dir: project},
		Approaches: []forkbox.Approach{
			{Name: "sort", Steps: []forkbox.Command{{Run: "sort -o fruit fruit"}}},
			{Name: "uniq", Steps: []forkbox.Command{{Run: "uniq fruit > new && mv new fruit"}}},
			{Name: "both", Steps: []forkbox.Command{{Run: "sort -u -o fruit fruit"}}},
		},
		Checks: []forkbox.RaceCheck{{Command: forkbox.Command{Name: "tidy", Run: "sort -cu fruit"}}},
	}
	race, err := c.Race(ctx, spec, func(forkbox.RaceEvent) error { return nil })
	if err != nil {
		log.Fatal(err)
	}
	defer c.RemoveRace(ctx, race.ID, true)
	fmt.Println(race.Verdict)
	// c.ApplyRace(ctx, race.ID, forkbox.RaceApply{}) would land it.
	// Output:
	// both wins: it passes every check, sort and uniq do not.
}

// What happens, by itself or by another hand, is told as events.
func ExampleClient_Events() {
	ctx := context.Background()
	c := client.New(client.DefaultSocket())
	defer c.Close()
	box, err := c.Create(ctx, api.CreateRequest{Name: "watched"})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Remove(ctx, box.ID, true)
	hours := forkbox.Limits{forkbox.TTL: int64(2 * time.Hour)}
	if _, err := c.Set(ctx, box.ID, forkbox.Wish{Limits: hours}); err != nil {
		log.Fatal(err)
	}
	if _, err := c.Extend(ctx, box.ID, time.Hour); err != nil {
		log.Fatal(err)
	}

	// With Follow it would go on with what happens from now on.
	err = c.Events(ctx, client.EventSpec{Box: box.ID}, func(event forkbox.Event) error {
		fmt.Println(event.Name, event.Kind)
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// watched box.created
	// watched policy.limits
	// watched box.extended
}

// run has a box run a line of shell and waits for it.
func run(ctx context.Context, c *client.Client, box, dir, line string) {
	command := forkbox.ExecSpec{Argv: forkbox.Strings{"sh", "-c", line}, Dir: dir}
	session, err := c.Exec(ctx, box, api.ExecRequest{ExecSpec: command}, forkbox.Stdio{})
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	if _, err := session.Wait(ctx); err != nil {
		log.Fatal(err)
	}
}

// newProject makes a directory with a file in it.
func newProject(name, text string) string {
	dir, err := os.MkdirTemp("", "project-")
	if err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
		log.Fatal(err)
	}
	return dir
}
