package notifier

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sort"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/eventstore/codec"
	"payledger/notifier/delivery"
	"payledger/projections/deliveries"
)

// TestManualLimit: a delivery whose manual attempts fill the largest record that the store takes is
// still sent when its automatic attempt is due, and the outcome is recorded: older excerpts make
// room. Another manual attempt is refused before it is recorded, and a replay leaves the delivery
// out (D18).
func TestManualLimit(t *testing.T) {
	t.Parallel()
	var answer atomic.Int64
	answer.Store(503)
	inbox := newReceiver(t, map[string]http.HandlerFunc{"/": code(&answer)})
	r := newLogRig(t)
	r.config.RetryDelays = []time.Duration{time.Hour}
	r.start()
	endpoint := r.endpoint(inbox.url + "/")
	r.pay(processor.Succeeded)
	d := r.until("waiting", func(d delivery.Delivery) bool { return d.Status == delivery.Failed })
	inbox.waitFor(1)
	ctx := context.Background()
	stored, _, err := r.notifier.last(ctx, d.Name())
	r.must(err)
	d.NextAt = time.Now().UTC()
	d, body := filled(t, d)
	place, err := r.store.Deliveries().Put(ctx, d.Name(), stored.Seq, body, true)
	r.must(err)
	answer.Store(204)
	r.notifier.lanes.of(d.Lane()).moved(stored.Seq, place, d)
	inbox.waitFor(1)
	after := r.until("over", func(d delivery.Delivery) bool { return d.Status == delivery.Succeeded })
	last := len(after.Attempts) - 1
	if last != len(d.Attempts) || after.Attempts[last].Manual || after.Attempts[1].Excerpt != "" || after.Attempts[last-1].Excerpt == "" {
		t.Errorf("%d attempts after %d, the last one is %+v", last+1, len(d.Attempts), after.Attempts[last])
	}
	if err := r.notifier.Healthy(); err != nil {
		t.Error(err)
	}
	_, err = r.log.Resend(ctx, merchantID, d.ID(), deliveries.ResendRequest{Record: func(context.Context, deliveries.Row) error {
		t.Error("a request that is refused is recorded")
		return nil
	}})
	reasonIs(t, err, domain.ReasonRequestValidation)
	r.isDone(r.replay(all(endpoint), 1), 1)
	r.stop()
	inbox.none()
}

// filled returns the delivery with as many manual attempts as fit into the store's largest record,
// to the byte, and that record.
func filled(t *testing.T, d delivery.Delivery) (delivery.Delivery, []byte) {
	t.Helper()
	const largest, excerpt = 4<<20 - 64<<10, 512
	first := d.Attempts
	with := func(n, less int) (body []byte) { // the oldest excerpts are shorter, by less in total
		d.Attempts = slices.Clone(first)
		for i := range n {
			cut := min(less, excerpt)
			less -= cut
			d.Attempts = append(d.Attempts, delivery.Attempt{
				Number: len(first) + i + 1, StartedAt: first[0].StartedAt, Duration: 1000, StatusCode: 503, Failure: delivery.FailureStatus,
				Manual: true, Excerpt: strings.Repeat("x", excerpt-cut), Keys: first[0].Keys,
			})
		}
		body, err := codec.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		return body
	}
	n := sort.Search(8000, func(n int) bool { return len(with(n, 0)) > largest })
	body := with(n, sort.Search(4*excerpt, func(less int) bool { return len(with(n, less)) <= largest }))
	return d, body
}

// TestCheckManual: automatic attempts do not count.
func TestCheckManual(t *testing.T) {
	t.Parallel()
	d := delivery.Delivery{Attempts: append([]delivery.Attempt{{}, {}}, slices.Repeat([]delivery.Attempt{{Manual: true}}, delivery.MaxManual-1)...)}
	if err := d.CheckManual(); err != nil {
		t.Error(err)
	}
	d.Attempts = append(d.Attempts, delivery.Attempt{Manual: true})
	if err := d.CheckManual(); !errors.Is(err, delivery.ErrMaxManual) {
		t.Error(err)
	}
}
