package engine_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"
	"testing"

	"payledger/eventstore"
	"payledger/eventstore/engine"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/secretlog"
	"payledger/eventstore/tipstore"
)

// withSecrets opens a log whose SECRETS have several segments.
func withSecrets(t *testing.T) (*engine.Store, *secretlog.Stream) {
	t.Helper()
	c := eventstoretest.Config(eventstoretest.Server(t, t.TempDir()))
	c.Shards, c.SecretBytes = 1, 4<<10
	s, err := engine.Open(testContext(t), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	mustAdd(t, s, newKey(), added{N: 1}) // a stream that is read before
	values, err := s.OpenSecrets(testContext(t))
	for i := 0; i < 40 && err == nil; i++ {
		err = values.Create(testContext(t), fmt.Sprint("customer-key.acct.", i), make([]byte, 256))
	}
	if err != nil {
		t.Fatal(err)
	}
	return s, values
}

// TestScrubOfASweptSegment: a rotation drops the first segments of SECRETS while a pass of the
// scrub reads other streams. The pass is whole, and the log healthy.
func TestScrubOfASweptSegment(t *testing.T) {
	t.Parallel()
	s, values := withSecrets(t)
	rotated := false
	err := s.ScrubPaced(testContext(t), func(ctx context.Context, _ int) error {
		if rotated {
			return nil
		}
		rotated = true
		before, _ := values.Generation()
		err := values.Begin(ctx, before, []byte("proof"))
		generation, _ := values.Generation()
		if err == nil {
			_, err = values.Reseal(ctx, secretlog.Resealing{
				Generation: generation, Skip: func(string) bool { return false },
				Seal: func(_ string, value []byte) (string, []byte, error) { return "", value, nil },
			})
		}
		return err
	})
	if err := errors.Join(err, s.Healthy()); err != nil {
		t.Error(err)
	}
	if _, whole := s.ScrubAge(); !whole {
		t.Error("the pass does not count")
	}
	// The store had known the segment before the folder was listed.
	if err := errors.Join(s.ScrubKnowing(testContext(t), "SECRETS_1", 3), s.Healthy()); err != nil {
		t.Error(err)
	}
	if err := s.ScrubKnowing(testContext(t), "SECRETS_9", 3); !errors.Is(err, eventstore.ErrUnhealthy) {
		t.Errorf("a segment that was not dropped: %v", err)
	}
}

// TestScrubWithoutTips: a tip store that cannot be read is no damage of SECRETS. The pass returns
// the error, and does not count.
func TestScrubWithoutTips(t *testing.T) {
	t.Parallel()
	s, _ := withSecrets(t)
	tips, err := tipstore.Open(tipstore.Options{}, &lostTips{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.ScrubWith(testContext(t), tips); !errors.Is(err, secretlog.ErrTips) || !errors.Is(err, syscall.EIO) || errors.Is(err, eventstore.ErrUnhealthy) {
		t.Errorf("the pass returned %v", err)
	}
	if _, whole := s.ScrubAge(); whole {
		t.Error("the pass counts")
	}
	if err := errors.Join(s.Healthy(), s.Scrub(testContext(t))); err != nil {
		t.Error(err)
	}
}

// lostTips are the files of a tip store on a lost disk.
type lostTips struct{ tipstore.DB }

func (l *lostTips) Open(string, tipstore.Options, tipstore.Events) (tipstore.DB, error) {
	return l, nil
}
func (*lostTips) IsCorruption(error) bool                      { return false }
func (l *lostTips) NewSnapshot() tipstore.Snapshot             { return l }
func (*lostTips) Close() error                                 { return nil }
func (*lostTips) Get([]byte) ([]byte, io.Closer, error)        { return nil, nil, syscall.EIO }
func (*lostTips) Range(_, _ []byte) (tipstore.Iterator, error) { return nil, syscall.EIO }
