package domain

import "strings"

// Card is what may be kept and shown of a card (§2.2). The cardholder's name is personal data and stands
// in Personal.
type Card struct {
	First6Digits    string  `json:"first6Digits"` // shown only where the account asks for it (§2.2)
	FirstDigits     string  `json:"firstDigits"`  // 8 where PCI rules allow, else 6
	Last4Digits     string  `json:"last4Digits"`
	ExpirationMonth string  `json:"expirationMonth"` // "01".."12"
	ExpirationYear  string  `json:"expirationYear"`  // four digits
	Network         Network `json:"network"`
	CVVAvailable    bool    `json:"cvvAvailable,omitempty"`
}

// NewCard keeps of a valid number what may be shown. PCI DSS allows the first eight digits only of
// numbers of 16 digits and more.
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

// Network is a card scheme, spelled as the dispute webhooks spell it (§6.4, D6).
type Network string

// The networks that a card number's prefix can tell.
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

// scheme is a range of issuer prefixes (the first `digits` digits, from..to) with the lengths in use.
type scheme struct {
	network  Network
	digits   int
	from, to int
	lengths  []int
}

// schemes is looked through in order; the first match wins.
var schemes = []scheme{
	{NetworkAmex, 2, 34, 34, []int{15}},
	{NetworkAmex, 2, 37, 37, []int{15}},
	{NetworkDiners, 3, 300, 305, []int{14, 16, 19}},
	{NetworkDiners, 2, 36, 36, []int{14, 16, 19}},
	{NetworkDiners, 2, 38, 39, []int{14, 16, 19}},
	{NetworkJCB, 4, 3528, 3589, []int{16, 17, 18, 19}},
	{NetworkVisa, 1, 4, 4, []int{16, 18, 19}},
	{NetworkMir, 4, 2200, 2204, []int{16, 17, 18, 19}},
	{NetworkMastercard, 2, 51, 55, []int{16}},
	{NetworkMastercard, 4, 2221, 2720, []int{16}},
	{NetworkDiscover, 4, 6011, 6011, []int{16, 19}},
	{NetworkDiscover, 3, 644, 649, []int{16, 19}},
	{NetworkDiscover, 2, 65, 65, []int{16, 19}},
	{NetworkUnionPay, 2, 62, 62, []int{16, 17, 18, 19}},
	{NetworkMaestro, 2, 50, 50, []int{14, 15, 16, 17, 18, 19}},
	{NetworkMaestro, 2, 56, 58, []int{14, 15, 16, 17, 18, 19}},
	{NetworkMaestro, 1, 6, 6, []int{14, 15, 16, 17, 18, 19}},
}

// CardNetwork tells the network of a number from its prefix and length; false when none fits.
func CardNetwork(number string) (Network, bool) {
	for _, s := range schemes {
		if len(number) < s.digits {
			continue
		}
		prefix := 0
		for _, r := range number[:s.digits] {
			prefix = prefix*10 + int(r-'0')
		}
		if prefix < s.from || prefix > s.to {
			continue
		}
		for _, n := range s.lengths {
			if len(number) == n {
				return s.network, true
			}
		}
	}
	return NetworkOther, false
}

// Luhn tells whether the last digit of number is its right check digit.
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

// ValidCardNumber tells whether digits is a card number: a known prefix of the right length and a right
// check digit.
func ValidCardNumber(digits string) bool {
	if len(digits) < 14 || len(digits) > 19 || strings.Trim(digits, "0123456789") != "" {
		return false
	}
	_, known := CardNetwork(digits)
	return known && Luhn(digits)
}

// HoldsCardNumber tells whether free text carries a card number (D1): 14–19 digits, spaces and dashes
// aside, that ValidCardNumber accepts. Groups of digits count alone and joined with their neighbours,
// so neither "4111 1111 1111 1111" nor "order 12 4111111111111111" hides one; an unbroken run of 20
// digits is some other number.
func HoldsCardNumber(text string) bool {
	var groups []string
	start := -1
	flush := func(end int) {
		if start >= 0 {
			groups = append(groups, text[start:end])
			start = -1
		}
	}
	for i, r := range text {
		switch {
		case r >= '0' && r <= '9':
			if start < 0 {
				start = i
			}
		case r == ' ' || r == '-':
			flush(i)
		default:
			flush(i)
			if anyCardNumber(groups) {
				return true
			}
			groups = groups[:0]
		}
	}
	flush(len(text))
	return anyCardNumber(groups)
}

// anyCardNumber tries every run of neighbouring groups whose digits are few enough to be a card number.
func anyCardNumber(groups []string) bool {
	for i := range groups {
		joined := ""
		for _, g := range groups[i:] {
			if joined += g; len(joined) > 19 {
				break
			}
			if ValidCardNumber(joined) {
				return true
			}
		}
	}
	return false
}

// CVVLength is the number of digits of a network's card verification value.
func (n Network) CVVLength() int {
	if n == NetworkAmex {
		return 4
	}
	return 3
}
