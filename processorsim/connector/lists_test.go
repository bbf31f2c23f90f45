package connector

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"payledger/domain/processor"
	"payledger/processorsim/protocol"
)

// TestListDuringSend: a list waits for an operation that runs at the vendor, until its context
// ends. A list of an earlier time does not wait.
func TestListDuringSend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, time.Hour)
		r.k.Vendor = lister{r.vendor, nil, new([]string)}
		r.vendor.entered, r.vendor.goOn = make(chan struct{}), make(chan struct{})
		send := func(key string) (answered chan error) {
			answered = make(chan error, 1)
			go func() {
				_, err := r.k.Send(context.Background(), authorization(key, "4242424242424242"))
				answered <- err
			}()
			<-r.vendor.entered
			return answered
		}
		first := send("01p.1")
		if list, err := r.entries(protocol.Filter{To: r.now.Add(-time.Hour)}); err != nil || len(list) != 0 {
			t.Errorf("an hour ago: %+v %v", list, err)
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if err := r.k.Entries(ended, protocol.Filter{}, func(protocol.Entry) error { return nil }); !errors.Is(err, context.Canceled) {
			t.Errorf("a list whose context has ended: %v", err)
		}
		for _, f := range []protocol.Filter{{}, {Reference: "01p"}} {
			var list []protocol.Entry
			var err error
			listed := false
			go func() { list, err = r.entries(f); listed = true }()
			synctest.Wait()
			if listed {
				t.Fatalf("%+v: the list does not wait: %+v %v", f, list, err)
			}
			second := send("01p.2" + string(f.Reference))
			r.vendor.goOn <- struct{}{} // either of the two
			r.vendor.goOn <- struct{}{}
			must(t, <-first)
			must(t, <-second)
			synctest.Wait()
			if !listed || err != nil || len(list) == 0 || list[0].State != processor.Succeeded {
				t.Errorf("%+v: listed %t, %+v %v", f, listed, list, err)
			}
			first = send("01p.3" + string(f.Reference))
		}
		r.vendor.goOn <- struct{}{}
		must(t, <-first)
	})
}

// TestListEnds: a list ends although operations come as fast as it is read.
func TestListEnds(t *testing.T) {
	r := newRig(t, time.Hour)
	const before = 256 // a page of the book
	send := func(n int) { r.sent(authorization(fmt.Sprintf("01p.%d", n), "4242424242424242")) }
	for n := range before {
		send(n)
	}
	listed := 0
	must(t, r.k.Entries(t.Context(), protocol.Filter{}, func(protocol.Entry) error {
		if listed++; listed > before {
			return errors.New("the list does not end")
		}
		send(before + listed)
		return nil
	}))
}
