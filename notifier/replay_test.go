package notifier

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/projections/deliveries"
)

// all is a request for everything that an endpoint takes, from the first event on.
func all(endpoint domain.EndpointID) deliveries.ReplayRequest {
	return deliveries.ReplayRequest{Account: merchantID, Endpoint: endpoint, To: time.Now().Add(time.Hour)}
}

// replay counts, then starts the same replay, and returns its id. Both counts must be n.
func (r *logRig) replay(q deliveries.ReplayRequest, n int) string {
	r.t.Helper()
	dry, err := r.log.StartReplay(context.Background(), q, true)
	r.must(err)
	real, err := r.log.StartReplay(context.Background(), q, false)
	r.must(err)
	if dry.Count != n || real.Count != n || dry.ID != "" || real.ID == "" {
		r.t.Errorf("a dry run of %d, then %d, want %d", dry.Count, real.Count, n)
	}
	return real.ID
}

// over waits until a replay is not running any more.
func (r *logRig) over(id string) (p deliveries.Replay) {
	r.t.Helper()
	poll(r.t, func() bool {
		var err error
		p, err = r.log.Replay(context.Background(), merchantID, id)
		r.must(err)
		return p.State != deliveries.ReplayRunning
	}, func() string { return fmt.Sprintf("still running: %+v", p) })
	return p
}

func (r *logRig) isDone(id string, n int) {
	r.t.Helper()
	if p := r.over(id); p.State != deliveries.ReplayDone || p.Count != n || p.Done != n {
		r.t.Errorf("it ended %+v, want %d", p, n)
	}
	var open openReplays
	poll(r.t, func() bool {
		open, _ = r.openReplays()
		return !slices.Contains(open.Open, replayName(id))
	}, func() string { return fmt.Sprintf("under way: %v", open) })
}

// plain returns a webhook without the parts that depend on the endpoint and the attempt.
func plain(t *testing.T, h received) string {
	t.Helper()
	var body map[string]any
	if err := json.Unmarshal(h.body, &body); err != nil {
		t.Fatal(err)
	}
	delete(body, "signedAt")
	delete(body, "notificationConfig")
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestBackfill checks that an endpoint that is made after the events gets the webhooks of all of
// them, with the payloads that an endpoint from the beginning got, in the order of the events
// except for the deliveries under way at the same time. A second replay sends them once more (D17,
// D18, D20).
func TestBackfill(t *testing.T) {
	t.Parallel()
	inbox := newReceiver(t, nil)
	r := newLogRig(t)
	r.start()
	r.endpoint(inbox.url + "/old")
	answers := []processor.State{processor.Succeeded, processor.Declined, processor.Pending}
	var want []string
	for i := range 50 {
		s := r.pay(answers[i%len(answers)])
		if i%5 == 0 && answers[i%len(answers)] == processor.Succeeded {
			r.lead(s.ID, capture(2500, true), answer(succeeded))
		}
	}
	const live = 54 // 50 authorizations and 4 captures
	r.settled(live, deliveries.Filter{Statuses: []string{"SUCCEEDED"}})
	for _, h := range inbox.waitFor(live) {
		want = append(want, plain(t, h))
	}
	endpoint := r.endpoint(inbox.url + "/new")
	q := all(endpoint)
	for range 2 {
		r.isDone(r.replay(q, live), live)
		var got []string
		hooks := inbox.waitFor(live)
		inOrder(t, hooks)
		for _, h := range hooks {
			if got = append(got, plain(t, h)); h.path != "/new" || h.NotificationConfig.ID != endpoint {
				t.Errorf("%s got it", h.path)
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("got %s\nwant %s", got, want)
		}
	}
	inbox.none()
	for _, d := range r.list(deliveries.Filter{Endpoint: endpoint}) {
		if d.Attempts != 2 || d.Status != "SUCCEEDED" {
			t.Errorf("recorded %+v", d)
		}
	}
}

// inOrder checks the order of webhooks: none comes before a webhook whose event is older by as many
// events as a replay has under way.
func inOrder(t *testing.T, hooks []received) {
	t.Helper()
	byDate := func(a, b received) int { return a.Date.Compare(b.Date.Time) }
	sorted := slices.SortedStableFunc(slices.Values(hooks), byDate)
	for came, h := range hooks {
		if place, _ := slices.BinarySearchFunc(sorted, h, byDate); place-came >= replayAttempts {
			t.Errorf("the webhook of event %d came as number %d", place, came)
		}
	}
}

// TestReplayRange: the time bounds the events, ends included; the requested kinds bound the
// webhooks.
func TestReplayRange(t *testing.T) {
	t.Parallel()
	inbox := newReceiver(t, nil)
	r := newLogRig(t)
	r.start()
	var times []time.Time
	for range 6 {
		times = append(times, r.pay(processor.Declined).UpdatedAt)
	}
	endpoint := r.endpoint(inbox.url+"/", "PAYMENT.REFUND")
	for name, c := range map[string]struct {
		from, to time.Time
		kinds    []string
		count    int
	}{
		"its own kinds":   {time.Time{}, times[5], nil, 0},
		"all of a kind":   {time.Time{}, times[5], []string{"PAYMENT.STATUS"}, 6},
		"one":             {times[2], times[2], []string{"PAYMENT.REFUND", "PAYMENT.STATUS"}, 1},
		"the middle":      {times[1], times[4], []string{"PAYMENT.STATUS"}, 4},
		"nothing between": {times[1].Add(1), times[2].Add(-time.Microsecond), []string{"PAYMENT.STATUS"}, 0},
		"unknown so far":  {time.Time{}, times[5], []string{"DISPUTE.OPENED"}, 0},
	} {
		q := deliveries.ReplayRequest{Account: merchantID, Endpoint: endpoint, From: c.from, To: c.to, EventTypes: c.kinds}
		dry, err := r.log.StartReplay(context.Background(), q, true)
		if err != nil || dry.Count != c.count {
			t.Errorf("%s: %d %v, want %d", name, dry.Count, err, c.count)
		}
	}
	inbox.none()
	r.isDone(r.replay(deliveries.ReplayRequest{Account: merchantID, Endpoint: endpoint, From: times[1], To: times[4], EventTypes: []string{"PAYMENT.STATUS"}}, 4), 4)
	for _, h := range inbox.waitFor(4) {
		if date := h.Date.Time; date.Before(times[1]) || date.After(times[4]) {
			t.Errorf("an event of %s came", date)
		}
	}
	inbox.none()
	for owner, id := range map[domain.AccountID]domain.EndpointID{"acct2": endpoint, merchantID: "none"} {
		_, err := r.log.StartReplay(context.Background(), deliveries.ReplayRequest{Account: owner, Endpoint: id, To: times[5]}, true)
		reasonIs(t, err, domain.ReasonEntityNotFound)
	}
	r.enable(endpoint, false)
	_, err := r.log.StartReplay(context.Background(), all(endpoint), false)
	reasonIs(t, err, domain.ReasonRequestValidation)
}

// TestReplayFailed checks that onlyFailed sends the existing deliveries without success, and makes
// no delivery.
func TestReplayFailed(t *testing.T) {
	t.Parallel()
	bad := &atomic.Bool{}
	inbox := newReceiver(t, map[string]http.HandlerFunc{"/": switching(bad)})
	r := newLogRig(t)
	r.start()
	r.pay(processor.Succeeded) // before the endpoint: no delivery
	endpoint := r.endpoint(inbox.url + "/")
	r.pay(processor.Succeeded)
	r.settled(1, deliveries.Filter{Statuses: []string{"SUCCEEDED"}})
	bad.Store(true)
	for range 7 {
		r.pay(processor.Succeeded)
	}
	failed := r.settled(7, deliveries.Filter{Statuses: []string{"EXHAUSTED"}})
	inbox.waitFor(8)
	q := all(endpoint)
	q.OnlyFailed = true
	r.isDone(r.replay(q, 7), 7) // it fails again: that is no failure of the replay
	inbox.waitFor(7)
	bad.Store(false)
	r.isDone(r.replay(q, 7), 7)
	hooks := inbox.waitFor(7)
	for _, d := range failed {
		if !slices.ContainsFunc(hooks, func(h received) bool { return h.EventID == d.EventID }) {
			t.Errorf("%s was not sent", d.EventID)
		}
	}
	r.isDone(r.replay(q, 0), 0)
	inbox.none()
	if n := len(r.list(deliveries.Filter{})); n != 8 {
		t.Errorf("%d deliveries", n)
	}
	foreign, err := r.log.Replay(context.Background(), "acct2", r.replay(q, 0))
	reasonIs(t, err, domain.ReasonEntityNotFound)
	if foreign.ID != "" {
		t.Errorf("another account reads %+v", foreign)
	}
	for _, id := range []string{"none", "", "a.b", "*", ">"} {
		_, err = r.log.Replay(context.Background(), merchantID, id)
		reasonIs(t, err, domain.ReasonEntityNotFound)
	}
}

// TestReplayRestart checks that a replay continues at its place, over several restarts, and sends
// each delivery once. A process that lost the record of its plans plans nothing twice.
func TestReplayRestart(t *testing.T) {
	t.Parallel()
	inbox := newReceiver(t, nil)
	r := newLogRig(t)
	r.rate = 150
	r.start()
	const n = 120
	for range n {
		r.pay(processor.Declined)
	}
	endpoint := r.endpoint(inbox.url + "/")
	id := r.replay(all(endpoint), n)
	hooks := inbox.waitFor(10)
	defer func() {
		if t.Failed() {
			p, _ := r.log.Replay(context.Background(), merchantID, id)
			t.Logf("%+v\nhealthy %v", p, r.notifier.Healthy())
			for _, d := range r.list(deliveries.Filter{}) {
				if d.Status != "SUCCEEDED" {
					t.Logf("%+v", d)
				}
			}
		}
	}()
	for _, more := range []int{30, 50} { // the second stop comes after the first chunk
		r.stop()
		r.start()
		hooks = append(hooks, inbox.waitFor(more)...)
	}
	r.stop()
	r.rate = 10_000
	r.start()
	hooks = append(hooks, inbox.waitFor(n-len(hooks))...)
	r.isDone(id, n)
	if distinct := count(hooks); len(distinct) != n {
		t.Errorf("%d of %d came", len(distinct), n)
	}
	inbox.none()

	r.asIfUnderWay(id, func(*storedReplay) {}) // as after a crash before any of it was recorded
	r.stop()
	r.start()
	r.isDone(id, n)
	r.stop()
	inbox.none()
}

// hanging returns a receiver that answers nothing before release is called.
func hanging(t *testing.T) (inbox *receiver, release func()) {
	t.Helper()
	released := make(chan struct{})
	return newReceiver(t, map[string]http.HandlerFunc{"/": func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-released:
		case <-r.Context().Done():
		}
	}}), func() { close(released) }
}

// TestReplayLetsLiveThrough: an endpoint that hangs on everything that a replay sends gets its live
// webhooks meanwhile.
func TestReplayLetsLiveThrough(t *testing.T) {
	t.Parallel()
	inbox, release := hanging(t)
	r := newLogRig(t)
	r.rate = 10_000
	r.start()
	for range 40 {
		r.pay(processor.Declined)
	}
	endpoint := r.endpoint(inbox.url + "/")
	id := r.replay(all(endpoint), 40)
	inbox.waitFor(replayAttempts) // all hang
	fresh := string(r.pay(processor.Succeeded).ID)
	if h := inbox.waitFor(1)[0]; string(h.Payment.ID) != fresh {
		t.Errorf("%s came before the live one", h.body)
	}
	release()
	inbox.waitFor(40 - replayAttempts)
	r.isDone(id, 40)
}

// TestReplayEnds: an endpoint that is disabled meanwhile ends the replay, and says so; as many may
// be under way as may.
func TestReplayEnds(t *testing.T) {
	t.Parallel()
	inbox, release := hanging(t)
	r := newLogRig(t)
	r.start()
	const n = 20
	for range n {
		r.pay(processor.Declined)
	}
	endpoint := r.endpoint(inbox.url + "/")
	id := r.replay(all(endpoint), n)
	inbox.waitFor(replayAttempts) // all hang
	ids := []string{id}
	for range maxReplays - 1 {
		p, err := r.log.StartReplay(context.Background(), all(endpoint), false)
		r.must(err)
		ids = append(ids, p.ID)
	}
	_, err := r.log.StartReplay(context.Background(), all(endpoint), false)
	reasonIs(t, err, domain.ReasonRequestValidation)
	r.enable(endpoint, false)
	r.answered()
	release()
	for _, id := range ids {
		if p := r.over(id); p.State != deliveries.ReplayFailed || p.Failure != "the endpoint is disabled" || p.Done >= n {
			t.Errorf("it ended %+v", p)
		}
	}
	if err := r.notifier.Healthy(); err != nil {
		t.Errorf("an endpoint that is disabled is no trouble of ours: %v", err)
	}
}
