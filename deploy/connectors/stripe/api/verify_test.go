package api_test

import (
	"testing"

	"payledger/deploy/connectors/stripe/double"
	"payledger/domain/processor"
	"payledger/processorsim/connector"
)

// TestVerify: an authorization of nothing asks the issuer, holds nothing, and is found again.
func TestVerify(t *testing.T) {
	for number, want := range map[string]processor.Answer{
		"4242424242424242": {State: processor.Succeeded},
		"4000000000009987": {State: processor.Declined, Code: "41"},
		"4000000000003220": {State: processor.Declined, Code: "1A"}, // nobody waits
	} {
		for _, mode := range []double.Mode{"", double.LostBefore, double.LostAfter, double.Late} {
			r := newRig(t)
			o := authorization(number)
			o.Amount = 0
			if mode != "" {
				r.double.Order(&double.Fault{Mode: mode, Path: "/v1/setup_intents", Method: "POST"})
				if result, err := r.vendor.Send(t.Context(), o); err == nil {
					t.Fatalf("%+v", result)
				}
				found := must[connector.Finding](t)(r.vendor.Find(t.Context(), o))
				r.double.Flush()
				if arrived := mode == double.LostAfter; found.Nothing == arrived || (found.Result != nil) != arrived || arrived && found.Result.Answer.Code != want.Code {
					t.Errorf("%s %s: %+v", number, mode, found)
				}
				continue
			}
			result := r.send(o)
			if a := result.Answer; a.State != want.State || a.Code != want.Code || result.Amount != 0 || result.Currency != "EUR" {
				t.Errorf("%s: %+v", number, result)
			}
			if want.State != processor.Succeeded {
				continue
			}
			if void := r.send(upon(o, result, processor.Void)); void.Answer.State != processor.Succeeded {
				t.Errorf("%+v", void)
			}
			for _, kind := range []processor.Kind{processor.Capture, processor.Refund, processor.Adjust} {
				if done := r.send(upon(o, result, kind)); done.Answer.State != processor.Failed {
					t.Errorf("%s: %+v", kind, done)
				}
			}
		}
	}
}
