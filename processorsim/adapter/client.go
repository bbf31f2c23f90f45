package adapter

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"payledger/domain"
	"payledger/domain/exactjson"
	"payledger/domain/processor"
	"payledger/processorsim/protocol"
	"payledger/processorsim/protocol/plainjson"
)

// Adapter calls the processors at one base URL. It is safe for concurrent use.
type Adapter struct {
	base  string // without a user
	path  string // of base
	token string
	user  *url.Userinfo // nil: none
	http  *http.Client

	operations, questions places
	exchanged, unfit      func(error)
	timeout               time.Duration // of one call; 0: none
	listPause             time.Duration // Connection.ListPause
	// Timed gets the duration of each call of Send, Lookup and Fence; call is the operation,
	// "look-up" or "fence". unknown reports that the outcome is unknown. nil: nobody does. Set it
	// before the first call.
	Timed func(name processor.Name, call string, took time.Duration, unknown bool)
}

func (c *Adapter) timed(name processor.Name, call string, began time.Time, err error) {
	if c.Timed != nil {
		c.Timed(name, call, time.Since(began), err != nil)
	}
	if c.unfit != nil && (errors.Is(err, ErrUnfit) || errors.Is(err, processor.ErrUnreadable)) {
		c.unfit(err)
	}
}

var (
	_ processor.Port     = (*Adapter)(nil)
	_ processor.Disputes = (*Adapter)(nil)
)

// Declaration returns what the processor's connector says about itself.
func (c *Adapter) Declaration(ctx context.Context, name processor.Name) (d protocol.Declaration, err error) {
	if _, err = c.do(ctx, http.MethodGet, protocol.DeclarationPath(name), nil, &d, protocol.MaxBody); err != nil {
		return protocol.Declaration{}, err
	}
	if d.Protocol < protocol.Version || d.Processor != name {
		return protocol.Declaration{}, unknown("%s declares protocol %d of processor %q", name, d.Protocol, domain.Beginning(withoutCard(string(d.Processor)), 64))
	}
	return d, nil
}

// Send performs op, or returns the result of the first send with its key. Only ctx bounds it.
func (c *Adapter) Send(ctx context.Context, op processor.Operation) (answer processor.Answer, err error) {
	began := time.Now()
	defer func() { c.timed(op.Processor, string(op.Kind), began, err) }()
	if op.Kind == processor.Authorize && (op.Card == nil || op.Card.Absent()) { // whatever was read as a card is none
		return processor.Answer{}, unknown("%s at %s was not sent: its card has neither number nor token", op.Kind, op.Processor)
	}
	body, err := json.Marshal(op)
	if err != nil {
		return processor.Answer{}, unknown("%s at %s: %v", op.Kind, op.Processor, err)
	}
	r, err := c.request(ctx, http.MethodPost, protocol.OperationsPath(op.Processor), bytes.NewReader(body))
	if err != nil {
		return processor.Answer{}, err
	}
	r.GetBody = nil // never repeated by net/http: see the package comment
	r.Header.Set(protocol.HeaderIdempotencyKey, string(op.Key))
	token := ""
	if op.Card != nil {
		token = op.Card.Token
	}
	text, err := c.read(r, protocol.MaxBody, token)
	if err != nil {
		return processor.Answer{}, err
	}
	if answer, err = readAnswer(c.call(r), text, token); err != nil {
		return processor.Answer{}, err
	}
	if err := check(answer); err != nil {
		return processor.Answer{}, unknown("%w: %s at %s: %w", ErrUnfit, op.Kind, op.Processor, err)
	}
	if why := op.Unfit(answer); why != "" {
		return processor.Answer{}, unknown("%w: %s at %s: %s", ErrUnfit, op.Kind, op.Processor, why)
	}
	return answer, nil
}

// readAnswer reads an answer to a request with a token of a card, "" for none, which the answer
// must not repeat.
func readAnswer(call fmt.Stringer, text []byte, token string) (processor.Answer, error) {
	harmless := func(text string) bool { return !telling(text) }
	// A plain answer has each field once, and none that is unknown. Without a telling text its body
	// is kept unchanged but for the tokens.
	if answer, plain := plainjson.ReadAnswer(text, harmless); plain && answer.ActionToken == "" && answer.ActionURL == "" && len(text) <= maxRawAnswer {
		var kept bool
		if answer.RawAnswer, kept = plainRaw(text, answer.CardToken, token); kept {
			return withoutOdd(answer, token), nil
		}
	}
	var answer processor.Answer
	if err := decode(call, text, &answer); err != nil {
		return processor.Answer{}, err
	}
	answer.RawAnswer = rawAnswer(text, answerFields, answer, token)
	return withoutOdd(withoutCards(answer), token), nil
}

// Lookup returns the state of the operation with the key.
func (c *Adapter) Lookup(ctx context.Context, name processor.Name, key domain.OperationKey) (processor.Lookup, error) {
	return c.lookup(ctx, "look-up", http.MethodGet, name, protocol.OperationPath(name, key))
}

// Fence makes the processor refuse the key from now on. If it has seen the key before, Fence is
// Lookup.
func (c *Adapter) Fence(ctx context.Context, name processor.Name, key domain.OperationKey) (processor.Lookup, error) {
	return c.lookup(ctx, "fence", http.MethodPost, name, protocol.OperationPath(name, key)+"/fence")
}

func (c *Adapter) lookup(ctx context.Context, call, method string, name processor.Name, path string) (l processor.Lookup, err error) {
	began := time.Now()
	defer func() { c.timed(name, call, began, err) }()
	text, err := c.do(ctx, method, path, nil, &l, protocol.MaxBody)
	if err != nil {
		return processor.Lookup{}, err
	}
	switch {
	case l.State == processor.Known && l.Answer != nil:
		if err := check(*l.Answer); err != nil {
			return processor.Lookup{}, unknown("%w: look-up at %s: %w", ErrUnfit, name, err)
		}
		l.Answer.RawAnswer = rawAnswer(text, lookupFields, *l.Answer, "")
		*l.Answer = withoutOdd(withoutCards(*l.Answer), "")
		return l, nil
	case l.Answer == nil && (l.State == processor.Unseen || l.State == processor.Running || l.State == processor.Fenced):
		return l, nil
	}
	return processor.Lookup{}, unknown("%w: look-up at %s: its state is not known, or contradicts its answer", ErrUnfit, name)
}

// NotificationsSince returns a page of a processor's dispute notifications.
func (c *Adapter) NotificationsSince(ctx context.Context, name processor.Name, since time.Time, after string) (processor.DisputePage, error) {
	q := url.Values{}
	if after != "" {
		q.Set("after", after)
	} else if !since.IsZero() {
		q.Set("since", since.UTC().Format(time.RFC3339Nano))
	}
	return c.disputes(ctx, name, q, protocol.MaxBody)
}

func (c *Adapter) disputes(ctx context.Context, name processor.Name, q url.Values, limit int64) (processor.DisputePage, error) {
	var list protocol.DisputeList
	if _, err := c.do(ctx, http.MethodGet, protocol.DisputesPath(name)+"?"+q.Encode(), nil, &list, limit); err != nil {
		return processor.DisputePage{}, err
	}
	page := processor.DisputePage{Next: list.Next, More: list.More}
	for _, body := range list.Notifications {
		notification, err := readNotification(name, body)
		if err != nil || notification.Kind != processor.Dispute {
			page.Unreadable++
			continue
		}
		page.Notifications = append(page.Notifications, notification)
	}
	return page, nil
}

func check(a processor.Answer) error {
	switch {
	case a.At.IsZero():
		return fmt.Errorf("an answer without a time")
	case a.ProcessorTransactionID != "" && !plainText(a.ProcessorTransactionID, maxTransactionID):
		return fmt.Errorf("the id of its transaction is not 1 to %d visible ASCII characters", maxTransactionID)
	case a.State == processor.Succeeded, a.State == processor.Pending, a.State == processor.ActionRequired:
		if a.ProcessorTransactionID == "" {
			return fmt.Errorf("%s without a transaction", a.State)
		}
		if (a.State == processor.ActionRequired) != (a.ActionToken != "") {
			return fmt.Errorf("%s does not agree with its action", a.State)
		}
		if a.Retryable {
			return fmt.Errorf("%s and retryable", a.State)
		}
	case a.State == processor.Declined, a.State == processor.Failed:
		if a.Code == "" {
			return fmt.Errorf("%s without a code", a.State)
		}
	default:
		return errors.New("its state is not known")
	}
	return nil
}

func (c *Adapter) request(ctx context.Context, method, path string, body io.Reader) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, method, c.base+path, body)
	if err != nil {
		return nil, unknown("%s %s: %v", method, path, withoutURL(err))
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	return r, nil
}

// do sends a request once, decodes an answer 200 of at most limit bytes into the value, and returns
// its body; all else is ErrUnknown.
func (c *Adapter) do(ctx context.Context, method, path string, body io.Reader, into any, limit int64) ([]byte, error) {
	r, err := c.request(ctx, method, path, body)
	if err != nil {
		return nil, err
	}
	text, err := c.read(r, limit)
	if err != nil {
		return nil, err
	}
	return text, decode(c.call(r), text, into)
}

// decode parses the answer to a call, which errors name.
func decode(call fmt.Stringer, text []byte, into any) error {
	if err := exactjson.Unmarshal(text, into); err != nil {
		return unreadable("%s: the answer cannot be parsed: %w", call, err)
	}
	return nil
}

// read sends r once and returns the body of an answer with status 200 and at most limit bytes. No
// error text has one of the secrets.
func (c *Adapter) read(r *http.Request, limit int64, secrets ...string) (body []byte, err error) {
	err = c.exchange(r, &bound{limit: c.timeout}, func(response *http.Response) error {
		text, err := io.ReadAll(io.LimitReader(response.Body, limit+1))
		switch {
		case err != nil:
			return unknown("%s: reading the answer: %w", c.call(r), err)
		case int64(len(text)) > limit:
			return unreadable("%s: the answer is too large", c.call(r))
		case response.StatusCode != http.StatusOK:
			return c.refused(c.call(r), response.StatusCode, text, secrets...)
		}
		body = withoutControls(text)
		return nil
	})
	return body, err
}

// refused returns the error of an answer other than 200, without card numbers and the secrets of
// the request.
func (c *Adapter) refused(call fmt.Stringer, status int, text []byte, secrets ...string) error {
	var body protocol.ErrorBody
	understood := exactjson.Unmarshal(text, &body) == nil && body.Error.Code != ""
	reason := "without a reason"
	if understood {
		reason = withoutCard(body.Error.Code) + ": " + withoutCard(body.Error.Message)
	}
	for _, secret := range append(secrets, c.credentials()...) {
		if secret != "" {
			reason = strings.ReplaceAll(reason, secret, removed) // a processor may repeat it
		}
	}
	why := fmt.Errorf("%s: %d %s", call, status, reason)
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden, status == http.StatusNotFound && !understood, body.Error.Code == protocol.CodeNotFound:
		return fmt.Errorf("%w: %w: %w", processor.ErrUnknown, ErrMisconfigured, why)
	case understood && body.Error.Code == protocol.CodeKeyReused:
		return fmt.Errorf("%w: %w: %w: %w", processor.ErrKeyReused, ErrRefused, ErrUnfit, why)
	case understood && status < http.StatusInternalServerError:
		return fmt.Errorf("%w: %w: %w", processor.ErrUnknown, ErrRefused, why)
	default:
		return unknown("%w", why)
	}
}

// unknown wraps processor.ErrUnknown and the %w of the format, so that errors.Is finds
// context.Canceled.
func unknown(format string, args ...any) error {
	return fmt.Errorf("%w: %w", processor.ErrUnknown, fmt.Errorf(format, args...))
}

func unreadable(format string, args ...any) error {
	return fmt.Errorf("%w: %w", processor.ErrUnreadable, fmt.Errorf(format, args...))
}
