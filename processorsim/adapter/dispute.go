package adapter

import (
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"payledger/domain"
	"payledger/domain/processor"
)

// notice is what every processor tells of a dispute, as far as it is read: mapped, but not checked.
type notice struct {
	processor.DisputeUpdate
	currency string // as the processor spells it
	// amount is in minor units, or decimal in major ones; the latter is "" where the former counts.
	amount  int64
	decimal string
	// exponent is how many digits the processor takes minor units to have; nil where it does not say.
	exponent *int
}

// readers know each processor's words (D16). A word that is not listed gives an empty type or status.
var readers = map[processor.Name]func(json.RawMessage) (notice, error){
	processor.Adyen: readAdyen, processor.Braintree: readBraintree, processor.Checkout: readCheckout,
	processor.PayPal: readPayPal, processor.Stripe: readStripe, processor.Worldpay: readWorldpay,
}

// schemeCode is what a card scheme's reason code looks like.
var schemeCode = regexp.MustCompile(`^[A-Za-z0-9.]{1,16}$`)

// maxWording bounds a processor's own words, in bytes.
const maxWording = 500

// readDispute maps a dispute to the words of the contract. No error text repeats what was told.
func readDispute(name processor.Name, body json.RawMessage) (*processor.DisputeUpdate, error) {
	n, err := readers[name](body)
	if err != nil {
		return nil, errors.New("its dispute cannot be parsed")
	}
	d := &n.DisputeUpdate
	d.Currency = domain.Currency(strings.ToUpper(n.currency))
	d.At, d.ChallengeBy = d.At.UTC(), d.ChallengeBy.UTC()
	if !years(d.ChallengeBy) {
		d.ChallengeBy = time.Time{}
	}
	if d.TransactionID == removed { // it looks like a card number: what we know of the payment stands in for it
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
	case !schemeCode.MatchString(d.ReasonCode):
		return nil, errors.New("its dispute has no reason code")
	case !d.Currency.Known():
		return nil, errors.New("the currency of its dispute is not known")
	case len(d.Wording) > maxWording || d.TransactionID != "" && !plainText(d.TransactionID, maxTransactionID) || len(d.MerchantID) > 255:
		return nil, errors.New("a text of its dispute is too long, or is none")
	}
	var known bool
	if d.Amount, known = n.minor(); !known {
		return nil, errors.New("the amount of its dispute cannot be read")
	}
	return d, nil
}

// minor returns the amount in minor units of ISO 4217.
func (n notice) minor() (domain.Amount, bool) {
	amount, fits := domain.Amount(n.amount), true
	switch {
	case n.decimal != "":
		amount, fits = parseAmount(n.decimal, n.Currency)
	case n.exponent != nil && *n.exponent != n.Currency.Digits():
		return 0, false // not the minor units that we mean
	}
	return amount, fits && amount >= 0 && amount <= domain.MaxAmount
}

// years reports whether RFC 3339 can write a time, and a dispute can have it.
func years(t time.Time) bool { return t.Year() >= 2000 && t.Year() <= 9999 }

// readTime reads a time of a layout; zero for what is none. A deadline that is none counts as not given: the dispute is
// told of all the same.
func readTime(layout, text string) time.Time {
	at, err := time.Parse(layout, text)
	if err != nil {
		return time.Time{}
	}
	return at
}

// endOf is the last second of a day: a deadline that is a date alone.
func endOf(day time.Time) time.Time {
	if day.IsZero() {
		return day
	}
	return day.Add(24*time.Hour - time.Second)
}

// parseAmount reads an amount in major units with the currency's own number of digits, "12.50" of EUR, "1250" of
// JPY; false for anything else.
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
