package paymentjson

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"payledger/domain/payment"
)

// TestTailOfLifecyclesIsNotShown is the same for the reviewed lives, which have several tries.
func TestTailOfLifecyclesIsNotShown(t *testing.T) {
	defer func(before int) { payment.Tail = before }(payment.Tail)
	for name, lead := range lifecycles {
		shown := map[int][]string{}
		for _, tail := range []int{0, 1000} {
			payment.Tail = tail
			lead(t, func(s payment.State) {
				for _, o := range []Options{{Events: true}, {}} {
					text, err := json.Marshal(Render(s, customer, o))
					if err != nil {
						t.Fatal(err)
					}
					shown[tail] = append(shown[tail], string(text))
				}
			})
		}
		if diff := cmp.Diff(shown[1000], shown[0]); diff != "" || len(shown[0]) == 0 {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
