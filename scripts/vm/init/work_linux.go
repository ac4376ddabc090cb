package main

import (
	"encoding/json"
	"os"
	"sync"

	"github.com/forkbox/forkbox/scripts/vm/plan"
)

// reporter sends events to the host.
type reporter struct {
	mu   sync.Mutex
	port *os.File
}

func (r *reporter) send(e plan.Event) {
	line, err := json.Marshal(e)
	if err != nil {
		panic(err) // an event always can be written as JSON
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	// When the host does not listen any more it has given up on us.
	if _, err := r.port.Write(append(line, '\n')); err != nil {
		println("init: cannot report:", err.Error())
	}
}

// work does what the plan says and reports it.
func work() {
	if err := await(plan.Port); err != nil {
		println("init:", err.Error())
		return
	}
	port, err := os.OpenFile(plan.Port, os.O_WRONLY, 0)
	if err != nil {
		println("init: cannot report:", err.Error())
		return
	}
	r := &reporter{port: port}
	if err := follow(r); err != nil {
		r.send(plan.Event{Kind: plan.Broken, Why: err.Error()})
	}
}

func follow(r *reporter) error {
	content, err := os.ReadFile(plan.File)
	if err != nil {
		return err
	}
	var p plan.Plan
	if err := json.Unmarshal(content, &p); err != nil {
		return err
	}
	if err := setUp(p.Disks); err != nil {
		return err
	}
	r.send(plan.Event{Kind: plan.Ready})
	for i, run := range p.Runs {
		r.send(plan.Event{Kind: plan.Begin, Run: i})
		r.send(perform(r, i, run))
	}
	r.send(plan.Event{Kind: plan.Done})
	return nil
}
