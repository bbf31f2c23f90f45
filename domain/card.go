package domain

import (
	"slices"
	"strings"
	"time"
)

// Card is the part of a card that may be stored and shown (§2.2). The cardholder's name is in
// Personal.
type Card struct {
	First6Digits    string  `json:"first6Digits"`           // shown only if the account's settings say so (§2.2)
	FirstDigits     string  `json:"firstDigits"`            // 8 where PCI rules allow, else 6
	Last4Digits     string  `json:"last4Digits"`            // shown to people (§2.2)
	ExpirationMonth string  `json:"expirationMonth"`        // "01".."12"
	ExpirationYear  string  `json:"expirationYear"`         // four digits
	Network         Network `json:"network"`                // the card scheme
	CVVAvailable    bool    `json:"cvvAvailable,omitempty"` // the card's CVV is stored for the first payment
}

// NewCard returns the displayable part of a valid number. PCI DSS allows eight first digits only
// for 16 or more digits.
func NewCard(number, month, year string, cvv bool) Card {
	network, _ := CardNetwork(number)
	first := number[:6]
	if len(number) >= 16 {
		first = number[:8]
	}
	return Card{
		First6Digits: number[:6], FirstDigits: first, Last4Digits: number[len(number)-4:],
		ExpirationMonth: month, ExpirationYear: year, Network: network, CVVAvailable: cvv,
	}
}

// cardsEnd is the time after the end of a month in UTC at which the month has ended in every time
// zone.
const cardsEnd = 12 * time.Hour

// OldestMonth returns the first day of the oldest month of expiry with which a card is still valid:
// its month has not ended in every time zone. This is the only place that decides it.
func OldestMonth(now time.Time) time.Time {
	still := now.UTC().Add(-cardsEnd)
	return time.Date(still.Year(), still.Month(), 1, 0, 0, 0, 0, time.UTC)
}

// CardExpired reports whether a card with a month of expiry ("01".."12") and a year of four digits
// is no longer valid; false for other texts.
func CardExpired(month, year string, now time.Time) bool {
	last, err := time.Parse("01/2006", month+"/"+year)
	return err == nil && last.Before(OldestMonth(now))
}

// Network is a card scheme, spelled as the dispute webhooks spell it (§6.4, D6).
type Network string

const (
	NetworkAmex       Network = "AMEX"
	NetworkDiners     Network = "DINERS_CLUB"
	NetworkDiscover   Network = "DISCOVER"
	NetworkJCB        Network = "JCB"
	NetworkMaestro    Network = "MAESTRO"
	NetworkMastercard Network = "MASTERCARD"
	NetworkMir        Network = "MIR"
	NetworkUnionPay   Network = "UNIONPAY"
	NetworkVisa       Network = "VISA"
	NetworkOther      Network = "OTHER"
)

// scheme is a range of issuer prefixes, both ends included and equally long, with the lengths in
// use.
type scheme struct {
	network  Network
	from, to string
	lengths  []int
}

// schemes is searched in order; the first match counts.
var schemes = []scheme{
	{NetworkAmex, "34", "34", []int{15}},
	{NetworkAmex, "37", "37", []int{15}},
	{NetworkDiners, "300", "305", []int{14, 16, 19}},
	{NetworkDiners, "36", "36", []int{14, 16, 19}},
	{NetworkDiners, "38", "39", []int{14, 16, 19}},
	{NetworkJCB, "3528", "3589", []int{16, 17, 18, 19}},
	{NetworkVisa, "4", "4", []int{16, 18, 19}},
	{NetworkMir, "2200", "2204", []int{16, 17, 18, 19}},
	{NetworkMastercard, "51", "55", []int{16}},
	{NetworkMastercard, "2221", "2720", []int{16}},
	{NetworkDiscover, "6011", "6011", []int{16, 19}},
	{NetworkDiscover, "644", "649", []int{16, 19}},
	{NetworkDiscover, "65", "65", []int{16, 19}},
	{NetworkUnionPay, "62", "62", []int{16, 17, 18, 19}},
	{NetworkMaestro, "50", "50", []int{14, 15, 16, 17, 18, 19}},
	{NetworkMaestro, "56", "58", []int{14, 15, 16, 17, 18, 19}},
	{NetworkMaestro, "6", "6", []int{14, 15, 16, 17, 18, 19}},
}

// CardNetwork returns the network of a number by its prefix and length; false if none fits.
func CardNetwork(number string) (Network, bool) {
	for _, s := range schemes {
		prefix := number[:min(len(number), len(s.from))]
		if s.from <= prefix && prefix <= s.to && slices.Contains(s.lengths, len(number)) {
			return s.network, true
		}
	}
	return NetworkOther, false
}

// Luhn reports whether the last digit of number is its right check digit.
func Luhn(number string) bool {
	sum := 0
	for i := range len(number) {
		d := int(number[len(number)-1-i] - '0')
		if i%2 == 1 {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum += d
	}
	return sum%10 == 0
}

// ValidCardNumber reports whether digits is a card number: a known prefix of the right length, and
// a right check digit.
func ValidCardNumber(digits string) bool {
	if len(digits) < 14 || len(digits) > 19 || strings.Trim(digits, "0123456789") != "" {
		return false
	}
	_, known := CardNetwork(digits)
	return known && Luhn(digits)
}

// CVVLength is the number of digits of a network's card verification value.
func (n Network) CVVLength() int {
	if n == NetworkAmex {
		return 4
	}
	return 3
}
