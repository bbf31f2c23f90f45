package frame

import (
	"cmp"
	"context"
	"crypto/rand"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"payledger/domain/account"
)

// Screen serves one page or one form.
type Screen func(*Visit) error

// With returns a screen for what open reads, such as the object that the address names.
func With[T any](open func(*Visit) (T, error), screen func(*Visit, T) error) Screen {
	return func(v *Visit) error {
		opened, err := open(v)
		if err != nil {
			return err
		}
		return screen(v, opened)
	}
}

// Sent returns a screen for a form that was sent.
func Sent(screen func(*Visit, Form) error) Screen { return With((*Visit).Input, screen) }

// SentWith returns a screen for a form that was sent, about what open reads.
func SentWith[T any](open func(*Visit) (T, error), screen func(*Visit, T, Form) error) Screen {
	return With(open, func(v *Visit, opened T) error {
		return Sent(func(v *Visit, sent Form) error { return screen(v, opened, sent) })(v)
	})
}

// Visit is one request of a signed-in user's browser.
type Visit struct {
	Identity
	Ctx     context.Context
	Request *http.Request
	Writer  http.ResponseWriter
	Lag     string // of the newest list that the visit read: how far it may be behind (D11)
	// Revision is that of the newest payment that the visit read; 0: it read none.
	Revision uint64
	frame    *Frame
}

// Get reads from the API: it decodes the answer into to. The error is a *Failure if the API
// refused.
func (v *Visit) Get(path string, query url.Values, to any) error {
	answer := v.frame.API(v.Ctx, v.Identity, Request{Method: http.MethodGet, Path: path, Query: query})
	v.Lag, v.Revision = cmp.Or(answer.Lag, v.Lag), cmp.Or(answer.Revision, v.Revision)
	return answer.decode(to)
}

// Raw reads from the API and returns the body of the answer.
func (v *Visit) Raw(path string, query url.Values) ([]byte, error) {
	answer := v.frame.API(v.Ctx, v.Identity, Request{Method: http.MethodGet, Path: path, Query: query})
	return answer.Body, answer.decode(nil)
}

// Send changes something through the API: it decodes the answer into to (nil: not at all). key is
// the idempotency key; "" for none.
func (v *Visit) Send(method, path string, body any, key string, to any) error {
	return v.frame.API(v.Ctx, v.Identity, Request{Method: method, Path: path, Body: body, IdempotencyKey: key}).decode(to)
}

// Operate sends an operation on a payment, and decodes the answer into to. It is refused with
// ConcurrentModification if the payment's revision is not seen.
func (v *Visit) Operate(seen uint64, path string, body any, key string, to any) error {
	return v.OperateWith(nil, seen, path, body, key, to)
}

// OperateWith is Operate with parameters.
func (v *Visit) OperateWith(query url.Values, seen uint64, path string, body any, key string, to any) error {
	return v.frame.API(v.Ctx, v.Identity, Request{Method: http.MethodPost, Path: path, Query: query, Body: body, IdempotencyKey: key, Seen: seen}).decode(to)
}

// Path joins segments to a path of the API. It escapes nothing: the router matches decoded paths.
func Path(segments ...string) string { return "/" + strings.Join(segments, "/") }

// Value returns a parameter of the query, without surrounding space.
func (v *Visit) Value(name string) string { return strings.TrimSpace(v.Request.URL.Query().Get(name)) }

// Redirect sends the browser to another page of the dashboard, with a message about what was done;
// "" for none. Messages lists them.
func (v *Visit) Redirect(path, done string) error {
	if done != "" {
		mark := "?"
		if strings.Contains(path, "?") {
			mark = "&"
		}
		path += mark + "done=" + url.QueryEscape(done)
	}
	v.frame.headers(v.Writer.Header())
	http.Redirect(v.Writer, v.Request, path, http.StatusSeeOther)
	return nil
}

// Message is a message about what was done.
type Message struct {
	Text string
	Tone string // the class of its banner: good, warn or bad
}

// Messages are the messages that a page may show after a redirect, by their name in the address,
// which cannot put words of its own there.
var Messages = messages()

func messages() map[string]Message {
	all := map[string]Message{}
	for name, text := range texts {
		tone := tonesOfMessages[name]
		if tone == "" {
			tone = "good"
		}
		all[name] = Message{text, tone}
	}
	return all
}

// tonesOfMessages are the tones of messages that are no good news.
var tonesOfMessages = map[string]string{"capture-failed": "bad", "refund-failed": "bad", "cancel-failed": "bad", "resent-bad": "bad", "refund-risk": "warn", "repeated": "warn"}

var texts = map[string]string{
	"captured":       "The capture was requested.",
	"capture-failed": "The capture failed and took no money. The timeline shows why.",
	"cancel-failed":  "The cancel failed and released nothing. The timeline shows why. While the payment is pending, the cancel is tried again when the processor answers, or at once if it was approved meanwhile.",
	"refunded":       "The refund was requested.",
	"refund-risk":    "The refund was requested. The payment has a dispute that is open or lost: the customer may get the money twice.",
	"refund-failed":  "The refund failed and moved no money. The timeline shows why.",
	"cancelled":      "The cancel was requested.",
	"approved":       "The attempt is approved: this is its payment.",
	"aborted":        "The attempt is aborted. There is no payment.",
	"repeated":       "This request was sent before: the timeline shows its result. Nothing was done a second time.",
	"saved":          "The change is saved.",
	"workflow-on":    "The workflow is made and enabled. It acts from the next event on.",
	"workflow-off":   "The workflow is made. It is disabled: no event starts it until you enable it.",
	"unchanged":      "Nothing differs from the settings that apply. Nothing was changed.",
	"deleted":        "It is deleted.",
	"revoked":        "The API key is revoked. No request with it is answered any more.",
	"resent":         "The webhook was sent again.",
	"resent-bad":     "The webhook was sent again, and the attempt failed. The newest attempt shows why.",
	"endpoint-new":   "The endpoint is made. Send a test to see whether your receiver answers.",
	"password":       "Your password is changed. All other sessions of yours are signed out.",
	"totp-off":       "Sign-ins need no code any more.",
	"enabled":        "It is enabled.",
	"disabled":       "It is disabled.",
	"session-ended":  "The session is ended. Its browser has to sign in again.",
	"all-ended":      "All sessions but yours are ended.",
	"none-ended":     "It had ended already. Nothing was changed.",
	"signed-out":     "You are signed out.",
	"user-removed":   "The user is removed. All their sessions are signed out.",
	"erased":         "The personal data is erased.",
}

type clientKey struct{}

// WithClient returns a context that carries the browser's address, as the API determined it, and
// the request's id.
func WithClient(ctx context.Context, client netip.Addr, requestID string) context.Context {
	return context.WithValue(ctx, clientKey{}, Identity{Client: client, RequestID: requestID})
}

// Client returns the address and the request id of WithClient.
func Client(ctx context.Context) (netip.Addr, string) {
	by, _ := ctx.Value(clientKey{}).(Identity)
	return by.Client, by.RequestID
}

// Download sets the headers of an answer that is saved as a file.
func (v *Visit) Download(name, contentType string) {
	v.frame.headers(v.Writer.Header())
	v.Writer.Header().Set("Content-Type", contentType)
	v.Writer.Header().Set("Content-Disposition", `attachment; filename="`+name+`"`)
}

// Refresh reports whether the script reads the page again to renew its live part. Nothing else of
// the page is shown.
func (v *Visit) Refresh() bool { return v.Request.Header.Get("X-Dashboard-Refresh") != "" }

// Now returns the service's time.
func (v *Visit) Now() time.Time { return v.frame.Now() }

// NewKey returns an idempotency key for a form. It is new for each page that shows the form.
func (v *Visit) NewKey() string { return "dashboard-" + rand.Text() }

// Auditor reports whether the user may only read.
func (v *Visit) Auditor() bool { return v.User.Role == account.RoleAuditor }

// Admin reports whether the user may do everything.
func (v *Visit) Admin() bool { return v.User.Role == account.RoleAdmin }
