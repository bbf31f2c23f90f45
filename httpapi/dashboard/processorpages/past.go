package processorpages

import (
	"net/http"
	"slices"
	"time"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/processor"
	"payledger/httpapi/dashboard/frame"
)

// past is the account's newest payments, with the processors that would be tried for each by the
// rules in force and by changed ones.
type past struct {
	Payments []pastPayment
	Decided  int // of the payments, by the list in the form
	Moved    int // of the payments, to other processors or in another order
}

type pastPayment struct {
	madePayment
	Only      processor.Name // whose token the card is: it pays nowhere else; "": its number is known
	Now, Then preview        // by the rules in force, and by the changed ones
}

// pastMost is the number of payments to which changed rules are applied.
const pastMost = "20"

// madePayment has the data of a payment that rules read.
type madePayment struct {
	ID            string
	Date          time.Time
	Amount        domain.Amount
	CurrencyCode  domain.Currency
	Order         struct{ CountryCode string }
	Metadata      domain.Metadata
	CardTokenType processor.CardTokenType
	PaymentMethod struct{ PaymentMethodData struct{ Network string } }
}

// Network is the network of the card; "" if it is not known.
func (p madePayment) Network() string { return p.PaymentMethod.PaymentMethodData.Network }

// only returns the processor whose token the payment's card is; "": the card's number is known. The
// type of the token does not tell: a processor may also have used a token of its own for a number.
func (p madePayment) only(v *frame.Visit) (processor.Name, error) {
	if p.CardTokenType == processor.CardPAN {
		return "", nil
	}
	var first frame.List[struct {
		Event struct {
			PaymentMethod struct{ Processor processor.Name }
		}
	}]
	err := v.Get(frame.Path("management", "payments", p.ID, "events"), frame.Query("limit", "1"), &first)
	if err != nil || len(first.Data) == 0 {
		return "", err
	}
	return first.Data[0].Event.PaymentMethod.Processor, nil
}

// leave takes the processors away at which the card cannot pay.
func (p *preview) leave(only processor.Name) {
	p.Processors = slices.DeleteFunc(p.Processors, func(a account.Processor) bool { return only != "" && a.Name != only })
}

// Moved reports whether other processors would be tried, or in another order.
func (p pastPayment) Moved() bool { return !slices.Equal(p.Now.Processors, p.Then.Processors) }

// By names the list that decides.
func (p preview) By() string {
	switch p.DecidedBy {
	case "RULE":
		return "rule " + p.Rule
	case "DEFAULT":
		return "default list"
	default:
		return "all enabled"
	}
}

// route asks the API for the processors that would be tried for such a payment, by changed rules or
// by those in force (nil).
func (p madePayment) route(v *frame.Visit, changed *routing) (answer preview, err error) {
	body := map[string]any{"currencyCode": p.CurrencyCode, "amount": p.Amount}
	if n := p.Network(); n != "" {
		body["network"] = n
	}
	if country := p.Order.CountryCode; country != "" {
		body["countryCode"] = country
	}
	if len(p.Metadata) > 0 {
		body["metadata"] = p.Metadata
	}
	if changed != nil {
		body["routing"] = routing{append([]account.Rule{}, changed.Rules...), changed.Default}
	}
	err = v.Send(http.MethodPost, apiPreview, body, "", &answer)
	return answer, err
}

// pastOf applies changed rules to the newest payments. decides reports whether the form's list
// decides about one.
func pastOf(v *frame.Visit, changed routing, decides func(preview) bool) (*past, error) {
	var newest frame.List[struct{ ID string }]
	if err := v.Get(apiPayments, frame.Query("limit", pastMost), &newest); err != nil {
		return nil, err
	}
	out := new(past)
	for _, listed := range newest.Data {
		var p pastPayment
		err := v.Get(frame.Path("management", "payments", listed.ID), nil, &p.madePayment)
		if err == nil {
			p.Now, err = p.route(v, nil)
		}
		if err == nil {
			p.Then, err = p.route(v, &changed)
		}
		if err == nil {
			p.Only, err = p.only(v)
		}
		if err != nil {
			return nil, err
		}
		p.Now.leave(p.Only)
		p.Then.leave(p.Only)
		if decides(p.Then) {
			out.Decided++
		}
		if p.Moved() {
			out.Moved++
		}
		out.Payments = append(out.Payments, p)
	}
	return out, nil
}
