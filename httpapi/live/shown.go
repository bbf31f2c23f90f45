package live

import (
	"bytes"
	"encoding/json"
	"math"
	"regexp"
	"strings"

	"payledger/domain"
)

// leftOut stands for a value that the log does not show.
const leftOut = "…"

// plainFields are the fields whose texts are shown: none holds a secret, a text of the merchant's
// or a person's data. Every other text is left out, so that a new field is, too.
var plainFields = set("status amountStatus approvalStatus approvalMode captureMode currencyCode currency paymentType paymentMethodType paymentInstrumentType network " +
	"cardTokenType tokenType transactionType type processor processorName processorStatus authorizationType errorId model path date createdAt updatedAt " +
	"dateUpdated expiresAt clientExpirationDate clientTokenExpirationDate from to outcome state eventType eventTypes role scopes actor countryCode " +
	"responseCode fraudPreAuthorizationResult result firstPaymentReason paymentFlow")

// ids are the fields with ids that the service makes.
var ids = set("id paymentId paymentAttemptId currentAttemptId diagnosticsId requestId endpointId deliveryId workflowId replayId runId disputeId transactionEventId")

// closed are the fields with the data of persons, cards and merchants: nothing of them is shown.
var closed = set("customer metadata paymentInstrument processorToken paymentInstrumentData paymentMethodData riskData billingAddress shippingAddress lineItems order binData")

var (
	ownID    = regexp.MustCompile(`^([0-9a-z]{20,40}|[0-9A-Za-z]{16}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})$`)
	ownField = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]{0,39}$`)
)

func set(names string) map[string]bool {
	all := map[string]bool{}
	for name := range strings.FieldsSeq(names) {
		all[name] = true
	}
	return all
}

// Shown returns a body as the log may show it, as JSON for reading; "" without one. Names of fields
// stay, booleans and small numbers as well; of the texts only those of plainFields and ids.
func Shown(body any) string {
	if body == nil {
		return ""
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(shownValue("", body, false)); err != nil {
		return leftOut
	}
	text := strings.TrimSpace(b.String())
	if domain.MayHoldCardNumber(text) {
		return leftOut
	}
	if len(text) > mostShownBody {
		text = strings.ToValidUTF8(text[:mostShownBody], "") + leftOut
	}
	return text
}

func shownText(body []byte) string {
	var value any
	if len(body) == 0 || len(body) > mostLookedBody || json.Unmarshal(body, &value) != nil {
		return ""
	}
	return Shown(value)
}

// mostNumber bounds the numbers that are shown: a longer one may be a card number.
const mostNumber = 1e12

// shownValue returns a value as the log may show it. refused: it is a part of an error answer,
// whose descriptions are the service's.
func shownValue(field string, value any, refused bool) any {
	switch v := value.(type) {
	case map[string]any:
		if closed[field] {
			return leftOut
		}
		out := map[string]any{}
		for name, part := range v {
			if !ownField.MatchString(name) {
				name = leftOut
			}
			out[name] = shownValue(name, part, refused || field == "" && name == "error")
		}
		return out
	case []any:
		if closed[field] {
			return leftOut
		}
		out := make([]any, len(v))
		for i, part := range v {
			out[i] = shownValue(field, part, refused)
		}
		return out
	case string:
		shown := plainFields[field] && len(v) <= 64 || ids[field] && ownID.MatchString(v) || refused && field == "description"
		if !shown || domain.MayHoldCardNumber(v) {
			return leftOut
		}
		return v
	case float64:
		if math.Abs(v) > mostNumber {
			return leftOut
		}
	}
	return value
}
