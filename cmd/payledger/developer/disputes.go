package developer

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/httpapi/client"
	"payledger/httpapi/nextstep"
)

type disputes struct {
	all     []nextstep.Dispute
	unknown string // why they are not known; "" if they are
}

// disputesOf reads the disputes about a payment. A key that may not read them is no error.
func disputesOf(ctx context.Context, api *client.Client, payment string) (found disputes, err error) {
	query := url.Values{"paymentId": {payment}}
	err = client.List(ctx, api, "/management/disputes", query, func(d nextstep.Dispute) bool {
		found.all = append(found.all, d)
		return true
	})
	if refused, is := errors.AsType[*client.Error](err); is && refused.Status == http.StatusForbidden {
		return disputes{unknown: "not known: the API key lacks the scope account:read"}, nil
	}
	return found, err
}

func line(d nextstep.Dispute) string {
	text := fmt.Sprintf("%s  %s %s, %s", d.ID, d.Type, d.Status, d.Amount.Format(d.Currency))
	if d.Status == processor.DisputeOpen && d.ChallengeRequiredBy != nil {
		text += ", answer by " + moment(*d.ChallengeRequiredBy) + " UTC"
	}
	return text
}

// nextStep returns the next thing that the merchant can do with a payment.
func nextStep(p client.Payment, about disputes) string {
	return nextstep.Reader{Money: domain.Amount.Format, Calls: true}.Of(p, about.all)
}
