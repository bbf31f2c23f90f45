package dialects

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"payledger/domain/exactjson"
	"payledger/domain/processor"
)

// forms are each processor's own form of a dispute (D16). An unlisted term gives an empty type
// or status.
var forms = map[processor.Name]Form{
	processor.Adyen: formOf[adyenDispute](), processor.Braintree: formOf[braintreeDispute](), processor.Checkout: formOf[checkoutDispute](),
	processor.PayPal: formOf[paypalDispute](), processor.Stripe: formOf[stripeDispute](), processor.Worldpay: formOf[worldpayDispute](),
}

// types, statuses and outcomes are the meanings of the processors' words (D16).
var (
	types    = meanings(Stages)
	statuses = meanings(Statuses)
	outcomes = meaningsOf(Outcomes)
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

// Fields are what a dispute states, and its amount as its form writes that.
type Fields struct {
	processor.DisputeUpdate        // without the currency and the amount
	Written                 string // the currency, as the processor spells it
	Minor                   int64  // minor units
	Decimal                 string // major units; it counts instead of Minor unless it is ""
	Exponent                *int   // the processor's number of digits of minor units; nil if absent
}

// Form is a form of a dispute.
type Form struct {
	Type reflect.Type // has the names of its fields
	Read func(json.RawMessage) (Fields, error)
}

func formOf[T interface{ fields() Fields }]() Form {
	return Form{Type: reflect.TypeFor[T](), Read: func(body json.RawMessage) (Fields, error) {
		var dispute T
		err := exactjson.Unmarshal(body, &dispute)
		return dispute.fields(), err
	}}
}

// plainDispute is the protocol's own form of a dispute, in the contract's terms. Each processor may
// send it (D14.11).
type plainDispute processor.DisputeUpdate

func (w plainDispute) fields() Fields {
	return Fields{DisputeUpdate: processor.DisputeUpdate(w), Minor: int64(w.Amount), Written: string(w.Currency)}
}

var plain = formOf[plainDispute]()

// All returns every form.
func All() []Form { return append(slices.Collect(maps.Values(forms)), plain) }

// For returns the form in which a processor wrote a dispute. Only the protocol's own form
// has the field processorDisputeId.
func For(name processor.Name, body json.RawMessage) Form {
	var named struct {
		ID any `json:"processorDisputeId"`
	}
	own, has := forms[name]
	if has && (exactjson.Unmarshal(body, &named) != nil || named.ID == nil) {
		return own
	}
	return plain
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

func (w adyenDispute) fields() Fields {
	return Fields{DisputeUpdate: processor.DisputeUpdate{
		ID: w.ID, MerchantID: w.Merchant, TransactionID: w.Payment, Type: types[processor.Adyen][w.Type],
		Status: statuses[processor.Adyen][w.Status], ReasonCode: w.Code, Wording: w.Reason, ChallengeBy: readTime(time.RFC3339Nano, w.Deadline), At: w.Date,
	}, Minor: w.Amount.Value, Written: w.Amount.Currency}
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

func (w braintreeDispute) fields() Fields {
	return Fields{DisputeUpdate: processor.DisputeUpdate{
		ID: w.ID, MerchantID: w.Merchant, TransactionID: w.Transaction.ID, Type: types[processor.Braintree][w.Kind],
		Status: statuses[processor.Braintree][w.Status], ReasonCode: strings.ReplaceAll(w.Code, "_", "."), Wording: w.Reason,
		ChallengeBy: endOf(readTime(time.DateOnly, w.ReplyBy)), At: w.Updated,
	}, Decimal: orNone(w.Amount), Written: w.Currency}
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

func (w checkoutDispute) fields() Fields {
	return Fields{DisputeUpdate: processor.DisputeUpdate{
		ID: w.ID, MerchantID: w.Entity, TransactionID: w.Payment, Type: types[processor.Checkout][w.Stage],
		Status: statuses[processor.Checkout][w.Status], ReasonCode: w.Code, Wording: w.Category,
		ChallengeBy: readTime(time.RFC3339, w.Deadline), At: w.Updated,
	}, Minor: w.Amount, Written: w.Currency}
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

func (w paypalDispute) fields() Fields {
	n := Fields{DisputeUpdate: processor.DisputeUpdate{
		ID: w.ID, MerchantID: w.Seller.Merchant, Type: types[processor.PayPal][w.Stage], Status: statuses[processor.PayPal][w.Status],
		ReasonCode: w.Code[strings.LastIndex(w.Code, "/")+1:], Wording: w.Reason,
		ChallengeBy: readTime(time.RFC3339Nano, w.Due), At: w.Updated,
	}, Decimal: orNone(w.Amount.Value), Written: w.Amount.Currency}
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

func (w stripeDispute) fields() Fields {
	n := Fields{DisputeUpdate: processor.DisputeUpdate{
		ID: w.ID, MerchantID: w.Account, TransactionID: w.Charge, Type: processor.Chargeback, ReasonCode: w.Code, Wording: w.Reason,
		At: time.UnixMicro(w.Updated),
	}, Minor: w.Amount, Written: w.Currency}
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

func (w worldpayDispute) fields() Fields {
	return Fields{DisputeUpdate: processor.DisputeUpdate{
		ID: w.ID, MerchantID: w.Merchant, TransactionID: w.Transaction, Type: types[processor.Worldpay][w.Stage],
		Status: statuses[processor.Worldpay][w.Event], ReasonCode: strings.TrimPrefix(w.Reason, "RC-"), Wording: w.Text,
		ChallengeBy: endOf(readTime("02/01/2006", w.Respond)), At: readTime("02/01/2006 15:04:05.999999", w.Date),
	}, Minor: w.Value.Amount, Exponent: w.Value.Exponent, Written: w.Value.Currency}
}

func orNone(decimal string) string {
	if decimal == "" {
		return "none"
	}
	return decimal
}

// readTime parses a time of a layout; zero if invalid. An invalid deadline counts as absent; the
// dispute is still read.
func readTime(layout, text string) time.Time {
	at, err := time.Parse(layout, text)
	if err != nil {
		return time.Time{}
	}
	return at
}

// endOf returns the last second of a day, for deadlines without a time.
func endOf(day time.Time) time.Time {
	if day.IsZero() {
		return day
	}
	return day.Add(24*time.Hour - time.Second)
}
