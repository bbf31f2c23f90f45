package notifier

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/eventstore/deliverylog"
	"payledger/eventstore/eventstoretest"
	"payledger/projections/deliveries"
)

// replayRecords returns the names of the replays in the stream.
func (r *logRig) replayRecords() (names []string) {
	r.t.Helper()
	stream := r.store.Deliveries()
	for from, end := uint64(1), false; !end; {
		var page []deliverylog.Record
		var err error
		page, end, err = stream.Scan(context.Background(), from, 100)
		r.must(err)
		for _, stored := range page {
			from = stored.Seq + 1
			if strings.HasPrefix(stored.Name, "replay.") && !slices.Contains(names, stored.Name) {
				names = append(names, stored.Name)
			}
		}
	}
	return names
}

// TestReplayRefused: the replay above the limit leaves no record.
func TestReplayRefused(t *testing.T) {
	t.Parallel()
	inbox, release := hanging(t)
	r := newLogRig(t)
	r.start()
	r.pay(processor.Declined)
	endpoint := r.endpoint(inbox.url + "/")
	var started []string
	for range maxReplays {
		p, err := r.log.StartReplay(context.Background(), all(endpoint), false)
		r.must(err)
		if started = append(started, replayName(p.ID)); len(started) == 1 {
			inbox.waitFor(1) // a replay that was counted before this would have nothing to send
		}
	}
	_, err := r.log.StartReplay(context.Background(), all(endpoint), false)
	reasonIs(t, err, domain.ReasonRequestValidation)
	if found := r.replayRecords(); len(found) != maxReplays {
		t.Errorf("the stream has the replays %v, expected %v", found, started)
	}
	release()
	for _, name := range started {
		r.over(name[len(replayName("")):])
	}
}

// TestReplayCrash: a process that ends between two writes of a replay's start leaves a replay that
// either never runs and can be dropped, or runs after the next start. Between the two writes of a
// replay's end it leaves a replay that the next start removes from the list.
func TestReplayCrash(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	for _, c := range []struct {
		name        string
		open        bool // of the record: true is an earlier build's first write
		listed      bool
		drops       int
		ended       bool // the replay has sent everything
		runs, stays bool // after the next start
	}{
		{name: "after the record", drops: 1},
		{name: "after an earlier build's record", open: true, drops: 2},
		{name: "after the list", listed: true, runs: true, stays: true},
		{name: "after the list, dropped before the next start", listed: true, drops: 1},
		{name: "after the open record", open: true, listed: true, runs: true, stays: true},
		{name: "after the last record", listed: true, ended: true, stays: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			inbox := newReceiver(t, nil)
			r := newOldRig(t)
			r.pay(processor.Succeeded)
			over := r.replay(all(r.endpoint(inbox.url)), 1)
			r.isDone(over, 1)
			inbox.waitFor(1)
			p, at := r.storedReplay(over) // its request, later and under another id, is the replay that crashes
			p.ID, p.Runner, p.Through = "66666666-0000-4000-8000-000000000006", "crashed", at
			if !c.ended {
				p.State, p.At, p.Done = deliveries.ReplayRunning, make([]uint64, len(p.At)), 0
			}
			r.putReplay(0, p, c.open)
			if c.listed {
				open, at := r.openReplays()
				open.Open, open.Runner = []string{replayName(p.ID)}, "crashed"
				r.putOpen(at, open)
			}
			for range c.drops {
				r.dropAll()
			}
			r.stop()
			r.start()
			if c.runs {
				r.isDone(p.ID, 1)
				inbox.waitFor(1)
			}
			if stays := slices.Contains(r.replayRecords(), replayName(p.ID)); stays != c.stays {
				t.Errorf("the stream has the replay's record: %v, expected %v", stays, c.stays)
			}
			r.noReplayIsOpen()
			inbox.none()
		})
	}
}

// noReplayIsOpen waits until the list of open replays is empty and the notifier is healthy.
func (r *logRig) noReplayIsOpen() {
	r.t.Helper()
	var o openReplays
	poll(r.t, func() bool {
		o, _ = r.openReplays()
		return len(o.Open) == 0 && r.notifier.Healthy() == nil
	}, func() string { return fmt.Sprintf("open are %v, health %v", o.Open, r.notifier.Healthy()) })
}
