//go:build linux

package native

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/forkbox/forkbox"
)

// BenchmarkLife is the provider's share of a box's life: made, one exec, gone.
func BenchmarkLife(b *testing.B) {
	p := testProvider(b)
	ctx := context.Background()
	home, _ := os.UserHomeDir()
	owner := forkbox.Owner{UID: os.Getuid(), GID: os.Getgid(), Home: home}
	for n := 0; b.Loop(); n++ {
		box := forkbox.Box{ID: fmt.Sprint("bench", n), Name: "bench", Net: forkbox.NetNone, Owner: owner}
		if err := p.Prepare(ctx, box); err != nil {
			b.Fatal(err)
		}
		i, err := p.Start(ctx, box)
		if err != nil {
			b.Fatal(err)
		}
		log, _ := os.Create(p.store.Log(box.ID, "1"))
		exits := make(chan forkbox.Exit, 1)
		if _, err := i.Watch(func(_ string, e forkbox.Exit, _ forkbox.Output) { exits <- e }); err != nil {
			b.Fatal(err)
		}
		spec := forkbox.ExecSpec{Argv: []string{"true"}, Dir: "/", Env: os.Environ()}
		if err := i.Exec(ctx, "1", spec, owner, forkbox.Stdio{}, log, 1<<20); err != nil {
			b.Fatal(err)
		}
		<-exits
		if err := i.Stop(ctx, 0); err != nil {
			b.Fatal(err)
		}
		if err := p.Remove(ctx, box); err != nil {
			b.Fatal(err)
		}
	}
}
