package commands_test

import (
	"context"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/processor"
	"payledger/eventstore/commands"
	"payledger/eventstore/commands/commandstest"
	"payledger/eventstore/commands/instruments"
	"payledger/eventstore/commands/service"
)

// deaf is a way to the processors whose answers get lost.
type deaf struct{ processor.Port }

func (d deaf) Send(ctx context.Context, op processor.Operation) (processor.Answer, error) {
	_, err := d.Port.Send(ctx, op)
	if err == nil {
		err = commandstest.ErrLost
	}
	return processor.Answer{}, err
}

func (deaf) Lookup(context.Context, processor.Name, domain.OperationKey) (processor.Lookup, error) {
	return processor.Lookup{}, commandstest.ErrLost
}

// verifiesAt is a service whose account has enabled these processors alone.
func (r *rig) verifiesAt(change func(*commands.Config), names ...processor.Name) *service.Service {
	return r.InboxService(nil, change, func(c *commands.Config) {
		all := c.Account
		c.Account = func(id domain.AccountID) (account.State, bool) {
			merchant, known := all(id)
			merchant.Processors, merchant.Routing = nil, account.Routing{}
			for _, name := range names {
				merchant.Processors = append(merchant.Processors, account.Processor{Name: name, MerchantID: "merchant", Enabled: true})
			}
			return merchant, known
		}
	})
}

// TestVerifyAtTheLastProcessor: a retryable failure moves the verification to the next processor of
// the route; at the last one it is the result (D5.11).
func TestVerifyAtTheLastProcessor(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	vault := func(s *service.Service, token domain.Token) error {
		_, err := s.VaultInstrument(background, r.By, instruments.VaultInput{Token: token, CustomerID: "customer-1", Verify: true})
		return err
	}
	whole := func(*commands.Config) {}
	loses := func(c *commands.Config) { c.Processors, c.PaymentTimeout = deaf{r.Sim}, time.Second }

	alone := r.verifiesAt(whole, processor.Adyen)
	token := r.TokenOf(alone, commandstest.FallbackCard)
	for range 2 {
		err := vault(alone, token)
		if reason := domain.ReasonOf(err); reason != domain.ReasonFailedVerification && reason != domain.ReasonInstrumentToken || r.Instrument(token).Good() {
			t.Errorf("a failure at the only processor: %v", err)
		}
	}
	if err := vault(r.verifiesAt(whole, processor.Adyen, processor.Stripe), r.TokenOf(alone, commandstest.FallbackCard)); err != nil {
		t.Errorf("a failure at the first of two processors: %v", err)
	}

	token = r.TokenOf(alone, commandstest.FallbackCard)
	commandstest.Refused(t, vault(r.verifiesAt(loses, processor.Adyen), token), domain.ReasonServiceUnavailable)
	if err := vault(r.verifiesAt(whole, processor.Stripe), token); err != nil || !r.Instrument(token).Verified {
		t.Errorf("a failure at a processor that has left the route: %v", err)
	}
	token = r.TokenOf(alone, commandstest.FallbackCard)
	commandstest.Refused(t, vault(r.verifiesAt(loses, processor.Adyen), token), domain.ReasonServiceUnavailable)
	if err := vault(r.verifiesAt(whole, processor.Adyen, processor.Stripe), token); err != nil {
		t.Errorf("a failure that is found at the first of two processors: %v", err)
	}
	token = r.TokenOf(alone, commandstest.FallbackCard)
	commandstest.Refused(t, vault(r.verifiesAt(loses, processor.Adyen), token), domain.ReasonServiceUnavailable)
	if err := vault(r.verifiesAt(whole, processor.Stripe, processor.Adyen), token); err != nil {
		t.Errorf("a failure that is found at a processor that is now the second one: %v", err)
	}
}
