package connector

import (
	"sync"
	"time"

	"payledger/processorsim/connector/book"
	"payledger/processorsim/notify"
)

// Notifications that the sender gave up are sent again in rounds, for ever: the ledger looks up
// open operations only, so nothing else tells it of a failure after a success.
const (
	firstRound = time.Minute // from the first notification that was given up to the first round
	lastRound  = time.Hour   // the pause between two rounds doubles up to this
	roundSize  = 64          // notifications of a round: the others wait, and are not in memory
)

// outbox has the notifications of the book that the ledger has not taken, except those that the
// sender still repeats.
type outbox struct {
	mu     sync.Mutex
	kept   []string        // ids; the next round takes the first ones
	flying map[string]bool // those of the present round, nil without one
	taken  bool            // the ledger has taken one of the present round
	due    bool            // a round is due at a later time
	pause  time.Duration   // before the next round; 0: firstRound
}

// notify sends new notifications, which the book has.
func (k *Connector) notify(list ...book.Notice) {
	for _, n := range list {
		if n.URL != "" {
			k.sender.Send(&notify.Notification{ID: n.ID, URL: n.URL, Body: n.Body})
		}
	}
}

func (k *Connector) delivered(id string) {
	if err := k.book.Delivered(k.ctx, id); err != nil && k.ctx.Err() == nil {
		k.Log.Error().Err(err).Str("notification", id).Msg("the end of a notification could not be recorded; it is sent again after the next start")
	}
	k.ended(id, true)
}

func (k *Connector) undelivered(id string) { k.ended(id, false) }

// ended keeps a notification for a later round unless the ledger has taken it. The last one of a
// round begins the next: at once if the ledger took one of this, which shows that it is well.
func (k *Connector) ended(id string, taken bool) {
	if k.outbox.end(id, taken) {
		k.round()
		return
	}
	if pause := k.outbox.later(); pause > 0 {
		k.timers.After(pause, k.round)
	}
}

// end records the end of an attempt, and reports whether a round is to begin now.
func (b *outbox) end(id string, taken bool) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !taken {
		b.kept = append(b.kept, id)
	}
	if !b.flying[id] {
		return false
	}
	delete(b.flying, id)
	b.taken = b.taken || taken
	if len(b.flying) > 0 {
		return false
	}
	b.flying = nil
	if b.taken || len(b.kept) == 0 {
		b.pause = 0
	}
	return b.taken && len(b.kept) > 0
}

// later returns the time until the next round, which the caller begins then; 0 if none is needed,
// or another one is due or under way.
func (b *outbox) later() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.kept) == 0 || b.flying != nil || b.due {
		return 0
	}
	pause := max(b.pause, firstRound)
	b.due, b.pause = true, min(2*pause, lastRound)
	return pause
}

// next takes the notifications of a new round; none if one is under way.
func (b *outbox) next() (ids []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.due = false; b.flying != nil {
		return nil
	}
	n := min(len(b.kept), roundSize)
	ids, b.kept = b.kept[:n:n], b.kept[n:]
	if b.taken = false; n > 0 {
		b.flying = make(map[string]bool, n)
	}
	for _, id := range ids {
		b.flying[id] = true
	}
	return ids
}

// round sends kept notifications again, each once.
func (k *Connector) round() {
	for _, id := range k.outbox.next() {
		n, err := k.book.Notice(k.ctx, id)
		switch {
		case err != nil:
			if k.ctx.Err() == nil {
				k.Log.Error().Err(err).Str("notification", id).Msg("a notification could not be read; it is sent again later")
			}
			k.ended(id, false)
		case n == nil: // the ledger has taken it
			k.ended(id, true)
		default:
			k.sender.Send(&notify.Notification{ID: n.ID, URL: n.URL, Body: n.Body, Once: true})
		}
	}
}
