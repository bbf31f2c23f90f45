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
	"time"

	"github.com/rs/zerolog"

	"payledger/cmd/payledger/ledger"
	"payledger/cmd/payledger/options"
	"payledger/cmd/payledger/terminal"
	"payledger/domain"
	"payledger/eventstore"
	"payledger/projections/history"
)

// History replays one payment, from a running server or a stopped server's folder (I1).
type History struct {
	Payment   string `arg:"" name:"payment-id" help:"Id of the payment."`
	JSON      bool   `name:"json" help:"Print an array of entries instead of text."`
	At        string `help:"End at this revision or time (RFC 3339)." placeholder:"REVISION|TIME"`
	URL       string `name:"url" help:"Running server." default:"http://127.0.0.1:8080"`
	APIKey    string `name:"api-key" help:"API key with the scope transactions:retrieve." placeholder:"KEY"`
	Data      string `help:"Data folder of a stopped server, instead of --url." type:"path"`
	MasterKey string `help:"Key of the stream of secrets, with --data." placeholder:"HEX"`

	MasterKeyFile string `help:"File that holds the master key, with --data." type:"path"`
}

// historyEntry has the printed fields of an event and its changes (I1).
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
	Notices []historyNotice  `json:"notifications"`
	Hash    string           `json:"hash"`
}

// historyWaiting is an open operation or action after the event (D7, D8).
type historyWaiting struct {
	Operation string     `json:"operation"`
	Key       string     `json:"key"`
	State     string     `json:"state"`
	Since     time.Time  `json:"since"`
	ExpiresAt *time.Time `json:"expiresAt"`
	AskedNext *time.Time `json:"askedNext"`
}

// Run reads the history and prints each entry as it arrives.
func (c *History) Run(ctx context.Context, std terminal.Streams, args options.Arguments) error {
	if err := args.Refused(); err != nil {
		return err
	}
	out := entryPrinter{out: std.Out, json: c.JSON}
	folder, err := args.ReadsFolder(c.Data)
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

// entryPrinter prints entries as text or as one JSON array. An array without its end is incomplete.
type entryPrinter struct {
	out   io.Writer
	json  bool
	begun bool
}

func (p *entryPrinter) entry(text json.RawMessage) error {
	if !p.json {
		var e historyEntry
		if err := json.Unmarshal(text, &e); err != nil {
			return fmt.Errorf("history: %w", err)
		}
		e.print(p.out)
		return nil
	}
	before := ","
	if !p.begun {
		p.begun, before = true, "["
	}
	_, err := fmt.Fprintf(p.out, "%s%s", before, text)
	return err
}

func (p *entryPrinter) end() error {
	if !p.json {
		return nil
	}
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
	if c.At != "" {
		target += "?at=" + url.QueryEscape(c.At)
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

// print prints an entry for people: the event, and its changes below.
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
	for _, notice := range e.Notices {
		notice.print(w)
	}
	fmt.Fprintln(w)
}

// historyNotice is a processor's notification (D14.5).
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
	Additional json.RawMessage `json:"additional"`
}

// print prints a notification for people: its outcome, and its body below.
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
	if len(n.Additional) > 0 {
		fmt.Fprintf(w, "     not named by the protocol: %s\n", n.Additional)
	}
}

// prefixed returns the text after the prefix, or "" for an empty text.
func prefixed(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}

// String returns one line.
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

// date formats a date as D1 requires.
func date(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000Z") }

// readFolder replays the payment from a stopped server's folder and changes nothing there.
func (c *History) readFolder(ctx context.Context, emit func(json.RawMessage) error) (err error) {
	at, err := history.ParseAt(c.At)
	if err != nil {
		return err
	}
	l, err := ledger.Open(ctx, options.Options{Data: c.Data, MasterKey: c.MasterKey, MasterKeyFile: c.MasterKeyFile}, ledger.ReadOnly, eventstore.Config{Logger: zerolog.Nop()})
	if errors.Is(err, eventstore.ErrInUse) {
		return fmt.Errorf("a server runs on %s; read from it with --url and --api-key", c.Data)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	first, err := l.Store.Initialized(ctx)
	if err != nil {
		return err
	}
	replay := history.Reader{Store: l.Store, Vault: l.Vault}
	_, err = replay.Payment(ctx, first.Account, domain.PaymentID(c.Payment), history.Part{At: at}, func(e history.Entry) error {
		text, err := json.Marshal(e)
		if err != nil {
			return fmt.Errorf("history: %w", err)
		}
		return emit(text)
	})
	return err
}
