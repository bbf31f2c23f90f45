package eventstore_test

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/attempt"
	"payledger/eventstore"
	"payledger/eventstore/format"
)

// The states of builds without attempt.created.shown and without the settings' displayName. Such a build reads the newer bodies, and
// leaves the field out of the states and the settings that it writes.
type (
	olderAttempt struct {
		Token    domain.Token   `json:"paymentMethodToken"`
		Decision attempt.Status `json:"decision,omitempty"`
		Done     bool           `json:"completed,omitempty"`
	}
	olderSettings struct {
		First6Digits bool   `json:"first6Digits,omitempty"`
		CaptureMode  string `json:"captureMode,omitempty"`
	}
	olderAccount struct {
		Name     string        `json:"name"`
		Settings olderSettings `json:"settings"`
	}
	olderChange struct {
		At       time.Time     `json:"at"`
		Settings olderSettings `json:"settings"`
	}
)

func (olderChange) Type() string { return "account.settings_changed" }

func olderAttempts() *eventstore.Aggregate[olderAttempt, attempt.Event] {
	return format.NewAggregate("attempt", 2, attempt.Events(), func(s olderAttempt, e attempt.Event) olderAttempt {
		whole := attempt.Evolve(attempt.State{Token: s.Token, Decision: s.Decision, Done: s.Done}, e)
		return olderAttempt{Token: whole.Token, Decision: whole.Decision, Done: whole.Done}
	})
}

func olderAccounts() *eventstore.Aggregate[olderAccount, domain.Event] {
	return format.NewAggregate("account", 4, []domain.Event{account.Created{}, olderChange{}}, func(s olderAccount, e domain.Event) olderAccount {
		switch e := e.(type) {
		case account.Created:
			s.Name = e.Name
		case olderChange:
			s.Settings = e.Settings
		}
		return s
	})
}

// upgrading is a log with a store of a newer build, and one of an older build as long as olderLives.
type upgrading struct {
	newer, older *eventstore.Store
	olderLives   bool
}

func newUpgrading(t *testing.T) *upgrading {
	r := single(t, 2)
	u := &upgrading{newer: r.store(), older: r.other(), olderLives: true}
	u.newer.WriteFor(func(aggregate string) int {
		if u.olderLives {
			return map[string]int{"attempt": 2, "account": 4}[aggregate]
		}
		return math.MaxInt
	})
	return u
}

// record appends an event, and checks its schema.
func record[S any, E domain.Event](t *testing.T, s *eventstore.Store, a *eventstore.Aggregate[S, E], key eventstore.Key, event E, schema int) {
	t.Helper()
	tip, err := eventstore.Execute(testContext(t), s, a, key, newMeta(t, s), func(S) (E, error) { return event, nil })
	if err != nil || tip.Recorded.Schema != schema {
		t.Fatalf("%s: %+v, %v", event.Type(), tip.Recorded, err)
	}
}

func refusal[S any, E domain.Event](t *testing.T, s *eventstore.Store, a *eventstore.Aggregate[S, E], key eventstore.Key, event E) error {
	t.Helper()
	return second(eventstore.Execute(testContext(t), s, a, key, newMeta(t, s), func(S) (E, error) { return event, nil }))
}

// TestUpgradeShown: an older build approves an attempt, and its state loses the price that the customer saw. The newer build still has it.
func TestUpgradeShown(t *testing.T) {
	u, older := newUpgrading(t), olderAttempts()
	key := eventstore.Attempts.Key("acct", string(domain.NewToken([16]byte{1})))
	at, shown := u.newer.Now(), &domain.Price{Amount: 2500, Currency: "EUR"}
	mustShow := func() {
		t.Helper()
		tip, err := eventstore.Load(testContext(t), u.newer, eventstore.Attempts, key, eventstore.Latest)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "the price that the customer saw", tip.State.Shown, shown)
	}
	record[attempt.State, attempt.Event](t, u.newer, eventstore.Attempts, key, attempt.Created{At: at, Account: "acct", Token: "token", Shown: shown}, 2)
	mustShow()
	record[olderAttempt, attempt.Event](t, u.older, older, key, attempt.WasApproved{At: at}, 2)
	mustShow()
	if err := refusal[olderAttempt, attempt.Event](t, u.older, older, key, attempt.Completed{At: at}); err != nil {
		t.Fatalf("the older build reads on: %v", err)
	}
	u.olderLives = false
	record[attempt.State, attempt.Event](t, u.newer, eventstore.Attempts, key, attempt.Refused{At: at, Reason: "the price changed"}, 3)
	mustShow()
	if err := refusal[olderAttempt, attempt.Event](t, u.older, older, key, attempt.Completed{At: at}); !errors.Is(err, format.ErrNewerSchema) {
		t.Errorf("the older build on schema 3: %v", err)
	}
}

// TestUpgradeDisplayName: an older build replaces all settings, without the display name. So there is none as long as it lives, and it
// refuses an account that has one.
func TestUpgradeDisplayName(t *testing.T) {
	u, older := newUpgrading(t), olderAccounts()
	key := eventstore.Accounts.Key("acct", "acct")
	at := u.newer.Now()
	change := func(s account.Settings) account.Event { return account.SettingsChanged{At: at, Settings: s} }
	named := change(account.Settings{CaptureMode: account.CaptureManual, DisplayName: "Kiosk"})
	record[account.State, account.Event](t, u.newer, eventstore.Accounts, key, account.Created{At: at, ID: "acct", Name: "shop"}, 4)
	record(t, u.newer, eventstore.Accounts, key, change(account.Settings{CaptureMode: account.CaptureAutomatic}), 4)
	if err := refusal(t, u.newer, eventstore.Accounts, key, named); !errors.Is(err, format.ErrNotEverywhere) || domain.ReasonOf(err) != domain.ReasonServiceUnavailable {
		t.Errorf("a display name while an older build lives: %v", err)
	}
	changed := olderChange{At: at, Settings: olderSettings{First6Digits: true, CaptureMode: account.CaptureManual}}
	record[olderAccount, domain.Event](t, u.older, older, key, changed, 4)

	u.olderLives = false
	record(t, u.newer, eventstore.Accounts, key, named, 6)
	if err := refusal[olderAccount, domain.Event](t, u.older, older, key, changed); !errors.Is(err, format.ErrNewerSchema) {
		t.Errorf("the older build would drop the display name: %v", err)
	}
	tip, err := eventstore.Load(testContext(t), u.newer, eventstore.Accounts, key, eventstore.Latest)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "settings", tip.State.Settings, account.Settings{CaptureMode: account.CaptureManual, DisplayName: "Kiosk"})
}

// TestFieldsWithoutNumber: builds wrote shown and displayName under the schemas 2 and 4, too. Their bytes mean the same for ever.
func TestFieldsWithoutNumber(t *testing.T) {
	t.Parallel()
	body := func(name string, schema int) []byte {
		return unhexLines(t, filepath.Join("testdata", "golden", fmt.Sprintf("%s.%d.hex", name, schema)))
	}
	for schema := 2; schema <= 3; schema++ {
		r := &eventstore.Recorded{Type: "attempt.created", Schema: schema, Body: body("attempt.created", 3)}
		state, err := eventstore.Attempts.Fold([]*eventstore.Recorded{r})
		if err != nil || state.Shown == nil || state.Shown.Currency == "" || state.Shown.Amount == 0 {
			t.Errorf("attempt.created of schema %d: %+v %v", schema, state.Shown, err)
		}
	}
	for schema := 4; schema <= 5; schema++ {
		r := &eventstore.Recorded{Type: "account.settings_changed", Schema: schema, Body: body("account.settings_changed", 5)}
		state, err := eventstore.Accounts.Fold([]*eventstore.Recorded{r})
		if err != nil || state.Settings.DisplayName == "" {
			t.Errorf("account.settings_changed of schema %d: %+v %v", schema, state.Settings, err)
		}
	}
}
