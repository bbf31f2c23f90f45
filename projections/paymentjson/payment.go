package paymentjson

import (
	"bytes"
	"fmt"
	"time"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/processor"
)

// Payment is the Payment JSON of §2.1 and D6. Amounts are minor units of CurrencyCode. Absent
// optional fields are left out; first6Digits is null instead (§2.2).
type Payment struct {
	ID             domain.PaymentID        `json:"id"`
	Date           Time                    `json:"date"`
	DateUpdated    Time                    `json:"dateUpdated"`
	Status         payment.Status          `json:"status"`
	StatusReason   *StatusReason           `json:"statusReason,omitempty"`
	RequiredAction *RequiredAction         `json:"requiredAction,omitempty"`
	OrderID        string                  `json:"orderId,omitempty"`
	CustomerID     string                  `json:"customerId,omitempty"`
	CurrencyCode   domain.Currency         `json:"currencyCode"`
	Amount         domain.Amount           `json:"amount"`
	CardTokenType  processor.CardTokenType `json:"cardTokenType,omitempty"`
	PaymentMethod  PaymentMethod           `json:"paymentMethod"`
	Processor      *PaymentProcessor       `json:"processor,omitempty"`
	Transactions   []Transaction           `json:"transactions"`
	Order          *domain.Order           `json:"order,omitempty"`
	Customer       *Customer               `json:"customer,omitempty"`
	Metadata       domain.Metadata         `json:"metadata,omitempty"`
	RiskData       *RiskData               `json:"riskData,omitempty"`
}

// StatusReason explains a status that is not a success (D6). DeclineType, Code and the payment
// method's result are set for ISSUER_DECLINED only: other failures did not reach the issuer.
type StatusReason struct {
	Type                       domain.Failure `json:"type"`
	DeclineType                string         `json:"declineType,omitempty"`
	Code                       string         `json:"code,omitempty"`
	Message                    string         `json:"message,omitempty"`
	PaymentMethodResultCode    string         `json:"paymentMethodResultCode,omitempty"`
	PaymentMethodResultMessage string         `json:"paymentMethodResultMessage,omitempty"`
	AdvisedAction              string         `json:"advisedAction,omitempty"`
}

// RequiredAction is the action that the customer must take before the payment continues; set only
// while it is pending (D6).
type RequiredAction struct {
	Name        string `json:"name"` // enums: requiredActionName
	Description string `json:"description"`
	ClientToken string `json:"clientToken,omitempty"` // starts the action in the customer's browser; never in a history
}

// PaymentMethod is the paying instrument (§2.2).
type PaymentMethod struct {
	PaymentType                string           `json:"paymentType,omitempty"`
	PaymentMethodToken         domain.Token     `json:"paymentMethodToken"`
	IsVaulted                  bool             `json:"isVaulted"`
	AuthorizationType          string           `json:"authorizationType,omitempty"`
	FirstPaymentReason         string           `json:"firstPaymentReason,omitempty"`
	Descriptor                 string           `json:"descriptor,omitempty"`
	AnalyticsID                string           `json:"analyticsId,omitempty"`
	PaymentMethodType          string           `json:"paymentMethodType"`
	OrderedAllowedCardNetworks []domain.Network `json:"orderedAllowedCardNetworks,omitempty"`
	Options                    domain.JSON      `json:"options,omitempty"`
	PaymentMethodData          CardData         `json:"paymentMethodData"`
	ThreeDSecureAuthentication *ThreeDSecure    `json:"threeDSecureAuthentication,omitempty"`
}

// ThreeDSecure is the result of the customer's authentication (enums: threeDSecureResponseCode).
type ThreeDSecure struct {
	ResponseCode string `json:"responseCode"`
}

// CardData has the parts of a card that may be shown (§2.2).
type CardData struct {
	First6Digits       *string           `json:"first6Digits"` // null unless the account opted in
	FirstDigits        string            `json:"firstDigits,omitempty"`
	Last4Digits        string            `json:"last4Digits"`
	ExpirationMonth    string            `json:"expirationMonth"`
	ExpirationYear     string            `json:"expirationYear"`
	CardholderName     string            `json:"cardholderName,omitempty"`
	Network            domain.Network    `json:"network"`
	IsNetworkTokenized bool              `json:"isNetworkTokenized"`
	CVVAvailable       bool              `json:"cvvAvailable"`
	BinData            processor.BinData `json:"binData"`
}

// PaymentProcessor is the payment's processor, with the amounts that it confirmed (§2.1, D6).
type PaymentProcessor struct {
	Name                processor.Name `json:"name"`
	ProcessorMerchantID string         `json:"processorMerchantId"`
	AmountCaptured      domain.Amount  `json:"amountCaptured"`
	AmountRefunded      domain.Amount  `json:"amountRefunded"`
}

// Transaction is an element of transactions (§2.3, D6). An answer of the API has the kind as type
// and as transactionType, a webhook as transactionType only (D17).
type Transaction struct {
	Type                   string                  `json:"type,omitempty"`
	TransactionType        string                  `json:"transactionType"`
	Date                   Time                    `json:"date"`
	Amount                 domain.Amount           `json:"amount"`
	CurrencyCode           domain.Currency         `json:"currencyCode"`
	OrderID                string                  `json:"orderId,omitempty"`
	Reason                 string                  `json:"reason,omitempty"` // refunds: the merchant's words
	ProcessorStatus        payment.Status          `json:"processorStatus"`
	ProcessorStatusReason  *StatusReason           `json:"processorStatusReason,omitempty"`
	ProcessorName          processor.Name          `json:"processorName"`
	ProcessorMerchantID    string                  `json:"processorMerchantId"`
	ProcessorTransactionID string                  `json:"processorTransactionId,omitempty"`
	AuthorizationCode      string                  `json:"authorizationCode,omitempty"`
	CardTokenType          processor.CardTokenType `json:"cardTokenType,omitempty"`
	Events                 []TransactionEvent      `json:"events,omitzero"` // [] if requested and there is none
}

// TransactionEvent is an element of a transaction's events (D6), present with
// expand=transactions.events.
type TransactionEvent struct {
	ID               string        `json:"id"` // uuid; a capture's is its transactionEventId (D10)
	Type             string        `json:"type"`
	Date             Time          `json:"date"`
	Amount           domain.Amount `json:"amount"`
	ProcessorEventID string        `json:"processorEventId,omitempty"`
	Final            *bool         `json:"final,omitempty"`  // captures: the last one
	Reason           string        `json:"reason,omitempty"` // failures: the message of the processor, or of this service
	StatusReason     *StatusReason `json:"statusReason,omitempty"`
}

// Customer is the paying person. The e-mail address has two field names (D4).
type Customer struct {
	Email              string          `json:"email,omitempty"`
	EmailAddress       string          `json:"emailAddress,omitempty"`
	MobileNumber       string          `json:"mobileNumber,omitempty"`
	FirstName          string          `json:"firstName,omitempty"`
	LastName           string          `json:"lastName,omitempty"`
	TaxID              string          `json:"taxId,omitempty"`
	NationalDocumentID string          `json:"nationalDocumentId,omitempty"`
	BillingAddress     *domain.Address `json:"billingAddress,omitempty"`
	ShippingAddress    *domain.Address `json:"shippingAddress,omitempty"`
}

// RiskData has the results of the processor's checks (§2.4).
type RiskData struct {
	FraudChecks *FraudChecks `json:"fraudChecks,omitempty"`
	CVVCheck    *CVVCheck    `json:"cvvCheck,omitempty"`
	AVSCheck    *AVSCheck    `json:"avsCheck,omitempty"`
}

// FraudChecks are the results before and after the authorization.
type FraudChecks struct {
	Source                  string `json:"source,omitempty"`
	PreAuthorizationResult  string `json:"preAuthorizationResult,omitempty"`
	PostAuthorizationResult string `json:"postAuthorizationResult,omitempty"`
}

// CVVCheck is the result of checking the card verification value.
type CVVCheck struct {
	Source string `json:"source,omitempty"`
	Result string `json:"result,omitempty"`
}

// AVSCheck is the result of checking the address.
type AVSCheck struct {
	Source string     `json:"source,omitempty"`
	Result *AVSResult `json:"result,omitempty"`
}

// AVSResult has the result for each part of the address.
type AVSResult struct {
	StreetAddress string `json:"streetAddress,omitempty"`
	PostalCode    string `json:"postalCode,omitempty"`
}

// dateLayout is the format of dates: RFC 3339 in UTC with six digits and "Z" (D1).
const dateLayout = "2006-01-02T15:04:05.000000Z"

// Time is a date in the JSON of an answer or a webhook, in the format of D1. The zero Time is null:
// it is no date.
type Time struct{ time.Time }

// AppendTime appends a date in UTC to the microsecond.
func AppendTime(b []byte, t time.Time) []byte {
	t = t.UTC()
	year, month, day := t.Date()
	if year < 0 || year > 9999 {
		return t.AppendFormat(b, dateLayout)
	}
	hour, minute, second := t.Clock()
	b = append(digits(digits(b, year/100), year%100), '-')
	b = append(digits(b, int(month)), '-')
	b = append(digits(b, day), 'T')
	b = append(digits(b, hour), ':')
	b = append(digits(b, minute), ':')
	b = append(digits(b, second), '.')
	micros := t.Nanosecond() / 1000
	b = digits(digits(digits(b, micros/10000), micros/100%100), micros%100)
	return append(b, 'Z')
}

// digits appends a number below 100 with two digits.
func digits(b []byte, n int) []byte { return append(b, byte('0'+n/10), byte('0'+n%10)) }

func (t Time) MarshalJSON() ([]byte, error) {
	if t.IsZero() {
		return []byte("null"), nil
	}
	return append(AppendTime(append(make([]byte, 0, len(dateLayout)+2), '"'), t.Time), '"'), nil
}

// UnmarshalJSON reads any RFC 3339 date; null is the zero Time.
func (t *Time) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		t.Time = time.Time{}
		return nil
	}
	parsed, err := time.Parse(time.RFC3339Nano, string(bytes.Trim(data, `"`)))
	if err != nil {
		return fmt.Errorf("paymentjson: date %s: %w", data, err)
	}
	t.Time = parsed.UTC()
	return nil
}
