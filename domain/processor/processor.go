package processor

import (
	"time"

	"payledger/domain"
)

// Name is the name of a processor in the contract's enumeration.
type Name string

// The names of the simulated processors with words of their own. Only their readers and writers,
// and tests, need constants.
const (
	Adyen     Name = "ADYEN"
	Braintree Name = "BRAINTREE"
	Checkout  Name = "CHECKOUT"
	PayPal    Name = "PAYPAL"
	Stripe    Name = "STRIPE"
	Worldpay  Name = "WORLDPAY"
)

// Names lists the processors of the contract's enumeration "processor", in the order in which they
// are tried without rules (D15). A new name is a new value there: at the end, as stored numbers
// stand for the places.
var Names = enumerated()

func enumerated() (names []Name) {
	for _, name := range domain.Enum("processor") {
		names = append(names, Name(name))
	}
	return names
}

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

// Modifies reports whether the operation acts upon an authorization that exists or upon its
// captures.
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

// Notification is an unsolicited message of a processor: the result of an operation, or a change of
// a dispute (D14.3). ID is the same on every repeat. Key and Answer belong to operations, Dispute
// to disputes.
type Notification struct {
	ID        string              `json:"id"`                       // the processor's id of the notification
	Processor Name                `json:"processor"`                // the sender
	Kind      Kind                `json:"kind"`                     // the operation that has a result now, or Dispute
	Key       domain.OperationKey `json:"idempotencyKey,omitempty"` // names the operation; absent for disputes
	Reference domain.PaymentID    `json:"reference"`                // the payment's id, as sent to the processor
	Answer    *Answer             `json:"answer,omitempty"`         // the operation's result; absent for disputes
	Dispute   *DisputeUpdate      `json:"dispute,omitempty"`        // the dispute's change; absent for operations
}

// SignedNotification is a notification with a valid signature, and its body.
type SignedNotification struct {
	Notification
	Body     string // the fields of the protocol, without card data
	Redacted bool   // card data was removed from the body

	Additional string // the other fields of the body, as JSON without card data; they may be personal data. "": none.
	Unreadable string // the reason why the dispute cannot be read; Dispute is then nil
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
	Final      bool   // captures: the amount left was released
	ParentID   string // processorTransactionId acted upon
	State      State  // PENDING, SUCCEEDED, FAILED or DECLINED
	CreatedAt  time.Time
	UpdatedAt  time.Time
	Answer     Answer // the newest under its key
	// Unreadable reports that an entry of a list by time cannot be read: only ID, Processor,
	// MerchantID and Reference are set.
	Unreadable bool
}

// Card is the card of an authorization: its number, or the processor's token of it. It is never
// logged and never in an event.
type Card struct {
	Number          string `json:"number,omitempty"`
	CVV             string `json:"cvv,omitempty"`
	ExpirationMonth string `json:"expirationMonth,omitempty"` // "01".."12"
	ExpirationYear  string `json:"expirationYear,omitempty"`  // four digits
	CardholderName  string `json:"cardholderName,omitempty"`
	Token           string `json:"processorToken,omitempty"` // in the place of the other fields: what the processor calls the card
}

// Absent reports whether there is neither a number nor a token.
func (c Card) Absent() bool { return c.Number == "" && c.Token == "" }

// CardTokenType is the kind of card data with which an authorization was made (enums:
// cardTokenType).
type CardTokenType string

const (
	CardPAN        CardTokenType = "CARD_PAN"        // the card's number
	NetworkToken   CardTokenType = "NETWORK_TOKEN"   // a token of the card scheme, which the processor has for the card
	ProcessorToken CardTokenType = "PROCESSOR_TOKEN" // the processor's own token, which it got in the place of the number
)

// Known reports whether t is one of the types.
func (t CardTokenType) Known() bool { return t == CardPAN || t == NetworkToken || t == ProcessorToken }

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
	Tokenize           bool                `json:"tokenize,omitempty"` // authorize: the card is stored for its customer, so that a token of it is welcome
	AuthorizationType  string              `json:"authorizationType,omitempty"`
	PaymentType        string              `json:"paymentType,omitempty"`
	FirstPaymentReason string              `json:"firstPaymentReason,omitempty"`
	Descriptor         string              `json:"descriptor,omitempty"`
	Outcome            Outcome             `json:"outcome,omitempty"` // of a completion
	NotifyURL          string              `json:"notifyUrl,omitempty"`
	ReturnURL          string              `json:"returnUrl,omitempty"` // authorize: where the customer goes after the action
}

// Answer is a processor's answer to an operation: a fact.
type Answer struct {
	State                  State         `json:"state"`                              // PENDING, ACTION_REQUIRED, SUCCEEDED, DECLINED or FAILED
	ProcessorTransactionID string        `json:"processorTransactionId,omitempty"`   // the processor's id of the transaction
	ProcessorEventID       string        `json:"processorEventId,omitempty"`         // the processor's id of the answer or notification
	At                     time.Time     `json:"at"`                                 // the processor's time, UTC
	Code                   string        `json:"code,omitempty"`                     // raw result code of issuer or processor ("05")
	Message                string        `json:"message,omitempty"`                  // the processor's own wording
	Retryable              bool          `json:"retryable,omitempty"`                // another processor may be tried (D15); of a void: a passing fault, no refusal (D5.8)
	AuthorizationCode      string        `json:"authorizationCode,omitempty"`        // the issuer's code of a successful authorization (D13)
	Bin                    *BinData      `json:"binData,omitempty"`                  // facts about the card's issuer and product (§2.2)
	Risk                   *Risk         `json:"risk,omitempty"`                     // the processor's checks (§2.4)
	ThreeDS                string        `json:"threeDSecureResponseCode,omitempty"` // enums: threeDSecureResponseCode
	CardTokenType          CardTokenType `json:"cardTokenType,omitempty"`            // of an authorization; absent: CARD_PAN
	CardToken              string        `json:"processorToken,omitempty"`           // the processor's token of the card, for later payments; never stored with the answer
	ActionToken            string        `json:"actionToken,omitempty"`              // with ActionRequired
	ActionURL              string        `json:"actionUrl,omitempty"`                // with ActionRequired: the page of the action; never stored

	// Kind, Amount, Currency and Reference are those that the processor states; each may be absent.
	Kind      Kind             `json:"operation,omitempty"` // the operation under the key
	Amount    *domain.Amount   `json:"amount,omitempty"`    // minor units
	Currency  domain.Currency  `json:"currency,omitempty"`  // ISO 4217
	Reference domain.PaymentID `json:"reference,omitempty"` // the payment's id

	RawAnswer *RawAnswer `json:"-"` // nil: it came in a notification, which is stored
}

// RawAnswer is the body of a processor's answer, without card data and tokens.
type RawAnswer struct {
	Body       string         `json:"body"`                 // the fields of the protocol, in clear; at most 4 KiB
	Additional string         `json:"-"`                    // the other fields, which may be personal data; "": none
	Sealed     *domain.Sealed `json:"additional,omitempty"` // the other fields, encrypted
	Redacted   bool           `json:"redacted,omitempty"`   // something was removed
	Cut        bool           `json:"cut,omitempty"`        // the rest of a longer body was removed
}

// BinData are the data of the card's leading digits (§2.2).
type BinData struct {
	Network                    domain.Network `json:"network,omitempty"`                    // the card scheme
	IssuerCountryCode          string         `json:"issuerCountryCode,omitempty"`          // ISO 3166-1 alpha-2
	IssuerName                 string         `json:"issuerName,omitempty"`                 // the bank that issued the card
	RegionalRestriction        string         `json:"regionalRestriction,omitempty"`        // DOMESTIC_USE_ONLY, NONE or UNKNOWN
	AccountNumberType          string         `json:"accountNumberType,omitempty"`          // PRIMARY_ACCOUNT_NUMBER, NETWORK_TOKEN, DIGITAL_PAN or UNKNOWN
	AccountFundingType         string         `json:"accountFundingType,omitempty"`         // CREDIT, DEBIT, PREPAID, CHARGE, DEFERRED_DEBIT or UNKNOWN
	PrepaidReloadableIndicator string         `json:"prepaidReloadableIndicator,omitempty"` // RELOADABLE, NON_RELOADABLE, NOT_APPLICABLE or UNKNOWN
	ProductUsageType           string         `json:"productUsageType,omitempty"`           // CONSUMER, BUSINESS, GOVERNMENT or UNKNOWN
	ProductCode                string         `json:"productCode,omitempty"`                // the card scheme's code of the product
	ProductName                string         `json:"productName,omitempty"`                // the card scheme's name of the product
}

// Risk are the results of the processor's checks (§2.4).
type Risk struct {
	FraudSource   string `json:"fraudSource,omitempty"`                  // the system that checked for fraud
	FraudPre      string `json:"fraudPreAuthorizationResult,omitempty"`  // result before the authorization (enums: fraudPreAuthorizationResult)
	FraudPost     string `json:"fraudPostAuthorizationResult,omitempty"` // result after the authorization (enums: fraudPostAuthorizationResult)
	CVVSource     string `json:"cvvSource,omitempty"`                    // the system that compared the CVV
	CVVResult     string `json:"cvvResult,omitempty"`                    // its result (enums: cvvAndAvsResult)
	AVSSource     string `json:"avsSource,omitempty"`                    // the system that compared the billing address
	AVSStreet     string `json:"avsStreetAddress,omitempty"`             // result for the street (enums: cvvAndAvsResult)
	AVSPostalCode string `json:"avsPostalCode,omitempty"`                // result for the postal code (enums: cvvAndAvsResult)
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
	CodeNoToken  = "token_unknown"     // the processor does not know the token of the card, or no longer
	CodeFault    = "technical_error"   // a fault of the processor, which did nothing
)
