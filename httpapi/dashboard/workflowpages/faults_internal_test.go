package workflowpages

import "testing"

// TestFaultsInWords: the compiler's messages about a condition are shown in words. An unknown
// message stays.
func TestFaultsInWords(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]string{
		"found no matching overload for '_>_' applied to '(int, bool)'":             "“>” stands between a whole number and true or false, and does not fit them. Compare values of one type, and join conditions with && or ||.",
		"found no matching overload for '_==_' applied to '(string, wrapper(int))'": "“==” stands between a text and a whole number, and does not fit them. Compare values of one type, and join conditions with && or ||.",
		"found no matching overload for '!_' applied to '(string)'":                 "“!” does not fit a text.",
		"found no matching overload for '@in' applied to '(int, list(string))'":     "“in” stands between a whole number and a list, and does not fit them. Compare values of one type, and join conditions with && or ||.",
		"found no matching overload for 'startsWith' applied to 'string.(int)'":     "startsWith of a text does not take a whole number.",
		"found no matching overload for 'size' applied to '(int)'":                  "size does not take a whole number.",
		"undeclared reference to 'EUR'":                                             "there is no EUR here. A condition reads payment and event, and for events of disputes also dispute. Put a text in quotes.",
		"Syntax error: mismatched input '<EOF>' expecting {'[', '{', '('}":          "the condition ends too early: something is missing here, such as a value, a quote or a bracket.",
		"Syntax error: extraneous input 'payment' expecting <EOF>":                  "this cannot be read here: extraneous input 'payment'. Join two conditions with && or ||, and put texts in quotes.",
		"undeclared reference to 'amount'":                                          "there is no amount here. Write payment.amount.",
		"found no matching overload for '_<_' applied to '(int, double)'":           "“<” does not fit between a whole number and a number with decimals. Amounts are whole numbers of minor units: write 4990 for 49.90 EUR.",
		"Syntax error: mismatched input 'and' expecting <EOF>":                      "this cannot be read here: and. Write &&.",
		"Syntax error: extraneous input 'OR' expecting <EOF>":                       "this cannot be read here: OR. Write ||.",
		"Syntax error: token recognition error at: '= '":                            "this cannot be read here: =. Write ==.",
		"undefined field 'currency'":                                                "there is no field currency here. Write payment.currencyCode, and in a condition about a dispute dispute.currency.",
		"unknown message":                                                           "unknown message",
		"undefined field 'amout'":                                                   "there is no field amout here. The fields are those of GET /payments/{id}; the examples below name some.",
	} {
		if got := plainFault(message, "payment.amount < 49.90"); got != want {
			t.Errorf("%s\nis  %s\nnot %s", message, got, want)
		}
	}
}

// TestSmallAmountsAreNamed: a literal below one unit of the currency is named with its value, other
// literals are not.
func TestSmallAmountsAreNamed(t *testing.T) {
	t.Parallel()
	for condition, want := range map[string]string{
		"payment.amount < 50":                                   "50 means 0.50 EUR: amounts are in minor units. Write 5000 for 50.00 EUR.",
		"99>=dispute.amount":                                    "99 means 0.99 EUR: amounts are in minor units. Write 9900 for 99.00 EUR.",
		`payment.amount<5&&payment.currencyCode == "KWD"`:       "5 means 0.005 KWD: amounts are in minor units. Write 5000 for 5.000 KWD.",
		`payment.amount < 50 && payment.currencyCode == "JPY"`:  "",
		"payment.amount > 0":                                    "",
		"payment.amount < 100":                                  "",
		"payment.amount < 50.00":                                "",
		`payment.metadata.note == "payment.amount < 50"`:        "",
		"payment.amountOf < 50 || payment.order.lines.amount<5": "",
	} {
		if got := smallAmount(condition); got != want {
			t.Errorf("%s\nis  %s\nnot %s", condition, got, want)
		}
	}
}
