package server

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"payledger/domain"
	"payledger/domain/exactjson"
	"payledger/domain/processor"
	"payledger/processorsim/protocol"
	"payledger/processorsim/protocol/plainjson"
)

// Invalid returns the error for an invalid request. message must not repeat a value of the body: it
// may be a card number.
func Invalid(message string) error {
	return Problem(http.StatusUnprocessableEntity, protocol.CodeInvalidRequest, message)
}

// readBody reads a whole body of bounded size. The server notices a closed connection only after
// the end of the body.
func readBody(r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(r.Body, protocol.MaxBody+1))
	switch {
	case err != nil:
		return nil, Problem(http.StatusBadRequest, protocol.CodeInvalidRequest, "the body could not be read")
	case len(body) > protocol.MaxBody:
		return nil, Problem(http.StatusRequestEntityTooLarge, protocol.CodeRequestTooLarge, "the body is too large")
	}
	return body, nil
}

// Decode reads a body that is one JSON object with the fields of T, and nothing else. It calls the
// method Check of T, if any.
func Decode[T any](r *http.Request) (value T, err error) {
	body, err := readBody(r)
	if err == nil {
		err = bodyError(exactjson.UnmarshalStrict(body, &value))
	}
	if checked, is := any(value).(interface{ Check() error }); is && err == nil {
		if err := checked.Check(); err != nil {
			return value, Invalid(err.Error())
		}
	}
	return value, err
}

// bodyError returns the answer for a body that could not be decoded. The decoder's own text repeats
// values and unknown names.
func bodyError(err error) error {
	if err == nil {
		return nil
	}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return Invalid("a field has the wrong type: " + wrong.Field)
	}
	return Problem(http.StatusBadRequest, protocol.CodeInvalidRequest, "the body is not the JSON object expected here")
}

// decodeOperation reads an operation. It ignores fields that are not known: they belong to a later
// version of the protocol.
func decodeOperation(body []byte, name processor.Name, key domain.OperationKey) (processor.Operation, error) {
	op, plain := plainjson.ReadOperation(body)
	if !plain {
		op = processor.Operation{}
		if err := bodyError(exactjson.Unmarshal(body, &op)); err != nil {
			return op, err
		}
	}
	op.Processor, op.Key = name, key
	return op, checkOperation(op)
}

func checkOperation(op processor.Operation) error {
	whole := op.Kind == processor.Complete || op.Kind == processor.Void // their currency may be empty
	switch {
	case !slices.Contains(protocol.Kinds, op.Kind):
		return Invalid("operation is none of those known")
	case !domain.ValidID(string(op.Reference)):
		return Invalid("reference is not an id")
	case op.Amount < 0 || op.Amount > domain.MaxAmount:
		return Invalid("amount is out of range")
	case !op.Currency.Known() && !(whole && op.Currency == ""):
		return Invalid("currency is not an ISO 4217 code")
	case longer(op.MerchantID, 255) || longer(op.ParentID, 255) || longer(op.NotifyURL, 2048) || longer(op.ReturnURL, 2048):
		return Invalid("a text is too long")
	case holdsDivided(op.MerchantID) || holdsDivided(op.ParentID) || domain.HoldsCardNumber(op.NotifyURL) || domain.HoldsCardNumber(op.ReturnURL):
		return Invalid("a text holds a card number")
	case op.NotifyURL != "" && !absoluteURL(op.NotifyURL):
		return Invalid("notifyUrl is not an absolute http or https URL")
	case op.ReturnURL != "" && !absoluteURL(op.ReturnURL):
		return Invalid("returnUrl is not an absolute http or https URL")
	case op.Kind == processor.Complete && op.Outcome != processor.Authenticated && op.Outcome != processor.AuthenticationFailed:
		return Invalid("outcome must be AUTHENTICATED or FAILED")
	case op.Kind == processor.Authorize:
		return checkCard(op.Card)
	case op.Card != nil:
		return Invalid("card belongs to authorize only")
	case op.ParentID == "":
		return Invalid("parentId is missing")
	}
	return nil
}

func checkCard(c *processor.Card) error {
	month := func(s string) bool { return len(s) == 2 && s >= "01" && s <= "12" && digits(s) }
	switch {
	case c == nil:
		return Invalid("card is missing")
	case c.Token != "" && *c != (processor.Card{Token: c.Token}):
		return Invalid("card has processorToken, which stands in the place of all other fields")
	case c.Token != "":
		return checkCardToken(c.Token)
	case len(c.Number) < 12 || len(c.Number) > 19 || !digits(c.Number):
		return Invalid("card.number is not 12 to 19 digits")
	case c.CVV != "" && (len(c.CVV) < 3 || len(c.CVV) > 4 || !digits(c.CVV)):
		return Invalid("card.cvv is not 3 or 4 digits")
	case !month(c.ExpirationMonth) || len(c.ExpirationYear) != 4 || !digits(c.ExpirationYear):
		return Invalid("card expiry is not MM and YYYY")
	}
	return nil
}

func checkCardToken(token string) error {
	if !protocol.ValidCardToken(token) {
		return Invalid("card.processorToken is not 1 to 255 visible ASCII characters, or holds a card number")
	}
	return nil
}

// holdsDivided reports whether an id holds a card number in groups: undivided, a number of an id
// may look like a card (D21).
func holdsDivided(id string) bool {
	number, _ := domain.FindCardNumber(id, true)
	return number != ""
}

// longer reports whether a text has more characters than a limit.
func longer(text string, most int) bool { return utf8.RuneCountInString(text) > most }

func digits(s string) bool { return strings.Trim(s, "0123456789") == "" }

func absoluteURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil
}

func checkKey(key string) (domain.OperationKey, error) {
	if key == "" || len(key) > 255 || strings.IndexFunc(key, func(r rune) bool { return r < '!' || r > '~' }) >= 0 {
		return "", Invalid("the idempotency key is not 1 to 255 visible ASCII characters")
	}
	if holdsDivided(key) {
		return "", Invalid("the idempotency key holds a card number")
	}
	return domain.OperationKey(key), nil
}

func pathKey(escaped string) (domain.OperationKey, error) {
	key, err := url.PathUnescape(escaped)
	if err != nil {
		return "", Invalid("the key in the path is not escaped rightly")
	}
	return checkKey(key)
}
