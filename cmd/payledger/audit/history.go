package audit

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"payledger/cmd/payledger/ledger"
	"payledger/cmd/payledger/options"
	"payledger/cmd/payledger/terminal"
	"payledger/domain"
	"payledger/notifier"
	"payledger/projections/history"
)

// History replays one payment, from a running server or a stopped server's folder (I1).
type History struct {
	Payment   string `arg:"" name:"payment-id" help:"Id of the payment."`
	JSON      bool   `name:"json" help:"Print an array of entries instead of text."`
	Diff      bool   `help:"Show the fields that each event changed."`
	Raw       bool   `help:"Show the bytes that each hash covers, in base64."`
	Full      bool   `help:"Show what stands beside each event: request, position, processor calls, routing, workflow, webhooks and notifications."`
	At        string `help:"End at this revision or time (RFC 3339)." placeholder:"REVISION|TIME"`
	URL       string `name:"url" help:"Running server." default:"http://127.0.0.1:8080"`
	APIKey    string `name:"api-key" help:"API key with the scope transactions:retrieve." placeholder:"KEY"`
	Data      string `help:"Data folder of a stopped server, instead of --url." type:"path"`
	Account   string `help:"Account of the folder, with --data (default: the first)." placeholder:"ID"`
	MasterKey string `help:"Key of the stream of secrets, with --data." placeholder:"HEX"`

	MasterKeyFile string `help:"File that holds the master key, with --data." type:"path"`
}

// Run reads the history and prints each entry as it arrives.
func (c *History) Run(ctx context.Context, std terminal.Streams, args options.Arguments) error {
	if err := args.Refused(); err != nil {
		return err
	}
	var out printer = &textPrinter{out: std.Out, c: c}
	if c.JSON {
		out = &arrayPrinter{out: std.Out}
	}
	folder, err := readsFolder(args, c.Data, c.Account)
	if err != nil {
		return err
	}
	read := c.readServer
	if folder {
		read = c.readFolder
	}
	if err := read(ctx, out.entry); err != nil {
		return err
	}
	return out.end()
}

// printer prints entries as they arrive. end is called after the last one.
type printer interface {
	entry(json.RawMessage) error
	end() error
}

// arrayPrinter prints one JSON array. An array without its end is incomplete.
type arrayPrinter struct {
	out   io.Writer
	begun bool
}

func (p *arrayPrinter) entry(text json.RawMessage) error {
	before := ","
	if !p.begun {
		p.begun, before = true, "["
	}
	_, err := fmt.Fprintf(p.out, "%s%s", before, text)
	return err
}

func (p *arrayPrinter) end() error {
	end := "]"
	if !p.begun {
		end = "[]"
	}
	_, err := fmt.Fprintln(p.out, end)
	return err
}

// readServer reads the entries from a running server.
func (c *History) readServer(ctx context.Context, emit func(json.RawMessage) error) error {
	if c.APIKey == "" {
		return options.Usage(errors.New("--api-key (PAYLEDGER_API_KEY) is needed to read from a server; --data DIR reads a stopped one"))
	}
	target := strings.TrimSuffix(c.URL, "/") + "/payments/" + url.PathEscape(c.Payment) + "/events"
	query := url.Values{}
	if c.At != "" {
		query.Set("at", c.At)
	}
	if c.Full {
		query["expand"] = history.Expansions
	}
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return options.Usage(err)
	}
	request.Header.Set("X-Api-Key", c.APIKey)
	request.Header.Set("X-Api-Version", "2.4")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("%w; is the server running? --data reads a stopped one", err)
	}
	defer answer.Body.Close()
	if answer.StatusCode == http.StatusOK {
		return parseHistory(answer.Body, emit)
	}
	return refusedHistory(answer)
}

// parseHistory reads the entries of the server's answer, {"data": […]}, as they arrive. An incomplete answer is an error.
func parseHistory(answer io.Reader, emit func(json.RawMessage) error) error {
	decoder := json.NewDecoder(answer)
	if err := expect(decoder, json.Delim('{'), "data", json.Delim('[')); err != nil {
		return fmt.Errorf("history: the server's answer is not a history: %w", err)
	}
	for decoder.More() {
		var entry json.RawMessage
		if err := decoder.Decode(&entry); err != nil {
			return brokenOff(err)
		}
		if err := emit(entry); err != nil {
			return err
		}
	}
	if err := expect(decoder, json.Delim(']'), json.Delim('}')); err != nil { // without a limit there is no next page
		return brokenOff(err)
	}
	return nil
}

// expect reads the given tokens.
func expect(decoder *json.Decoder, tokens ...json.Token) error {
	for _, want := range tokens {
		if got, err := decoder.Token(); err != nil || got != want {
			return cmp.Or(err, fmt.Errorf("%v instead of %v", got, want))
		}
	}
	return nil
}

func brokenOff(err error) error {
	return fmt.Errorf("history: the server's answer broke off, and the printed history is incomplete; try again: %w", err)
}

// refusedHistory returns the server's error.
func refusedHistory(answer *http.Response) error {
	var body struct {
		Error serverError `json:"error"`
	}
	if err := json.NewDecoder(answer.Body).Decode(&body); err != nil {
		return fmt.Errorf("history: the server answered %d and no JSON: %w", answer.StatusCode, err)
	}
	return body.Error
}

// readFolder replays the payment from a stopped server's folder and changes nothing there.
func (c *History) readFolder(ctx context.Context, emit func(json.RawMessage) error) error {
	at, err := history.ParseAt(c.At)
	if err != nil {
		return err
	}
	part := history.Part{At: at}
	if c.Full {
		part.Expand = history.Expansions
	}
	return ledger.Read(ctx, options.Options{Data: c.Data, MasterKey: c.MasterKey, MasterKeyFile: c.MasterKeyFile}, func(l *ledger.Ledger) error {
		replay := history.Reader{Store: l.Store, Vault: l.Vault, Deliveries: notifier.NewSent(l.Store)}
		return l.OfAccount(ctx, c.Account, func(account domain.AccountID) error {
			_, err := replay.Payment(ctx, account, domain.PaymentID(c.Payment), part, func(e history.Entry) error {
				text, err := json.Marshal(e)
				if err != nil {
					return fmt.Errorf("history: %w", err)
				}
				return emit(text)
			})
			return err
		})
	})
}
