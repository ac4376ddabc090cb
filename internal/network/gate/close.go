package gate

import "time"

// enter counts a goroutine that Close has to wait for, unless it is too late.
func (g *Gate) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed {
		g.work.Add(1)
	}
	return !g.closed
}

func (g *Gate) spawn(f func()) bool {
	if !g.enter() {
		return false
	}
	go func() {
		defer g.work.Done()
		f()
	}()
	return true
}

// Close ends all connections, closes the device, and returns when nothing of the
// gate is left.
func (g *Gate) Close() error {
	g.mu.Lock()
	again := g.closed
	g.closed = true
	g.mu.Unlock()
	if again {
		return nil
	}
	g.cancel()
	g.endAll()
	g.link.close()
	if s := g.stack.Load(); s != nil {
		s.Destroy()
	}
	g.log.close()
	return nil
}

// endAll resets what is open, which the box's programs see, until all that
// served it has returned. Handshakes that are just beginning are only found on
// a later look.
func (g *Gate) endAll() {
	over := make(chan struct{})
	go func() {
		g.work.Wait()
		close(over)
	}()
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		for _, f := range g.flows.list() {
			f.stop()
		}
		g.abortAll()
		select {
		case <-over:
			return
		case <-time.After(pause):
		}
	}
}

func (g *Gate) abortAll() {
	s := g.stack.Load()
	if s == nil {
		return
	}
	for _, endpoint := range s.RegisteredEndpoints() {
		endpoint.Abort()
	}
}
