package adapter_test

import (
	"encoding/json"
	"strings"
	"testing"

	"payledger/domain/processor"
)

// TestOddFacts: facts about the card that are not in the contract's enumerations are left out, and
// the rest of the answer counts, whichever way it came.
func TestOddFacts(t *testing.T) {
	const odd = `{"state":"SUCCEEDED","processorTransactionId":"t",` + at + `,"message":"of tok_1","binData":{"network":"A_LATER_ONE","issuerCountryCode":"XXXX","issuerName":"Bank",
		"accountFundingType":"CREDIT","productUsageType":"odd"},"risk":{"fraudPreAuthorizationResult":"odd","cvvSource":"S","cvvResult":"MATCHED","avsStreetAddress":"Y"},
		"threeDSecureResponseCode":"odd","cardTokenType":"odd","processorToken":"tok_1"}`
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
		a, _ = answering(t, 200, `{"operations":[`+strings.Replace(capturedEntry, `"answer":{"state":"SUCCEEDED","processorTransactionId":"tx_1","at":"2026-03-01T12:00:00Z"}`, `"answer":`+body, 1)+`]}`)
		listed, err := a.ByReference(t.Context(), op.Processor, "01abc")
		if err != nil || len(listed) != 1 {
			t.Fatalf("%+v %v", listed, err)
		}
		if listed[0].Answer.CardToken != "" {
			t.Error("a listed operation has a token")
		}
		for _, got := range []processor.Answer{sent, *found.Answer, listed[0].Answer} {
			if got.CardTokenType != "" || got.Message != "of (removed)" {
				t.Errorf("%q %q", got.CardTokenType, got.Message)
			}
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
