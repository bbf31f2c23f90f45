package feed_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"payledger/domain/instrument"
	"payledger/domain/session"
	"payledger/eventstore/feed"
)

// The service that the tests and the examples read from. With the build tag system it is payledger
// itself. Else it is a server with the events that payledger wrote once (testdata/events.jsonl).
var url, apiKey, natsURL, credentials string

// freeAddress returns an address of this machine on which nothing listens. Its IP address is
// random: other programs that let the system choose a port get one of 127.0.0.1, and never this one
// while the service is not running.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", fmt.Sprintf("127.%d.%d.%d:0", 1+rand.IntN(254), rand.IntN(256), 1+rand.IntN(254)))
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// read returns the positions and types of the events that there are, and the events by type.
func read(t *testing.T, f *feed.Feed, after uint64) (positions []uint64, byType map[string]feed.Event) {
	t.Helper()
	byType = map[string]feed.Event{}
	for e, err := range f.Events(t.Context(), after) {
		if err != nil {
			t.Fatal(err)
		}
		positions, byType[e.Type] = append(positions, e.Position), e
	}
	return positions, byType
}

// TestEvents: every event has its fact with its fields, without personal data, and the state of its
// payment.
func TestEvents(t *testing.T) {
	f := feed.HTTP(url+"/", apiKey)
	positions, byType := read(t, f, 0)
	if len(positions) < 8 || !slices.IsSorted(positions) {
		t.Fatalf("positions %v", positions)
	}
	for _, name := range slices.Sorted(maps.Keys(byType)) {
		e := byType[name]
		if e.Fact == nil || e.Fact.Type() != name || e.Revision == 0 || e.Hash == "" || e.Actor == "" || e.Time.IsZero() || len(e.JSON) == 0 {
			t.Errorf("%s is %+v", name, e)
		}
		if strings.Contains(string(e.JSON), "Lovelace") {
			t.Errorf("%s has personal data", name)
		}
	}
	opened := byType["session.created"].Fact.(session.Created)
	if opened.OrderID != "order-1001" || *opened.Amount != 2500 || opened.Method.Options != `{"wrap":[1.0,null]}` || opened.Personal != nil {
		t.Errorf("the session is %+v", opened)
	}
	if card := byType["instrument.tokenized"].Fact.(instrument.Tokenized); card.Card.Last4Digits != "1111" || card.Token[0] != '#' {
		t.Errorf("the instrument is %+v", card)
	}
	captured := byType["payment.captured"]
	if p := captured.Payment; p == nil || p.Processor.AmountCaptured != 2000 || p.Revision != captured.Revision || !strings.Contains(string(p.JSON), `"transactions"`) {
		t.Errorf("the payment is %+v", captured.Payment)
	}
	if streamed, byStream := read(t, feed.NATS(natsURL, credentials), 0); !slices.Equal(streamed, positions) || !reflect.DeepEqual(byStream, byType) {
		t.Errorf("the stream has %v, not %v", streamed, positions)
	}
	if rest, _ := read(t, feed.NATS(natsURL, credentials), positions[3]); !slices.Equal(rest, positions[4:]) {
		t.Errorf("behind %d the stream has %v, not %v", positions[3], rest, positions[4:])
	}
	if rest, _ := read(t, f, positions[3]); !slices.Equal(rest, positions[4:]) {
		t.Errorf("behind %d there are %v, not %v", positions[3], rest, positions[4:])
	}
}

// TestRefused: a wrong key, a position that no event has, and an address where nothing listens are
// errors at once, with a reason.
func TestRefused(t *testing.T) {
	nowhere, err := freeAddress()
	if err != nil {
		t.Fatal(err)
	}
	for want, f := range map[string]struct {
		*feed.Feed
		after uint64
	}{
		"401":                     {feed.HTTP(url, "plk_sandbox_wrong"), 0},
		"404":                     {feed.HTTP(url, apiKey), 1 << 40},
		"connection refused":      {feed.HTTP("http://"+nowhere, apiKey), 0},
		"no servers available":    {feed.NATS("nats://"+nowhere, credentials), 0},
		"no such file":            {feed.NATS(natsURL, filepath.Join(t.TempDir(), "no.creds")), 0},
		"refuses the credentials": {feed.NATS(natsURL, forged(t)), 0},
	} {
		for _, events := range []func(context.Context, uint64) func(func(feed.Event, error) bool){
			func(ctx context.Context, after uint64) func(func(feed.Event, error) bool) {
				return f.Events(ctx, after)
			},
			func(ctx context.Context, after uint64) func(func(feed.Event, error) bool) {
				return f.Follow(ctx, after)
			},
		} {
			var errs []error
			for e, err := range events(t.Context(), f.after) {
				if err == nil {
					t.Errorf("an event at %d", e.Position)
				}
				errs = append(errs, err)
			}
			if len(errs) != 1 || !strings.Contains(fmt.Sprint(errs[0]), want) {
				t.Errorf("%s: %v", want, errs)
			}
		}
	}
}
