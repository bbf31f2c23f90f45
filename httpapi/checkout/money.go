package checkout

import (
	"payledger/domain"
	"payledger/httpapi/checkout/locale"
)

// english writes money for pages without a language of their own.
var english = locale.English()

// Money writes an amount in English: "€1,234.50", "¥1,235", "KWD 1.234", "−$3.00".
func Money(a domain.Amount, c domain.Currency) string { return english.Amount(a, c) }
