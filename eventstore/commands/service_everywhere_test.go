package commands_test

import (
	"context"
	"crypto/rand"
	"errors"
	"testing"

	"github.com/rs/zerolog"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/eventstore"
	"payledger/eventstore/commands"
	"payledger/eventstore/commands/accounts"
)

// everywhere is the wait for the other nodes of a service.
type everywhere struct {
	failure error
	waits   int
	last    []uint64
}

func (e *everywhere) wait(_ context.Context, position []uint64) error {
	e.waits, e.last = e.waits+1, position
	return e.failure
}

// TestRepeatWaitsElsewhere checks a change whose first answer was 503 because a node had not
// confirmed it. A repeat waits for the nodes again, whatever is left to do, and names the event of
// the first call.
func TestRepeatWaitsElsewhere(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var nodes everywhere
	s := &accounts.Accounts{Base: commands.NewBase(commands.Config{
		Store: r.Store, Secrets: r.Vault, Account: r.Merchant, Random: rand.Reader, Logger: zerolog.Nop(), Everywhere: nodes.wait,
	})}
	t.Cleanup(s.Close)
	ctx := t.Context()
	key, _, err := s.CreateAPIKey(ctx, r.By, account.APIKey{Name: "second", Scopes: []string{"transactions:retrieve"}})
	if err != nil {
		t.Fatal(err)
	}
	endpoint, err := s.CreateEndpoint(ctx, r.By, accounts.EndpointInput{URL: "https://example.com/hook"})
	if err != nil {
		t.Fatal(err)
	}
	off := false
	changes := []struct {
		name   string
		change func() error
		repeat domain.Reason // of the repeat; "": it succeeds
	}{
		{"revoke a key", func() error { _, err := s.RevokeAPIKey(ctx, r.By, key.ID); return err }, domain.ReasonEntityNotFound},
		{"change an endpoint", func() error {
			_, err := s.ChangeEndpoint(ctx, r.By, endpoint.ID, account.ChangeEndpoint{Enabled: &off})
			return err
		}, ""},
		{"delete an endpoint", func() error { _, err := s.DeleteEndpoint(ctx, r.By, endpoint.ID); return err }, domain.ReasonEntityNotFound},
		{"change the settings", func() error {
			name := "A shop"
			_, err := s.ChangeSettings(ctx, r.By, account.ChangeSettings{DisplayName: &name})
			return err
		}, ""},
	}
	for _, c := range changes {
		nodes.failure = errors.New("a node is silent")
		before := r.accountAt()
		for _, try := range []string{"first", "second", "third"} {
			nodes.last = nil
			if err := c.change(); !errors.Is(err, nodes.failure) || domain.ReasonOf(err) != domain.ReasonServiceUnavailable {
				t.Errorf("%s, %s try: %v", c.name, try, err)
			}
			at := r.accountAt()
			if nodes.last == nil || at == before || nodes.last[r.shardOfAccount()] < at {
				t.Errorf("%s, %s try: waited for %v; the event is at %d", c.name, try, nodes.last, at)
			}
		}
		nodes.failure = nil
		if err := c.change(); (err != nil || c.repeat != "") && domain.ReasonOf(err) != c.repeat {
			t.Errorf("%s, the last repeat: %v", c.name, err)
		}
	}
	waits := nodes.waits
	if _, err := s.RotateSigningSecret(ctx, r.By); err != nil || nodes.waits == waits {
		t.Errorf("a rotation waited %d times: %v", nodes.waits-waits, err)
	}
}

func (r *rig) shardOfAccount() int {
	return r.Store.ShardOf(eventstore.Accounts.Key(r.By.Account, string(r.By.Account)))
}

// accountAt returns the address of the newest event of the account.
func (r *rig) accountAt() uint64 {
	r.T.Helper()
	tip, err := eventstore.NewRepositories(r.Store).Accounts.Load(context.Background(), r.By.Account, r.By.Account, eventstore.Latest)
	if err != nil {
		r.T.Fatal(err)
	}
	return tip.Recorded.Seq
}
