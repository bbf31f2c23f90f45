package adapter

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/processorsim/dialects"
	"payledger/processorsim/protocol"
)

type disputeFields dialects.Fields

// Maximum numbers of characters.
const (
	maxWording    = 500
	maxMerchantID = 255
)

// readDispute maps a dispute to the contract's terms. No error text repeats a value of the body.
func readDispute(name processor.Name, body json.RawMessage) (*processor.DisputeUpdate, error) {
	read, err := dialects.For(name, body).Read(body)
	if err != nil {
		return nil, errors.New("its dispute cannot be parsed")
	}
	n := disputeFields(read)
	d := &n.DisputeUpdate
	d.Currency = domain.Currency(strings.ToUpper(n.Written))
	d.At, d.ChallengeBy = d.At.UTC(), d.ChallengeBy.UTC()
	if !years(d.ChallengeBy) {
		d.ChallengeBy = time.Time{}
	}
	if d.TransactionID == removed { // it resembles a card number; the payment's transaction replaces it
		d.TransactionID = ""
	}
	switch {
	case !plainText(d.ID, maxNotificationID):
		return nil, errors.New("its dispute has no id")
	case !slices.Contains(processor.DisputeTypes, d.Type):
		return nil, errors.New("the stage of its dispute is not known")
	case !slices.Contains(processor.DisputeStatuses, d.Status):
		return nil, errors.New("the status of its dispute is not known")
	case !years(d.At):
		return nil, errors.New("its dispute has no time")
	case !protocol.ReasonCode.MatchString(d.ReasonCode):
		return nil, errors.New("its dispute has no reason code")
	case !d.Currency.Known():
		return nil, errors.New("the currency of its dispute is not known")
	case utf8.RuneCountInString(d.Wording) > maxWording || d.TransactionID != "" && !plainText(d.TransactionID, maxTransactionID) ||
		utf8.RuneCountInString(d.MerchantID) > maxMerchantID:
		return nil, errors.New("a text of its dispute is too long or malformed")
	}
	var known bool
	if d.Amount, known = n.minor(); !known {
		return nil, errors.New("the amount of its dispute cannot be read")
	}
	return d, nil
}

func (n disputeFields) minor() (domain.Amount, bool) {
	amount, fits := domain.Amount(n.Minor), true
	switch {
	case n.Decimal != "":
		amount, fits = parseAmount(n.Decimal, n.Currency)
	case n.Exponent != nil && *n.Exponent != n.Currency.Digits():
		return 0, false // not ISO 4217 minor units
	}
	return amount, fits && amount >= 0 && amount <= domain.MaxAmount
}

// years reports whether a time is possible for a dispute and in RFC 3339.
func years(t time.Time) bool { return t.Year() >= 2000 && t.Year() <= 9999 }

// parseAmount reads an amount in major units with exactly the currency's digits: "12.50" of EUR,
// "1250" of JPY.
func parseAmount(text string, c domain.Currency) (domain.Amount, bool) {
	whole, part, pointed := strings.Cut(text, ".")
	digits := c.Digits()
	if !c.Known() || whole == "" || len(whole) > 16 || pointed != (digits > 0) || len(part) != digits ||
		strings.Trim(whole+part, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseInt(whole+part, 10, 64)
	return domain.Amount(n), err == nil && domain.Amount(n) <= domain.MaxAmount
}
