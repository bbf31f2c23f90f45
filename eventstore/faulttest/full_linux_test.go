package faulttest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"payledger/eventstore"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/jetapi"
)

// TestFullDiskOfEveryStream: a server that meets a full disk stops all its streams for good: no
// stream is written to while the disk is full, and all of them go on when there is room.
func TestFullDiskOfEveryStream(t *testing.T) {
	t.Parallel()
	disk := t.TempDir()
	if err := unix.Mount("tmpfs", disk, "tmpfs", 0, fmt.Sprintf("size=%d,mode=0700", 120<<20)); err != nil {
		t.Fatalf("a file system for this test cannot be mounted: %v; run it as root", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(disk, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	o, err := start(ctx, filepath.Join(disk, "log"))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	writes := map[string]func() error{
		"journal": func() error {
			meta, err := o.store.NewMeta("test", "")
			if err == nil {
				_, err = eventstore.Execute(ctx, o.store, notes, notes.Key("acct", fmt.Sprintf("01note%020d", n)), meta,
					func(note) (noted, error) { return noted{"text"}, nil })
			}
			return err
		},
		"a new secret": func() error { return o.secrets.Create(ctx, fmt.Sprintf("customer-key.acct.%d", n), []byte("value")) },
		"a destroyed secret": func() error {
			return o.secrets.Destroy(ctx, fmt.Sprintf("customer-key.acct.%d", max(1, n-1)))
		},
		"a delivery": func() error {
			_, err := o.deliveries.Put(ctx, fmt.Sprintf("acct.endpoint.%d.created", n), 0, []byte("record"), true)
			return err
		},
		"a position":   func() error { return eventstoretest.SavePosition(ctx, o.deliveries, "reader", []uint64{uint64(n), 0}) },
		"a checkpoint": func() error { return o.checkpoint(ctx) },
	}
	all := func(want error) {
		t.Helper()
		n++
		for what, write := range writes {
			if what == "a checkpoint" && want != nil {
				continue // nothing is new
			}
			if err := write(); !errors.Is(err, want) {
				t.Errorf("%s: %v", what, err)
			}
			if want == nil {
				continue
			}
			soonest := time.Hour
			for tries := 0; tries < 5 && soonest >= jetapi.PublishTimeout; tries++ { // 100 ms on a machine with nothing else to do
				began := time.Now()
				if err := write(); !errors.Is(err, want) {
					t.Errorf("%s, again: %v", what, err)
				}
				soonest = min(soonest, time.Since(began))
			}
			if soonest >= jetapi.PublishTimeout { // a write that waits for the disk
				t.Errorf("%s was refused after %s", what, soonest)
			}
		}
	}
	all(nil)
	all(nil)
	filler := filepath.Join(disk, "filler")
	f, err := os.Create(filler)
	if err != nil {
		t.Fatal(err)
	}
	const piece = 64 << 10
	for at := int64(0); ; at += piece { // also the space that is freed meanwhile
		if err := unix.Fallocate(int(f.Fd()), 0, at, piece); err != nil {
			break
		}
	}
	all(eventstore.ErrFull)
	if _, err := o.secrets.Get(ctx, "customer-key.acct.2"); err != nil {
		t.Errorf("a read on a full disk: %v", err)
	}
	if err := errors.Join(f.Close(), os.Remove(filler)); err != nil {
		t.Fatal(err)
	}
	n++ // the refused event was not recorded
	for end := time.Now().Add(2 * time.Minute); o.store.Full() != nil && time.Now().Before(end); {
		<-time.After(10 * time.Millisecond)
	}
	all(nil)
	if err := o.store.Scrub(ctx); err != nil {
		t.Error(err)
	}
	if err := o.stop(); err != nil {
		t.Error(err)
	}
}
