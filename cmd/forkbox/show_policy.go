package main

import (
	"context"
	"fmt"
	"io"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
)

// showPolicy lists the limits that hold, if any.
func (a *app) showPolicy(policy forkbox.Policy) error {
	if len(policy) == 0 {
		return nil
	}
	fmt.Fprintln(a.stdout)
	return a.table("LIMIT\tVALUE\tFROM\tHOW", func(w io.Writer) { writePolicy(w, policy) })
}

func writePolicy(w io.Writer, policy forkbox.Policy) {
	for _, r := range forkbox.Resources {
		if rule, has := policy[r]; has {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", r, forkbox.FormatLimit(r, rule.Value), printable(rule.From), howText(rule))
		}
	}
}

// wouldLimit shows what a box would get that is made here.
func (a *app) wouldLimit(ctx context.Context) error {
	wish, err := withProject(forkbox.Wish{BestEffort: true}) // it only shows what holds, and how
	if err != nil {
		return err
	}
	policy, err := a.client().Policy(ctx, wish)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(client.PolicyDocument{Policy: policy})
	}
	if len(policy) == 0 {
		a.say("a box would have no limits")
		return nil
	}
	return a.table("LIMIT\tVALUE\tFROM\tHOW", func(w io.Writer) { writePolicy(w, policy) })
}

func deathText(death *forkbox.Exit) string {
	if death == nil {
		return ""
	}
	return exitText(death)
}
