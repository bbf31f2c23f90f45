package commands_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/person"
	"payledger/domain/processor"
	"payledger/domain/session"
	"payledger/eventstore"
	"payledger/eventstore/commands/commandstest"
	"payledger/eventstore/commands/payments"
	"payledger/eventstore/commands/service"
	"payledger/eventstore/secrets"
)

// saved saves cards for a customer, in one session, and returns their tokens.
func (r *rig) saved(s *service.Service, customer string, n int) (tokens []domain.Token) {
	r.T.Helper()
	opened := r.Opened(s, session.Fields{CustomerID: customer})
	for range n {
		tokens = append(tokens, r.EnteredIn(s, opened, commandstest.ApprovedCard, true))
	}
	return tokens
}

// kept returns the number of vaulted cards that stand in the stream of secrets.
func (r *rig) kept(tokens []domain.Token) (n int) {
	r.T.Helper()
	for _, token := range tokens {
		there, err := r.Vault.Kept(context.Background(), secrets.CardRef{Account: r.By.Account, Token: token})
		if err != nil {
			r.T.Fatal(err)
		}
		if there {
			n++
		}
	}
	return n
}

func (r *rig) person(customer string) person.State {
	r.T.Helper()
	id := domain.PersonIDFor(secrets.PersonalKeyName(r.By.Account, customer, ""))
	tip, err := eventstore.NewRepositories(r.Store).Persons.Load(context.Background(), r.By.Account, id, eventstore.Latest)
	if err != nil {
		r.T.Fatal(err)
	}
	return tip.State
}

// TestErasureRewritesLittle: an erasure overwrites as many values of a customer with 18 cards as of
// a customer with 2 cards: the keys. The cards are sealed under the customer's key, and are removed
// without rewriting a file for each (D22).
func TestErasureRewritesLittle(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.Service(nil)
	count := r.Deletions()
	var rewrites [2]int
	for i, n := range []int{2, 18} {
		customer := fmt.Sprint("customer ", n)
		tokens := r.saved(s, customer, n)
		if r.kept(tokens) != n {
			t.Fatal("the cards are not saved")
		}
		count()
		if _, err := s.EraseCustomer(t.Context(), r.By, customer); err != nil {
			t.Fatal(err)
		}
		over, gone := count()
		if rewrites[i] = over; gone != n || r.kept(tokens) != 0 {
			t.Errorf("%d cards: %d values removed, %d overwritten, %d cards left", n, gone, over, r.kept(tokens))
		}
	}
	if rewrites[0] != rewrites[1] || rewrites[0] > 2 {
		t.Errorf("erasures of 2 and 18 cards overwrite %v values", rewrites)
	}
}

// TestErasureCrashes ends the process before each message of an erasure in turn. Until the erasure
// is recorded, nothing has changed. After that the continuation of another process leaves no card
// and no key.
func TestErasureCrashes(t *testing.T) {
	t.Parallel()
	const cards = 2
	r := newCluster(t)
	other := r.Service(nil)
	recorded, crashes := 0, 0
	for finished := false; !finished; {
		crashes++
		customer := fmt.Sprint("customer ", crashes)
		tokens := r.saved(other, customer, cards)
		fault := commandstest.NewNthFault(commandstest.AnyWrite, -1, commandstest.CrashBefore)
		n := r.NewNode(t, time.Minute, fault)
		fault.Arm(crashes)
		given := make(chan error, 1)
		go func() {
			_, err := n.EraseCustomer(n.Ctx, r.By, customer)
			given <- err
		}()
		select {
		case <-fault.Hit:
			n.Kill()
			<-given
		case err := <-given:
			if finished = true; err != nil {
				t.Fatal(err)
			}
		}
		state := r.person(customer)
		if !state.Exists() {
			if r.kept(tokens) != cards {
				t.Errorf("crash %d: the erasure is not recorded, and %d cards are left", crashes, r.kept(tokens))
			}
			continue
		}
		recorded++
		key := secrets.PersonalKeyName(r.By.Account, customer, "")
		if err := other.FinishErasure(t.Context(), r.By.Account, domain.PersonIDFor(key)); err != nil {
			t.Fatal(err)
		}
		there, err := r.Vault.HasKey(t.Context(), key, 1)
		if err != nil {
			t.Fatal(err)
		}
		for _, token := range tokens {
			if r.Instrument(token).Good() {
				t.Errorf("crash %d: token %s pays", crashes, token)
			}
		}
		if r.kept(tokens) != 0 || there || r.person(customer).Due() {
			t.Errorf("crash %d: %d cards are left, the key: %v, the erasure is due: %v", crashes, r.kept(tokens), there, r.person(customer).Due())
		}
	}
	if recorded < 7 {
		t.Errorf("%d of %d processes recorded the erasure", recorded, crashes)
	}
}

// TestCopyBesideADeletion: a card that is copied after its token was deleted, by a command that
// began before, does not stay.
func TestCopyBesideADeletion(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.Service(nil)
	tokens := r.saved(s, "zen", 1)
	before, err := eventstore.NewRepositories(r.Store).Instruments.Load(t.Context(), r.By.Account, tokens[0], eventstore.Latest)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.DeleteInstrument(t.Context(), r.By, tokens[0]); err != nil || r.kept(tokens) != 0 {
		t.Fatal(err, r.kept(tokens))
	}
	if err := s.KeepVaulted(t.Context(), before.State); domain.ReasonOf(err) != domain.ReasonInstrumentToken || r.kept(tokens) != 0 {
		t.Errorf("%v, %d cards of a deleted token are kept", err, r.kept(tokens))
	}
}

// TestCardOfAnErasedCustomer: with the customer's key a saved card is unreadable, before it is
// removed. A card that is saved later is sealed under the next key, and stays.
func TestCardOfAnErasedCustomer(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.Service(nil)
	token := r.saved(s, "zen", 1)[0]
	ref := secrets.CardRef{Account: r.By.Account, Token: token}
	card := func() error {
		_, err := r.Vault.Card(t.Context(), ref, r.Now())
		return err
	}
	if err := card(); err != nil {
		t.Fatal(err)
	}
	key := secrets.PersonalKeyName(r.By.Account, "zen", "")
	if err := r.Vault.DestroyPersons(t.Context(), []secrets.PersonKeys{{Name: key, Through: 1}}); err != nil {
		t.Fatal(err)
	}
	if err := card(); !errors.Is(err, secrets.ErrGone) {
		t.Errorf("without the customer's key: %v", err)
	}
	if kept, err := r.Vault.Kept(t.Context(), ref); kept || err != nil { // so that its token ends
		t.Errorf("a card that cannot be read counts as kept: %v, %v", kept, err)
	}
	if _, err := s.EraseCustomer(t.Context(), r.By, "zen"); err != nil {
		t.Fatal(err)
	}
	later := r.saved(s, "zen", 1)
	ref.Token = later[0]
	if err := s.FinishErasure(t.Context(), r.By.Account, domain.PersonIDFor(key)); err != nil || card() != nil || r.kept(later) != 1 {
		t.Errorf("a later card: %v, %v", err, card())
	}
	if _, err := s.DeleteInstrument(t.Context(), r.By, later[0]); err != nil || r.kept(later) != 0 {
		t.Errorf("the deletion of one card: %v, %d left", err, r.kept(later))
	}
}

// TestErasedCardTokens: an erasure destroys the processors' tokens of the customer's cards, also a
// token that arrives after the erasure.
func TestErasedCardTokens(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.Service(nil)
	card := r.saved(s, "Ada", 1)[0]
	ref := secrets.CardRef{Account: r.By.Account, Token: card}
	token := secrets.CardToken{Processor: processor.Adyen, MerchantID: "shop", Token: "tok_1"}
	if err := s.KeepToken(t.Context(), r.Instrument(card), token); err != nil {
		t.Fatal(err)
	}
	if kept, err := r.Vault.CardToken(t.Context(), ref, token.Processor, token.MerchantID); err != nil || kept != token.Token {
		t.Fatalf("%q, %v", kept, err)
	}
	name := domain.SecretID("card-tokens." + string(r.By.Account) + "." + string(card))
	erased := func(when string) {
		t.Helper()
		if _, err := r.Vault.Get(t.Context(), name); !errors.Is(err, secrets.ErrGone) {
			t.Errorf("%s the tokens stand: %v", when, err)
		}
		if kept, err := r.Vault.CardToken(t.Context(), ref, token.Processor, token.MerchantID); err != nil || kept != "" {
			t.Errorf("%s: %q, %v", when, kept, err)
		}
	}
	before := r.Instrument(card)
	if _, err := s.EraseCustomer(t.Context(), r.By, "Ada"); err != nil {
		t.Fatal(err)
	}
	erased("after the erasure")
	if err := s.KeepToken(t.Context(), before, token); err != nil { // a payment's answer that came late
		t.Fatal(err)
	}
	erased("after a late answer")
}

// TestErasedBeforeTheOutcome: the card of a payment whose customer was erased before its outcome is
// not vaulted, however far the clock of the payment's node was ahead. That of a payment which a
// customer makes after an erasure is, however far the clock of the erasure's node was ahead (D5).
func TestErasedBeforeTheOutcome(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		customer    *domain.Customer
		eraseBefore bool
	}{
		"without data": {}, "with data": {customer: &domain.Customer{FirstName: "Ada"}},
		"erased before": {eraseBefore: true}, "erased before, with data": {&domain.Customer{FirstName: "Ada"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			s := r.Service(nil)
			erase := func() {
				if _, err := s.EraseCustomer(t.Context(), r.By, "ada"); err != nil {
					t.Fatal(err)
				}
			}
			opened := r.Opened(s, session.Fields{CustomerID: "ada", Method: session.Method{VaultOnSuccess: new(true)}})
			token := r.TokenIn(s, opened, commandstest.ChallengeCard)
			r.Ahead.Store(int64(30 * time.Minute))
			if c.eraseBefore {
				erase()
				r.Ahead.Store(0)
			}
			made, err := s.CreatePayment(t.Context(), r.By, payments.PaymentInput{Token: token, Customer: c.customer})
			if err != nil || made.RequiredAction() == nil {
				t.Fatal(err, made.Status())
			}
			if !c.eraseBefore {
				r.Ahead.Store(0)
				erase()
			}
			after, err := s.Resume(t.Context(), r.By, payments.ResumeInput{
				Payment: made.ID, Action: made.RequiredAction().Revision, Outcome: processor.Authenticated,
			})
			commandstest.HasStatus(t, after, err, payment.StatusAuthorized)
			if vaulted := r.Instrument(token).Vaulted(); vaulted != c.eraseBefore {
				t.Errorf("vaulted: %t", vaulted)
			}
		})
	}
}
