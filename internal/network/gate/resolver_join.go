package gate

import "context"

// join waits with others who want to know the same, or has it asked as soon as
// there is a place for it. The asking does not end with the box that began it:
// others may wait as well.
func (r *Resolver) join(ctx context.Context, share places, q question) *pending {
	if p := r.waitingFor(q); p != nil {
		return p
	}
	if share != nil {
		// Programs that ask for many names at once wait here: they did nothing
		// wrong, and would take an error for the last word.
		select {
		case share <- struct{}{}:
		case <-ctx.Done():
			return answered(Reply{}, errLate)
		}
	}
	return r.begin(share, q)
}

func (r *Resolver) waitingFor(q question) *pending {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.waiting[q]
}

// begin asks, unless somebody else has asked meanwhile. The place that the asker
// took is given back with the answer, or now if there is no use for it.
func (r *Resolver) begin(share places, q question) *pending {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p := r.waiting[q]; p != nil {
		share.give()
		return p
	}
	if reply, ok := r.cache.get(q); ok {
		share.give()
		return answered(reply, nil)
	}
	select {
	case r.asking <- struct{}{}:
	default:
		share.give()
		return answered(Reply{}, errTooMany)
	}
	p := &pending{done: make(chan struct{}), place: share}
	r.waiting[q] = p
	go r.ask(q, p)
	return p
}

// answered is a question that nobody needs to wait for.
func answered(reply Reply, err error) *pending {
	p := &pending{done: make(chan struct{}), reply: reply, err: err}
	close(p.done)
	return p
}
