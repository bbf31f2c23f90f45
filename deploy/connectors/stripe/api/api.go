package api

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/stripe/stripe-go/v84"

	"payledger/domain/processor"
	"payledger/processorsim/connector"
	"payledger/processorsim/protocol"
)

// Name and version of the connector, in its declaration and in Stripe's logs.
const (
	name    = "payledger-stripe"
	version = "1"
)

// keyLife is shorter than Stripe's, which keeps keys for at least 24 hours.
const keyLife = 23 * time.Hour

// maxAnswer bounds an answer of Stripe, in bytes; a page of a list is the largest.
const maxAnswer = 8 << 20

// Config configures the vendor. Key and WebhookSecrets are required.
type Config struct {
	Key            string   // the secret or restricted API key
	WebhookSecrets []string // of the endpoint; two while one is replaced
	Base           string   // the address of the API; "": Stripe's
	Multicapture   bool     // the account has multicapture
	ReturnURL      string   // where the customer goes after the action if the ledger names no page

	Now       func() time.Time  // nil means time.Now
	Transport http.RoundTripper // nil means http.DefaultTransport
}

// Stripe is Stripe's API as a vendor of package connector.
type Stripe struct {
	Config
	client *stripe.Client
}

var (
	_ connector.Vendor  = (*Stripe)(nil)
	_ connector.Lister  = (*Stripe)(nil)
	_ connector.Refuser = (*Stripe)(nil)
)

// New returns the vendor. It calls nobody.
func New(c Config) (*Stripe, error) {
	switch {
	case !strings.HasPrefix(c.Key, "sk_") && !strings.HasPrefix(c.Key, "rk_"):
		return nil, errors.New("the API key begins neither with sk_ nor with rk_: it is no secret key of Stripe")
	case strings.ContainsFunc(c.Key, func(r rune) bool { return r < '!' || r > '~' }):
		return nil, errors.New("the API key has a character that no key has")
	case len(c.WebhookSecrets) == 0:
		return nil, errors.New("the signing secret of the webhook endpoint is missing")
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Transport == nil {
		c.Transport = http.DefaultTransport
	}
	stripe.SetAppInfo(&stripe.AppInfo{Name: name, Version: version})
	backend := &stripe.BackendConfig{
		HTTPClient: &http.Client{
			Transport:     bounded{c.Transport},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		LeveledLogger:     &stripe.LeveledLogger{Level: stripe.LevelNull}, // it would log bodies
		MaxNetworkRetries: stripe.Int64(0),                                // the kit decides when a request is sent again
		EnableTelemetry:   stripe.Bool(false),
	}
	if c.Base != "" {
		backend.URL = stripe.String(c.Base)
	}
	backends := &stripe.Backends{API: stripe.GetBackendWithConfig(stripe.APIBackend, backend)}
	return &Stripe{Config: c, client: stripe.NewClient(c.Key, stripe.WithBackends(backends))}, nil
}

// live reports whether the key moves real money.
func (s *Stripe) live() bool { return !strings.Contains(s.Key, "_test_") }

// KeyLife is the time in which Stripe answers a repeated key as it answered the first request.
func (s *Stripe) KeyLife() time.Duration { return keyLife }

// Declaration lists the capabilities that Stripe does not have.
func (s *Stripe) Declaration() protocol.Declaration {
	d := protocol.Declaration{
		Connector: name + "/" + version + " Stripe/" + stripe.APIVersion,
		Live:      s.live(),
		Cannot: []protocol.Lack{{
			Capability: protocol.CanAdjust, Tried: true,
			Instead: "Stripe increases some authorizations (of ESTIMATED amounts, where card and account allow it) and is asked; " +
				"it decreases none: a lower total is FAILED, capture less instead.",
		}},
	}
	if s.Multicapture {
		d.Cannot = append(d.Cannot, protocol.Lack{
			Capability: protocol.CanRefundCapture,
			Instead:    "Stripe refunds the payment as a whole: a refund of one of several captures is bounded by that capture and paid from all.",
		})
	} else {
		d.Cannot = append(d.Cannot, protocol.Lack{
			Capability: protocol.CanCaptureAgain,
			Instead:    "This account captures an authorization once: a capture of a part that is not final is FAILED.",
		})
	}
	if !d.Live {
		d.TestCards = map[protocol.TestCase]string{
			protocol.CardApproved: "4242424242424242", protocol.CardDeclined: "4000000000000002", protocol.CardRejected: "4100000000000019",
			protocol.CardDisputed: "4000000000000259",
		}
		if s.Base != "" { // at Stripe itself nobody but a person at the bank's page passes the check
			d.TestCards[protocol.CardAuthentication] = "4000000000003220"
		}
	}
	return d
}

// params returns the parameters of a request that may be repeated under a key.
func params(ctx context.Context, key string) stripe.Params {
	return stripe.Params{Context: ctx, IdempotencyKey: stripe.String(key)}
}

var errTooLarge = errors.New("Stripe's answer is too large")

// bounded limits the size of answers, and sends each request once.
type bounded struct{ http.RoundTripper }

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.GetBody = nil // net/http would repeat a request that has an idempotency key
	answer, err := b.RoundTripper.RoundTrip(r)
	if err == nil {
		answer.Body = &limited{answer.Body, maxAnswer}
	}
	return answer, err
}

type limited struct {
	io.ReadCloser
	left int
}

func (l *limited) Read(p []byte) (int, error) {
	if len(p) > l.left+1 {
		p = p[:l.left+1]
	}
	n, err := l.ReadCloser.Read(p)
	if l.left -= n; l.left < 0 {
		return 0, errTooLarge
	}
	return n, err
}

// Metadata that the connector keeps at Stripe's objects.
const (
	metaKey       = "payledger_key"       // the ledger's key of the operation that made the object
	metaReference = "payledger_reference" // the payment
	metaMerchant  = "payledger_merchant"
	metaSealed    = "payledger_sealed" // the object used a key up; it moves no money
)

// metadata returns the metadata of the object that an order makes.
func metadata(o connector.Order) map[string]string {
	m := map[string]string{metaKey: string(o.Operation.Key), metaReference: string(o.Reference)}
	if o.MerchantID != "" {
		m[metaMerchant] = o.MerchantID
	}
	return m
}

// made returns an error unless an object was made by an order.
func made(m map[string]string, o connector.Order) error {
	if m[metaKey] != string(o.Operation.Key) || m[metaReference] != string(o.Reference) {
		return errors.New("Stripe answered with an object of another operation")
	}
	return nil
}

// requestID is Stripe's id of the answer, for people who ask Stripe about it.
func requestID(r *stripe.APIResponse) string {
	if r == nil {
		return ""
	}
	return r.RequestID
}

// answered returns Stripe's time of an answer, or the connector's.
func (s *Stripe) answered(r *stripe.APIResponse) time.Time {
	if r != nil {
		if at, err := http.ParseTime(r.Header.Get("Date")); err == nil {
			return at.UTC()
		}
	}
	return s.Now().UTC()
}

// intentOf returns the id of the PaymentIntent that an order acts upon.
func intentOf(o connector.Order) string {
	if o.Parent != nil && o.Parent.Kind == processor.Capture {
		return o.Parent.ParentID
	}
	return o.ParentID
}
