package frame

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// Mark identifies a value as a page shows it: equal values have equal marks. The value must encode
// as JSON.
func Mark(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // not reached: pages have texts, numbers, times and booleans
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:12])
}

// Outdated reports whether a page with another mark showed the form: what the form changes has
// changed meanwhile. Then it refuses the form, and gives it the mark of now, so that it can be sent
// again. thing begins the reason, as in "The settings have".
func (f *Form) Outdated(mark, thing string) bool {
	if f.Review || f.Text("mark") == mark {
		return false
	}
	f.Values.Set("mark", mark)
	f.Refusal = Refusal{
		Text: thing + " changed since you opened this page.", Advice: "The page has what applies now; the form has your input. Look at both, then send it again.",
	}
	return true
}

// Fact is one line of what applies now.
type Fact struct{ Name, Text string }
