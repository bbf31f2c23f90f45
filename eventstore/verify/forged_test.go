package verify

import (
	"context"
	"strings"
	"testing"
	"time"

	"payledger/domain/session"
	"payledger/eventstore"
	"payledger/eventstore/archive"
	"payledger/eventstore/format"
)

// forger makes groups with the events of one session.
type forger struct {
	t      *testing.T
	state  session.State
	before *format.Recorded
	head   format.Head
}

var began = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// next returns a group with one more event; change may forge the event's state before it is
// recorded.
func (f *forger) next(change func(s *session.State)) *format.Group {
	f.t.Helper()
	e, err := session.DecideCreate(session.State{}, session.Create{
		At: began, ID: "session", Account: "account", ExpiresAt: began.Add(time.Hour), Fields: session.Fields{OrderID: "order", Currency: "EUR"},
	})
	if err != nil {
		f.t.Fatal(err)
	}
	f.state = session.Evolve(f.state, e)
	recorded := f.state
	if change != nil {
		change(&recorded)
	}
	r := &format.Recorded{
		Key: eventstore.Sessions.Key("account", "session"), Revision: 1, Type: e.Type(), Schema: eventstore.Sessions.Schema,
		EventID: "event", CommandID: "command", CorrelationID: "request", Actor: "test", Time: began,
	}
	var previous format.Hash
	if f.before != nil {
		r.Revision, r.PrevSeq, previous = f.before.Revision+1, f.before.Seq, f.before.Hash
	}
	if err := eventstore.Sessions.Core.Complete("", r, previous, e, recorded); err != nil {
		f.t.Fatal(err)
	}
	g := &format.Group{
		Log: format.LogID{7}, Seq: f.head.Seq + 1, Before: f.head.Hash, Events: f.head.Events, Aggregates: f.head.Aggregates,
		Witness: format.Witness{Shard: format.NoShard}, Frames: []*format.Recorded{r},
	}
	return f.stored(g)
}

// stored returns the group as it is read.
func (f *forger) stored(g *format.Group) *format.Group {
	f.t.Helper()
	read, err := format.ParseGroup(g.Encode())
	if err != nil {
		f.t.Fatal(err)
	}
	f.head, f.before = read.After(f.head), read.Frames[0]
	return read
}

// checked returns the faults of groups.
func checked(t *testing.T, groups ...*format.Group) (all []string) {
	t.Helper()
	r := &run{Config: Config{Archive: &archive.Archive{Shards: 1}, Report: func(f Fault) error {
		all = append(all, f.String())
		return nil
	}}}
	var err error
	if r.scratch, err = newScratch(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	c := &chain{run: r}
	for _, g := range groups {
		if err := c.group(context.Background(), "LEDGER_0_1", g); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.finish(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := r.scratch.close(); err != nil {
		t.Error(err)
	}
	return all
}

// TestForgedEvents: events with right checksums that do not follow from the events before them are
// found, each once, although the cache keeps nothing.
func TestForgedEvents(t *testing.T) {
	good := &forger{t: t}
	if faults := checked(t, good.next(nil), good.next(nil), good.next(nil)); len(faults) > 0 {
		t.Fatalf("a whole log: %q", faults)
	}
	for name, c := range map[string]struct {
		forge func(f *forger) []*format.Group
		want  string
	}{
		"a state": {func(f *forger) []*format.Group {
			return []*format.Group{f.next(nil), f.next(func(s *session.State) { s.OrderID = "another" })}
		}, "LEDGER_0_1 at sequence 2: session session revision 2: the recorded state is not the fold of the events: state"},
		"a hash": {func(f *forger) []*format.Group {
			first, before := f.next(nil), *f.before
			before.Hash[0] ^= 1
			f.before = &before
			return []*format.Group{first, f.next(nil)}
		}, "revision 2: its hash is not that of its bytes and of the event before"},
		"a revision": {func(f *forger) []*format.Group {
			first, before := f.next(nil), *f.before
			before.Revision++
			f.before = &before
			return []*format.Group{first, f.next(nil)}
		}, "revision 3 follows revision 1"},
		"a lost group": {func(f *forger) []*format.Group {
			first, _ := f.next(nil), f.next(nil)
			return []*format.Group{first, f.next(nil)}
		}, "group 3 follows group 1"},
		"another log": {func(f *forger) []*format.Group {
			groups := []*format.Group{f.next(nil), f.next(nil)}
			groups[1].Log[3]++
			return groups
		}, "it is a group of another log"},
	} {
		faults := checked(t, c.forge(&forger{t: t})...)
		if len(faults) == 0 || !strings.Contains(faults[0], c.want) {
			t.Errorf("%s: %q", name, faults)
		}
	}
}
