package developer

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"payledger/cmd/payledger/options"
	"payledger/cmd/payledger/terminal"
	"payledger/httpapi/client"
)

// Logs shows what the server logs of an account (I1).
type Logs struct {
	Tail LogsTail `cmd:"" help:"Print the account's requests as they come. In a cluster: those of the node that --url reaches; the dashboard's page API requests shows those of all nodes."`
}

// LogsTail prints requests as they come.
type LogsTail struct {
	Status []string `help:"Only answers with these statuses, for example 4xx,503." placeholder:"STATUS"`
	Path   string   `help:"Only paths that begin like this, for example /payments." placeholder:"PATH"`
	JSON   bool     `name:"json" help:"Print lines of JSON."`

	Server `set:"scope=the scope account:read"`
}

// logged is a request of the stream (D20).
type logged struct {
	Time      time.Time `json:"time"`
	Method    string    `json:"method"`
	Path      string    `json:"path"`
	Status    int       `json:"status"`
	TookMs    float64   `json:"tookMs"`
	ErrorID   string    `json:"errorId"`
	RequestID string    `json:"requestId"`
	Caller    string    `json:"caller"`
	KeyName   string    `json:"keyName"`
}

func (r logged) String() string {
	line := fmt.Sprintf("%s  %-6s %-52s %d %8.1f ms  %s  %s", r.Time.UTC().Format("15:04:05.000"), r.Method, r.Path, r.Status, r.TookMs, r.RequestID, cmp.Or(r.KeyName, r.Caller))
	if r.ErrorID != "" {
		line += "  " + r.ErrorID
	}
	return line
}

// Run prints requests until the process is stopped.
func (c *LogsTail) Run(ctx context.Context, std terminal.Streams, args options.Arguments) error {
	api, err := c.API(args)
	if err != nil {
		return err
	}
	query := url.Values{}
	if len(c.Status) > 0 {
		query["status"] = c.Status
	}
	if c.Path != "" {
		query.Set("path", c.Path)
	}
	for connected := false; ; {
		err := api.Stream(ctx, client.Request{Path: "/management/request-log/stream", Query: query}, func() { connected = true }, func(e client.ServerEvent) error {
			return c.message(std, e)
		})
		switch {
		case ctx.Err() != nil: // the usual end
			return nil
		case !connected || !errors.Is(err, client.ErrBroken):
			return reached(err)
		}
		fmt.Fprintf(std.Err, "payledger: %s; connecting again, requests in between are missing\n", safe(err.Error()))
		if client.Pause(ctx, retry) != nil {
			return nil
		}
	}
}

// shows reports whether a request is shown. The answers that `payledger listen` reports are
// requests of this tool and not of the shop; --path shows them.
func (c *LogsTail) shows(r logged) bool {
	return strings.HasPrefix(c.Path, listeners) || !strings.HasPrefix(r.Path, listeners+"/") || !strings.HasSuffix(r.Path, "/answers")
}

func (c *LogsTail) message(std terminal.Streams, e client.ServerEvent) error {
	switch e.Type {
	case "ready":
		if !c.JSON {
			fmt.Fprintln(std.Err, "payledger: requests follow as they come, of this server alone; Ctrl-C ends")
		}
	case "dropped":
		var missed struct {
			Dropped uint64 `json:"dropped"`
		}
		if err := json.Unmarshal(e.Data, &missed); err != nil {
			return err
		}
		fmt.Fprintln(std.Err, "payledger: "+terminal.Count(missed.Dropped, "request")+" came faster than they could be shown: they are missing")
	case "request":
		return c.request(terminal.Colours(std.Out), e.Data)
	}
	return nil
}

func (c *LogsTail) request(out io.Writer, text []byte) error {
	var r logged
	if err := json.Unmarshal(text, &r); err != nil {
		return fmt.Errorf("the server sent no request: %w", err)
	}
	if !c.shows(r) {
		return nil
	}
	if c.JSON {
		_, err := fmt.Fprintf(out, "%s\n", text)
		return err
	}
	_, err := fmt.Fprintln(out, safe(r.String()))
	return err
}
