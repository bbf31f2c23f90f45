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
		"undefined field 'amout'":                                                   "undefined field 'amout'",
	} {
		if got := plainFault(message); got != want {
			t.Errorf("%s\nis  %s\nnot %s", message, got, want)
		}
	}
}
