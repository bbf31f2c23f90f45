package crashtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"payledger/domain/processor"
	"payledger/httpapi/client"
)

const actionRequired = "ACTION_REQUIRED"

// merchant returns a client of the ledger as it is now. It sends no request twice.
func (w *world) merchant() *client.Client {
	return &client.Client{URL: w.api, APIKey: w.key, HTTP: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}
}

// token opens a session, and enters a card in it.
func (w *world) token(ctx context.Context, card string) (token string, err error) {
	w.orders++
	m := w.merchant()
	session, err := m.OpenSession(ctx, map[string]any{
		"orderId": "order-" + strconv.Itoa(w.orders), "currencyCode": "EUR", "amount": amount, "customer": map[string]any{"email": "ada@example.com"},
	})
	if err != nil {
		return "", err
	}
	var made struct {
		Token string `json:"token"`
	}
	err = m.Browser(ctx, session, "/payment-instruments", map[string]any{"paymentInstrument": map[string]any{
		"number": card, "cvv": "737", "expirationMonth": "03", "expirationYear": strconv.Itoa(time.Now().Year() + 3), "cardholderName": "Ada Lovelace",
	}}, &made)
	return made.Token, err
}

// prepare makes the payment that an operation needs, and returns the operation's request. The
// payment of an operation that creates one has no id yet.
func (w *world) prepare(ctx context.Context, op Operation) (payment string, r client.Request, err error) {
	act := actions[op]
	card := w.vendor.Approved
	if act.kind == processor.Complete {
		card = w.vendor.Challenged
	}
	token, err := w.token(ctx, card)
	if err != nil {
		return "", r, err
	}
	create := client.Request{Method: http.MethodPost, Path: "/payments", IdempotencyKey: "create-" + strconv.Itoa(w.orders), Body: map[string]any{
		"paymentMethodToken": token, "paymentMethod": map[string]any{"authorizationType": "ESTIMATED"},
	}}
	if act.path == "" {
		return "", create, nil
	}
	var p client.Payment
	if err = w.merchant().Call(ctx, create, &p); err != nil {
		return "", r, err
	}
	types := actions[Authorize].outcomes
	if act.kind == processor.Complete {
		types = []string{actionRequired}
	}
	if p, _, err = w.outcome(ctx, p.ID, types); err != nil {
		return "", r, err
	}
	body := act.body
	switch op {
	case Complete, GiveUp:
		body, err = w.checked(ctx, p, op == Complete)
	case CancelRest:
		err = w.before(ctx, p.ID, Capture, map[string]any{"amount": part, "final": false})
	case Refund:
		err = w.before(ctx, p.ID, Capture, nil)
	}
	return p.ID, client.Request{
		Method: http.MethodPost, Path: "/payments/" + p.ID + "/" + act.path, IdempotencyKey: "operate-" + strconv.Itoa(w.orders), Body: body,
	}, err
}

// before carries out an operation that another one needs.
func (w *world) before(ctx context.Context, payment string, op Operation, body map[string]any) error {
	key := "before-" + strconv.Itoa(w.orders)
	if _, err := w.merchant().Operate(ctx, payment, actions[op].path, key, body); err != nil {
		return err
	}
	_, outcome, err := w.outcome(ctx, payment, actions[op].outcomes)
	if err == nil && outcome != actions[op].outcomes[0] {
		err = fmt.Errorf("a preparing %s ends as %s", op, outcome)
	}
	return err
}

// checked lets the customer pass or give up the check, and returns the body of a resume.
func (w *world) checked(ctx context.Context, p client.Payment, passes bool) (map[string]any, error) {
	if w.check = "FAILED"; passes {
		w.vendor.Pass(p.ID)
		w.check = "AUTHENTICATED"
	}
	return w.returned(ctx, p)
}

// returned is the customer's return from the check. It returns the body of a resume.
func (w *world) returned(ctx context.Context, p client.Payment) (map[string]any, error) {
	if p.RequiredAction == nil {
		return nil, fmt.Errorf("payment %s is %s and requires no action", p.ID, p.Status)
	}
	var done struct {
		ResumeToken string `json:"resumeToken"`
	}
	err := w.merchant().Browser(ctx, p.RequiredAction.ClientToken, "/required-actions/complete", map[string]any{"outcome": w.check}, &done)
	return map[string]any{"resumeToken": done.ResumeToken}, err
}

// resumeAgain resumes a payment whose action is still required, because the completion of the first
// resume was fenced. It does nothing while that runs.
func (w *world) resumeAgain(ctx context.Context, p client.Payment) {
	body, err := w.returned(ctx, p)
	if err == nil {
		w.resumes++
		_, _ = w.merchant().Operate(ctx, p.ID, actions[Complete].path, "again-"+strconv.Itoa(w.resumes), body)
	}
}

// ask sends a request once. came runs when the head of the answer has come.
func (w *world) ask(ctx context.Context, r client.Request, came func()) (p client.Payment, err error) {
	answer, err := w.merchant().Do(ctx, r)
	if err != nil {
		return p, err
	}
	defer answer.Body.Close()
	if came != nil {
		came()
		return p, errors.New("the answer did not arrive")
	}
	return p, json.NewDecoder(answer.Body).Decode(&p)
}

// repeated sends a request again under its key. It must be refused, and name the payment, which
// repeated returns.
func (w *world) repeated(ctx context.Context, r client.Request, payment string) (string, error) {
	_, err := w.ask(ctx, r, nil)
	known, is := errors.AsType[*client.Error](err)
	if !is || known.ErrorID != client.IdempotencyKeyAlreadyExists || known.PaymentID == "" || payment != "" && known.PaymentID != payment {
		return payment, fmt.Errorf("a repeat under the same key is not refused for payment %q: %w", payment, err)
	}
	return known.PaymentID, nil
}

// outcome reads a payment until it has a transaction event of some types, and returns the newest.
func (w *world) outcome(ctx context.Context, payment string, types []string) (p client.Payment, outcome string, err error) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		if w.vendor.Deliver != nil && (w.vendor.Answers || w.mode.early) {
			w.vendor.Deliver(w.events)
		}
		if p, err = w.merchant().Payment(ctx, payment); err != nil {
			return p, "", err
		}
		if outcome = newest(p, types); outcome != "" {
			return p, outcome, nil
		}
		if p.RequiredAction != nil && !slices.Contains(types, actionRequired) {
			w.resumeAgain(ctx, p)
		}
		select {
		case <-ctx.Done():
			return p, "", fmt.Errorf("payment %s is %s without an outcome: %w", payment, p.Status, ctx.Err())
		case <-tick.C:
		}
	}
}

// newest returns the newest event of a payment that is one of some types; "": none.
func newest(p client.Payment, types []string) (found string) {
	for _, t := range p.Transactions {
		for _, e := range t.Events {
			if slices.Contains(types, e.Type) {
				found = e.Type
			}
		}
	}
	return found
}

// moved returns the amounts of a payment in the ledger, as a vendor counts them.
func moved(p client.Payment) (m Moved) {
	for _, t := range p.Transactions {
		for _, e := range t.Events {
			switch e.Type {
			case "AUTHORIZATION_SUCCEEDED":
				m.Authorized, m.Held = m.Authorized+1, p.Amount
			case "CANCELLATION_SUCCEEDED":
				m.Cancelled++
			}
		}
	}
	if p.Processor != nil {
		m.Captured, m.Refunded = p.Processor.AmountCaptured, p.Processor.AmountRefunded
	}
	return m
}

// named reports whether a path of the vendor matches "METHOD PATH" with * for a segment.
func named(pattern, method, path string) bool {
	want, have := strings.Split(pattern, "/"), strings.Split(method+" "+path, "/")
	return len(want) == len(have) && segments(want, have)
}

func segments(want, have []string) bool {
	for i := range want {
		if want[i] != "*" && want[i] != have[i] {
			return false
		}
	}
	return true
}
