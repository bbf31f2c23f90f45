package pending

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"payledger/domain/processor"
)

// TestLostNode: the young work of a node is left to it while it works, and taken up within a second
// when it is lost, even if its clock is off by a minute. The work of the other nodes stays with
// them.
func TestLostNode(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, start := newWorld(), time.Now()
		var lost atomic.Uint64
		left := func(_ context.Context, i Item) bool { return i.ID[0] == 'l' }
		k := &Scanner{
			Views: w, Commands: w, Patience: patience, Actions: actions, Every: every, Now: w.now, Logger: zerolog.Nop(),
			Lost: lost.Load, LeftPayment: left, LeftAttempt: left,
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { k.Run(ctx); close(ended) }()
		<-time.After(5 * time.Second)
		w.mu.Lock()
		for id, at := range map[string]time.Duration{"left": 4 * time.Second, "left, ahead": time.Minute, "left, behind": -time.Minute, "other": 4 * time.Second} {
			w.operations = append(w.operations, waits{id, start.Add(at), processor.Adyen})
		}
		w.decided = append(w.decided, waits{"left attempt", start.Add(4 * time.Second), ""}, waits{"other attempt", start.Add(4 * time.Second), ""})
		w.inboxes = append(w.inboxes, waits{"inbox", start.Add(4 * time.Second), processor.Adyen})
		w.mu.Unlock()
		<-time.After(5 * time.Second)
		all := []string{"left", "left, ahead", "left, behind", "other", "left attempt", "other attempt", "inbox"}
		for _, id := range all {
			if asked := w.when(id, start); len(asked) != 0 {
				t.Errorf("%s: asked after %v, before the loss", id, asked)
			}
		}
		lost.Store(1)
		<-time.After(time.Second)
		synctest.Wait()
		for _, id := range all {
			want := 1
			if id == "other" || id == "other attempt" {
				want = 0
			}
			if asked := w.when(id, start); len(asked) != want {
				t.Errorf("%s: asked after %v, after the loss", id, asked)
			}
		}
		cancel()
		<-ended
	})
}

// TestLostNodeLater: while the views cannot be read, a loss is not forgotten.
func TestLostNodeLater(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, start := newWorld(), time.Now()
		var lost atomic.Uint64
		always := func(context.Context, Item) bool { return true }
		k := &Scanner{
			Views: w, Commands: w, Patience: patience, Actions: actions, Every: every, Now: w.now, Logger: zerolog.Nop(),
			Lost: lost.Load, LeftPayment: always, LeftAttempt: always,
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { k.Run(ctx); close(ended) }()
		<-time.After(5 * time.Second)
		w.mu.Lock()
		w.operations, w.broken = []waits{{"left", start.Add(4 * time.Second), processor.Adyen}}, true
		w.mu.Unlock()
		lost.Store(1)
		<-time.After(5 * time.Second)
		w.mu.Lock()
		w.broken = false
		w.mu.Unlock()
		<-time.After(time.Second)
		synctest.Wait()
		if asked := w.when("left", start); len(asked) != 1 {
			t.Errorf("asked after %v", asked)
		}
		cancel()
		<-ended
	})
}
