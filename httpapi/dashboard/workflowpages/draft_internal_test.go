package workflowpages

import "testing"

// TestShareOf: a share is a percentage in decimal digits. Exponents and hexadecimal floats are
// refused.
func TestShareOf(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]float64{"50": 0.5, "50%": 0.5, "50 %": 0.5, "12.5": 0.125, "0.0001": 0.000001, "100": 1} {
		if got, good := shareOf(text); !good || got != want {
			t.Errorf("%q is %v, %v", text, got, good)
		}
	}
	for _, text := range []string{"", "0", "101", "12,5", "1.5e1", "0x1.8p0", "1e1", "+5", "-5", "Inf", "NaN", "1.23456", "1_0"} {
		if got, good := shareOf(text); good {
			t.Errorf("%q is %v", text, got)
		}
	}
}
