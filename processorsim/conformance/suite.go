package conformance

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/processorsim/adapter"
	"payledger/processorsim/conformance/receiver"
	"payledger/processorsim/protocol"
)

// Config describes the connector and the run. URL and Processor are required.
type Config struct {
	URL       string         // the connector's base address
	Processor processor.Name // the processor that it serves
	Token     string         // the ledger's bearer token; "": none is sent
	Secret    string         // signs the connector's notifications; "": their checks are not tried
	Merchant  string         // processorMerchantId of the operations

	Destructive bool     // also run the checks that move money
	Only        []string // ids of checks; empty: all

	HTTP      *http.Transport // nil: a new one. Its TLS configuration has the private authority.
	Listen    string          // address for notifications; "": a free port of 127.0.0.1
	NotifyURL string          // that address as the connector reaches it; "": http and the address

	Patience time.Duration       // how long an answer or a later fact may take; 0: 30 s
	Elapse   func(time.Duration) // lets simulated time pass; nil: time passes by itself
	// Outside captures an authorization of 10.00 EUR in the way of the vendor's own pages, without
	// the ledger; nil: the check of such operations is not tried.
	Outside func(ctx context.Context, reference domain.PaymentID, transaction string) error
	Found   func(Finding) // gets each finding when its check has ended; nil: nobody does
}

// Result is the result of a check.
type Result string

// The results of a check.
const (
	Holds    Result = "holds"
	Broken   Result = "broken"
	Cannot   Result = "cannot"
	NotTried Result = "not tried"
)

// Results lists every result.
var Results = []Result{Holds, Broken, Cannot, NotTried}

// Report is the result of a run.
type Report struct {
	URL         string         `json:"url"`
	Processor   processor.Name `json:"processor"`
	Protocol    int            `json:"protocol"`
	Connector   string         `json:"connector"`
	Live        bool           `json:"live"`
	Destructive bool           `json:"destructive"`
	Checks      []Finding      `json:"checks"`
}

// Finding is the result of one check.
type Finding struct {
	ID        string     `json:"id"`
	Promise   string     `json:"promise"`
	Meaning   string     `json:"meaning"` // for the merchant, if the promise is broken
	Result    Result     `json:"result"`
	Reason    string     `json:"reason,omitempty"`    // the fault, the connector's sentence, or what is missing
	Exchanges []Exchange `json:"exchanges,omitempty"` // of a broken promise, the last ones, oldest first
}

// Count returns the number of checks with a result.
func (r Report) Count(of Result) int {
	n := 0
	for _, f := range r.Checks {
		if f.Result == of {
			n++
		}
	}
	return n
}

// ErrLive means that a destructive run was refused: the connector declares real money.
var ErrLive = errors.New("the connector declares real money: --destructive is refused")

// ErrNoCheck means that Config.Only has an id of no check.
var ErrNoCheck = errors.New("there is no such check")

// Declares returns nil if the connector has a declaration of the processor.
func Declares(ctx context.Context, c Config) error {
	s, err := newSuite(ctx, c)
	if err != nil {
		return err
	}
	defer s.close()
	_, err = s.client.Declaration(ctx, c.Processor)
	return err
}

// suite is a run.
type suite struct {
	Config
	declared protocol.Declaration
	client   *adapter.Adapter
	recorder *recorder
	receiver *receiver.Receiver
	done     []done // operations of the run that have an answer
}

// done is an operation that was sent, and its first answer.
type done struct {
	op     processor.Operation
	answer processor.Answer
}

// Run tries all checks, one after the other. An error means that nothing can be said about the
// connector: it does not declare itself, or the context has ended.
func Run(ctx context.Context, c Config) (Report, error) {
	s, err := newSuite(ctx, c)
	if err != nil {
		return Report{}, err
	}
	defer s.close()
	s.declared, err = s.client.Declaration(ctx, c.Processor)
	if err != nil {
		return Report{}, fmt.Errorf("the connector does not declare itself: %w", err)
	}
	if s.declared.Live && c.Destructive {
		return Report{}, ErrLive
	}
	s.recorder.hide(s.declared.TestCards)
	report := Report{
		URL: c.URL, Processor: c.Processor, Protocol: s.declared.Protocol, Connector: s.declared.Connector,
		Live: s.declared.Live, Destructive: c.Destructive,
	}
	for _, check := range catalogue() {
		if len(c.Only) > 0 && !slices.Contains(c.Only, check.id) {
			continue
		}
		found := s.try(ctx, check)
		report.Checks = append(report.Checks, found)
		if c.Found != nil {
			c.Found(found)
		}
		if ctx.Err() != nil {
			return report, fmt.Errorf("the run ended early: %w", ctx.Err())
		}
	}
	return report, nil
}

func newSuite(ctx context.Context, c Config) (*suite, error) {
	if c.Patience == 0 {
		c.Patience = 30 * time.Second
	}
	if c.Merchant == "" {
		c.Merchant = "processor-check"
	}
	if c.HTTP == nil {
		c.HTTP = &http.Transport{}
	}
	if u, err := url.Parse(c.URL); err != nil || u.User != nil {
		return nil, errors.New("the connector's URL is not a URL, or has a user: give a token") // it may hold a password
	}
	c.URL = strings.TrimSuffix(c.URL, "/")
	for _, id := range c.Only {
		if !slices.ContainsFunc(catalogue(), func(k check) bool { return k.id == id }) {
			return nil, fmt.Errorf("%w: %q", ErrNoCheck, id)
		}
	}
	s := &suite{Config: c, recorder: newRecorder(c.HTTP, c.Token, c.Patience)}
	var err error
	if s.client, err = adapter.New(c.URL, s.recorder.client()); err != nil {
		return nil, err
	}
	s.receiver, err = receiver.New(ctx, c.Listen, c.NotifyURL, c.Processor)
	return s, err
}

func (s *suite) close() {
	s.receiver.Close()
	s.client.Close()
}
