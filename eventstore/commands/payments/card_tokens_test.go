package payments_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/domain/session"
	"payledger/eventstore"
	"payledger/eventstore/commands/commandstest"
	"payledger/eventstore/commands/payments"
	"payledger/eventstore/commands/service"
	"payledger/eventstore/secrets"
)

// travelling records what cards travel to the processors.
type travelling struct {
	processor.Port
	mu    sync.Mutex
	cards []string // "ADYEN number", "ADYEN number, tokenize", "ADYEN token"
	given []string // tokens in answers
}

func (p *travelling) Send(ctx context.Context, op processor.Operation) (processor.Answer, error) {
	answer, err := p.Port.Send(ctx, op)
	p.mu.Lock()
	defer p.mu.Unlock()
	if op.Card != nil {
		what := string(op.Processor)
		switch {
		case op.Card.Token != "" && op.Card.Number == "" && op.Card.CVV == "":
			what += " token"
		case op.Card.Number != "" && op.Card.Token == "":
			what += " number"
		default:
			what += fmt.Sprintf(" %+v", *op.Card)
		}
		if op.Tokenize {
			what += ", tokenize"
		}
		p.cards = append(p.cards, what)
	}
	if answer.CardToken != "" {
		p.given = append(p.given, answer.CardToken)
	}
	return answer, err
}

func (p *travelling) took(t *testing.T, want ...string) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if !slices.Equal(p.cards, want) {
		t.Errorf("%q, want %q", p.cards, want)
	}
	p.cards = nil
}

// savedBy is a payment that vaults its card.
func (r *rig) savedBy(s *service.Service, number string) (domain.Token, payment.State) {
	r.T.Helper()
	token := r.TokenIn(s, r.Opened(s, session.Fields{CustomerID: "customer-1"}), number)
	p, err := s.CreatePayment(background, r.By, payments.PaymentInput{Token: token, Method: session.Method{VaultOnSuccess: new(true)}})
	commandstest.HasStatus(r.T, p, err, payment.StatusAuthorized)
	return token, p
}

func (r *rig) cardToken(token domain.Token, at processor.Name) string {
	r.T.Helper()
	if _, err := r.Vault.Settle(background); err != nil { // it reads what other nodes stored
		r.T.Fatal(err)
	}
	merchant, _ := r.Merchant(r.By.Account)
	for _, p := range merchant.Processors {
		if p.Name == at {
			kept, err := r.Vault.CardToken(background, secrets.CardRef{Account: r.By.Account, Token: token}, at, p.MerchantID)
			if err != nil {
				r.T.Fatal(err)
			}
			return kept
		}
	}
	return ""
}

// TestFewerNumbersTravel: the number of a vaulted card travels once. Each further payment at the
// processor that gave a token has the token, which is in no event; another processor has none.
func TestFewerNumbersTravel(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	port := &travelling{Port: r.Sim}
	s := r.Service(port)
	token, first := r.savedBy(s, commandstest.ApprovedCard)
	second, err := r.PayAgain(s, token)
	commandstest.HasStatus(t, second, err, payment.StatusAuthorized)
	third, err := r.PayAgain(s, token)
	commandstest.HasStatus(t, third, err, payment.StatusAuthorized)
	port.took(t, "ADYEN number, tokenize", "ADYEN token", "ADYEN token")
	for _, row := range []struct {
		p    payment.State
		want processor.CardTokenType
	}{{first, processor.CardPAN}, {second, processor.ProcessorToken}, {third, processor.ProcessorToken}} {
		if got := row.p.CardTokenType(*row.p.Authorization()); got != row.want {
			t.Errorf("%s, want %s", got, row.want)
		}
	}
	kept := r.cardToken(token, processor.Adyen)
	if kept == "" || !slices.Contains(port.given, kept) || r.cardToken(token, processor.Stripe) != "" {
		t.Errorf("kept %q of %q", kept, port.given)
	}
	for _, p := range []payment.State{first, second} {
		r.nowhere(p, kept)
	}
	if _, err := s.DeleteInstrument(background, r.By, token); err != nil {
		t.Fatal(err)
	}
	if left := r.cardToken(token, processor.Adyen); left != "" {
		t.Errorf("the token of a deleted card is %q", left)
	}
	if _, err := r.Vault.Get(background, domain.SecretID("card-tokens."+string(r.By.Account)+"."+string(token))); !errors.Is(err, secrets.ErrGone) {
		t.Errorf("the tokens of a deleted card: %v", err)
	}
}

// TestSingleUseHasNoToken: a card that is not stored is not stored at the processor either.
func TestSingleUseHasNoToken(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	port := &travelling{Port: r.Sim}
	s := r.Service(port)
	p, err := s.CreatePayment(background, r.By, payments.PaymentInput{Token: r.Token(s)})
	commandstest.HasStatus(t, p, err, payment.StatusAuthorized)
	port.took(t, "ADYEN number")
}

// TestForgottenToken: a token that the processor no longer knows is a recorded failure of its
// operation. The payment goes on with the route, and the next one sends the number.
func TestForgottenToken(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	port := &travelling{Port: r.Sim}
	s := r.Service(port)
	token, _ := r.savedBy(s, "4000000000005340")
	p, err := r.PayAgain(s, token)
	commandstest.HasStatus(t, p, err, payment.StatusAuthorized)
	port.took(t, "ADYEN number, tokenize", "ADYEN token", "BRAINTREE number, tokenize")
	if failed := p.Operations[0].Answer(); failed.Code != processor.CodeNoToken || failed.State != payment.StateFailed {
		t.Errorf("%+v", failed)
	}
	if r.cardToken(token, processor.Adyen) != "" || r.cardToken(token, processor.Braintree) == "" {
		t.Error("the wrong token was forgotten")
	}
	if n := r.Operations(p.ID); n != 2 {
		t.Errorf("%d operations at the processors", n)
	}
	p, err = r.PayAgain(s, token)
	commandstest.HasStatus(t, p, err, payment.StatusAuthorized)
	port.took(t, "ADYEN number, tokenize")
}

// TestNetworkTokenPayment: the processor used a token of the card scheme.
func TestNetworkTokenPayment(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.Service(nil)
	p, err := s.CreatePayment(background, r.By, payments.PaymentInput{Token: r.TokenOf(s, "4000000000005423")})
	commandstest.HasStatus(t, p, err, payment.StatusAuthorized)
	if got := p.CardTokenType(payment.Operation{}); got != processor.NetworkToken {
		t.Error(got)
	}
}

// TestTokenCrashes: a process that ends between the answer and the token that it gave loses at most
// the token: the next payment has one operation, and the token is there again.
func TestTokenCrashes(t *testing.T) {
	t.Parallel()
	for _, mode := range []commandstest.FailureMode{commandstest.CrashBefore, commandstest.CrashAfter, commandstest.LostAfter} {
		for _, effect := range []string{commandstest.Authorize, "payment.authorized", "instrument.vaulted"} {
			if mode == commandstest.LostAfter && effect != commandstest.Authorize {
				continue
			}
			t.Run(fmt.Sprintf("%s %s", effect, mode), func(t *testing.T) {
				t.Parallel()
				r := newCluster(t)
				healthy := r.NewNode(t, time.Minute, nil)
				token := r.TokenIn(healthy.Service, r.Opened(healthy.Service, session.Fields{CustomerID: "customer-1"}), commandstest.ApprovedCard)
				n := r.NewNode(t, time.Minute, commandstest.NewFault(effect, mode))
				given := n.UntilFault(func() error {
					_, err := n.Service.CreatePayment(background, r.By, payments.PaymentInput{
						Token: token, IdempotencyKey: string(token), Method: session.Method{VaultOnSuccess: new(true)},
					})
					return err
				})
				if mode.Ends() {
					n.Kill()
				}
				<-given
				id := domain.PaymentIDForKey(r.By.Account, string(token))
				if err := healthy.Service.Recover(background, r.By.Account, id); err != nil {
					t.Fatal(err)
				}
				r.Settled(id)
				r.Cleaned(healthy.Service) // it completes the vaulting
				if n := r.Operations(id); n != 1 {
					t.Errorf("%d operations at the processor", n)
				}
				for range 2 {
					p, err := r.PayAgain(healthy.Service, token)
					commandstest.HasStatus(t, p, err, payment.StatusAuthorized)
					if n := r.Operations(p.ID); n != 1 {
						t.Errorf("%d operations at the processor", n)
					}
				}
				if r.cardToken(token, processor.Adyen) == "" {
					t.Error("the token never came back")
				}
			})
		}
	}
}

// telltale is a processor whose answers to authorizations are lost, and whose look-ups repeat the
// token of the card. Its answers give tokens where none belongs.
type telltale struct {
	processor.Port
	mu        sync.Mutex
	lose      bool
	change    func(processor.Kind, *processor.Answer)
	sent      string
	forgotten bool
}

func (p *telltale) Send(ctx context.Context, op processor.Operation) (processor.Answer, error) {
	answer, err := p.Port.Send(ctx, op)
	p.mu.Lock()
	defer p.mu.Unlock()
	if op.Card != nil {
		p.sent = op.Card.Token
	}
	if p.change != nil {
		p.change(op.Kind, &answer)
	}
	if p.lose && op.Kind == processor.Authorize {
		return processor.Answer{}, processor.ErrUnknown
	}
	return answer, err
}

func (p *telltale) Lookup(ctx context.Context, name processor.Name, key domain.OperationKey) (processor.Lookup, error) {
	l, err := p.Port.Lookup(ctx, name, key)
	p.mu.Lock()
	defer p.mu.Unlock()
	if l.Answer != nil && p.sent != "" {
		l.Answer.Message = "paid with " + p.sent
		l.Answer.RawAnswer = &processor.RawAnswer{Body: `{"message":"paid with ` + p.sent + `"}`, Additional: `{"card":"` + p.sent + `"}`}
		if p.forgotten {
			l.Answer.State, l.Answer.Code = processor.Failed, processor.CodeNoToken
		}
	}
	return l, err
}

// TestLookupRepeatsToken: the token with which a payment was authorized is in no event, although a
// look-up's answer repeats it.
func TestLookupRepeatsToken(t *testing.T) {
	t.Parallel()
	for _, forgotten := range []bool{false, true} {
		r := newRig(t)
		port := &telltale{Port: r.Sim, forgotten: forgotten}
		s := r.Service(port)
		token, _ := r.savedBy(s, commandstest.ApprovedCard)
		port.lose = true
		p, err := r.PayAgain(s, token)
		want := payment.StatusAuthorized
		if forgotten {
			want = payment.StatusFailed
		}
		commandstest.HasStatus(t, p, err, want)
		if port.sent == "" || !strings.HasPrefix(port.sent, "tok_") {
			t.Fatalf("the card was sent as %q", port.sent)
		}
		r.nowhere(p, port.sent)
		if answer := p.Authorization().Answer(); !forgotten && answer.Message != "paid with (removed)" {
			t.Errorf("%q", answer.Message)
		}
	}
}

// nowhere checks that no event of a payment has a text.
func (r *rig) nowhere(p payment.State, text string) {
	r.T.Helper()
	tip, err := r.Store.Load(background, eventstore.Payments.Key(r.By.Account, string(p.ID)), eventstore.Latest)
	if err != nil {
		r.T.Fatal(err)
	}
	events, err := r.Store.Since(background, tip, 1)
	if err != nil || len(events) == 0 {
		r.T.Fatal(err)
	}
	for _, e := range events {
		if strings.Contains(string(e.Body), text) || strings.Contains(fmt.Sprintf("%+v", e), text) {
			r.T.Errorf("%s has the token", e.Type)
		}
	}
}

// TestOnlyApprovalsGiveTokens: a token in any answer but the approval of a card is not kept, and no
// such answer destroys one.
func TestOnlyApprovalsGiveTokens(t *testing.T) {
	t.Parallel()
	const strange = "tok_strange"
	for name, change := range map[string]func(processor.Kind, *processor.Answer){
		"a decline": func(k processor.Kind, a *processor.Answer) {
			if k == processor.Authorize {
				a.State, a.Code, a.CardToken = processor.Declined, "41", strange
			}
		},
		"a failure": func(k processor.Kind, a *processor.Answer) {
			if k == processor.Authorize {
				a.State, a.Code, a.CardToken = processor.Failed, "gateway_rejected", strange
			}
		},
		"a capture": func(k processor.Kind, a *processor.Answer) {
			if k == processor.Capture {
				a.CardToken = strange
			}
		},
		"a capture that names the token": func(k processor.Kind, a *processor.Answer) {
			if k == processor.Capture {
				a.State, a.Code = processor.Failed, processor.CodeNoToken
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			port := &telltale{Port: r.Sim}
			s := r.Service(port)
			token, _ := r.savedBy(s, commandstest.ApprovedCard)
			kept := r.cardToken(token, processor.Adyen)
			port.mu.Lock()
			port.change = change
			port.mu.Unlock()
			p, err := r.PayAgain(s, token)
			if err == nil && p.Status() == payment.StatusAuthorized {
				_, err = s.Capture(background, r.By, p.ID, payment.Capture{Final: true})
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := r.cardToken(token, processor.Adyen); got != kept || kept == "" {
				t.Errorf("the token is %q, was %q", got, kept)
			}
		})
	}
}
