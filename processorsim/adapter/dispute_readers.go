package adapter

import (
	"encoding/json"
	"reflect"
	"strings"
	"time"

	"payledger/domain/exactjson"
	"payledger/domain/processor"
	"payledger/processorsim/protocol"
)

// dialects are each processor's own form of a dispute (D16). An unlisted term gives an empty type
// or status.
var dialects = map[processor.Name]dialect{
	processor.Adyen: dialectOf[adyenDispute](), processor.Braintree: dialectOf[braintreeDispute](), processor.Checkout: dialectOf[checkoutDispute](),
	processor.PayPal: dialectOf[paypalDispute](), processor.Stripe: dialectOf[stripeDispute](), processor.Worldpay: dialectOf[worldpayDispute](),
}

// types, statuses and outcomes are the meanings of the processors' words (D16).
var (
	types    = meanings(protocol.Stages)
	statuses = meanings(protocol.Statuses)
	outcomes = meaningsOf(protocol.Outcomes)
)

func meanings[T ~string](words map[processor.Name]map[T]string) map[processor.Name]map[string]T {
	all := map[processor.Name]map[string]T{}
	for name, of := range words {
		all[name] = meaningsOf(of)
	}
	return all
}

func meaningsOf[T ~string](words map[T]string) map[string]T {
	all := map[string]T{}
	for meaning, word := range words {
		all[word] = meaning
	}
	return all
}

type dialect struct {
	read   func(json.RawMessage) (disputeFields, error)
	fields fields
}

func dialectOf[T interface{ fields() disputeFields }]() dialect {
	return dialect{fields: fieldsOf(reflect.TypeFor[T]()), read: func(body json.RawMessage) (disputeFields, error) {
		var dispute T
		err := exactjson.Unmarshal(body, &dispute)
		return dispute.fields(), err
	}}
}

// plainDispute is the protocol's own form of a dispute, in the contract's terms. Each processor may
// send it (D14.11).
type plainDispute processor.DisputeUpdate

func (w plainDispute) fields() disputeFields {
	return disputeFields{DisputeUpdate: processor.DisputeUpdate(w), amount: int64(w.Amount), currency: string(w.Currency)}
}

var plainDialect = dialectOf[plainDispute]()

// dialectFor returns the form in which a processor wrote a dispute. Only the protocol's own form
// has the field processorDisputeId.
func dialectFor(name processor.Name, body json.RawMessage) dialect {
	var plain struct {
		ID any `json:"processorDisputeId"`
	}
	own, has := dialects[name]
	if has && (exactjson.Unmarshal(body, &plain) != nil || plain.ID == nil) {
		return own
	}
	return plainDialect
}

// unread is an object with the payment's reference. Like the fields Reference it is a name only: no
// reader needs its value.
type unread struct {
	Reference any `json:"reference"`
}

func (*unread) UnmarshalJSON([]byte) error { return nil }

type adyenDispute struct {
	Reference any    `json:"merchantReference"`
	ID        string `json:"disputePspReference"`
	Merchant  string `json:"merchantAccountCode"`
	Payment   string `json:"paymentPspReference"`
	Type      string `json:"disputeType"`
	Status    string `json:"disputeStatus"`
	Reason    string `json:"reason"`
	Code      string `json:"reasonCode"`
	Amount    struct {
		Value    int64  `json:"value"`
		Currency string `json:"currency"`
	} `json:"disputedAmount"`
	Date     time.Time `json:"eventDate"`
	Deadline string    `json:"defensePeriodEndsAt"`
}

func (w adyenDispute) fields() disputeFields {
	return disputeFields{DisputeUpdate: processor.DisputeUpdate{
		ID: w.ID, MerchantID: w.Merchant, TransactionID: w.Payment, Type: types[processor.Adyen][w.Type],
		Status: statuses[processor.Adyen][w.Status], ReasonCode: w.Code, Wording: w.Reason, ChallengeBy: readTime(time.RFC3339Nano, w.Deadline), At: w.Date,
	}, amount: w.Amount.Value, currency: w.Amount.Currency}
}

type braintreeDispute struct {
	Reference   any    `json:"order_id"`
	ID          string `json:"id"`
	Merchant    string `json:"merchant_account_id"`
	Transaction struct {
		ID string `json:"id"`
	} `json:"transaction"`
	Kind     string    `json:"kind"`
	Status   string    `json:"status"`
	Reason   string    `json:"reason"`
	Code     string    `json:"reason_code"`
	Amount   string    `json:"amount_disputed"`
	Currency string    `json:"currency_iso_code"`
	Updated  time.Time `json:"updated_at"`
	ReplyBy  string    `json:"reply_by_date"`
}

func (w braintreeDispute) fields() disputeFields {
	return disputeFields{DisputeUpdate: processor.DisputeUpdate{
		ID: w.ID, MerchantID: w.Merchant, TransactionID: w.Transaction.ID, Type: types[processor.Braintree][w.Kind],
		Status: statuses[processor.Braintree][w.Status], ReasonCode: strings.ReplaceAll(w.Code, "_", "."), Wording: w.Reason,
		ChallengeBy: endOf(readTime(time.DateOnly, w.ReplyBy)), At: w.Updated,
	}, decimal: orNone(w.Amount), currency: w.Currency}
}

type checkoutDispute struct {
	Reference any       `json:"payment_reference"`
	ID        string    `json:"id"`
	Entity    string    `json:"entity_id"`
	Payment   string    `json:"payment_id"`
	Stage     string    `json:"stage"`
	Status    string    `json:"status"`
	Category  string    `json:"category"`
	Code      string    `json:"reason_code"`
	Amount    int64     `json:"amount"`
	Currency  string    `json:"currency"`
	Updated   time.Time `json:"last_update"`
	Deadline  string    `json:"evidence_required_by"`
}

func (w checkoutDispute) fields() disputeFields {
	return disputeFields{DisputeUpdate: processor.DisputeUpdate{
		ID: w.ID, MerchantID: w.Entity, TransactionID: w.Payment, Type: types[processor.Checkout][w.Stage],
		Status: statuses[processor.Checkout][w.Status], ReasonCode: w.Code, Wording: w.Category,
		ChallengeBy: readTime(time.RFC3339, w.Deadline), At: w.Updated,
	}, amount: w.Amount, currency: w.Currency}
}

type paypalDispute struct {
	ID     string `json:"dispute_id"`
	Seller struct {
		Merchant string `json:"merchant_id"`
	} `json:"seller"`
	Transactions []struct {
		ID        string `json:"seller_transaction_id"`
		Reference any    `json:"invoice_number"`
	} `json:"disputed_transactions"`
	Stage   string `json:"dispute_life_cycle_stage"`
	Status  string `json:"status"`
	Outcome struct {
		Code string `json:"outcome_code"`
	} `json:"dispute_outcome"`
	Reason string `json:"reason"`
	Code   string `json:"external_reason_code"`
	Amount struct {
		Value    string `json:"value"`
		Currency string `json:"currency_code"`
	} `json:"dispute_amount"`
	Updated time.Time `json:"update_time"`
	Due     string    `json:"seller_response_due_date"`
}

func (w paypalDispute) fields() disputeFields {
	n := disputeFields{DisputeUpdate: processor.DisputeUpdate{
		ID: w.ID, MerchantID: w.Seller.Merchant, Type: types[processor.PayPal][w.Stage], Status: statuses[processor.PayPal][w.Status],
		ReasonCode: w.Code[strings.LastIndex(w.Code, "/")+1:], Wording: w.Reason,
		ChallengeBy: readTime(time.RFC3339Nano, w.Due), At: w.Updated,
	}, decimal: orNone(w.Amount.Value), currency: w.Amount.Currency}
	if w.Status == "RESOLVED" {
		n.Status = outcomes[w.Outcome.Code]
	}
	if len(w.Transactions) > 0 {
		n.TransactionID = w.Transactions[0].ID
	}
	return n
}

type stripeDispute struct {
	Metadata unread `json:"metadata"`
	ID       string `json:"id"`
	Account  string `json:"account"`
	Charge   string `json:"charge"`
	Status   string `json:"status"`
	Reason   string `json:"reason"`
	Code     string `json:"network_reason_code"`
	Amount   int64  `json:"amount"`
	Currency string `json:"currency"`
	Updated  int64  `json:"updated_micros"`
	Evidence struct {
		DueBy int64 `json:"due_by"`
	} `json:"evidence_details"`
}

func (w stripeDispute) fields() disputeFields {
	n := disputeFields{DisputeUpdate: processor.DisputeUpdate{
		ID: w.ID, MerchantID: w.Account, TransactionID: w.Charge, Type: processor.Chargeback, ReasonCode: w.Code, Wording: w.Reason,
		At: time.UnixMicro(w.Updated),
	}, amount: w.Amount, currency: w.Currency}
	word := w.Status
	for prefix, stage := range types[processor.Stripe] {
		if rest, is := strings.CutPrefix(word, prefix); is && prefix != "" { // without a prefix it is a chargeback
			n.Type, word = stage, rest
		}
	}
	n.Status = statuses[processor.Stripe][word]
	if w.Evidence.DueBy != 0 {
		n.ChallengeBy = time.Unix(w.Evidence.DueBy, 0)
	}
	return n
}

type worldpayDispute struct {
	Reference   any    `json:"orderCode"`
	ID          string `json:"caseNumber"`
	Merchant    string `json:"merchantCode"`
	Transaction string `json:"transactionReference"`
	Stage       string `json:"stage"`
	Event       string `json:"event"`
	Text        string `json:"reasonText"`
	Reason      string `json:"reason"`
	Value       struct {
		Amount   int64  `json:"amount"`
		Exponent *int   `json:"exponent"`
		Currency string `json:"currencyCode"`
	} `json:"value"`
	Date    string `json:"date"`
	Respond string `json:"respondBy"`
}

func (w worldpayDispute) fields() disputeFields {
	return disputeFields{DisputeUpdate: processor.DisputeUpdate{
		ID: w.ID, MerchantID: w.Merchant, TransactionID: w.Transaction, Type: types[processor.Worldpay][w.Stage],
		Status: statuses[processor.Worldpay][w.Event], ReasonCode: strings.TrimPrefix(w.Reason, "RC-"), Wording: w.Text,
		ChallengeBy: endOf(readTime("02/01/2006", w.Respond)), At: readTime("02/01/2006 15:04:05.999999", w.Date),
	}, amount: w.Value.Amount, exponent: w.Value.Exponent, currency: w.Value.Currency}
}

func orNone(decimal string) string {
	if decimal == "" {
		return "none"
	}
	return decimal
}
