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

// Kind is what an operation does at the processor.
type Kind string

const (
	Authorize Kind = "authorize"
	Complete  Kind = "complete"
	Capture   Kind = "capture"
	Void      Kind = "void"
	Refund    Kind = "refund"
	Adjust    Kind = "adjust"
)

// State is where an operation stands at the processor.
type State string

const (
	Pending        State = "PENDING"         // accepted; the result comes later by notification or look-up
	ActionRequired State = "ACTION_REQUIRED" // the customer must do something first
	Succeeded      State = "SUCCEEDED"
	Declined       State = "DECLINED" // the issuer says no
	Failed         State = "FAILED"   // the processor says that it did nothing
)

// Outcome is what a customer's check ended with (D12).
type Outcome string

const (
	Authenticated        Outcome = "AUTHENTICATED"
	AuthenticationFailed Outcome = "FAILED"
)

// Notification is what a processor told unasked: the result of an operation, or news of a dispute (D14). ID is
// the same on every repeat of it. Key and Answer belong to operations, Dispute to disputes.
type Notification struct {
	ID        string              `json:"id"`
	Processor Name                `json:"processor"`
	Kind      Kind                `json:"kind"` // the operation that has a result now, or Dispute
	Key       domain.OperationKey `json:"idempotencyKey,omitempty"`
	Reference domain.PaymentID    `json:"reference"`
	Answer    *Answer             `json:"answer,omitempty"`
	Dispute   *DisputeUpdate      `json:"dispute,omitempty"`
}

// SignedNotification is a notification whose signature was right, with the body that was signed.
type SignedNotification struct {
	Notification
	Body     string // what the protocol names in it, without card data
	Redacted bool   // something was taken out of the body, and is nowhere
	// Additional are the other fields of the body, as JSON, without card data; they may tell of a person. "": none.
	Additional string
	// Unreadable tells why the dispute that it tells of cannot be read; then there is none.
	Unreadable string
}

// Record is one operation as it stands in a processor's books, whoever asked for it (D14).
type Record struct {
	ID         string // the processor's own, for ever the same
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

// Card is what is sent to authorize: never logged, never in an event.
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
	Key                domain.OperationKey `json:"-"` // travels as the Idempotency-Key header
	Processor          Name                `json:"-"` // travels in the path
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

// Answer is a result as the processor gave it: a fact.
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

// BinData is what the card's leading digits tell (§2.2).
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

// Risk is what the processor's checks found (§2.4).
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

// LookupState is what a processor knows of an operation key.
type LookupState string

const (
	Unseen  LookupState = "UNSEEN"  // never arrived; inconclusive while the first request may be under way
	Running LookupState = "RUNNING" // arrived, no result yet
	Known   LookupState = "KNOWN"   // the result stands in Answer
	Fenced  LookupState = "FENCED"  // never arrived, and will be refused from now on: it did not happen
)

// Lookup is the answer to asking for one operation by its key, or to fencing it.
type Lookup struct {
	State  LookupState `json:"state"`
	Answer *Answer     `json:"answer,omitempty"`
}

// Result codes of the protocol's own, beside the issuers' raw codes.
const (
	CodeRejected = "gateway_rejected"  // the processor would not take it
	CodeFenced   = "fenced"            // the key was fenced before the operation arrived
	CodeNoAction = "no_action_pending" // a completion of what waits for nothing: its action has ended already
	CodeVoided   = "voided"            // the authorization was voided before it had a result
)
