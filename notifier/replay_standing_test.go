package notifier

import (
	"context"
	"errors"
	"net/http"
	"os"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/projections/deliveries"
)

// TestReplayLostIndex checks that a running replay continues from an index that was lost meanwhile.
// A delivery that the index does not show yet counts as existing (D18, D20).
func TestReplayLostIndex(t *testing.T) {
	t.Parallel()
	for name, onlyFailed := range map[string]bool{"all": false, "only failed": true} {
		t.Run(name, func(t *testing.T) {
			bad := &atomic.Bool{}
			bad.Store(true)
			inbox := newReceiver(t, map[string]http.HandlerFunc{"/": switching(bad)})
			r := newLogRig(t)
			r.rate = 20
			r.start()
			endpoint := r.endpoint(inbox.url + "/")
			const n = 20
			for range n {
				r.pay(processor.Declined)
			}
			r.settled(n, deliveries.Filter{Statuses: []string{"EXHAUSTED"}})
			inbox.waitFor(n)
			q := all(endpoint)
			q.OnlyFailed = onlyFailed
			id := r.replay(q, n)
			again := inbox.waitFor(3)
			r.stop()
			r.must(os.Remove(r.dir + "/views/deliveries.sqlite"))
			r.rate = 10_000
			r.start()
			again = append(again, inbox.waitFor(n-len(again))...)
			r.isDone(id, n)
			if distinct := count(again); len(distinct) != n {
				t.Errorf("%d of %d came again", len(distinct), n)
			}
		})
	}
}

// TestReplayFailedAmongLive checks that a replay of failed deliveries leaves out deliveries that
// were not tried at its start, and completes as many as it counted.
func TestReplayFailedAmongLive(t *testing.T) {
	t.Parallel()
	bad, gate := &atomic.Bool{}, make(chan struct{})
	held := &atomic.Bool{}
	inbox := newReceiver(t, map[string]http.HandlerFunc{"/": func(w http.ResponseWriter, q *http.Request) {
		if held.Load() {
			select {
			case <-gate:
			case <-q.Context().Done():
			}
		}
		switching(bad)(w, q)
	}})
	r := newLogRig(t)
	r.rate = 5
	r.start()
	endpoint := r.endpoint(inbox.url + "/")
	bad.Store(true)
	const failed, live = 7, 10
	for range failed {
		r.pay(processor.Declined)
	}
	r.settled(failed, deliveries.Filter{Statuses: []string{"EXHAUSTED"}})
	inbox.waitFor(failed)
	bad.Store(false)
	held.Store(true)
	for range live {
		r.pay(processor.Declined)
	}
	r.settled(live, deliveries.Filter{Statuses: []string{"PLANNED"}})
	q := all(endpoint)
	q.OnlyFailed = true
	id := r.replay(q, failed)
	close(gate)
	r.isDone(id, failed)
	if hooks := inbox.waitFor(failed + live); len(count(hooks)) != failed+live {
		t.Errorf("%d distinct webhooks came", len(count(hooks)))
	}
	inbox.none()
}

// TestReplayClocks: the deliveries that existed at the start of a replay do not depend on clocks,
// which differ between machines.
func TestReplayClocks(t *testing.T) {
	t.Parallel()
	inbox := newReceiver(t, nil)
	r := newLogRig(t)
	r.slow = time.Hour
	r.start()
	endpoint := r.endpoint(inbox.url + "/")
	for range 5 {
		r.pay(processor.Declined)
	}
	r.settled(5, deliveries.Filter{Statuses: []string{"SUCCEEDED"}})
	inbox.waitFor(5)
	r.isDone(r.replay(all(endpoint), 5), 5)
	inbox.waitFor(5)
	inbox.none()
	failed := all(endpoint)
	failed.OnlyFailed = true
	r.isDone(r.replay(failed, 0), 0)
	inbox.none()
}

// asIfUnderWay has a replay that is over go on from its beginning at the next start, as change
// makes its record.
func (r *logRig) asIfUnderWay(id string, change func(*storedReplay)) {
	r.t.Helper()
	p, at := r.storedReplay(id)
	p.State, p.At, p.Ahead, p.Done, p.Runner = deliveries.ReplayRunning, make([]uint64, len(p.At)), nil, 0, "crashed"
	change(&p)
	r.putReplay(at, p, true)
	open, at := r.openReplays()
	open.Open = []string{replayName(id)}
	r.putOpen(at, open)
}

// failing is a started rig with an endpoint to which n deliveries are exhausted, as it fails while
// bad is set.
func failing(t *testing.T, n int) (*logRig, *receiver, deliveries.ReplayRequest, *atomic.Bool) {
	t.Helper()
	bad := &atomic.Bool{}
	bad.Store(true)
	inbox := newReceiver(t, map[string]http.HandlerFunc{"/": switching(bad)})
	r := newLogRig(t)
	r.start()
	q := all(r.endpoint(inbox.url + "/"))
	for range n {
		r.pay(processor.Declined)
	}
	r.settled(n, deliveries.Filter{Statuses: []string{"EXHAUSTED"}})
	inbox.waitFor(n)
	q.OnlyFailed = true
	return r, inbox, q, bad
}

// TestReplayOvertaken checks that a delivery that had failed when the replay counted it, and
// succeeded before its turn, counts as done and is not sent again.
func TestReplayOvertaken(t *testing.T) {
	t.Parallel()
	r, inbox, q, bad := failing(t, 5)
	bad.Store(false)
	id := r.replay(q, 5)
	r.isDone(id, 5)
	inbox.waitFor(5)
	r.asIfUnderWay(id, func(*storedReplay) {})
	r.stop()
	r.start()
	r.isDone(id, 5)
	inbox.none()
}

// failingResends refuses as many calls of ResendUntil as left has.
type failingResends struct {
	*Notifier
	left atomic.Int64
}

func (f *failingResends) ResendUntil(ctx, cut context.Context, owner domain.AccountID, name string, owns func() error) error {
	if f.left.Add(-1) >= 0 {
		return errors.New("the resend fails")
	}
	return f.Notifier.ResendUntil(ctx, cut, owner, name, owns)
}

// TestReplayFailsAgain checks that a replay does not send the finished deliveries of its chunk
// again, if it fails once more before it comes to them.
func TestReplayFailsAgain(t *testing.T) {
	t.Parallel()
	const n, finished = 12, 3
	r, inbox, q, _ := failing(t, 0)
	var last []domain.PaymentID
	for range n {
		last = append(last, r.pay(processor.Declined).ID)
	}
	var ahead []string
	for _, d := range r.settled(n, deliveries.Filter{Statuses: []string{"EXHAUSTED"}}) {
		if slices.Contains(last[n-finished:], domain.PaymentID(d.AggregateID)) {
			ahead = append(ahead, d.Name)
		}
	}
	inbox.waitFor(n)
	id := r.replay(q, n)
	r.isDone(id, n)
	inbox.waitFor(n)
	r.asIfUnderWay(id, func(p *storedReplay) { p.Ahead, p.Done = ahead, finished })
	r.stop()
	r.opened = func(l *AttemptLog) {
		f := &failingResends{Notifier: l.Notifier}
		f.left.Store(replayAttempts)
		l.replays.Notifier = f
	}
	r.start()
	r.isDone(id, n)
	inbox.waitFor(n - finished)
	inbox.none()
}

// TestReplaysUnreadable: a list of replays that cannot be read is a problem of the notifier's
// health. It stops neither the attempt log nor, once it can be read, the replays.
func TestReplaysUnreadable(t *testing.T) {
	t.Parallel()
	r, inbox, q, _ := failing(t, 5)
	id := r.replay(q, 5)
	r.isDone(id, 5)
	inbox.waitFor(5)
	r.asIfUnderWay(id, func(*storedReplay) {})
	ctx := context.Background()
	open, at := r.openReplays()
	open.Schema++
	r.putOpen(at, open)
	r.stop()
	r.start()
	r.settled(5, deliveries.Filter{Statuses: []string{"EXHAUSTED"}})
	poll(t, func() bool { return r.notifier.Healthy() != nil }, func() string { return "the notifier stays healthy" })
	stored, err := r.log.stream.Last(ctx, "replays")
	r.must(err)
	open.Schema--
	r.putOpen(stored.Seq, open)
	r.isDone(id, 5)
	inbox.waitFor(5)
	inbox.none()
	if err := r.notifier.Healthy(); err != nil {
		t.Error(err)
	}
}
