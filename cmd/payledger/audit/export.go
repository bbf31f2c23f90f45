package audit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"

	"payledger/cmd/payledger/ledger"
	"payledger/cmd/payledger/options"
	"payledger/cmd/payledger/terminal"
	"payledger/projections/eventjson"
	"payledger/projections/export"
)

// Export writes the log and its tables for analysts (I1).
type Export struct {
	Format    string  `help:"Format of the files." enum:"jsonl,csv,parquet,sqlite" required:"" placeholder:"jsonl|csv|parquet|sqlite"`
	Out       string  `help:"Folder of the files, or the file of the format sqlite. Without it, jsonl and csv print the events." type:"path"`
	From      string  `help:"Only events from this day or time on (RFC 3339)." placeholder:"TIME"`
	To        string  `help:"Only events up to this day or time (RFC 3339), included." placeholder:"TIME"`
	After     *uint64 `help:"Only events behind this position; appends to the files of an earlier export." placeholder:"POSITION"`
	URL       string  `name:"url" help:"Running server." default:"http://127.0.0.1:8080"`
	APIKey    string  `name:"api-key" help:"API key with the scope events:read." placeholder:"KEY"`
	Data      string  `help:"Data folder of a stopped server, instead of --url." type:"path"`
	MasterKey string  `help:"Key of the stream of secrets, with --data." placeholder:"HEX"`

	MasterKeyFile string `help:"File that holds the master key, with --data." type:"path"`
}

// Run exports the events that there are now.
func (c *Export) Run(ctx context.Context, std terminal.Streams, args options.Arguments) error {
	if err := args.Refused(); err != nil {
		return err
	}
	window, err := c.window()
	if err != nil {
		return options.Usage(err)
	}
	folder, err := args.ReadsFolder(c.Data)
	if err != nil {
		return err
	}
	run := c.exportServer
	if folder {
		run = c.exportFolder
	}
	shown := exportBar(std)
	s, err := run(ctx, export.Config{
		Format: export.Format(c.Format), Out: c.Out, Stdout: std.Out, After: c.After, Window: window, Progress: shown.show,
	})
	shown.clear()
	if err != nil {
		return err
	}
	if c.Out == "" {
		return nil
	}
	if s.Last == 0 {
		_, err = fmt.Fprintf(std.Out, "Nothing new: %s has every event.\n", c.Out)
		return err
	}
	_, err = fmt.Fprintf(std.Out, "%d events up to position %d, in %s: %s\nAppend later events with --after %d.\n",
		s.Events, s.Last, c.Out, strings.Join(s.Files, ", "), s.Last)
	return err
}

// window reads --from and --to.
func (c *Export) window() (w export.Window, err error) {
	if c.Out == "" && (c.Format == string(export.Parquet) || c.Format == string(export.SQLite)) {
		return w, fmt.Errorf("--format %s needs --out", c.Format)
	}
	if c.After != nil && c.From+c.To != "" {
		return w, errors.New("--after selects positions and --from and --to times: leave one of them out")
	}
	if w.From, err = exportTime("--from", c.From, false); err != nil {
		return w, err
	}
	if w.To, err = exportTime("--to", c.To, true); err != nil {
		return w, err
	}
	if !w.From.IsZero() && !w.To.IsZero() && w.From.After(w.To) {
		return w, errors.New("--from is later than --to")
	}
	return w, nil
}

// exportTime parses a time, or a day in UTC: its first moment, or its last if end.
func exportTime(flag, text string, end bool) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if at, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return at, nil
	}
	day, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return day, fmt.Errorf("%s %q is neither a day such as 2026-03-14 nor a time such as 2026-03-14T09:00:00Z", flag, text)
	}
	if end {
		day = day.AddDate(0, 0, 1).Add(-time.Microsecond)
	}
	return day, nil
}

// progress is a bar on a terminal.
type progress struct{ shown *progressbar.ProgressBar }

// exportBar returns the bar of an export; without a terminal it shows nothing.
func exportBar(std terminal.Streams) *progress {
	if !terminal.Is(std.Err) {
		return &progress{}
	}
	return &progress{progressbar.NewOptions64(-1, progressbar.OptionSetWriter(std.Err), progressbar.OptionSetDescription("events"),
		progressbar.OptionShowCount(), progressbar.OptionShowIts(), progressbar.OptionSetPredictTime(true),
		progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish(), progressbar.OptionSetWidth(30))}
}

func (p *progress) show(position, newest uint64) {
	if p.shown == nil {
		return
	}
	if newest > 0 && p.shown.GetMax64() != int64(newest) {
		p.shown.ChangeMax64(int64(newest))
	}
	if p.shown.Set64(int64(position)) != nil {
		p.shown = nil // an error of the terminal does not end the export
	}
}

func (p *progress) clear() {
	if p.shown != nil && p.shown.Clear() != nil {
		p.shown = nil
	}
}

// exportFolder exports a stopped server's folder, with the events of all its accounts. It changes nothing there.
func (c *Export) exportFolder(ctx context.Context, config export.Config) (s export.Summary, err error) {
	err = ledger.Read(ctx, options.Options{Data: c.Data, MasterKey: c.MasterKey, MasterKeyFile: c.MasterKeyFile}, func(l *ledger.Ledger) error {
		config.Source = folderFeed{eventjson.NewFeed(l.Store)}
		s, err = export.Run(ctx, config)
		return err
	})
	return s, err
}

// folderFeed reads the events of a folder.
type folderFeed struct{ *eventjson.Feed }

func (f folderFeed) Events(ctx context.Context, after uint64, handle func(e export.Event, newest uint64) error) error {
	newest, err := f.Log.Size(ctx)
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	_, err = f.Page(ctx, eventjson.Filter{}, after, 0, func(e eventjson.Event) error {
		text, err := json.Marshal(e)
		if err != nil {
			return fmt.Errorf("export: %w", err)
		}
		var read export.Event
		if err := json.Unmarshal(text, &read); err != nil {
			return fmt.Errorf("export: %w", err)
		}
		return handle(read, newest)
	})
	return err
}

// exportServer exports the account's events from a running server.
func (c *Export) exportServer(ctx context.Context, config export.Config) (export.Summary, error) {
	if c.APIKey == "" {
		return export.Summary{}, options.Usage(errors.New("--api-key (PAYLEDGER_API_KEY) is needed to read from a server; --data DIR reads a stopped one"))
	}
	config.Source = serverFeed{strings.TrimSuffix(c.URL, "/"), c.APIKey}
	return export.Run(ctx, config)
}

// serverFeed reads the events of a running server, page by page.
type serverFeed struct{ url, key string }

// exportPage is the largest page of GET /events (I2).
const exportPage = "1000"

func (f serverFeed) Events(ctx context.Context, after uint64, handle func(e export.Event, newest uint64) error) error {
	for {
		next, err := f.page(ctx, after, handle)
		if err != nil || next == 0 {
			return err
		}
		after = next
	}
}

// page reads one page. next is the position after which the next one begins; 0: there is none.
func (f serverFeed) page(ctx context.Context, after uint64, handle func(e export.Event, newest uint64) error) (next uint64, err error) {
	query := url.Values{"after": {strconv.FormatUint(after, 10)}, "limit": {exportPage}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, f.url+"/events?"+query.Encode(), nil)
	if err != nil {
		return 0, options.Usage(err)
	}
	request.Header.Set("X-Api-Key", f.key)
	request.Header.Set("X-Api-Version", "2.4")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, fmt.Errorf("%w; is the server running? --data reads a stopped one", err)
	}
	defer answer.Body.Close()
	var body struct {
		Data  []export.Event `json:"data"`
		Next  uint64         `json:"nextAfter"`
		Error serverError    `json:"error"`
	}
	if err := json.NewDecoder(answer.Body).Decode(&body); err != nil {
		return 0, fmt.Errorf("export: the server's answer (%d) broke off or is no JSON: %w; try again", answer.StatusCode, err)
	}
	if answer.StatusCode != http.StatusOK {
		return 0, body.Error
	}
	for _, e := range body.Data {
		if err := handle(e, 0); err != nil {
			return 0, err
		}
	}
	return body.Next, nil
}
