package checkout

import (
	"cmp"
	"strings"

	"payledger/domain"
)

// symbols are the currency symbols of CLDR for en-US; other currencies are written with their code.
var symbols = map[domain.Currency]string{
	"AUD": "A$", "BRL": "R$", "CAD": "CA$", "CNY": "CN¥", "EUR": "€", "GBP": "£", "HKD": "HK$", "ILS": "₪", "INR": "₹",
	"JPY": "¥", "KRW": "₩", "MXN": "MX$", "NZD": "NZ$", "PHP": "₱", "TWD": "NT$", "USD": "$", "VND": "₫",
}

// noBreak keeps a code and its amount on one line.
const noBreak = "\u00a0"

// Money writes an amount for customers: "€1,234.50", "¥1,235", "KWD 1.234", "−$3.00".
func Money(a domain.Amount, c domain.Currency) string {
	number := strings.TrimSuffix(a.Format(c), " "+string(c))
	sign := ""
	if rest, negative := strings.CutPrefix(number, "-"); negative {
		sign, number = "\u2212", rest
	}
	return sign + cmp.Or(symbols[c], string(c)+noBreak) + grouped(number)
}

func grouped(number string) string {
	whole, fraction, _ := strings.Cut(number, ".")
	var b strings.Builder
	for i, digit := range whole {
		if i > 0 && (len(whole)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(digit)
	}
	if fraction != "" {
		b.WriteString("." + fraction)
	}
	return b.String()
}
