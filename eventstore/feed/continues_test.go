//go:build system

package feed_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"payledger/eventstore/feed"
)

// TestContinues: a feed that follows goes on after the service was killed and started again: it has
// each event once, as a new reader has them. It ends with its context.
func TestContinues(t *testing.T) {
	s, err := start(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { s.stop() }()
	continues(t, s, feed.HTTP(s.url, s.apiKey))
}

// TestContinuesOverNATS is TestContinues with the stream EVENTS.
func TestContinuesOverNATS(t *testing.T) {
	s, err := start(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { s.stop() }()
	continues(t, s, feed.NATS(s.nats, s.credentials))
}

func continues(t *testing.T, s *service, f *feed.Feed) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var followed []uint64
	paid := 0
	pay := func() {
		if _, err := s.pay(fmt.Sprintf("order-%d", paid)); err != nil {
			t.Fatal(err)
		}
	}
	pay()
	for e, err := range f.Follow(ctx, 0) {
		if errors.Is(err, context.Canceled) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		followed = append(followed, e.Position)
		if e.Type != "payment.authorized" {
			continue
		}
		if paid++; paid == 4 {
			cancel()
			continue
		}
		s.kill()
		if err := s.start(); err != nil {
			t.Fatal(err)
		}
		pay()
	}
	if all, _ := read(t, f, 0); paid != 4 || !slices.Equal(followed, all[:len(followed)]) {
		t.Errorf("%d payments; it followed\n%v, there are\n%v", paid, followed, all)
	}
}
