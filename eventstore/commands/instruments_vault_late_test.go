package commands_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/domain/session"
	"payledger/eventstore"
	"payledger/eventstore/commands"
	"payledger/eventstore/commands/commandstest"
	"payledger/eventstore/commands/instruments"
	"payledger/eventstore/commands/payments"
	"payledger/eventstore/commands/recovery"
	"payledger/eventstore/commands/service"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/format"
	"payledger/eventstore/secrets"
)

// cleaner runs the cleaner at the rig's time.
func (r *rig) cleaner(s *service.Service) {
	r.T.Helper()
	if _, err := eventstoretest.CleanCards(background, r.Vault, r.Now(), s.CardNeeded); err != nil {
		r.T.Fatal(err)
	}
}

// TestVaultedAfterTheTokenExpired: a payment that began in time vaults its card with its outcome,
// however long after the end of the client token that comes (D5); only then is the card as it was
// entered destroyed.
func TestVaultedAfterTheTokenExpired(t *testing.T) {
	t.Parallel()
	for name, wish := range map[string]session.Method{
		"on 3DS": {VaultOn3DS: new(true)}, "on success": {VaultOnSuccess: new(true)},
		"on agreement": {VaultOnAgreement: new(true), FirstPaymentReason: "Recurring"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			s := r.Service(nil)
			token := r.TokenIn(s, r.Opened(s, session.Fields{CustomerID: "customer-1", Method: wish}), commandstest.ChallengeCard)
			r.Ahead.Store(int64(50 * time.Minute))
			made, err := s.CreatePayment(background, r.By, payments.PaymentInput{Token: token})
			if err != nil || made.RequiredAction() == nil {
				t.Fatal(err, made.Status())
			}
			r.Ahead.Store(int64(65 * time.Minute)) // the client token has ended, the action has not
			r.cleaner(s)
			after, err := s.Resume(background, r.By, payments.ResumeInput{
				Payment: made.ID, Action: made.RequiredAction().Revision, Outcome: processor.Authenticated,
			})
			commandstest.HasStatus(t, after, err, payment.StatusAuthorized)
			inst := r.Instrument(token)
			card, err := r.Vault.Card(background, secrets.CardRef{Account: r.By.Account, Token: token}, r.Now())
			if err != nil || !inst.Vaulted() || inst.CustomerID != "customer-1" || card.Number != commandstest.ChallengeCard || card.CVV != "" {
				t.Errorf("%+v: %v", inst, err)
			}
			r.cleaner(s)
			if card, err := r.Vault.Card(background, r.ref(token), made.CreatedAt); err != nil || card.CVV != "" {
				t.Errorf("the card as it was entered, with %d digits of CVV: %v", len(card.CVV), err)
			}
		})
	}
}

// TestReroutedAfterTheTokenExpired: an authorization that moves to its second processor after the
// end of the client token still has its card (D15).
func TestReroutedAfterTheTokenExpired(t *testing.T) {
	t.Parallel()
	r := newCluster(t)
	token := r.TokenOf(r.NewNode(t, time.Minute, nil).Service, commandstest.FallbackCard)
	dying := r.NewNode(t, time.Minute, commandstest.NewFault(commandstest.Authorize, commandstest.CrashAfter))
	r.Ahead.Store(int64(59 * time.Minute))
	given := dying.UntilFault(func() error {
		_, err := dying.CreatePayment(background, r.By, payments.PaymentInput{Token: token})
		return err
	})
	dying.Kill()
	<-given
	r.Ahead.Store(int64(61 * time.Minute))
	healthy := r.NewNode(t, time.Minute, nil)
	r.cleaner(healthy.Service)
	id := domain.PaymentIDForToken(r.By.Account, token)
	if err := healthy.Recover(background, r.By.Account, id); err != nil {
		t.Fatal(err)
	}
	if p := r.Settled(id); p.Status() != payment.StatusAuthorized || len(p.Operations) != 2 {
		t.Errorf("%s after %d operations", p.Status(), len(p.Operations))
	}
}

// TestCardOfAnEndlessPayment checks that a card whose payment has no outcome is kept past its
// token's end, but not for ever. An unused card ends with its token (D12).
func TestCardOfAnEndlessPayment(t *testing.T) {
	t.Parallel()
	r := newCluster(t)
	n := r.NewNode(t, time.Minute, commandstest.NewFault(commandstest.Authorize, commandstest.Never))
	used, unused := r.TokenOf(n.Service, commandstest.ApprovedCard), r.TokenOf(n.Service, commandstest.ApprovedCard)
	given := n.UntilFault(func() error {
		_, err := n.CreatePayment(background, r.By, payments.PaymentInput{Token: used})
		return err
	})
	r.Ahead.Store(int64(2 * time.Minute)) // the payment timeout is over
	if err := <-given; err != nil {
		t.Fatal(err)
	}
	began := r.Payment(domain.PaymentIDForToken(r.By.Account, used)).CreatedAt
	refs := []secrets.CardRef{r.ref(used), r.ref(unused)}
	for _, c := range []struct {
		after        time.Duration
		used, unused bool
	}{{59 * time.Minute, true, true}, {2 * time.Hour, true, false}, {48 * time.Hour, true, false}, {50 * time.Hour, false, false}} {
		r.Ahead.Store(int64(c.after))
		r.cleaner(n.Service)
		for i, want := range []bool{c.used, c.unused} {
			if _, err := r.Vault.Card(background, refs[i], began); (err == nil) != want {
				t.Errorf("after %s, card %d: %v", c.after, i, err)
			}
		}
	}
}

// TestVaultedThenCrashed: a card that was vaulted by a process which ended before it copied it is
// copied, also by the first run of the cleaner after the end of its client token (D5).
func TestVaultedThenCrashed(t *testing.T) {
	t.Parallel()
	for name, late := range map[string]bool{"in its minute": false, "by itself": true} {
		r := newCluster(t)
		healthy := r.NewNode(t, time.Minute, nil)
		token := r.TokenOf(healthy.Service, commandstest.ApprovedCard)
		if late {
			r.Ahead.Store(int64(5 * time.Minute))
			r.cleaner(healthy.Service)
		}
		r.Dies("instrument.vaulted", commandstest.CrashAfter, func(n *commandstest.Node) error {
			_, err := n.VaultInstrument(background, r.By, instruments.VaultInput{Token: token, CustomerID: "customer-1"})
			return err
		})
		r.Ahead.Store(int64(2 * time.Hour))
		r.cleaner(healthy.Service)
		if p, err := r.PayAgain(healthy.Service, token); err != nil || p.Status() != payment.StatusAuthorized {
			t.Errorf("%s: %s %v", name, p.Status(), err)
		}
	}
}

// TestLostCard checks that a vaulted token whose card is gone is not shown as usable, once the loss
// is found (§2.2).
func TestLostCard(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.Service(nil)
	gone := func() domain.Token {
		token := r.Token(s)
		if _, err := s.VaultInstrument(background, r.By, instruments.VaultInput{Token: token, CustomerID: "customer-1"}); err != nil {
			t.Fatal(err)
		}
		ref := r.ref(token)
		if err := r.Vault.DestroyKept(background, ref); err != nil {
			t.Fatal(err)
		}
		nobody := func(context.Context, domain.AccountID, domain.Token, time.Time) (time.Time, error) {
			return time.Time{}, nil
		}
		if _, err := eventstoretest.CleanCards(background, r.Vault, r.Now().Add(3*time.Minute), nobody); err != nil {
			t.Fatal(err)
		}
		return token
	}
	for name, find := range map[string]func(domain.Token){
		"a payment": func(token domain.Token) {
			p, err := r.PayAgain(s, token)
			commandstest.HasStatus(t, p, err, payment.StatusFailed)
		},
		"the cleaner": func(token domain.Token) {
			if until, err := s.CardNeeded(background, r.By.Account, token, r.Now().Add(time.Hour)); err != nil || !until.IsZero() {
				t.Error(until, err)
			}
		},
	} {
		token := gone()
		find(token)
		inst := r.Instrument(token)
		if inst.Good() {
			t.Errorf("%s found the card gone, and the token is %+v", name, inst)
		}
		_, err := r.PayAgain(s, token)
		commandstest.Refused(t, err, domain.ReasonPayment)
		_, err = s.VaultInstrument(background, r.By, instruments.VaultInput{Token: token, CustomerID: "customer-1"})
		commandstest.Refused(t, err, domain.ReasonInstrumentToken)
	}
}

// logged is a log that is looked through.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// TestNoBearerInTheLog checks that log lines about a faulty token or session contain neither (D12).
func TestNoBearerInTheLog(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	log := &logged{}
	s := service.New(commands.Config{
		Store: r.Store, Secrets: r.Vault, Processors: r.Sim, PaymentTimeout: commandstest.PaymentTimeout, ActionTimeout: time.Hour, ClientTokenTTL: time.Hour,
		Random: rand.Reader, Logger: zerolog.New(log),
		Account: func(id domain.AccountID) (account.State, bool) {
			tip, err := eventstore.NewRepositories(r.Store).Accounts.Load(background, id, id, eventstore.Applied)
			return tip.State, err == nil && tip.State.Exists()
		},
	})
	t.Cleanup(s.Close)
	a := r.Impossible(s)
	if err := s.RecoverAttempt(background, r.By.Account, a.ID); err != nil {
		t.Fatal(err)
	}
	if err := r.Vault.DestroyKept(background, r.ref(a.Token)); err != nil {
		t.Fatal(err)
	}
	if _, err := eventstoretest.CleanCards(background, r.Vault, r.Now().Add(3*time.Hour), func(context.Context, domain.AccountID, domain.Token, time.Time) (time.Time, error) {
		return time.Time{}, nil
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.CardNeeded(background, r.By.Account, a.Token, r.Now()); err != nil {
		t.Fatal(err)
	}
	newer := format.NewAggregate("session", eventstore.Sessions.Schema+1, session.Events(), session.Evolve)
	meta, err := r.Store.NewMeta("test", "request")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := eventstore.Execute(background, r.Store, newer, newer.Key(r.By.Account, "0f0e0d0c-0000-4000-8000-000000000000"), meta, func(session.State) (session.Event, error) {
		return session.Changed{At: meta.At}, nil
	}); err != nil {
		t.Fatal(err)
	}
	_, err = s.Session(background, r.By.Account, "0f0e0d0c-0000-4000-8000-000000000000")
	if !errors.Is(err, format.ErrNewerSchema) {
		t.Fatal(err)
	}
	text := log.String() + err.Error()
	if strings.Count(text, "\n") < 2 {
		t.Error("too little to show anything:", text)
	}
	for _, secret := range []string{string(a.Token), string(a.Session), "0f0e0d0c-"} {
		if strings.Contains(text, secret) {
			t.Errorf("%s in %s", secret, text)
		}
	}
}

// TestDestroyedLater: the card of a deleted token whose destruction failed is destroyed by the next
// run of the recovery, without a repeat of the request and without a restart (D5.13).
func TestDestroyedLater(t *testing.T) {
	t.Parallel()
	r := newCluster(t)
	tokens := r.saved(r.Service(nil), "ada", 1)
	fault := commandstest.NewNthFault(commandstest.SecretWrite, -1, commandstest.LostBefore)
	n := r.NewNode(t, time.Minute, fault)
	fault.Arm(1)
	if _, err := n.DeleteInstrument(background, r.By, tokens[0]); err == nil || r.Instrument(tokens[0]).Good() || r.kept(tokens) != 1 {
		t.Fatalf("the destruction did not fail: %v, %d cards", err, r.kept(tokens))
	}
	recovery.New(recovery.Config{
		Commands: n.Service, Views: merchants{rig: r}, Secrets: n.Secrets, Now: r.Now, Logger: zerolog.Nop(),
		EndedCards: func(context.Context, domain.Token, int) ([]secrets.CardRef, error) { return nil, nil },
		ErasedPersons: func(context.Context, time.Time, domain.PersonID, int) ([]recovery.Erased, error) {
			return nil, nil
		},
	}).RunOnce(background, r.Now())
	r.Eventually("the card is gone for the other node", func() bool { return r.kept(tokens) == 0 })
	if done, err := n.DestroyLeft(background); err != nil || done != 0 {
		t.Errorf("%d cards destroyed again: %v", done, err)
	}
}

// merchants are views with accounts only.
type merchants struct {
	recovery.Views
	rig *rig
}

func (m merchants) Account(id domain.AccountID) (account.State, bool) { return m.rig.Merchant(id) }
