package commands

import (
	"errors"
	"fmt"
	"slices"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/payment"
	"payledger/domain/processor"
)

// Route returns the merchant accounts for a payment in order (D15), without the processors that
// have no address in this service.
func (b *Base) Route(merchant account.State, facts account.RouteFacts) []account.Processor {
	return slices.DeleteFunc(merchant.Route(facts), func(p account.Processor) bool { return !b.connected(p.Name) })
}

func (b *Base) connected(name processor.Name) bool { return b.Connected == nil || b.Connected(name) }

// NoteUnfit calls Config.Unfit for an answer that does not fit its operation, with the reason.
func (b *Base) NoteUnfit(name processor.Name, key domain.OperationKey, why string) {
	if b.Unfit != nil {
		b.Unfit(name, fmt.Sprintf("operation %s: %s", key, why))
	}
}

// connectProcessor is the advice about an account whose enabled processors have no address.
const connectProcessor = "GET /management/processors shows which processors have an address. The operator of the service adds one: --processor NAME=URL."

// NoRoute returns err. If it says that no processor is enabled, although the account's rules choose
// some, it says that they have no address.
func (b *Base) NoRoute(merchant account.State, facts account.RouteFacts, err error) error {
	refusal, is := errors.AsType[*domain.Error](err)
	if !is || !errors.Is(err, payment.ErrNoProcessor) || len(merchant.Route(facts)) == 0 {
		return err
	}
	changed := *refusal
	changed.Message = "No payment can be made now: no processor that the account's rules choose has an address in this service."
	changed.Recovery = connectProcessor
	return &changed
}

// CheckRouting refuses rules that name a processor without an address, unless the rules before name
// it, too: the other rules can be changed.
func (b *Base) CheckRouting(before, after account.Routing) error {
	named := slices.Clone(before.Default)
	for _, rule := range before.Rules {
		named = append(named, rule.Processors...)
	}
	var found []domain.Violation
	check := func(path string, names []processor.Name) {
		for i, name := range names {
			if slices.Contains(processor.Names, name) && !b.connected(name) && !slices.Contains(named, name) {
				found = append(found, domain.Violation{
					Path: fmt.Sprintf("%s[%d]", path, i), Description: "is a processor that has no address in this service",
				})
			}
		}
	}
	for i, rule := range after.Rules {
		check(fmt.Sprintf("$.rules[%d].processors", i), rule.Processors)
	}
	check("$.default", after.Default)
	if len(found) > 0 {
		return domain.Invalid("RoutingRequest", found...)
	}
	return nil
}
