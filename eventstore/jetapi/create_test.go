package jetapi

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// TestCreateDuringElection: a request to make a stream is repeated if nobody answers it, if the
// cluster has no leader, or if a server is away. Another error ends it at once.
func TestCreateDuringElection(t *testing.T) {
	t.Parallel()
	nc, js := connected(t)
	const (
		silent   = ""
		noLeader = `{"error":{"code":503,"err_code":10008,"description":"JetStream system temporarily unavailable"}}`
		made     = `{"config":{"name":"A"}}`
		away     = `{"error":{"code":400,"err_code":10005,"description":"no suitable peers for placement, peer offline"}}`
		nowhere  = `{"error":{"code":400,"err_code":10005,"description":"no suitable peers for placement, tags not matched ['zone:z']"}}`
		taken    = `{"error":{"code":400,"err_code":10058,"description":"stream name already in use with a different configuration"}}`
	)
	for name, c := range map[string]struct {
		answers []string
		asked   int
		err     error
	}{
		"a lost request":         {[]string{silent, made}, 2, nil},
		"no leader":              {[]string{noLeader, silent, noLeader, made}, 4, nil},
		"a server has started":   {[]string{away, made}, 2, nil},
		"a wrong placement":      {[]string{nowhere}, 1, &jetstream.APIError{ErrorCode: 10005}},
		"made by another node":   {[]string{silent, taken}, 2, jetstream.ErrStreamNameAlreadyInUse},
		"nobody answers in time": {[]string{silent}, 3, context.Canceled},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		asked := 0
		answering, err := nc.Subscribe("$JS.API.STREAM.CREATE.A", func(m *nats.Msg) {
			answer := c.answers[min(asked, len(c.answers)-1)]
			if asked++; answer != silent {
				_ = m.Respond([]byte(answer))
			} else if asked == c.asked {
				cancel()
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		each, lost := time.Minute, slices.Contains(c.answers, silent)
		if lost {
			each = 50 * time.Millisecond
		}
		err = createWithin(ctx, js, jetstream.StreamConfig{Name: "A"}, each)
		cancel()
		// On a busy machine an answer may come after the next request.
		if asked < c.asked || asked > c.asked && !lost || !errors.Is(err, c.err) {
			t.Errorf("%s: %d requests, %v", name, asked, err)
		}
		if err := answering.Unsubscribe(); err != nil {
			t.Fatal(err)
		}
	}
}
