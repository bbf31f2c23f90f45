package projections

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"payledger/domain"
	"payledger/domain/instrument"
	"payledger/eventstore"
	"payledger/eventstore/commands"
	"payledger/eventstore/engine"
	"payledger/eventstore/eventstoretest"
	"payledger/projections/listing"
)

// tool makes a token of an account for a customer.
func tool(t *testing.T, store *engine.Store, account domain.AccountID, token domain.Token, kind, customer string) {
	t.Helper()
	command(t, store, eventstore.Instruments, eventstore.Instruments.Key(account, string(token)), func(s instrument.State, m eventstore.Meta) (instrument.Event, error) {
		return instrument.DecideTokenize(s, instrument.Tokenize{Tokenized: instrument.Tokenized{
			At: m.At, Token: token, Account: account, CustomerID: customer, ExpiresAt: m.At.Add(time.Hour), TokenType: kind,
		}})
	})
}

// changeTool records the event that decide returns for a token.
func changeTool(t *testing.T, store *engine.Store, token domain.Token, decide func(instrument.State, time.Time) (instrument.Event, error)) {
	t.Helper()
	command(t, store, eventstore.Instruments, eventstore.Instruments.Key(testAccount, string(token)), func(s instrument.State, m eventstore.Meta) (instrument.Event, error) {
		return decide(s, m.At)
	})
}

// TestInstruments: a customer's vaulted instruments, before and after a restart and a rebuild (D5).
func TestInstruments(t *testing.T) {
	store, dir := openStore(t), t.TempDir()
	n := startNode(t, store, dir)
	for _, token := range []domain.Token{"01a", "01b", "01c", "01d"} {
		tool(t, store, testAccount, token, instrument.SingleUse, "customer")
	}
	tool(t, store, testAccount, "01e", instrument.MultiUse, "customer")
	tool(t, store, testAccount, "01f", instrument.MultiUse, "other")
	tool(t, store, "acct2", "01g", instrument.MultiUse, "customer")
	vault := func(s instrument.State, at time.Time) (instrument.Event, error) {
		return instrument.DecideVault(s, instrument.Vault{At: at, CustomerID: "customer"})
	}
	for _, token := range []domain.Token{"01a", "01c", "01d"} {
		changeTool(t, store, token, vault)
	}
	for _, token := range []domain.Token{"01a", "01e", "01d"} {
		changeTool(t, store, token, instrument.DecideMakeDefault)
	}
	changeTool(t, store, "01d", instrument.DecideDelete)
	changeTool(t, store, "01b", func(s instrument.State, at time.Time) (instrument.Event, error) {
		return instrument.DecideInvalidate(s, instrument.Invalidate{At: at, Attempt: "01x"})
	})
	for _, when := range []string{"at once", "after a restart", "after a rebuild"} {
		byDefault, err := n.DefaultInstrument(testContext(t), testAccount, "customer")
		if err != nil || byDefault != "01e" {
			t.Errorf("%s: %s is the default, %v", when, byDefault, err)
		}
		ever, err := n.Instruments(testContext(t), testAccount, "customer")
		slices.SortFunc(ever, func(a, b instrument.State) int { return cmp.Compare(a.Token, b.Token) })
		if err != nil || !slices.Equal(tokensOf(ever), []string{"01a", "01c", "01d", "01e"}) {
			t.Errorf("%s: ever vaulted are %v, %v", when, tokensOf(ever), err)
		}
		for limit := 1; limit <= 4; limit++ { // pages
			var all []string
			var from *listing.Place
			for more := true; more; more = from != nil {
				page, err := n.ListInstruments(testContext(t), testAccount, "customer", from, limit)
				if err != nil || len(page.Data) > limit {
					t.Fatal(page, err)
				}
				all, from = append(all, tokensOf(page.Data)...), page.Next
			}
			if !slices.Equal(all, []string{"01a", "01c", "01e"}) {
				t.Errorf("%s: pages of %d have %v", when, limit, all)
			}
		}
		any := func(instrument.State) bool { return true }
		for most, want := range map[int][]string{1: {"01e"}, 2: {"01c", "01e"}, 3: {"01a", "01c", "01e"}} {
			newest, more, err := n.NewestInstruments(testContext(t), testAccount, "customer", most, any)
			if err != nil || more != (most < 3) || !slices.Equal(tokensOf(newest), want) {
				t.Errorf("%s: the newest %d are %v, more: %v, %v", when, most, tokensOf(newest), more, err)
			}
		}
		saved, err := n.SavedCards(testContext(t), commands.SavedCards{Account: testAccount, Customer: "customer", Shard: domain.Shard("01e", store.Shards())})
		slices.SortFunc(saved, func(a, b commands.SavedCard) int { return cmp.Compare(a.Token, b.Token) })
		if err != nil || len(saved) != 2 || saved[0].Token != "01e" || saved[0].Customer != "customer" || saved[0].At.IsZero() || saved[1].Token != "01f" {
			t.Errorf("%s: the cards %+v were saved in the session and for the customer, %v", when, saved, err)
		}
		ended, err := n.EndedInstruments(testContext(t), "", 10)
		if err != nil || len(ended) != 1 || ended[0].Token != "01d" {
			t.Errorf("%s: %v, %v", when, ended, err)
		}
		n.stop()
		if when == "after a restart" {
			for _, file := range []string{"views.sqlite", "views.sqlite-wal", "views.sqlite-shm"} {
				if err := os.RemoveAll(filepath.Join(dir, file)); err != nil {
					t.Fatal(err)
				}
			}
		}
		n = startNode(t, store, dir)
		if err := n.CaughtUp(testContext(t)); err != nil {
			t.Fatal(err)
		}
	}
}

func tokensOf(list []instrument.State) (tokens []string) {
	for _, s := range list {
		tokens = append(tokens, string(s.Token))
	}
	return tokens
}

// TestSavedCardsWaitForOneShard: what was saved for a customer is in one shard. The answer does not
// wait for the others, of which one may be damaged.
func TestSavedCardsWaitForOneShard(t *testing.T) {
	store := openStore(t)
	p, err := Open(context.Background(), Config{
		Dir: t.TempDir(), Store: store, Fanout: eventstore.NewFanout(store), Secrets: eventstoretest.Secrets(t, store), Logger: zerolog.Nop(), Now: time.Now,
	}) // it applies nothing, as if all shards with events were damaged
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	tool(t, store, testAccount, "01e", instrument.MultiUse, "customer")
	behind := domain.Shard("01e", store.Shards())
	for shard := -1; shard < store.Shards(); shard++ {
		last := uint64(0)
		if shard >= 0 {
			if last, err = store.LastSeq(testContext(t), shard); err != nil {
				t.Fatal(err)
			}
		}
		ctx := testContext(t)
		if last > 0 { // it would wait
			ended, cancel := context.WithCancel(ctx)
			cancel()
			ctx = ended
		}
		if _, err := p.SavedCards(ctx, commands.SavedCards{Account: testAccount, Customer: "customer", Shard: shard}); (err != nil) != (last > 0) {
			t.Errorf("shard %d, with %d, answers %v", shard, last, err)
		}
		if shard == behind && last == 0 {
			t.Error("nothing was recorded")
		}
	}
}
