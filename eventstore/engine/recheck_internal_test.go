package engine

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"payledger/domain/seedtest"
	"payledger/eventstore/embedded"
)

// openSoleOn opens a store on a folder, until the function that it returns is called.
func openSoleOn(t *testing.T, dir string) (*Store, func() error) {
	t.Helper()
	server, err := embedded.Start(embedded.Config{Dir: dir, Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(context.Background(), Config{Server: server, Shards: 2, Now: time.Now, Random: rand.Reader})
	if err != nil {
		t.Fatal(errors.Join(err, server.Close()))
	}
	return s, func() error { return errors.Join(s.Close(), server.Close()) }
}

// TestRecheckWhileRecordsCome: the search for missing records does not report records that are
// stored during the search.
func TestRecheckWhileRecordsCome(t *testing.T) {
	t.Parallel()
	s, end := openSoleOn(t, t.TempDir())
	d := s.Deliveries()
	records := 200
	if seedtest.Sampled() {
		records = 60
	}
	var writers sync.WaitGroup
	for w := range 8 {
		writers.Go(func() {
			for i := range records {
				if _, err := d.Put(context.Background(), fmt.Sprintf("acct1.end1.w%de%d.KIND", w, i), 0, []byte("x"), false); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	written := make(chan struct{})
	go func() { writers.Wait(); close(written) }()
	for checks, done := 0, false; !done; checks++ {
		s.recheck(context.Background())
		if err := s.Healthy(); err != nil {
			t.Errorf("after %d checks: %v", checks, err)
			break
		}
		select {
		case <-written:
			done = true
		default:
		}
	}
	<-written
	if err := end(); err != nil {
		t.Error(err)
	}
}
