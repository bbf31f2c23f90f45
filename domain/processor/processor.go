package processor

import (
	"time"

	"payledger/domain"
)

// Name is one of the six processors, in the order in which they are tried without rules (D15).
type Name string

const (
	Adyen     Name = "ADYEN"
	Braintree Name = "BRAINTREE"
	Checkout  Name = "CHECKOUT"
	PayPal    Name = "PAYPAL"
	Stripe    Name = "STRIPE"
	Worldpay  Name = "WORLDPAY"
)

// Names lists all processors in routing order (D15).
var Names = []Name{Adyen, Braintree, Checkout, PayPal, Stripe, Worldpay}

// Kind is the type of an operation.
type Kind string

const (
	Authorize Kind = "authorize"
	Complete  Kind = "complete"
	Capture   Kind = "capture"
	Void      Kind = "void"
	Refund    Kind = "refund"
	Adjust    Kind = "adjust"
)

// Modifies reports whether the operation acts upon an authorization that exists or upon its captures.
func (k Kind) Modifies() bool { return k == Capture || k == Void || k == Refund || k == Adjust }

// State is the state of an operation at the processor.
type State string

const (
	Pending        State = "PENDING"         // accepted; the result comes later by notification or look-up
	ActionRequired State = "ACTION_REQUIRED" // the customer must act first
	Succeeded      State = "SUCCEEDED"
	Declined       State = "DECLINED" // by the issuer
	Failed         State = "FAILED"   // the processor states that it did nothing
)

// Outcome is the outcome of a customer's action (D12).
type Outcome string

const (
	Authenticated        Outcome = "AUTHENTICATED"
	AuthenticationFailed Outcome = "FAILED"
)

// Notification is an unsolicited message of a processor: the result of an operation, or a change of a dispute (D14.3). ID is
// the same on every repeat. Key and Answer belong to operations, Dispute to disputes.
type Notification struct {
	ID        string              `json:"id"`
	Processor Name                `json:"processor"`
	Kind      Kind                `json:"kind"` // the operation that has a result now, or Dispute
	Key       domain.OperationKey `json:"idempotencyKey,omitempty"`
	Reference domain.PaymentID    `json:"reference"`
	Answer    *Answer             `json:"answer,omitempty"`
	Dispute   *DisputeUpdate      `json:"dispute,omitempty"`
}

// SignedNotification is a notification with a valid signature, and its body.
type SignedNotification struct {
	Notification
	Body     string // the fields of the protocol, without card data
	Redacted bool   // card data was removed from the body
	// Additional are the other fields of the body, as JSON without card data; they may be personal data. "": none.
	Additional string
	// Unreadable is the reason why the dispute cannot be read; Dispute is then nil.
	Unreadable string
}

// Record is an operation in a processor's records, perhaps an out-of-band one (D14.1).
type Record struct {
	ID         string // the processor's, never changes
	Processor  Name
	MerchantID string
	Reference  domain.PaymentID
	Kind       Kind
	Key        domain.OperationKey
	Amount     domain.Amount
	Currency   domain.Currency
	Final      bool   // captures: the rest was released
	ParentID   string // processorTransactionId acted upon
	State      State  // PENDING, SUCCEEDED, FAILED or DECLINED
	CreatedAt  time.Time
	UpdatedAt  time.Time
	Answer     Answer // the newest under its key
}

// Card is the card of an authorization. It is never logged and never in an event.
type Card struct {
	Number          string `json:"number"`
	CVV             string `json:"cvv,omitempty"`
	ExpirationMonth string `json:"expirationMonth"` // "01".."12"
	ExpirationYear  string `json:"expirationYear"`  // four digits
	CardholderName  string `json:"cardholderName,omitempty"`
}

// Operation is one request to a processor.
type Operation struct {
	Kind               Kind                `json:"operation"`
	Key                domain.OperationKey `json:"-"` // sent as the Idempotency-Key header
	Processor          Name                `json:"-"` // sent in the path
	MerchantID         string              `json:"processorMerchantId"`
	Reference          domain.PaymentID    `json:"reference"`
	ParentID           string              `json:"parentId,omitempty"` // processorTransactionId acted upon
	Amount             domain.Amount       `json:"amount"`
	Currency           domain.Currency     `json:"currency"`
	Final              bool                `json:"final,omitempty"` // captures: no further capture follows
	Card               *Card               `json:"card,omitempty"`
	AuthorizationType  string              `json:"authorizationType,omitempty"`
	PaymentType        string              `json:"paymentType,omitempty"`
	FirstPaymentReason string              `json:"firstPaymentReason,omitempty"`
	Descriptor         string              `json:"descriptor,omitempty"`
	Outcome            Outcome             `json:"outcome,omitempty"` // of a completion
	NotifyURL          string              `json:"notifyUrl,omitempty"`
}

// Answer is a processor's answer to an operation: a fact.
type Answer struct {
	State                  State     `json:"state"`
	ProcessorTransactionID string    `json:"processorTransactionId,omitempty"`
	ProcessorEventID       string    `json:"processorEventId,omitempty"`
	At                     time.Time `json:"at"`                  // the processor's time, UTC
	Code                   string    `json:"code,omitempty"`      // raw result code of issuer or processor ("05")
	Message                string    `json:"message,omitempty"`   // the processor's own wording
	Retryable              bool      `json:"retryable,omitempty"` // another processor may be tried (D15)
	AuthorizationCode      string    `json:"authorizationCode,omitempty"`
	Bin                    *BinData  `json:"binData,omitempty"`
	Risk                   *Risk     `json:"risk,omitempty"`
	ThreeDS                string    `json:"threeDSecureResponseCode,omitempty"` // enums: threeDSecureResponseCode
	ActionToken            string    `json:"actionToken,omitempty"`              // with ActionRequired
}

// BinData are the data of the card's leading digits (§2.2).
type BinData struct {
	Network                    domain.Network `json:"network,omitempty"`
	IssuerCountryCode          string         `json:"issuerCountryCode,omitempty"`
	IssuerName                 string         `json:"issuerName,omitempty"`
	RegionalRestriction        string         `json:"regionalRestriction,omitempty"`
	AccountNumberType          string         `json:"accountNumberType,omitempty"`
	AccountFundingType         string         `json:"accountFundingType,omitempty"`
	PrepaidReloadableIndicator string         `json:"prepaidReloadableIndicator,omitempty"`
	ProductUsageType           string         `json:"productUsageType,omitempty"`
	ProductCode                string         `json:"productCode,omitempty"`
	ProductName                string         `json:"productName,omitempty"`
}

// Risk are the results of the processor's checks (§2.4).
type Risk struct {
	FraudSource   string `json:"fraudSource,omitempty"`
	FraudPre      string `json:"fraudPreAuthorizationResult,omitempty"`
	FraudPost     string `json:"fraudPostAuthorizationResult,omitempty"`
	CVVSource     string `json:"cvvSource,omitempty"`
	CVVResult     string `json:"cvvResult,omitempty"`
	AVSSource     string `json:"avsSource,omitempty"`
	AVSStreet     string `json:"avsStreetAddress,omitempty"`
	AVSPostalCode string `json:"avsPostalCode,omitempty"`
}

// LookupState is the state of an operation key at a processor.
type LookupState string

const (
	Unseen  LookupState = "UNSEEN"  // never arrived; inconclusive while the first request may be in transit
	Running LookupState = "RUNNING" // arrived, without a result
	Known   LookupState = "KNOWN"   // Answer is the result
	Fenced  LookupState = "FENCED"  // never arrived, and is refused from now on
)

// Lookup is the result of looking up or fencing a key.
type Lookup struct {
	State  LookupState `json:"state"`
	Answer *Answer     `json:"answer,omitempty"`
}

// The protocol's result codes, beside the issuers' raw codes.
const (
	CodeRejected = "gateway_rejected"  // the processor did not accept it
	CodeFenced   = "fenced"            // the key was fenced before the operation arrived
	CodeNoAction = "no_action_pending" // completion of an authorization whose action has ended already
	CodeVoided   = "voided"            // the authorization was voided before it had a result
)
