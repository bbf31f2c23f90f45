package developer

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"payledger/cmd/payledger/options"
	"payledger/cmd/payledger/terminal"
	"payledger/httpapi/client"
)

// Listen brings webhooks to a program on this machine (I1). Nothing has to reach this machine: it
// reads them from the server as a stream.
type Listen struct {
	ForwardTo string    `required:"" help:"Where the program takes webhooks, for example http://127.0.0.1:9000/webhooks." placeholder:"URL"`
	Events    []string  `help:"Only webhooks of these types, for example PAYMENT.STATUS,PAYMENT.REFUND (default: all)." placeholder:"TYPE"`
	PrintBody bool      `help:"Print the body of each webhook."`
	In        io.Reader `kong:"-"` // lines of the terminal; nil: stdin

	Server `set:"scope=the scope settings:write"`
}

// listeners is the path of webhook listeners (D20).
const listeners = "/management/webhook-listeners"

// Run listens until the process is stopped.
func (c *Listen) Run(ctx context.Context, std terminal.Streams, args options.Arguments) error {
	target, err := c.target()
	if err != nil {
		return options.Usage(err)
	}
	api, err := c.API(args)
	if err != nil {
		return err
	}
	l := &listening{api: api, target: target, body: c.PrintBody, out: terminal.Colours(std.Out)}
	if err := api.Post(ctx, listeners, map[string]any{"description": "payledger listen", "eventTypes": append([]string{}, c.Events...)}, &l.made); err != nil {
		return reached(atFlags(err, map[string]string{"eventTypes": "--events"}))
	}
	defer l.end(ctx)
	l.within = l.made.within()
	l.print("Webhooks go to %s until Ctrl-C. `r` and Enter sends the last one again.", target)
	l.print("They are signed by the account's signing secret, and by this one of the listener: %s", l.made.SigningSecret)
	go l.obey(ctx, cmp.Or[io.Reader](c.In, os.Stdin))
	err = l.read(ctx)
	l.running.Wait()
	if ctx.Err() != nil { // the usual end
		return nil
	}
	return reached(err)
}

// target returns the program's URL. Without a scheme it is http.
func (c *Listen) target() (string, error) {
	text := c.ForwardTo
	whole := strings.Contains(text, "://")
	if !whole {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || !whole && !isAddress(u) {
		return "", fmt.Errorf("--forward-to %q must be like http://127.0.0.1:9000/webhooks", c.ForwardTo)
	}
	return text, nil
}

// isAddress reports whether a URL without its scheme is one: a port, a domain or an IP address
// tells it from a word.
func isAddress(u *url.URL) bool {
	return u.Port() != "" || u.Hostname() == "localhost" || strings.ContainsAny(u.Hostname(), ".:")
}

// listener is a webhook listener of the API (D20).
type listener struct {
	ID            string `json:"id"`
	SigningSecret string `json:"signingSecret"`
	WithinMs      int64  `json:"answerWithinMs"`
}

// answerTime is the part of the time for an answer that the way to the service and back may take.
const answerTime = 500 * time.Millisecond

func (l listener) within() time.Duration {
	all := time.Duration(l.WithinMs) * time.Millisecond
	return max(all-answerTime, all/2)
}

type listening struct {
	api     *client.Client
	made    listener
	target  string
	body    bool
	within  time.Duration // of the program's answer
	running sync.WaitGroup
	rotated sync.Once // a rotation of the account's secret was reported
	broken  bool      // the stream's break was reported

	mu   sync.Mutex // of the fields below
	out  io.Writer
	last string // the newest delivery
}

func (l *listening) print(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintln(l.out, safe(fmt.Sprintf(format, args...)))
}

// endTime bounds the request that ends the listener. The service ends it by itself after a minute.
const endTime = 3 * time.Second

func (l *listening) end(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
	defer cancel()
	err := l.api.Call(ctx, client.Request{Method: http.MethodDelete, Path: l.path("")}, nil)
	if apiErr, is := errors.AsType[*client.Error](err); err != nil && (!is || apiErr.ErrorID != client.EntityNotFound) {
		l.print("The listener was not ended (%v); the server ends it after a minute.", err)
	}
}

func (l *listening) path(part string) string {
	return listeners + "/" + url.PathEscape(l.made.ID) + part
}

const retry = time.Second

// read reads the stream until ctx ends, and opens it again after a break. It reports one break
// until the stream works again.
func (l *listening) read(ctx context.Context) error {
	for {
		err := l.api.Stream(ctx, client.Request{Path: l.path("/stream")}, func() {}, func(e client.ServerEvent) error { return l.message(ctx, e) })
		apiErr, is := errors.AsType[*client.Error](err)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case is && apiErr.ErrorID == client.EntityNotFound:
			return errors.New("the listener ended: it was deleted, or had no reader for a minute; start payledger listen again")
		case !errors.Is(err, client.ErrBroken):
			return err
		}
		if !l.broken {
			l.print("%v; connecting again", err)
		}
		l.broken = true
		_ = client.Pause(ctx, retry) // the next round returns the end of ctx
	}
}

// message handles one message of the stream. Webhooks are forwarded at the same time.
func (l *listening) message(ctx context.Context, e client.ServerEvent) error {
	switch e.Type {
	case "ready":
		l.broken = false
		l.print("Ready.")
	case "webhook":
		var w incoming
		if err := json.Unmarshal(e.Data, &w); err != nil {
			return fmt.Errorf("the server sent no webhook: %w", err)
		}
		l.running.Go(func() { l.take(ctx, w) })
	}
	return nil
}

func (l *listening) obey(ctx context.Context, input io.Reader) {
	lines := bufio.NewScanner(input)
	for lines.Scan() && ctx.Err() == nil {
		if strings.TrimSpace(lines.Text()) != "r" {
			continue
		}
		l.mu.Lock()
		last := l.last
		l.mu.Unlock()
		if last == "" {
			l.print("No webhook has come yet. `payledger trigger pay` makes one in the sandbox.")
			continue
		}
		if err := l.api.Post(ctx, "/management/webhook-deliveries/"+url.PathEscape(last)+"/resend", nil, nil); err != nil && ctx.Err() == nil {
			l.print("The webhook was not sent again: %v", err)
		}
	}
}
