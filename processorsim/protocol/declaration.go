package protocol

import (
	"net/url"

	"payledger/domain/processor"
)

// Version is the version of the protocol. A later version only adds: fields that are not known are
// ignored, and a state that is not known is an unknown outcome.
const Version = 1

// DeclarationPath returns the path of a processor's declaration.
func DeclarationPath(name processor.Name) string {
	return "/v1/processors/" + url.PathEscape(string(name))
}

// Declaration is what a connector says about itself and its vendor: `GET /v1/processors/NAME`. It
// answers without a call of the vendor, so it shows as well that the connector runs.
type Declaration struct {
	Protocol  int            `json:"protocol"`  // Version
	Processor processor.Name `json:"processor"` // the name in the path
	Connector string         `json:"connector"` // the program and its version, for people
	Live      bool           `json:"live"`      // its operations move real money

	// Simulated states that the processor is payledger's own simulator: its cards are those of the
	// sandbox (D13).
	Simulated bool `json:"simulated,omitempty"`

	// Cannot lists what the connector does not do. Everything else it does.
	Cannot []Lack `json:"cannot"`
	// TestCards are the numbers of cards with a known outcome. None if Live.
	TestCards map[TestCase]string `json:"testCards,omitempty"`
}

// Lack is a capability that a connector does not have.
type Lack struct {
	Capability Capability `json:"capability"`
	Instead    string     `json:"instead"` // the connector's answer to such an operation; one sentence for the merchant

	// Tried states that a connector of the kit sends such operations to the vendor all the same:
	// the vendor does some of them.
	Tried bool `json:"-"`
}

// Can reports whether the connector has a capability.
func (d Declaration) Can(c Capability) bool {
	for _, lack := range d.Cannot {
		if lack.Capability == c {
			return false
		}
	}
	return true
}

// CodeNotSupported is the code of an operation that the connector does not do: it is FAILED.
const CodeNotSupported Code = "not_supported"

// Capability is something that some vendors cannot do. A connector must do the rest of the
// protocol: keys, look-ups and fences above all.
type Capability string

const (
	CanAdjust          Capability = "adjust"           // change the amount of an authorization
	CanCapturePartly   Capability = "partial_capture"  // capture less than the authorization, finally
	CanCaptureAgain    Capability = "several_captures" // further captures of one authorization
	CanRefundPartly    Capability = "partial_refund"   // refund less than a capture
	CanRefundCapture   Capability = "refund_capture"   // refund one of several captures
	CanVoid            Capability = "void"             // release an authorization
	CanAuthenticate    Capability = "three_d_secure"   // answer ACTION_REQUIRED, and complete
	CanReportDisputes  Capability = "disputes"         // notify changes of disputes, and list them
	CanListByTime      Capability = "list_by_time"     // list operations by time, also those made elsewhere
	CanListByReference Capability = "list_outside"     // list operations of a payment that were made elsewhere
	CanTokenize        Capability = "tokens"           // give tokens of cards, and authorize with them
)

// Capabilities lists every capability.
var Capabilities = []Capability{
	CanAdjust, CanCapturePartly, CanCaptureAgain, CanRefundPartly, CanRefundCapture, CanVoid, CanAuthenticate, CanReportDisputes,
	CanListByTime, CanListByReference, CanTokenize,
}

// TestCase is what happens to a test card.
type TestCase string

const (
	CardApproved       TestCase = "approved"
	CardDeclined       TestCase = "declined"        // by the issuer
	CardRejected       TestCase = "rejected"        // by the processor: FAILED
	CardAuthentication TestCase = "authentication"  // ACTION_REQUIRED; complete decides
	CardPending        TestCase = "pending"         // the authorization is PENDING, then approved
	CardCaptureFails   TestCase = "capture_fails"   // approved; captures end FAILED
	CardCapturePending TestCase = "capture_pending" // approved; captures are PENDING, then SUCCEEDED
	CardRefundFails    TestCase = "refund_fails"    // approved; refunds end FAILED
	CardVoidFails      TestCase = "void_fails"      // approved; voids end FAILED
	CardDisputed       TestCase = "disputed"        // approved; a dispute opens after the capture
	CardNetworkToken   TestCase = "network_token"   // approved with a token of the card scheme
	CardForgotten      TestCase = "token_forgotten" // approved; its token is refused with token_unknown
)
