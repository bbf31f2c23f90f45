package customerpages

import (
	"cmp"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"payledger/domain"
	"payledger/httpapi/dashboard/frame"
)

// paymentsMost is the number of payments on a customer's page.
const paymentsMost = 10

type payment struct {
	ID, Status, OrderID string
	Date                time.Time
	CurrencyCode        domain.Currency
	Amount              domain.Amount
	StatusReason        *struct{ Type, Code string }
	Processor           *struct{ AmountCaptured, AmountRefunded domain.Amount }
}

// Reason returns the code of a decline, or the type of another failure; "" for none.
func (p payment) Reason() string {
	if p.StatusReason == nil {
		return ""
	}
	return cmp.Or(p.StatusReason.Code, p.StatusReason.Type)
}

// Captured is the captured amount, and Refunded the refunded one, in minor units.
func (p payment) Captured() domain.Amount {
	if p.Processor == nil {
		return 0
	}
	return p.Processor.AmountCaptured
}

func (p payment) Refunded() domain.Amount {
	if p.Processor == nil {
		return 0
	}
	return p.Processor.AmountRefunded
}

// paid are a customer's payments.
type paid struct {
	Payments []payment // the newest
	Totals   frame.Totals
	Email    string // of the newest payment that has an e-mail address; "" also for a user who may not see it
}

// readPaid reads the payments of a customer.
func readPaid(v *frame.Visit, id string) (out paid, err error) {
	q := url.Values{"customer_id": {id}}
	if strings.Contains(id, ",") {
		q.Add("customer_id", id) // a repeated parameter is taken as it is (D22)
	}
	if err := v.Get(frame.APITotals, q, &out.Totals); err != nil {
		if frame.StatusOf(err) == http.StatusUnprocessableEntity { // an id of a build of before, which no list takes
			err = nil
		}
		return out, err
	}
	q.Set("limit", strconv.Itoa(paymentsMost))
	var found frame.List[payment]
	if err := v.Get(apiPayments, q, &found); err != nil {
		return out, err
	}
	out.Payments = found.Data
	out.Email, err = emailOf(v, out.Payments)
	return out, err
}

// emailOf returns the e-mail address of the newest of some payments that has one.
func emailOf(v *frame.Visit, payments []payment) (string, error) {
	for _, p := range payments {
		var of struct {
			Customer struct{ EmailAddress string }
		}
		switch err := v.Get(frame.Path("management", "payments", p.ID), nil, &of); {
		case frame.StatusOf(err) == http.StatusForbidden:
			return "", nil
		case err != nil:
			return "", err
		case of.Customer.EmailAddress != "":
			return of.Customer.EmailAddress, nil
		}
	}
	return "", nil
}
