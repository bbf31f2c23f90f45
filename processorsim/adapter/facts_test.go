package adapter_test

import (
	"encoding/json"
	"testing"

	"payledger/domain/processor"
)

// TestOddFacts: facts about the card that are not in the contract's enumerations are left out, and
// the rest of the answer counts, whichever way it came.
func TestOddFacts(t *testing.T) {
	const odd = `{"state":"SUCCEEDED","processorTransactionId":"t",` + at + `,"binData":{"network":"A_LATER_ONE","issuerCountryCode":"XXXX","issuerName":"Bank",
		"accountFundingType":"CREDIT","productUsageType":"odd"},"risk":{"fraudPreAuthorizationResult":"odd","cvvSource":"S","cvvResult":"MATCHED","avsStreetAddress":"Y"},
		"threeDSecureResponseCode":"odd"}`
	for _, body := range []string{odd, compact(t, odd)} {
		a, _ := answering(t, 200, body)
		sent, err := a.Send(t.Context(), op)
		if err != nil {
			t.Fatal(err)
		}
		a, _ = answering(t, 200, `{"state":"KNOWN","answer":`+body+`}`)
		found, err := a.Lookup(t.Context(), op.Processor, op.Key)
		if err != nil {
			t.Fatal(err)
		}
		for _, got := range []processor.Answer{sent, *found.Answer} {
			if *got.Bin != (processor.BinData{IssuerName: "Bank", AccountFundingType: "CREDIT"}) || got.ThreeDS != "" ||
				*got.Risk != (processor.Risk{CVVSource: "S", CVVResult: "MATCHED"}) {
				t.Errorf("%+v %+v %q", got.Bin, got.Risk, got.ThreeDS)
			}
		}
	}
}

func compact(t *testing.T, text string) string {
	t.Helper()
	var tree json.RawMessage
	if err := json.Unmarshal([]byte(text), &tree); err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
