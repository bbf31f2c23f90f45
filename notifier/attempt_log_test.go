package notifier

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"os"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/eventstore/deliverylog"
	"payledger/notifier/delivery"
	"payledger/projections/deliveries"

	"github.com/rs/zerolog"
)

// logRig is a rig with the attempt log.
type logRig struct {
	*rig
	log   *AttemptLog
	index *deliveries.Index
	rate  float64
	slow  time.Duration // how far the log's clock is behind the notifier's, as on another machine
	// opened is called before the log runs; nil: not.
	opened func(*AttemptLog)
}

// newLogRig is not started yet. Deliveries are tried once, and then exhausted.
func newLogRig(t testing.TB) *logRig {
	r := &logRig{rig: newRig(t)}
	r.config.RetryDelays = []time.Duration{}
	return r
}

func (r *logRig) start() {
	r.t.Helper()
	r.rig.start()
	r.openLog(r.dir + "/views")
}

// openLog opens the attempt log of the rig's notifier with an index in a folder, and runs it.
func (r *logRig) openLog(dir string) {
	r.t.Helper()
	var err error
	r.index, err = deliveries.Open(context.Background(), dir, zerolog.Nop())
	r.must(err)
	r.log, err = OpenAttemptLog(context.Background(), AttemptLogConfig{
		Notifier: r.notifier, Index: r.index, ReplayRate: r.rate, Now: func() time.Time { return time.Now().Add(-r.slow) },
	})
	r.must(err)
	r.close = append([]func() error{r.index.Close}, r.close...)
	if r.opened != nil {
		r.opened(r.log)
	}
	ctx := r.context
	r.running.Go(func() {
		if err := r.log.Run(ctx); err != nil {
			r.t.Error(err)
		}
	})
}

// list reads all deliveries that fit.
func (r *logRig) list(f deliveries.Filter) []deliveries.Row {
	r.t.Helper()
	page, err := r.log.List(context.Background(), merchantID, f, nil, 1000)
	r.must(err)
	return page.Data
}

// settled waits until as many deliveries fit.
func (r *logRig) settled(n int, f deliveries.Filter) (rows []deliveries.Row) {
	r.t.Helper()
	poll(r.t, func() bool {
		rows = r.list(f)
		return len(rows) == n
	}, func() string { return fmt.Sprintf("%d deliveries %+v, want %d", len(rows), f, n) })
	return rows
}

func reasonIs(t *testing.T, err error, want domain.Reason) {
	t.Helper()
	if err == nil || domain.ReasonOf(err) != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// switching answers 500 while it is on.
func switching(bad *atomic.Bool) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if bad.Load() {
			w.WriteHeader(500)
			_, _ = w.Write([]byte("not now"))
		}
	}
}

// TestLogResend: an exhausted delivery and a succeeded one are sent again, and the attempts are its
// history (D18, D20).
func TestLogResend(t *testing.T) {
	t.Parallel()
	bad := &atomic.Bool{}
	inbox := newReceiver(t, map[string]http.HandlerFunc{"/": switching(bad)})
	r := newLogRig(t)
	r.start()
	endpoint := r.endpoint(inbox.url + "/")
	bad.Store(true)
	s := r.pay(processor.Succeeded)
	first := inbox.waitFor(1)[0]
	row := r.settled(1, deliveries.Filter{Statuses: []string{"EXHAUSTED"}})[0]
	if row.Endpoint != endpoint || row.AggregateID != string(s.ID) || row.StatusCode != 500 || row.Failure != "STATUS" || row.Attempts != 1 {
		t.Errorf("listed %+v", row)
	}
	ctx := context.Background()
	for n, c := range []struct {
		bad    bool
		status string
		code   int
	}{{true, "EXHAUSTED", 500}, {false, "SUCCEEDED", 200}, {false, "SUCCEEDED", 200}, {true, "SUCCEEDED", 500}} {
		bad.Store(c.bad)
		d, err := r.log.Resend(ctx, merchantID, row.ID, deliveries.ResendRequest{})
		r.must(err)
		if again := inbox.waitFor(1)[0]; again.EventID != first.EventID || again.Sequence != first.Sequence {
			t.Errorf("resent %s", again.body)
		}
		last := d.Tried[len(d.Tried)-1]
		if d.Status != c.status || len(d.Tried) != n+2 || last.StatusCode != c.code || !last.Manual || last.Number != n+2 || len(last.Keys) != 1 {
			t.Errorf("resend %d: %s %+v", n, d.Status, last)
		}
		read, err := r.log.Delivery(ctx, merchantID, row.ID)
		r.must(err)
		if read.Seq != d.Seq || len(read.Tried) != n+2 || read.Tried[0].Manual || read.Tried[0].Excerpt != "not now" {
			t.Errorf("read %+v", read)
		}
		if listed := r.list(deliveries.Filter{}); len(listed) != 1 || listed[0].Seq != d.Seq || listed[0].Status != c.status {
			t.Errorf("listed %+v", listed)
		}
	}
	for owner, id := range map[domain.AccountID]string{merchantID: "none", "acct2": row.ID} {
		_, err := r.log.Delivery(ctx, owner, id)
		reasonIs(t, err, domain.ReasonEntityNotFound)
		_, err = r.log.Resend(ctx, owner, id, deliveries.ResendRequest{})
		reasonIs(t, err, domain.ReasonEntityNotFound)
	}
	inbox.none()
}

// TestLogAnew checks that an index that is lost, or belongs to another stream, is made again with
// the same content, and that a good index is continued.
func TestLogAnew(t *testing.T) {
	t.Parallel()
	inbox := newReceiver(t, nil)
	r := newLogRig(t)
	r.start()
	r.endpoint(inbox.url)
	for range 5 {
		r.pay(processor.Succeeded)
	}
	want := r.settled(5, deliveries.Filter{Statuses: []string{"SUCCEEDED"}})
	for name, corrupt := range map[string]func(){
		"stands":  func() {},
		"is lost": func() { r.must(os.Remove(r.dir + "/views/deliveries.sqlite")) },
		"has another record": func() {
			x, err := deliveries.Open(context.Background(), r.dir+"/views", zerolog.Nop())
			r.must(err)
			mark := x.Mark()
			mark.Hash = sha256.Sum256([]byte("another"))
			r.must(x.Apply(context.Background(), []deliveries.Row{{ID: "stranger", Account: merchantID, Seq: 1}}, mark))
			r.must(x.Close())
		},
		"is ahead": func() {
			x, err := deliveries.Open(context.Background(), r.dir+"/views", zerolog.Nop())
			r.must(err)
			r.must(x.Apply(context.Background(), []deliveries.Row{{ID: "stranger", Account: merchantID, Seq: 1}}, deliveries.Mark{Seq: 1 << 40, Name: "a"}))
			r.must(x.Close())
		},
	} {
		r.stop()
		corrupt()
		r.start()
		if got := r.list(deliveries.Filter{}); !slices.Equal(got, want) {
			t.Errorf("it %s: %+v", name, got)
		}
	}
	mark := r.index.Mark()
	last, err := r.log.stream.At(context.Background(), mark.Seq)
	r.must(err)
	if _, of, err := rowsOf([]deliverylog.Record{last}); err != nil || of != mark || mark.Seq < want[0].Seq {
		t.Errorf("the index is at %+v, and the record there is %+v: %v", mark, of, err)
	}
}

// TestLogPoison: a record that cannot be read stops the index in front of it, loudly; lists are
// refused then.
func TestLogPoison(t *testing.T) {
	t.Parallel()
	r := newLogRig(t)
	r.rig.start()
	var err error
	r.index, err = deliveries.Open(context.Background(), r.dir+"/views", zerolog.Nop())
	r.must(err)
	r.close = append([]func() error{r.index.Close}, r.close...)
	r.log, err = OpenAttemptLog(context.Background(), AttemptLogConfig{
		Notifier: r.notifier, Index: r.index, Now: time.Now,
	})
	r.must(err)
	d := goldenDelivery
	d.Schema = delivery.Schema + 1
	body, err := d.Encode()
	r.must(err)
	stream := r.store.Deliveries()
	_, err = stream.Put(context.Background(), d.Name(), 0, body, d.Status.Open())
	r.must(err)
	if err := r.log.Run(r.context); err == nil || r.notifier.Healthy() == nil {
		t.Errorf("ran past it: %v", err)
	}
	_, err = r.log.List(context.Background(), merchantID, deliveries.Filter{}, nil, 10)
	reasonIs(t, err, domain.ReasonServiceUnavailable)
}

var _ = eventstore.ErrNotFound
