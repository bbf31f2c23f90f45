package protocol

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"time"

	"payledger/domain"
	"payledger/domain/processor"
)

// HeaderIdempotencyKey carries the key of an operation (D14.2); HeaderSignature signs a
// notification.
const (
	HeaderIdempotencyKey = "Idempotency-Key"
	HeaderSignature      = "X-Processor-Signature"
)

// MaxBody bounds every JSON body but the lists of operations, in bytes; MaxEntries that of all
// operations of one payment.
const (
	MaxBody    = 64 << 10
	MaxEntries = 8 << 20
)

// Limits of an answer's texts in bytes: of the message, and of each other text. The ledger cuts
// longer ones.
const (
	MaxMessage = 1000
	MaxText    = 255
)

// OperationsPath returns the path of a processor's operations.
func OperationsPath(name processor.Name) string {
	return "/v1/processors/" + url.PathEscape(string(name)) + "/operations"
}

// OperationPath returns the path of one operation.
func OperationPath(name processor.Name, key domain.OperationKey) string {
	return OperationsPath(name) + "/" + url.PathEscape(string(key))
}

// Line is one operation of `GET /sim/books` (D14.16). Amounts are minor units, times are UTC.
type Line struct {
	ID                     string              `json:"id"`
	Processor              processor.Name      `json:"processor"`
	ProcessorMerchantID    string              `json:"processorMerchantId"`
	Reference              domain.PaymentID    `json:"reference"`
	Operation              processor.Kind      `json:"operation"`
	IdempotencyKey         domain.OperationKey `json:"idempotencyKey"`
	Amount                 domain.Amount       `json:"amount"`
	Currency               domain.Currency     `json:"currency"`
	State                  processor.State     `json:"state"` // PENDING, SUCCEEDED, FAILED or DECLINED
	CreatedAt              time.Time           `json:"createdAt"`
	UpdatedAt              time.Time           `json:"updatedAt"`
	ProcessorTransactionID string              `json:"processorTransactionId"`
	ParentID               string              `json:"parentId,omitempty"`
}

// Entry is a line with its answer and, for a capture, whether it was final: the element of look-ups
// of many operations.
type Entry struct {
	Line
	Final  bool             `json:"final,omitempty"`
	Answer processor.Answer `json:"answer"`
}

// Listed returns the entry as a list has it: without a token of a card.
func (e Entry) Listed() Entry {
	e.Answer.CardToken = ""
	return e
}

// Record returns the entry as a value of the domain.
func (e Entry) Record() processor.Record {
	e = e.Listed()
	return processor.Record{
		ID: e.ID, Processor: e.Processor, MerchantID: e.ProcessorMerchantID, Reference: e.Reference, Kind: e.Operation,
		Key: e.IdempotencyKey, Amount: e.Amount, Currency: e.Currency, Final: e.Final, ParentID: e.ParentID, State: e.State,
		CreatedAt: e.CreatedAt, UpdatedAt: e.UpdatedAt, Answer: e.Answer,
	}
}

// Entries is the answer to a look-up by reference, in order of creation.
type Entries struct {
	Operations []Entry `json:"operations"`
}

// Notification is the result of an operation that was PENDING, or a change of a dispute. Repeats
// have the same ID.
type Notification struct {
	ID             string              `json:"id"`
	Processor      processor.Name      `json:"processor"`
	Type           processor.Kind      `json:"type"` // the operation that has a result now, or "dispute"
	IdempotencyKey domain.OperationKey `json:"idempotencyKey,omitempty"`
	Reference      domain.PaymentID    `json:"reference"`
	Answer         *processor.Answer   `json:"answer,omitempty"`  // of an operation
	Dispute        json.RawMessage     `json:"dispute,omitempty"` // in the processor's terms
}

// Sign returns the value of HeaderSignature: the hex HMAC-SHA256 of the raw body.
func Sign(secret, body []byte) string {
	mac := hmac.New(sha256.New, secret)
	mac.Write(body)
	return hex.EncodeToString(mac.Sum(nil))
}

// Verify reports whether signature is Sign(secret, body), in constant time.
func Verify(secret, body []byte, signature string) bool {
	return hmac.Equal([]byte(Sign(secret, body)), []byte(signature))
}
