package main

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
)

// uuid is an id of version 7: ids of one time are neighbours in an index.
type uuid = pgtype.UUID

func newID(now time.Time) uuid {
	id := uuid{Valid: true}
	b := &id.Bytes
	_, _ = rand.Read(b[:]) // it never fails
	binary.BigEndian.PutUint64(b[:8], uint64(now.UnixMilli())<<16|uint64(binary.BigEndian.Uint16(b[6:8])))
	b[6], b[8] = b[6]&0x0f|0x70, b[8]&0x3f|0x80
	return id
}

func parseID(text string) (id uuid, ok bool) {
	err := id.Scan(text)
	return id, err == nil
}

// timeFormat is the contract's (D1): RFC 3339 in UTC with microseconds.
const timeFormat = "2006-01-02T15:04:05.000000Z"

// creation is the body of POST /payments.
type creation struct {
	PaymentMethodToken string          `json:"paymentMethodToken"`
	Amount             *int64          `json:"amount"`
	CurrencyCode       string          `json:"currencyCode"`
	CustomerID         string          `json:"customerId"`
	OrderID            string          `json:"orderId"`
	Order              json.RawMessage `json:"order,omitempty"`
	Customer           json.RawMessage `json:"customer,omitempty"`
	Metadata           json.RawMessage `json:"metadata,omitempty"`
}

// maxAmount is the largest integer that every JSON reader keeps exactly (§8).
const maxAmount = 9007199254740991

func (c *creation) check() error {
	switch {
	case c.PaymentMethodToken == "" || len(c.PaymentMethodToken) > 255:
		return errors.New("paymentMethodToken must have 1 to 255 bytes")
	case c.Amount == nil || *c.Amount < 0 || *c.Amount > maxAmount:
		return errors.New("amount must be an integer from 0 to 9007199254740991, in minor units")
	case !isCurrency(c.CurrencyCode):
		return errors.New("currencyCode must be three capital letters")
	case c.CustomerID == "" || len(c.CustomerID) > 255:
		return errors.New("customerId must have 1 to 255 bytes")
	case c.OrderID == "" || len(c.OrderID) > 255:
		return errors.New("orderId must have 1 to 255 bytes")
	}
	return nil
}

func isCurrency(code string) bool {
	return len(code) == 3 && !strings.ContainsFunc(code, func(r rune) bool { return r < 'A' || r > 'Z' })
}

// payment is the answer (§2.1).
type payment struct {
	ID            uuid            `json:"id"`
	Date          string          `json:"date"`
	DateUpdated   string          `json:"dateUpdated"`
	Status        string          `json:"status"`
	OrderID       string          `json:"orderId"`
	CustomerID    string          `json:"customerId"`
	CurrencyCode  string          `json:"currencyCode"`
	Amount        int64           `json:"amount"`
	CardTokenType string          `json:"cardTokenType"`
	Method        paymentMethod   `json:"paymentMethod"`
	Processor     processor       `json:"processor"`
	Transactions  []transaction   `json:"transactions"`
	Order         json.RawMessage `json:"order,omitempty"`
	Customer      json.RawMessage `json:"customer,omitempty"`
	Metadata      json.RawMessage `json:"metadata,omitempty"`
}

type paymentMethod struct {
	Token             string `json:"paymentMethodToken"`
	IsVaulted         bool   `json:"isVaulted"`
	AuthorizationType string `json:"authorizationType"`
	Type              string `json:"paymentMethodType"`
	Data              card   `json:"paymentMethodData"`
}

type card struct {
	First6Digits       *string `json:"first6Digits"`
	FirstDigits        string  `json:"firstDigits"`
	Last4Digits        string  `json:"last4Digits"`
	ExpirationMonth    string  `json:"expirationMonth"`
	ExpirationYear     string  `json:"expirationYear"`
	CardholderName     string  `json:"cardholderName"`
	Network            string  `json:"network"`
	IsNetworkTokenized bool    `json:"isNetworkTokenized"`
	CVVAvailable       bool    `json:"cvvAvailable"`
	BinData            binData `json:"binData"`
}

type binData struct {
	Network string `json:"network"`
}

type processor struct {
	Name           string `json:"name"`
	MerchantID     string `json:"processorMerchantId"`
	AmountCaptured int64  `json:"amountCaptured"`
	AmountRefunded int64  `json:"amountRefunded"`
}

type transaction struct {
	Type                   string `json:"type"`
	Date                   string `json:"date"`
	Amount                 int64  `json:"amount"`
	CurrencyCode           string `json:"currencyCode"`
	OrderID                string `json:"orderId"`
	ProcessorStatus        string `json:"processorStatus"`
	ProcessorName          string `json:"processorName"`
	ProcessorMerchantID    string `json:"processorMerchantId"`
	ProcessorTransactionID string `json:"processorTransactionId"`
	CardTokenType          string `json:"cardTokenType"`
}

type authorized struct {
	PaymentMethodToken     string `json:"paymentMethodToken"`
	Amount                 int64  `json:"amount"`
	CurrencyCode           string `json:"currencyCode"`
	OrderID                string `json:"orderId"`
	CustomerID             string `json:"customerId"`
	ProcessorName          string `json:"processorName"`
	ProcessorTransactionID string `json:"processorTransactionId"`
}

const (
	undecided  = "PENDING" // the outcome is unknown
	approved   = "AUTHORIZED"
	declined   = "DECLINED"
	failedLast = "FAILED"

	processorName = "ADYEN"
	merchantID    = "yardstick-adyen"
	tokenType     = "CARD_PAN"
)

// theCard is the card behind every token. A processor approves it.
var theCard = operationCard{Number: "4111111111111111", ExpirationMonth: "12", ExpirationYear: "2035", CardholderName: "Ada Lovelace"}

// requested returns the payment of a request, without an outcome.
func requested(c creation, id uuid, at time.Time) *payment {
	date := at.UTC().Format(timeFormat)
	return &payment{
		ID: id, Date: date, DateUpdated: date, Status: undecided, OrderID: c.OrderID, CustomerID: c.CustomerID,
		CurrencyCode: c.CurrencyCode, Amount: *c.Amount, CardTokenType: tokenType,
		Method: paymentMethod{Token: c.PaymentMethodToken, IsVaulted: true, AuthorizationType: "FINAL", Type: "PAYMENT_CARD", Data: card{
			FirstDigits: theCard.Number[:8], Last4Digits: theCard.Number[12:], ExpirationMonth: theCard.ExpirationMonth, ExpirationYear: theCard.ExpirationYear,
			CardholderName: theCard.CardholderName, Network: "VISA", BinData: binData{"VISA"},
		}},
		Processor:    processor{Name: processorName, MerchantID: merchantID},
		Transactions: []transaction{},
		Order:        c.Order, Customer: c.Customer, Metadata: c.Metadata,
	}
}

// settle adds the outcome of the authorization.
func (p *payment) settle(status, transactionID string, at time.Time) {
	p.Status, p.DateUpdated = status, at.UTC().Format(timeFormat)
	p.Transactions = append(p.Transactions, transaction{
		Type: "SALE", Date: p.DateUpdated, Amount: p.Amount, CurrencyCode: p.CurrencyCode, OrderID: p.OrderID, ProcessorStatus: status,
		ProcessorName: processorName, ProcessorMerchantID: merchantID, ProcessorTransactionID: transactionID, CardTokenType: tokenType,
	})
}

// authorize returns an authorized payment that no processor has seen, and its event.
func authorize(c creation, now time.Time) (*payment, authorized) {
	p, operation := requested(c, newID(now), now), newID(now).String()
	p.settle(approved, operation, now)
	return p, authorized{c.PaymentMethodToken, *c.Amount, c.CurrencyCode, c.OrderID, c.CustomerID, processorName, operation}
}
