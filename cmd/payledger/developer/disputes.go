package developer

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"payledger/domain/processor"
	"payledger/httpapi/client"
)

// dispute is a dispute about a payment, as the API lists it (D20).
type dispute struct {
	ID          string                  `json:"id"`
	Type        processor.DisputeType   `json:"type"`
	Status      processor.DisputeStatus `json:"status"`
	Amount      int64                   `json:"amount"` // minor units
	Currency    string                  `json:"currency"`
	AtProcessor string                  `json:"processorDisputeId"`
	By          *time.Time              `json:"challengeRequiredBy"` // nil: the processor names no deadline
}

type disputes struct {
	all     []dispute
	unknown string // why they are not known; "" if they are
}

// disputesOf reads the disputes about a payment. A key that may not read them is no error.
func disputesOf(ctx context.Context, api *client.Client, payment string) (found disputes, err error) {
	query := url.Values{"paymentId": {payment}}
	err = client.List(ctx, api, "/management/disputes", query, func(d dispute) bool {
		found.all = append(found.all, d)
		return true
	})
	if refused, is := errors.AsType[*client.Error](err); is && refused.Status == http.StatusForbidden {
		return disputes{unknown: "not known: the API key lacks the scope account:read"}, nil
	}
	return found, err
}

func (d dispute) line() string {
	text := fmt.Sprintf("%s  %s %s, %s", d.ID, d.Type, d.Status, money(d.Amount, d.Currency))
	if d.Status == processor.DisputeOpen && d.By != nil {
		text += ", answer by " + moment(*d.By) + " UTC"
	}
	return text
}

// open returns the dispute with the earliest deadline for an answer, else a dispute that waits for
// the bank; nil if no dispute is open.
func (a disputes) open() (first *dispute) {
	for _, d := range a.all {
		waits := d.Status == processor.DisputeOpen
		if waits && (first == nil || first.Status != processor.DisputeOpen || d.sooner(*first)) || first == nil && d.Status == processor.DisputeChallenged && d.Type != processor.Retrieval {
			first = &d
		}
	}
	return first
}

func (d dispute) sooner(than dispute) bool {
	return d.By != nil && (than.By == nil || d.By.Before(*than.By))
}

// returned returns the amount that disputes gave back, in minor units of the currency. Another
// currency's dispute counts as all.
func (a disputes) returned(currency string, all int64) (sum int64) {
	for _, d := range a.all {
		switch {
		case !d.Status.ReturnsMoney(d.Type):
		case d.Currency != currency:
			return all
		default:
			sum += d.Amount
		}
	}
	return min(sum, all)
}

func (a disputes) won() bool {
	return slices.ContainsFunc(a.all, func(d dispute) bool { return d.Status == processor.DisputeWon })
}

func (d dispute) step() string {
	if d.Status == processor.DisputeChallenged {
		return "Wait: you challenged the dispute, and the bank decides. Do not refund as well: if the dispute is lost, the customer gets " + money(d.Amount, d.Currency) + " twice."
	}
	by := "soon (the processor names no deadline)"
	if d.By != nil {
		by = "by " + d.By.UTC().Format("2 Jan 2006 15:04") + " UTC"
	}
	if d.Type == processor.Retrieval {
		return "Answer the dispute " + by + ", in the processor's own dashboard: the customer's bank asks for information. No money has moved yet."
	}
	return "Answer the dispute " + by + ", in the processor's own dashboard: challenge or accept it. Do not refund as well: if the dispute is lost, the customer gets " +
		money(d.Amount, d.Currency) + " twice."
}
