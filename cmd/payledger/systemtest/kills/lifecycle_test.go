//go:build system

package kills

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"payledger/cmd/payledger/apptest"
	"payledger/domain"
)

// lifecycleCards are the cards of D13, the plain one more often than the rest.
var lifecycleCards = []string{
	"4111111111111111", "4242424242424242", "5555555555554444", "378282246310005", "6011111111111117", "3530111333300000",
	"4000000000000002", "4000000000009995", "4000000000009987", "4000000000000069", "4000000000000010", "5100000000000016",
	"4916994064252017", "5306889942833340", "4929251897047956", "4716429323842524",
	"4000000000003220", "4000000000006470", "4000000000000259", "4000000000005126", "4000000000005142", "4000000000005159",
	"4000000000005175", "4000000000005266", "4000056655665556",
}

// plainShare is how many of a hundred lifecycles use the plain card: it gets furthest.
const plainShare = 45

// life is the random story of one payment, as a merchant and its customer live it.
type life struct {
	all    *stories
	n      int
	random *rand.Rand
	id     domain.PaymentID
	amount int64
	keys   int

	mu         sync.Mutex
	transcript []string // for the message of a failure
}

// step is one request of a story, ready to be sent once more.
type step struct {
	what, path, key string
	body            map[string]any
}

// live plays the story to its end.
func (l *life) live() {
	card := "4111111111111111"
	if l.random.IntN(100) >= plainShare {
		card = lifecycleCards[l.random.IntN(len(lifecycleCards))]
	}
	l.amount = 1 + l.random.Int64N(10_000)
	if l.random.IntN(40) == 0 {
		l.amount = 0 // an account verification
	}
	token, ok := l.instrument(card)
	if !ok {
		return
	}
	create := step{"create", "/payments", l.newKey(), map[string]any{"paymentMethodToken": token}}
	if l.random.IntN(3) > 0 {
		create.body["paymentMethod"] = map[string]any{"authorizationType": "ESTIMATED"}
	}
	l.id = domain.PaymentIDForKey(l.all.account, create.key)
	var early sync.WaitGroup
	if l.random.IntN(12) == 0 { // cancelled while it is being created: an intent, or nothing is there yet
		cancel := l.plan("cancel")
		early.Go(func() { l.send(cancel) })
	}
	l.atOnce(create)
	early.Wait()
	for range l.random.IntN(lifecycleSteps) {
		l.atOnce(l.plan(l.choose()))
	}
}

// newKey makes an idempotency key of this story.
func (l *life) newKey() string {
	l.keys++
	return fmt.Sprintf("life-%d-%d", l.n, l.keys)
}

// choose draws the next request among the possible ones, and now and then among all.
func (l *life) choose() string {
	p := l.look(false)
	all := []string{"capture", "capture", "refund", "refund", "cancel", "adjust", "resume"}
	fitting := map[string][]string{
		"PENDING":           {"resume", "resume", "resume", "cancel"},
		"AUTHORIZED":        {"capture", "capture", "capture", "capture", "capture", "adjust", "cancel"},
		"PARTIALLY_SETTLED": {"capture", "capture", "refund", "refund", "cancel"},
		"SETTLING":          {"refund", "cancel", "capture"},
		"SETTLED":           {"refund", "refund", "refund", "cancel"},
	}[p.Status]
	if len(fitting) == 0 || l.random.IntN(6) == 0 {
		fitting = all
	}
	return fitting[l.random.IntN(len(fitting))]
}

// plan makes a request, most of them with a key.
func (l *life) plan(what string) step {
	s := step{what: what, path: "/payments/" + string(l.id) + "/" + what, body: map[string]any{}}
	if l.random.IntN(5) > 0 {
		s.key = l.newKey()
	}
	part := 1 + l.random.Int64N(max(1, l.amount))
	switch what {
	case "capture":
		if l.random.IntN(4) > 0 {
			s.body["amount"] = part
		}
		if l.random.IntN(2) == 0 {
			s.body["final"] = l.random.IntN(3) == 0
		}
	case "refund":
		if l.random.IntN(4) > 0 {
			s.body["amount"] = part
		}
		if capture := l.someCapture(); capture != "" && l.random.IntN(2) == 0 {
			s.body["transactionEventId"] = capture
		}
	case "adjust":
		s.path = "/payments/" + string(l.id) + "/adjust-authorization"
		s.body["amount"] = 1 + l.random.Int64N(20_000)
	case "resume":
		s.body["resumeToken"] = l.challenge()
	}
	return s
}

// someCapture returns the transaction event of one of the payment's captures (D10).
func (l *life) someCapture() string {
	var found []string
	for _, transaction := range l.look(true).Transactions {
		for _, event := range transaction.Events {
			if event.Type == "CAPTURE_SUCCEEDED" {
				found = append(found, event.ID)
			}
		}
	}
	if len(found) == 0 {
		return ""
	}
	return found[l.random.IntN(len(found))]
}

// challenge plays the customer's part of 3-D Secure. Without an open challenge it returns a useless
// token.
func (l *life) challenge() string {
	action := l.look(false).RequiredAction
	if action == nil {
		return "none"
	}
	outcome := []string{"AUTHENTICATED", "AUTHENTICATED", "AUTHENTICATED", "FAILED"}[l.random.IntN(4)]
	a, err := l.all.call(func(m *apptest.Merchant) (apptest.Answer, error) {
		return m.Call("POST", "/required-actions/complete", map[string]string{"X-Client-Token": action.ClientToken}, map[string]any{"outcome": outcome})
	})
	var given struct {
		ResumeToken string `json:"resumeToken"`
	}
	if err != nil || a.Status != http.StatusOK || json.Unmarshal(a.Body, &given) != nil {
		return "none" // it expired, or another request was faster
	}
	return given.ResumeToken
}

// atOnce sends a request: alone, or twice at the same time under its key, or beside another one;
// and then perhaps once more, which must be refused because the key was used (D9).
func (l *life) atOnce(s step) {
	var beside *step
	switch l.random.IntN(8) {
	case 0:
		if s.key != "" {
			beside = &s
		}
	case 1:
		if s.what != "create" {
			other := l.plan(l.choose())
			beside = &other
		}
	case 2:
		l.hangUp(s)
	}
	var second apptest.Answer
	var both sync.WaitGroup
	if beside != nil {
		both.Go(func() { second = l.send(*beside) })
	}
	first := l.send(s)
	both.Wait()
	if beside == &s && used(s, first) && first.Status == http.StatusOK && second.Status == http.StatusOK {
		l.fail("%s took effect twice under %s", s.what, s.key)
	}
	if s.key != "" && l.random.IntN(5) == 0 {
		again := l.send(s)
		if used(s, first) && errorOf(again) != "IdempotencyKeyAlreadyExists" {
			l.fail("%s was answered %d %s, and again under %s %d %s", s.what, first.Status, first.Body, s.key, again.Status, again.Body)
		}
	}
}

// used reports whether an answer proves that the request's key is used. A resume that found another
// one running has waited for it and recorded nothing (D9).
func used(s step, a apptest.Answer) bool {
	if s.what == "resume" {
		return false
	}
	switch errorOf(a) {
	case "UnprocessableRefundAmount", "PaymentAlreadyRefunded", "IdempotencyKeyAlreadyExists":
		return true
	}
	return a.Status == http.StatusOK
}

// hangUp sends a request with a key and goes away before it is answered: nothing is known of it.
func (l *life) hangUp(s step) {
	if s.key == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(l.random.IntN(12_000))*time.Microsecond)
	defer cancel()
	payload, err := json.Marshal(s.body)
	if err != nil {
		l.fail("%v", err)
	}
	m, _ := l.all.now()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, m.API+s.path, bytes.NewReader(payload))
	if err != nil {
		l.fail("%v", err)
		return
	}
	for name, value := range withKey(m, s.key) {
		request.Header.Set(name, value)
	}
	request.Header.Set("Content-Type", "application/json")
	request.GetBody = nil
	response, err := m.Client.Do(request)
	if err != nil {
		l.all.count("hung up")
		return
	}
	_, _ = io.Copy(io.Discard, response.Body)
	_ = response.Body.Close()
}

func withKey(m *apptest.Merchant, key string) map[string]string {
	header := m.Headers()
	if key != "" {
		header["X-Idempotency-Key"] = key
	}
	return header
}

// send sends a request and checks that the contract allows its answer. It repeats a request with a
// key that was cut off.
func (l *life) send(s step) apptest.Answer {
	a, err := l.all.call(func(m *apptest.Merchant) (apptest.Answer, error) {
		return m.Call("POST", s.path, withKey(m, s.key), s.body)
	})
	switch {
	case errors.Is(err, errCut) && s.key != "":
		l.all.count(s.what + " cut off")
		return l.send(s)
	case errors.Is(err, errCut):
		return apptest.Answer{}
	case err != nil:
		l.fail("%s: %v", s.what, err)
		return apptest.Answer{}
	}
	id := errorOf(a)
	l.all.count(strings.TrimSpace(fmt.Sprintf("%s %d %s", s.what, a.Status, id)))
	l.mu.Lock()
	l.transcript = append(l.transcript, fmt.Sprintf("%s %v key %q: %d %s", s.what, s.body, s.key, a.Status, id))
	l.mu.Unlock()
	if a.Status == http.StatusOK {
		var p apptest.LifecycleSeen
		if err := json.Unmarshal(a.Body, &p); err != nil || p.ID == "" {
			l.fail("%s answered %s", s.what, a.Body)
		}
		return a
	}
	if !slices.Contains(lifecycleRefusals[s.what], id) {
		l.fail("%s answered %d %s", s.what, a.Status, a.Body)
	}
	return a
}

// lifecycleRefusals are the possible errors of a well-formed request, by its kind (D3).
var lifecycleRefusals = map[string][]string{
	"create":  {"IdempotencyKeyAlreadyExists"},
	"capture": {"IdempotencyKeyAlreadyExists", "InvalidPaymentStatus", "RequestValidationError", "ConcurrentModification", "PaymentError"},
	"refund":  {"IdempotencyKeyAlreadyExists", "InvalidPaymentStatus", "UnprocessableRefundAmount", "PaymentAlreadyRefunded", "ConcurrentModification", "PaymentError"},
	"cancel":  {"IdempotencyKeyAlreadyExists", "InvalidPaymentStatus", "ConcurrentModification", "PaymentError"},
	"adjust": {
		"IdempotencyKeyAlreadyExists", "InvalidPaymentStatus", "PaymentIsNotAuthorizedYet", "IncorrectPaymentAuthorizationType",
		"AdjustAuthorizationNotSupported", "ConcurrentModification", "EntityNotFound",
	},
	"resume": {"IdempotencyKeyAlreadyExists", "InvalidPaymentStatus", "RequestValidationError", "NoActionsToHandle", "ConcurrentModification", "PaymentError"},
}

// errorOf is the errorId of an answer; "" for a success.
func errorOf(a apptest.Answer) string {
	var e apptest.ErrorAnswer
	if a.Status == http.StatusOK || json.Unmarshal(a.Body, &e) != nil {
		return ""
	}
	return e.Error.ErrorID
}

// look reads the payment; the zero value while there is none.
func (l *life) look(events bool) apptest.LifecycleSeen {
	path := "/payments/" + string(l.id)
	if events {
		path += "?expand=transactions.events"
	}
	var p apptest.LifecycleSeen
	a, err := l.all.call(func(m *apptest.Merchant) (apptest.Answer, error) { return m.Call("GET", path, m.Headers(), nil) })
	if errors.Is(err, errCut) {
		return l.look(events)
	}
	if err != nil || a.Status != http.StatusOK && errorOf(a) != "PaymentError" {
		l.fail("reading answered %d %s %v", a.Status, a.Body, err)
		return p
	}
	if a.Status == http.StatusOK {
		if err := json.Unmarshal(a.Body, &p); err != nil {
			l.fail("reading answered %s: %v", a.Body, err)
		}
	}
	return p
}

// instrument opens a session and enters a card.
func (l *life) instrument(card string) (string, bool) {
	var session struct {
		ClientToken string `json:"clientToken"`
	}
	var tool struct {
		Token string `json:"token"`
	}
	cvv := "737"
	if strings.HasPrefix(card, "37") {
		cvv = "7373"
	}
	ok := l.prepare(&session, func(m *apptest.Merchant) (apptest.Answer, error) {
		return m.Call("POST", "/client-session", m.Headers(), map[string]any{
			"orderId": fmt.Sprintf("order-%d", l.n), "currencyCode": "EUR", "amount": l.amount,
		})
	}) && l.prepare(&tool, func(m *apptest.Merchant) (apptest.Answer, error) {
		return m.Call("POST", "/payment-instruments", map[string]string{"X-Client-Token": session.ClientToken}, map[string]any{
			"paymentInstrument": map[string]any{
				"number": card, "cvv": cvv, "expirationMonth": "03", "expirationYear": apptest.Expires, "cardholderName": "Ada Lovelace",
			},
		})
	})
	return tool.Token, ok
}

// prepare makes a request that must succeed, again when it was cut off.
func (l *life) prepare(into any, send func(*apptest.Merchant) (apptest.Answer, error)) bool {
	a, err := l.all.call(send)
	if errors.Is(err, errCut) {
		return l.prepare(into, send)
	}
	if err != nil || a.Status != http.StatusOK || json.Unmarshal(a.Body, into) != nil {
		l.fail("preparing answered %d %s %v", a.Status, a.Body, err)
		return false
	}
	return true
}

// fail reports a failure, with the steps so far.
func (l *life) fail(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all.Errorf("lifecycle %d, payment %s: %s\n\t%s", l.n, l.id, fmt.Sprintf(format, args...), strings.Join(l.transcript, "\n\t"))
}
