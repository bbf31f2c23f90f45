package command

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"payledger/cmd/payledger/app"
	"payledger/cmd/payledger/demo"
	"payledger/cmd/payledger/demo/child"
	"payledger/cmd/payledger/options"
	"payledger/cmd/payledger/terminal"
	"payledger/domain/account"
	"payledger/notifier"
)

type demoCommand struct {
	Once          bool   `help:"Exit after the story: 0 if every step had the expected result, 1 if not."`
	Crash         bool   `help:"Play the story of crashes instead: the server is killed in the middle of a payment, a capture and a refund, and started again."`
	Processor     string `help:"Play the story at this connector instead of the simulated processors: a program on PATH, or a path of one. It is started with the story." env:"-" placeholder:"PROGRAM"`
	Listen        string `help:"Address of the API." default:"127.0.0.1:0"`
	URL           string `name:"url" help:"Play the story against a running server of the sandbox on this machine, and exit." placeholder:"URL"`
	APIKey        string `name:"api-key" help:"With --url: the API key." placeholder:"KEY"`
	SigningSecret string `help:"With --url: the signing secret of webhooks." placeholder:"SECRET"`
	LogLevel      string `help:"trace, debug, info, warn, error." enum:"trace,debug,info,warn,error" default:"warn"`
}

// Run plays a story, on a service in a temporary folder or on a running one. The folder and the
// processes of a story end with the terminal, or with the reader of their output.
func (c *demoCommand) Run(ctx context.Context, std terminal.Streams, args options.Arguments) error {
	if !signal.Ignored(syscall.SIGHUP) { // nohup: the demo outlives its terminal
		var stop context.CancelFunc
		ctx, stop = signal.NotifyContext(ctx, syscall.SIGHUP)
		defer stop()
	}
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, syscall.SIGPIPE) // otherwise a write without a reader ends the process, and the folder stays
	defer signal.Stop(pipe)
	ctx, unread := context.WithCancel(ctx)
	defer unread()
	std.Out = output{terminal.Colours(std.Out), unread}
	switch {
	case c.Crash:
		for _, flag := range []string{"--url", "--api-key", "--signing-secret", "--processor"} {
			if args.Has(flag) {
				return options.Usage(fmt.Errorf("--crash kills the server, so it starts one of its own, with a simulated processor: leave %s out", flag))
			}
		}
		return inFolder(std, func(dir string) error { return c.playCrashes(ctx, std, dir) })
	case c.Processor != "" && args.Has("--url"):
		return options.Usage(errors.New("--processor starts a server of its own: leave --url out"))
	case c.URL != "" && c.Processor == "" && (c.Once || args.Has("--url")): // PAYLEDGER_URL alone, which the demo itself advises to set, does not redirect it
		return c.playThere(ctx, std)
	default:
		return inFolder(std, func(dir string) error { return c.playHere(ctx, std, dir) })
	}
}

// output calls unread when a write fails: nobody reads it any more. SIGPIPE alone says nothing:
// connections of the process cause it, too.
type output struct {
	io.Writer
	unread func()
}

func (o output) Write(text []byte) (int, error) {
	n, err := o.Writer.Write(text)
	if err != nil {
		o.unread()
	}
	return n, err
}

// inFolder plays in a temporary folder, and prints its name before.
func inFolder(std terminal.Streams, play func(dir string) error) (err error) {
	dir, err := os.MkdirTemp("", "payledger-demo-")
	if err != nil {
		return fmt.Errorf("temporary folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	fmt.Fprintf(std.Out, "The demo keeps its files in %s and removes the folder at its end.\n", dir)
	return play(dir)
}

func (c *demoCommand) playHere(ctx context.Context, std terminal.Streams, dir string) (err error) {
	options := c.options(dir)
	log, err := options.Logger(std.Err)
	if err != nil {
		return err
	}
	at, end, err := c.connect(ctx, std, &options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	app, err := app.Start(ctx, options, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, app.Stop()) }()
	stage := demo.Stage{
		API: app.API.URL, APIKey: app.Credentials.APIKey, SigningSecret: app.Credentials.SigningSecret, Out: std.Out, Connector: at,
	}
	story, err := demo.Play(ctx, stage)
	if err != nil {
		return unfinished(ctx, err)
	}
	c.passed(std, story)
	r := app.Ready()
	outlook := demo.Outlook{Payment: story.Paid, Data: dir, API: r.API, Admin: r.Admin, Simulator: r.Simulator, Connector: at, Credentials: *app.Credentials}
	return c.stay(ctx, std, stage, outlook, func() error {
		select {
		case <-ctx.Done():
			return nil
		case err := <-app.Failed:
			return err
		case <-gone(at):
			return fmt.Errorf("the connector has ended: %w", at.Reason())
		}
	})
}

// stay opens the shop, shows what a newcomer can look at, and waits. With --once it does nothing.
func (c *demoCommand) stay(ctx context.Context, std terminal.Streams, stage demo.Stage, o demo.Outlook, wait func() error) (err error) {
	if c.Once {
		return nil
	}
	shop, err := demo.OpenShop(ctx, stage)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, shop.Close()) }()
	LookOn(std, o, shop.URL)
	return wait()
}

func (c *demoCommand) playCrashes(ctx context.Context, std terminal.Streams, dir string) (err error) {
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("the program's own file: %w", err)
	}
	story, err := demo.OpenCrashes(ctx, demo.CrashStage{
		Program: child.Program{Path: program, Env: options.Unset(os.Environ()), Log: std.Err},
		Name:    terminal.Program(), Dir: dir, Listen: c.Listen, LogLevel: c.LogLevel, Out: std.Out,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, story.Close()) }()
	if err := story.Play(ctx); err != nil {
		return unfinished(ctx, err)
	}
	fmt.Fprintf(std.Out, "\nThe service was killed %s. Nothing was guessed, lost or doubled.\n", terminal.Count(story.Kills(), "time"))
	return c.stay(ctx, std, story.Stage(), story.Outlook(), func() error { return story.Wait(ctx) })
}

func unfinished(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return errors.New("interrupted before the end of the story")
	}
	return fmt.Errorf("the story failed: %w", err)
}

func (c *demoCommand) passed(std terminal.Streams, story demo.Result) {
	fmt.Fprintf(std.Out, "\nEverything as expected: %s of %s.\n", terminal.Count(story.Events, "event"), terminal.Count(story.Payments, "payment"))
	if story.LeftOut > 0 {
		fmt.Fprintf(std.Out, "Left out: %s, for which this processor has no test card or no capability.\n", terminal.Count(story.LeftOut, "chapter"))
	}
}

// playThere plays the story against a running server, which must allow webhooks to this machine,
// and should have a short --payment-timeout.
func (c *demoCommand) playThere(ctx context.Context, std terminal.Streams) error {
	switch {
	case c.APIKey == "" || c.SigningSecret == "":
		return options.Usage(fmt.Errorf("for the server %s the demo needs --api-key and --signing-secret (PAYLEDGER_API_KEY, PAYLEDGER_SIGNING_SECRET); for a server of its own: env -u PAYLEDGER_URL payledger demo", options.WithoutUsers(c.URL)))
	case strings.HasPrefix(strings.TrimSpace(c.APIKey), options.LivePrefix):
		return options.Usage(errors.New("the API key is of production: the story makes payments, and is for the sandbox only"))
	}
	var run [4]byte
	rand.Read(run[:]) // it never fails
	story, err := demo.Play(ctx, demo.Stage{
		API: strings.TrimRight(c.URL, "/"), APIKey: c.APIKey, SigningSecret: c.SigningSecret, Out: std.Out, Run: fmt.Sprintf("-%x", run),
	})
	if err != nil {
		return fmt.Errorf("the story failed: %w", err)
	}
	c.passed(std, story)
	return nil
}

const demoPaymentTimeout = 3 * time.Second // short: the story waits for a processor that never answers

func (c *demoCommand) options(dir string) options.Options {
	return options.Options{
		Data: dir, Listen: c.Listen, AdminListen: "127.0.0.1:0", SimListen: "127.0.0.1:0", Environment: account.Sandbox,
		PaymentTimeout: demoPaymentTimeout, ActionTimeout: 24 * time.Hour, ClientTokenTTL: 24 * time.Hour, WebhookTimeout: 10 * time.Second, DisputeLookup: time.Minute, WriteTimeout: options.DefaultWriteTimeout,
		DeliveryRetention: notifier.DefaultRetention,
		WebhookAllowCIDR:  []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, LogLevel: c.LogLevel, LogFormat: "auto",
	}
}

// LookOn prints what a newcomer can look at after the story.
func LookOn(std terminal.Streams, o demo.Outlook, shop string) {
	fmt.Fprintf(std.Out, `
The service stays up until Ctrl-C. Buy something, in a browser:

  %[6]s

Look at the payments in the dashboard, as a merchant's staff sees them:

  %[1]s/dashboard/payments/%[3]s
  user %[7]s, password %[8]s

Try, in another terminal:

  export PAYLEDGER_URL=%[1]s PAYLEDGER_API_KEY=%[2]s

  # webhooks are signed with this secret
  SIGNING_SECRET=%[9]s

  # the payment (%[1]s/docs/guides/first-payment makes one of your own)
  curl -s $PAYLEDGER_URL/payments/%[3]s -H "X-API-KEY: $PAYLEDGER_API_KEY" -H 'X-API-VERSION: 2.4'

  # what is settled, newest first
  curl -s "$PAYLEDGER_URL/payments?status=SETTLED" -H "X-API-KEY: $PAYLEDGER_API_KEY" -H 'X-API-VERSION: 2.4'

  # a refund of more than is left: refused, recorded, and reported by webhook
  curl -s $PAYLEDGER_URL/payments/%[3]s/refund -H "X-API-KEY: $PAYLEDGER_API_KEY" -H 'X-API-VERSION: 2.4' -H 'Content-Type: application/json' -d '{"amount": 99999}'

  # every event of the payment, one line each; --full adds what led to it and what followed it
  %[10]s history %[3]s --full

  # four mistakes, one answer that names them all
  curl -s $PAYLEDGER_URL/payments -H "X-API-KEY: $PAYLEDGER_API_KEY" -H 'X-API-VERSION: 2.4' -H 'Content-Type: application/json' \
    -d '{"paymentMethodToken": "x", "currencyCode": "EURO", "amount": -1, "colour": "red", "orderId": "'$(printf 'x%%.0s' $(seq 256))'"}'

  # %[12]s
  %[10]s listen --forward-to http://127.0.0.1:9000/webhooks
  %[10]s logs tail

  # check every event, hash and view of the log, beside the running service
  %[10]s verify --data %[11]s

  reference %[1]s/docs
  metrics   %[4]s/metrics
  %[5]s
`, o.API, o.Credentials.APIKey, o.Payment, o.Admin, books(o), shop, o.Credentials.DashboardUser, o.Credentials.DashboardPassword, o.Credentials.SigningSecret, terminal.Program(), o.Data, more(o))
}
