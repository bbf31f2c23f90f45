package eventjson

import (
	"slices"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/attempt"
	"payledger/domain/dispute"
	"payledger/domain/inbox"
	"payledger/domain/instrument"
	"payledger/domain/payment"
	"payledger/domain/person"
	"payledger/domain/session"
	"payledger/domain/webhook"
	"payledger/domain/workflow"
	"payledger/eventstore"
)

// Types returns the names of all event types, sorted.
func Types() []string {
	return slices.Sorted(slices.Values(slices.Concat(
		names(payment.Events()), names(session.Events()), names(instrument.Events()), names(attempt.Events()), names(account.Events()),
		names(dispute.Events()), names(inbox.Events()), names(person.Events()), names(workflow.Events()), names(workflow.RunEvents()),
		names(webhook.Events()),
		names([]eventstore.LogInitialized{{}}),
	)))
}

func names[E domain.Event](events []E) []string {
	all := make([]string, len(events))
	for i, e := range events {
		all[i] = e.Type()
	}
	return all
}
