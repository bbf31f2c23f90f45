package protocol_test

import (
	"testing"

	"payledger/processorsim/protocol"
)

// TestSignature is a vector for implementations in other languages.
func TestSignature(t *testing.T) {
	const want = "f7bc83f430538424b13298e6aa6fb143ef4d59a14946175997479dbc2d1a3cd8"
	secret, body := []byte("key"), []byte("The quick brown fox jumps over the lazy dog")
	if got := protocol.Sign(secret, body); got != want || !protocol.Verify(secret, body, want) {
		t.Errorf("%s, want %s", got, want)
	}
	for _, wrong := range []string{"", want[:63], want + "0", "0" + want[1:]} {
		if protocol.Verify(secret, body, wrong) {
			t.Errorf("%q was accepted", wrong)
		}
	}
}

func TestPaths(t *testing.T) {
	if got := protocol.OperationPath("ADYEN", "01abc.12/x"); got != "/v1/processors/ADYEN/operations/01abc.12%2Fx" {
		t.Error(got)
	}
}
