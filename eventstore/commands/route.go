package commands

import (
	"errors"
	"fmt"
	"slices"
	"strings"

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

// NoRoute returns err. If err says that no processor is enabled although some are, NoRoute returns
// an error that names the list of the account's rules with none of them, or says that those of the
// list have no address.
func (b *Base) NoRoute(merchant account.State, facts account.RouteFacts, err error) error {
	refusal, is := errors.AsType[*domain.Error](err)
	if !is || !errors.Is(err, payment.ErrNoProcessor) {
		return err
	}
	changed := *refusal
	list, decides := merchant.Routing.ListFor(facts)
	switch {
	case len(merchant.Route(facts)) > 0:
		changed.Message = "No payment can be made now: no processor that the account's rules choose has an address in this service."
		changed.Recovery = connectProcessor
	case decides && len(merchant.EnabledProcessors()) > 0:
		changed.Message, changed.Recovery = stopped(refusal.Message, list)
	default:
		return err
	}
	return &changed
}

// stopped returns the message and the advice about a list without an enabled processor. refusal
// begins with what cannot be done.
func stopped(refusal string, list account.RouteList) (message, recovery string) {
	what, _, _ := strings.Cut(refusal, ":")
	var names []string
	for _, name := range list.Processors {
		names = append(names, string(name))
	}
	why, to := "no routing rule matches it, and none of the processors of the default list is enabled", "the default list"
	if list.Place > 0 {
		why, to = list.String()+", decides about it, and none of the rule's processors is enabled", "the rule"
	}
	return fmt.Sprintf("%s: %s (%s).", what, why, strings.Join(names, ", ")),
		"Enable one of them: PATCH /management/processors/{name}. Or add an enabled processor to " + to + ": PUT /management/routing."
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
