package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"payledger/domain"
	"payledger/eventstore"
	"payledger/projections/history"
)

// historyCommand replays one payment, from a running server or a stopped server's folder (I1).
type historyCommand struct {
	Payment   string `arg:"" name:"payment-id" help:"Id of the payment."`
	JSON      bool   `name:"json" help:"Print an array of entries instead of text."`
	At        string `help:"End at this revision or time (RFC 3339)." placeholder:"REVISION|TIME"`
	URL       string `name:"url" help:"Running server." default:"http://127.0.0.1:8080"`
	APIKey    string `name:"api-key" help:"API key with the scope transactions:retrieve." placeholder:"KEY"`
	Data      string `help:"Data folder of a stopped server, instead of --url." type:"path"`
	MasterKey string `help:"Key of the stream of secrets, with --data." placeholder:"HEX"`
}

// historyEntry is one event with what it changed (I1), as far as it is printed.
type historyEntry struct {
	Revision      uint64    `json:"revision"`
	Position      *uint64   `json:"position"`
	Time          time.Time `json:"time"`
	Type          string    `json:"type"`
	Actor         string    `json:"actor"`
	CommandID     string    `json:"commandId"`
	CorrelationID string    `json:"correlationId"`
	Changed       []struct {
		Path string          `json:"path"`
		From json.RawMessage `json:"from"`
		To   json.RawMessage `json:"to"`
	} `json:"changed"`
	Waiting []historyWaiting `json:"waiting"`
	Told    []historyNotice  `json:"notifications"`
	Hash    string           `json:"hash"`
}

// historyWaiting is one thing that the payment waits for after the event (D7, D8).
type historyWaiting struct {
	Operation string     `json:"operation"`
	Key       string     `json:"key"`
	State     string     `json:"state"`
	Since     time.Time  `json:"since"`
	ExpiresAt *time.Time `json:"expiresAt"`
	AskedNext *time.Time `json:"askedNext"`
}

// Run reads the history and prints it.
func (c *historyCommand) Run(ctx context.Context, std streams) error {
	entries, err := c.read(ctx)
	if err != nil {
		return err
	}
	if c.JSON {
		_, err := fmt.Fprintln(std.out, string(entries))
		return err
	}
	var list []historyEntry
	if err := json.Unmarshal(entries, &list); err != nil {
		return fmt.Errorf("history: %w", err)
	}
	for _, e := range list {
		e.print(std.out)
	}
	return nil
}

// read gives the entries as a JSON array.
func (c *historyCommand) read(ctx context.Context) (json.RawMessage, error) {
	if c.Data != "" {
		return c.readFolder(ctx)
	}
	if c.APIKey == "" {
		return nil, usageError{errors.New("--api-key (PAYLEDGER_API_KEY) is needed to read from a server; --data DIR reads a stopped one")}
	}
	target := strings.TrimSuffix(c.URL, "/") + "/payments/" + url.PathEscape(c.Payment) + "/events"
	if c.At != "" {
		target += "?at=" + url.QueryEscape(c.At)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return nil, usageError{err}
	}
	request.Header.Set("X-Api-Key", c.APIKey)
	request.Header.Set("X-Api-Version", "2.4")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("%w; is the server running? --data reads a stopped one", err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, fmt.Errorf("history: %w", err)
	}
	return parseHistory(answer.StatusCode, text)
}

// parseHistory takes the entries out of the server's answer.
func parseHistory(status int, text []byte) (json.RawMessage, error) {
	var body struct {
		Data  json.RawMessage `json:"data"`
		Error *struct {
			ErrorID     string `json:"errorId"`
			Description string `json:"description"`
		} `json:"error"`
	}
	if err := json.Unmarshal(text, &body); err != nil {
		return nil, fmt.Errorf("history: the server answered %d and no JSON: %w", status, err)
	}
	if body.Error != nil {
		return nil, fmt.Errorf("%s: %s", body.Error.ErrorID, body.Error.Description)
	}
	return body.Data, nil
}

// print writes one entry for people: the event, below it what it changed.
func (e historyEntry) print(w io.Writer) {
	position := "not yet in a checkpoint"
	if e.Position != nil {
		position = fmt.Sprintf("position %d", *e.Position)
	}
	fmt.Fprintf(w, "%d  %s  %s\n", e.Revision, date(e.Time), e.Type)
	fmt.Fprintf(w, "   by %s, command %s, request %s\n", e.Actor, e.CommandID, e.CorrelationID)
	fmt.Fprintf(w, "   %s, hash %s\n", position, e.Hash)
	for _, c := range e.Changed {
		switch {
		case c.From == nil:
			fmt.Fprintf(w, "   + %-52s %s\n", c.Path, c.To)
		case c.To == nil:
			fmt.Fprintf(w, "   - %-52s %s\n", c.Path, c.From)
		default:
			fmt.Fprintf(w, "   ~ %-52s %s -> %s\n", c.Path, c.From, c.To)
		}
	}
	for _, waiting := range e.Waiting {
		fmt.Fprintf(w, "   %s\n", waiting)
	}
	for _, told := range e.Told {
		told.print(w)
	}
	fmt.Fprintln(w)
}

// historyNotice is what a processor told unasked (D14).
type historyNotice struct {
	ID         string          `json:"id"`
	Processor  string          `json:"processor"`
	Kind       string          `json:"kind"`
	ReceivedAt time.Time       `json:"receivedAt"`
	Found      bool            `json:"found"`
	Outcome    string          `json:"outcome"`
	Effect     string          `json:"effect"`
	Dispute    string          `json:"disputeId"`
	Refusal    string          `json:"refusal"`
	Body       json.RawMessage `json:"body"`
}

// print writes a notification for people: what became of it, below it the body as it came.
func (n historyNotice) print(w io.Writer) {
	how, dispute := "told by", ""
	if n.Found {
		how = "found at"
	}
	if n.Dispute != "" {
		dispute = ", dispute " + n.Dispute
	}
	fmt.Fprintf(w, "   %s %s: %s %s at %s, %s%s%s%s\n", how, n.Processor, n.Kind, n.ID, date(n.ReceivedAt), n.Outcome, dispute,
		prefixed(": ", n.Effect), prefixed(": ", n.Refusal))
	fmt.Fprintf(w, "     %s\n", n.Body)
}

// prefixed is a text that is there, after a prefix.
func prefixed(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}

// String says it in one line.
func (w historyWaiting) String() string {
	text := fmt.Sprintf("waits for the processor: %s %s, %s, since %s", w.Operation, w.Key, w.State, date(w.Since))
	if w.ExpiresAt != nil {
		text = fmt.Sprintf("waits for the customer: %s %s, since %s, until %s", w.Operation, w.Key, date(w.Since), date(*w.ExpiresAt))
	}
	if w.AskedNext != nil {
		text += ", asked next at " + date(*w.AskedNext)
	}
	return text
}

// date is how dates go out (D1).
func date(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000Z") }

// readFolder replays the payment from a stopped server's folder; nothing in it changes.
func (c *historyCommand) readFolder(ctx context.Context) (_ json.RawMessage, err error) {
	at, err := history.ParseAt(c.At)
	if err != nil {
		return nil, err
	}
	l, err := openLedger(ctx, Options{Data: c.Data, MasterKey: c.MasterKey}, zerolog.Nop(), true)
	if errors.Is(err, eventstore.ErrInUse) {
		return nil, fmt.Errorf("a server runs on %s; read from it with --url and --api-key", c.Data)
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	first, err := l.store.Initialized(ctx)
	if err != nil {
		return nil, err
	}
	replay := history.Reader{Store: l.store, Vault: l.vault}
	entries, err := replay.Payment(ctx, first.Account, domain.PaymentID(c.Payment), at)
	if err != nil {
		return nil, err
	}
	return json.Marshal(entries)
}
