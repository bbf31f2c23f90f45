package sheet

import (
	"cmp"

	"payledger/domain/processor"
	"payledger/eventstore/commands/reconcile"
)

func nextStep(d reconcile.Difference) string {
	if d.Operation == processor.Dispute {
		return disputeStep(d)
	}
	name := cmp.Or(string(d.Key), d.ID)
	switch d.Kind {
	case reconcile.MissingHere:
		return missingHereStep(d)
	case reconcile.MissingThere:
		return "Do not rely on this " + string(d.Operation) + " yet: the processor has no record of it. Ask the processor about " + name +
			", with the output of `payledger history " + string(d.Payment) + " --raw` as evidence."
	case reconcile.Unreadable:
		return "The processor's list of the operations of this payment has an entry that breaks the protocol, so the payment is not compared. " +
			"Have the processor's connector mended (GET …/operations?reference=" + string(d.Payment) + " shows the entry), then compare again."
	case reconcile.UnfitAnswer:
		return "The ledger takes no answer about another payment, operation, currency or amount, so the outcome of " + name +
			" stays as it is here. Ask the processor what really moved, and have its connector mended: the service looks the outcome up again by itself."
	case reconcile.OtherAmount:
		return "Ask the processor about the amount of " + name + " that really moved. If the processor is right, correct the rest with a refund or a further capture."
	case reconcile.OtherState:
		return otherStateStep(d, name)
	case reconcile.OtherMerchant:
		return "The money is at another merchant account. Ask the processor to move it, and compare the processorMerchantId at GET /management/processors."
	default:
		return "Do not capture, refund or cancel payment " + string(d.Payment) + " until the processor has named the right transaction: the next operation would affect the other one."
	}
}

func missingHereStep(d reconcile.Difference) string {
	switch {
	case !succeeded(d.There):
		return "No money moved there. Find out who sent it: a system besides this service uses the merchant account."
	case d.Operation == processor.Authorize:
		return "The processor holds money that this ledger does not know. After a restore, look for payments since the back-up; else another system uses the merchant account. Cancel it at the processor if no order waits for it."
	default:
		return "Somebody acted at the processor without this service. Find out who, and do not repeat it here: the service records it when its next own operation on the payment does not succeed."
	}
}

func otherStateStep(d reconcile.Difference, name string) string {
	switch {
	case !final(d.Here) && final(d.There):
		return "Wait for the service: it looks the outcome of " + name + " up by itself. If the difference stays, read the service's log for the payment, and check that the processor's notifications arrive."
	case succeeded(d.Here):
		return "Do not rely on this " + string(d.Operation) + " yet: the processor says that it did not succeed. Ask the processor about " + name + "."
	default:
		return "The processor says that it succeeded, and the ledger that it did not. Ask the processor about " + name + ", and refund or cancel it there if no order waits for it."
	}
}

func disputeStep(d reconcile.Difference) string {
	if d.Kind == reconcile.Unreadable {
		return "The processor's list of disputes has a notification about this payment that breaks the protocol, so its disputes are not compared. " +
			"Have the processor's connector mended (GET …/disputes?reference=" + string(d.Payment) + " shows the notification), then compare again. Read the dispute at the processor now, for its deadline."
	}
	if d.Kind == reconcile.MissingThere {
		return "Ask the processor about dispute " + d.Dispute + ": the ledger has a notification that the processor does not list."
	}
	return "Read dispute " + d.Dispute + " at the processor now, for its deadline. The service asks for lost notifications every --dispute-lookup; if the difference stays, read the service's log for the payment."
}

func final(s *reconcile.Side) bool {
	return s != nil && (s.State == string(processor.Succeeded) || s.State == string(processor.Declined) || s.State == string(processor.Failed))
}

func succeeded(s *reconcile.Side) bool { return s != nil && s.State == string(processor.Succeeded) }
