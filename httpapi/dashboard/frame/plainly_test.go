package frame_test

import (
	"testing"

	"payledger/httpapi/dashboard/frame"
)

// TestPlainly: a refusal of the API loses what is for programs, and keeps the rest.
func TestPlainly(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"The request is not valid. $.amount nothing can be captured: 5.00 EUR is captured of an authorization of 5.00 EUR.": "Nothing can be captured: 5.00 EUR is captured of an authorization of 5.00 EUR.",
		"The request is not valid. $.amount must be at least 1 minor unit. $.order.countryCode is not known.":               "The amount must be at least 1 minor unit. The country code is not known.",
		"The payment is settled; it cannot be captured.":                                                                    "The payment is settled; it cannot be captured.",
		"The request is not valid.": "It was not accepted.",
	} {
		if got := frame.Plainly(text); got != want {
			t.Errorf("%q becomes %q instead of %q", text, got, want)
		}
	}
}
