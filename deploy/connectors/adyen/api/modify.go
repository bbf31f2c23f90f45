package api

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"payledger/domain/processor"
	"payledger/processorsim/connector"
)

// modification is the body of a capture, a refund and an adjustment.
type modification struct {
	MerchantAccount string `json:"merchantAccount"`
	Amount          amount `json:"amount"`
	Reference       string `json:"reference"`
}

type cancel struct {
	MerchantAccount  string `json:"merchantAccount"`
	PaymentReference string `json:"paymentReference,omitempty"`
	Reference        string `json:"reference"`
}

// receipt is Adyen's answer to everything but a payment. The outcome comes by a webhook.
type receipt struct {
	MerchantAccount     string  `json:"merchantAccount"`
	PaymentPspReference string  `json:"paymentPspReference"`
	PspReference        string  `json:"pspReference"`
	Reference           string  `json:"reference"`
	Status              string  `json:"status"`
	Amount              *amount `json:"amount"`
}

func (r receipt) check(account, reference string) error {
	if r.Status != "received" || r.PspReference == "" || r.MerchantAccount != account || r.Reference != "" && r.Reference != reference {
		return errors.New("Adyen's receipt is not about the request") //nolint:staticcheck // a name
	}
	return nil
}

var endpoints = map[processor.Kind]string{
	processor.Capture: "captures", processor.Void: "cancels", processor.Refund: "refunds", processor.Adjust: "amountUpdates",
}

// modify sends an order about a payment.
func (v *Vendor) modify(ctx context.Context, o connector.Order) (connector.Result, error) {
	payment := paymentOf(o)
	value, _ := toAdyen(o.Amount, o.Currency)
	var body any = modification{v.Account, value, reference(o)}
	if o.Kind == processor.Void {
		body = cancel{MerchantAccount: v.Account, Reference: reference(o)}
	}
	var r receipt
	err := v.post(ctx, "/payments/"+url.PathEscape(payment)+"/"+endpoints[o.Kind], o.Key, body, &r)
	if said, refused := errors.AsType[*refusal](err); refused {
		return v.refused(o, said)
	}
	if err == nil {
		err = r.check(v.Account, reference(o))
	}
	if err == nil && r.PaymentPspReference != payment {
		err = errors.New("Adyen's receipt is about another payment") //nolint:staticcheck // a name
	}
	if err != nil {
		return connector.Result{}, err
	}
	result := connector.Result{
		Answer: processor.Answer{State: processor.Pending, ProcessorTransactionID: r.PspReference, ProcessorEventID: r.PspReference, At: v.now()},
		Amount: o.Amount, Currency: o.Currency,
	}
	if r.Amount != nil {
		result.Amount, result.Currency = fromAdyen(*r.Amount), r.Amount.Currency
	}
	return result, nil
}

// refused returns the result of a request that Adyen refused at once. A refusal says nothing about
// an earlier try, which Adyen may have taken: then it is no result. Adyen decides about a cancel
// later, in its webhook: a cancel that is refused at once met a fault of the request, the
// credential or the account, and no decision.
func (v *Vendor) refused(o connector.Order, said *refusal) (connector.Result, error) {
	if o.Doubtful {
		return connector.Result{}, fmt.Errorf("a repeat was refused, and an earlier try may have been taken: %w", said)
	}
	return connector.Result{Answer: processor.Answer{
		State: processor.Failed, At: v.now(), Code: "adyen_" + said.code, Message: said.message, Retryable: o.Kind == processor.Void,
	}}, nil
}
