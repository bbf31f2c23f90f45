package hashing_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"payledger/eventstore/secrets/hashing"
)

const cost = 100 * time.Millisecond // of a hash

// pass lets time of the bubble's clock pass.
func pass(d time.Duration) { <-time.After(d) }

// hash takes a permit for one hash, and returns how long the caller waited.
func hash(b *hashing.Bound, by hashing.By, atOnce *atomic.Int64) (time.Duration, error) {
	asked := time.Now()
	permit, err := b.Enter(context.Background(), by)
	waited := time.Since(asked)
	if err != nil {
		return waited, err
	}
	defer permit.Leave()
	permit.Hash(func() {
		if n := atOnce.Add(1); n > 2 {
			panic(fmt.Sprintf("%d hashes at once", n))
		}
		pass(cost)
		atOnce.Add(-1)
	})
	return waited, nil
}

// TestFloodOfStrangers replays a flood of sign-ins over 40 connections from 200 networks (D22.13):
// known devices sign in as if there were none, a user of a network without a try before waits for
// one or two permits, and nobody waits for more than two seconds.
func TestFloodOfStrangers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var b hashing.Bound
		var atOnce, hashed, busy atomic.Int64
		stop := make(chan struct{})
		for c := range 40 {
			go func() {
				for i := 0; ; i++ {
					select {
					case <-stop:
						return
					default:
					}
					waited, err := hash(&b, hashing.By{Who: fmt.Sprint("net ", (40*i+c)%200)}, &atOnce)
					switch {
					case waited > hashing.Patience:
						t.Errorf("a stranger waited for %s", waited)
					case errors.Is(err, hashing.ErrBusy):
						busy.Add(1)
					case err != nil:
						t.Error(err)
					default:
						hashed.Add(1)
					}
				}
			}()
		}
		pass(time.Minute)
		if n := hashed.Load(); n < 100 || n > 160 {
			t.Errorf("%d strangers' hashes in a minute: a quarter of the time is 150", n)
		}
		for i := range 24 {
			waited, err := hash(&b, hashing.By{Who: fmt.Sprint("device ", i), Known: true}, &atOnce)
			if err != nil || waited > 4*cost {
				t.Errorf("known device %d waited for %s: %v", i, waited, err)
			}
			waited, err = hash(&b, hashing.By{Who: fmt.Sprint("new net ", i)}, &atOnce)
			if err != nil || waited > 8*cost {
				t.Errorf("a user of new network %d waited for %s: %v", i, waited, err)
			}
		}
		close(stop)
		if busy.Load() == 0 {
			t.Error("the flood was not refused at all")
		}
		pass(time.Minute)
	})
}

// TestKnownKeepHalf checks that one lane is always left to known callers, that they may use both
// while no stranger waits, and that one of them with many tries does not keep the others waiting.
func TestKnownKeepHalf(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var b hashing.Bound
		enter := func(by hashing.By) *hashing.Permit {
			t.Helper()
			permit, err := b.Enter(t.Context(), by)
			if err != nil {
				t.Fatalf("%+v: %v", by, err)
			}
			return permit
		}
		stranger := enter(hashing.By{Who: "a"})
		if _, err := b.Enter(t.Context(), hashing.By{Who: "b"}); !errors.Is(err, hashing.ErrBusy) {
			t.Errorf("a second stranger: %v", err)
		}
		known := enter(hashing.By{Who: "c", Known: true})
		var served []string
		line := func(who string, known bool) {
			go func() {
				permit, err := b.Enter(context.Background(), hashing.By{Who: who, Known: known})
				if err != nil {
					t.Error(err)
					return
				}
				served = append(served, who)
				pass(time.Millisecond)
				permit.Leave()
			}()
			synctest.Wait()
		}
		for range 3 {
			line("c", true)
		}
		line("d", true)
		known.Leave()
		synctest.Wait()
		pass(time.Second)
		if got := fmt.Sprint(served); got != "[d c c c]" {
			t.Errorf("served in the order %s", got)
		}
		stranger.Leave()
		both := []*hashing.Permit{enter(hashing.By{Who: "c", Known: true}), enter(hashing.By{Who: "d", Known: true})}
		served = nil
		line("e", true)
		line("f", false)
		both[1].Leave() // the shared lane
		pass(time.Second)
		both[0].Leave()
		synctest.Wait()
		if got := fmt.Sprint(served); got != "[f e]" {
			t.Errorf("in the shared lane, served in the order %s", got)
		}
	})
}

// TestFullQueue checks that a caller of a new network takes the place of one whose network had a
// permit, and that the end of a caller's context ends its wait.
func TestFullQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var b hashing.Bound
		permit, err := b.Enter(t.Context(), hashing.By{Who: "flood"})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		results := make(chan error, hashing.Room)
		for range hashing.Room {
			go func() {
				permit, err := b.Enter(ctx, hashing.By{Who: "flood"})
				if err == nil {
					permit.Leave()
				}
				results <- err
			}()
		}
		synctest.Wait()
		if _, err := b.Enter(t.Context(), hashing.By{Who: "flood"}); !errors.Is(err, hashing.ErrBusy) {
			t.Errorf("one more of the same network: %v", err)
		}
		user := make(chan error, 1)
		go func() {
			permit, err := b.Enter(t.Context(), hashing.By{Who: "user"})
			if err == nil {
				permit.Leave()
			}
			user <- err
		}()
		synctest.Wait()
		if err := <-results; !errors.Is(err, hashing.ErrBusy) {
			t.Errorf("the last of the flood: %v", err)
		}
		stop()
		for range hashing.Room - 1 {
			if err := <-results; !errors.Is(err, context.Canceled) {
				t.Errorf("after the end of its context: %v", err)
			}
		}
		permit.Leave()
		if err := <-user; err != nil {
			t.Errorf("the user: %v", err)
		}
	})
}
