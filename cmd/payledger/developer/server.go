package developer

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"payledger/cmd/payledger/options"
	"payledger/cmd/payledger/terminal"
	"payledger/domain"
	"payledger/httpapi/client"
)

// Server are the flags of a command that calls a running server. The variable scope is the scope
// that the command needs.
type Server struct {
	URL    string `name:"url" help:"Running server." default:"http://127.0.0.1:8080"`
	APIKey string `name:"api-key" help:"API key with ${scope}." placeholder:"KEY"`
}

// API returns a client of the server, or a usage error.
func (s Server) API(args options.Arguments) (*client.Client, error) {
	if err := args.Refused(); err != nil {
		return nil, err
	}
	u, err := url.Parse(s.URL)
	switch {
	case s.APIKey == "":
		return nil, options.Usage(errors.New("--api-key (PAYLEDGER_API_KEY) is needed; the server's init printed it"))
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, options.Usage(fmt.Errorf("--url %q must be like http://127.0.0.1:8080", options.WithoutUsers(s.URL)))
	}
	return &client.Client{URL: s.URL, APIKey: s.APIKey}, nil
}

func (s Server) page(payment string) string {
	return strings.TrimRight(options.WithoutUsers(s.URL), "/") + "/dashboard/payments/" + url.PathEscape(payment)
}

// reached adds advice to an error without an answer of the API.
func reached(err error) error {
	if _, answered := errors.AsType[*client.Error](err); err == nil || answered || errors.Is(err, context.Canceled) {
		return err
	}
	if _, broken := errors.AsType[*url.Error](err); broken {
		return fmt.Errorf("%w; is the server running, and is --url right?", err)
	}
	return err
}

// atFlags names in a refusal of the API the flags of the command, by the fields of the request that
// they became.
func atFlags(err error, flags map[string]string) error {
	refused, is := errors.AsType[*client.Error](err)
	if !is {
		return err
	}
	for i := range refused.ValidationErrors {
		group := &refused.ValidationErrors[i]
		for j := range group.Errors {
			field, _, _ := strings.Cut(strings.TrimPrefix(group.Errors[j].Path, "$."), "[")
			if flag, known := flags[field]; known {
				group.Errors[j].Path, group.Model = flag, ""
			}
		}
	}
	return err
}

func money(amount int64, currency string) string {
	return domain.Amount(amount).Format(domain.Currency(currency))
}

func moment(at time.Time) string { return at.UTC().Format("2006-01-02 15:04:05") }

func safe(text string) string { return terminal.Harmless(text) }
