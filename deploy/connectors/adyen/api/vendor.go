package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/processorsim/connector"
	"payledger/processorsim/protocol"
)

const (
	keyLife     = 30 * 24 * time.Hour // Adyen keeps a key for at least 31 days
	defaultLate = 30 * time.Minute
	minLate     = 16 * time.Minute // the kernel gives bytes of a closed connection up after 15.4 minutes
	undoPause   = 6 * time.Hour    // between two cancels of one lost authorization
)

// Config configures the vendor. URL, APIKey, Account and HMACKeys are required.
type Config struct {
	URL       string   // of the Checkout API with its version, without a slash at the end
	APIKey    string   // of the header X-API-Key
	Account   string   // merchantAccount
	HMACKeys  [][]byte // of the webhook; two while the key is changed
	Live      bool     // real money
	ReturnURL string   // where a customer would return to; Adyen requires one

	// Late is the time after a try in which Adyen may still get its request. 0: 30 minutes.
	Late time.Duration

	Now       func() time.Time  // nil means time.Now
	Transport http.RoundTripper // nil: a new http.Transport
	Log       zerolog.Logger
	TestCards map[protocol.TestCase]string // more than Adyen's own; for a double
}

// Vendor is Adyen for the kit.
type Vendor struct {
	Config
	client *http.Client
}

var (
	_ connector.Vendor  = (*Vendor)(nil)
	_ connector.Refuser = (*Vendor)(nil)
)

// New returns a vendor.
func New(c Config) (*Vendor, error) {
	address, err := url.Parse(c.URL)
	switch {
	case err != nil || address.Host == "" || address.Scheme != "https" && address.Scheme != "http" || strings.HasSuffix(c.URL, "/"):
		return nil, errors.New("the URL must be like https://checkout-test.adyen.com/v71")
	case c.Live && address.Scheme != "https":
		return nil, errors.New("the live URL must begin with https")
	case c.Live && strings.Contains(address.Host, "-test"), !c.Live && strings.Contains(address.Host, "-live"):
		return nil, errors.New("the URL belongs to the other environment")
	case c.APIKey == "" || c.Account == "" || len(c.HMACKeys) == 0:
		return nil, errors.New("the API key, the merchant account and the HMAC key of the webhook are required")
	}
	for _, key := range c.HMACKeys {
		if len(key) < 16 {
			return nil, errors.New("an HMAC key is shorter than 16 bytes")
		}
	}
	if c.Late == 0 {
		c.Late = defaultLate
	}
	if c.Late < minLate {
		return nil, fmt.Errorf("a request may arrive for %s: a shorter time is not safe", minLate)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Transport == nil {
		c.Transport = &http.Transport{ForceAttemptHTTP2: true, IdleConnTimeout: time.Minute}
	}
	refuse := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Vendor{Config: c, client: &http.Client{Transport: c.Transport, CheckRedirect: refuse}}, nil
}

// Declaration returns what Adyen, or this connector, cannot do.
func (v *Vendor) Declaration() protocol.Declaration {
	d := protocol.Declaration{Connector: "adyen 1 (Checkout API v71)", Live: v.Live, Cannot: []protocol.Lack{
		{Capability: protocol.CanCaptureAgain, Instead: "A capture that is not final takes the whole authorization or is refused: Adyen releases the rest after the first capture."},
		{Capability: protocol.CanRefundCapture, Instead: "A refund that names a capture is a refund of its payment."},
		{Capability: protocol.CanAuthenticate, Instead: "An authorization that needs its customer is declined with the code 1A."},
		{Capability: protocol.CanTokenize, Instead: "Each payment of a stored card sends the card's number to Adyen: this connector stores no cards there."},
		{Capability: protocol.CanListByTime, Instead: "A list by time has the operations of this connector only: Adyen's API has no lists, compare its settlement reports."},
		{Capability: protocol.CanListByReference, Instead: "A list of a payment has the operations of this connector only: what is done in the Customer Area shows in Adyen's reports."},
	}}
	if !v.Live {
		d.TestCards = map[protocol.TestCase]string{}
		for number, card := range testCards {
			for _, outcome := range card.cases {
				d.TestCards[outcome] = number
			}
		}
		for outcome, number := range v.TestCards {
			d.TestCards[outcome] = number
		}
	}
	return d
}

// KeyLife is a day less than Adyen's.
func (v *Vendor) KeyLife() time.Duration { return keyLife }

// reference is the merchant reference of an order, at most 80 characters: the payment's id, so that
// people find it in the Customer Area, and the order's tag.
func reference(o connector.Order) string { return string(o.Reference) + "." + o.Tag() }

// undoing marks the reference of a cancel that the ledger did not request.
const undoing = "u"

var references = regexp.MustCompile(`^([0-9A-Za-z_-]{1,64})\.([0-9a-f]{10}(?:-[0-9]{1,3})?)(u?)$`)

// named is a merchant reference that this connector made.
type named struct {
	payment domain.PaymentID
	tag     string
	undoing bool
}

func readReference(text string) (named, bool) {
	parts := references.FindStringSubmatch(text)
	if parts == nil {
		return named{}, false
	}
	return named{domain.PaymentID(parts[1]), parts[2], parts[3] == undoing}, true
}

// Refuse returns the answer to an order that Adyen never gets.
func (v *Vendor) Refuse(o connector.Order) *processor.Answer {
	code, why := refuse(o)
	if code == "" {
		return nil
	}
	return &processor.Answer{State: processor.Failed, At: v.now(), Code: code, Message: why}
}

// Send carries out an order.
func (v *Vendor) Send(ctx context.Context, o connector.Order) (connector.Result, error) {
	if refused := v.Refuse(o); refused != nil {
		return connector.Result{Answer: *refused}, nil
	}
	if o.Kind == processor.Authorize {
		return v.authorize(ctx, o)
	}
	return v.modify(ctx, o)
}

func (v *Vendor) now() time.Time { return v.Now().UTC().Truncate(time.Microsecond) }

// refuse returns the code of an operation that Adyen never gets, and the reason; "" if Adyen
// decides. The answer for one operation is always the same: it may be a repeat.
func refuse(o connector.Order) (protocol.Code, string) {
	_, fits := toAdyen(o.Amount, o.Currency)
	switch {
	case o.Kind == processor.Complete:
		return protocol.CodeNoActionPending, "this connector asks no customer"
	case o.Kind != processor.Void && o.Amount < 1:
		return protocol.CodeInvalidAmount, "the amount is zero"
	case o.Kind != processor.Void && !fits:
		return protocol.CodeInvalidAmount, "Adyen counts this currency in other units: the amount is no whole number of them, or too large"
	case o.Kind == processor.Authorize:
		return "", ""
	case o.Parent == nil || o.Parent.Reference != o.Reference:
		return protocol.CodeParentNotFound, "no such transaction of this payment"
	case o.Currency != "" && o.Currency != o.Parent.Currency:
		return protocol.CodeCurrencyMismatch, "the authorization has another currency"
	case paymentOf(o) == "":
		return protocol.CodeNotAuthorized, "the payment was not authorized"
	}
	return "", ""
}

// paymentOf returns Adyen's reference of the payment that an order acts upon.
func paymentOf(o connector.Order) string {
	if o.Parent.Kind == processor.Capture {
		return o.Parent.ParentID
	}
	if o.Parent.Answer.State == processor.Declined {
		return ""
	}
	return o.Parent.Answer.ProcessorTransactionID
}

// Find undoes a lost authorization. Adyen has no look-up: nothing else can be found.
func (v *Vendor) Find(ctx context.Context, o connector.Order) (connector.Finding, error) {
	switch {
	case o.Kind != processor.Authorize || o.Answer != nil && !o.Undo:
		return connector.Finding{}, nil // a webhook tells
	case !o.Undo:
		return connector.Finding{Undo: v.now().Sub(o.Tried) >= v.Late}, nil
	}
	return connector.Finding{}, v.undo(ctx, o)
}

// undo cancels an authorization by its own reference, or by Adyen's if a webhook told it.
func (v *Vendor) undo(ctx context.Context, o connector.Order) error {
	body := cancel{MerchantAccount: v.Account, PaymentReference: reference(o), Reference: reference(o) + undoing}
	path := "/cancels"
	key := fmt.Sprintf("undo%d-%s", v.now().Sub(o.Tried)/undoPause, o.Key)
	if o.Answer != nil {
		body.PaymentReference, path, key = "", "/payments/"+url.PathEscape(o.Answer.ProcessorTransactionID)+"/cancels", "void"+key
	}
	var r receipt
	if err := v.post(ctx, path, key, body, &r); err != nil {
		return err
	}
	return r.check(v.Account, body.Reference)
}
