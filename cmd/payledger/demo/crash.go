package demo

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"payledger/cmd/payledger/demo/child"
	"payledger/eventstore/commands/accounts"
)

// CrashStage is the stage of the story of crashes.
type CrashStage struct {
	Program  child.Program
	Name     string // of the program, in the commands that the story prints
	Dir      string // empty folder
	Listen   string // address of the service's API at its first start
	LogLevel string // of the service
	Out      io.Writer
}

// Crashes is the story of a service that is killed in the middle of its work. The processors and
// the merchant outlive it.
type Crashes struct {
	*story
	stage    CrashStage
	there    *processors
	accounts accounts.Credentials // one account's
	service  *child.Service
	facts    facts
}

var crashChapters = []chapter[*Crashes]{
	{"A service in a process of its own", (*Crashes).begin},
	{"Killed while a processor has the money and does not answer", (*Crashes).authorization},
	{"Killed while a processor works on a capture", (*Crashes).capture},
	{"Killed before a refund reaches the processor", (*Crashes).refund},
	{"An auditor compares the ledger with the processor's books", (*Crashes).books},
}

// OpenCrashes opens the processors. The service starts in the story.
func OpenCrashes(ctx context.Context, stage CrashStage) (*Crashes, error) {
	secret := rand.Text()
	there, err := openProcessors(ctx, filepath.Join(stage.Dir, "processors"), secret)
	if err != nil {
		return nil, err
	}
	stage.Program.Env = append(slices.Clip(stage.Program.Env), "PAYLEDGER_PROCESSOR_SECRET="+secret)
	return &Crashes{stage: stage, there: there}, nil
}

const crashIntroduction = `Three times a merchant sends a request, and the service is killed (kill -9) before it answers. The merchant cannot know what happened.
The service starts again and must find out: it must not guess, lose or do anything twice. The merchant repeats its request under the
same idempotency key, which says that it is the same request.

Everything below is real: a service in a process of its own, kill -9, a log on the disk. Only the processor that moves the money, ADYEN,
is a simulator: it runs in this process, outlives the service, and keeps books of its own of all that it did.`

// Play plays the story. Its error is the first claim of the verdict that does not hold, or why the
// story cannot go on to its verdict.
func (c *Crashes) Play(ctx context.Context) error {
	out := &printer{c.stage.Out}
	c.story = &story{merchant: &merchant{out: out}, shown: map[string]int{}}
	// Every request has a connection of its own: net/http itself repeats a request with an
	// idempotency key over a kept connection.
	c.client.Transport = &http.Transport{DisableKeepAlives: true}
	out.line(crashIntroduction)
	if err := c.perform(ctx, crashChapters); err != nil {
		return err
	}
	return c.facts.verdict(out)
}

// perform plays the chapters. If a chapter breaks off, perform goes on with the last chapter, which
// reads the facts for the verdict.
func (c *Crashes) perform(ctx context.Context, chapters []chapter[*Crashes]) error {
	last, broken := len(chapters)-1, error(nil)
	for i, chapter := range chapters {
		if broken != nil && i < last {
			continue
		}
		c.out.chapter(i+1, chapter.title)
		before := len(c.facts.differences)
		err := chapter.play(c, ctx)
		switch {
		case err == nil && len(c.facts.differences) == before:
			c.out.passed()
		case err == nil:
		case ctx.Err() != nil || i == last || c.facts.name == "": // without a processor's name there is nothing to compare
			return errors.Join(broken, fmt.Errorf("chapter %d: %w", i+1, err))
		default:
			broken = fmt.Errorf("chapter %d broke off: %w", i+1, err)
			c.expect(broken)
		}
	}
	return nil
}

// expect prints a difference from the expected result, and keeps it for the verdict. nil: the
// result is the expected one.
func (c *Crashes) expect(difference error) {
	if difference != nil {
		c.facts.differences = append(c.facts.differences, difference)
		c.out.differs(difference)
	}
}

// Kills returns the number of times that the service was killed.
func (c *Crashes) Kills() int { return len(c.facts.findings) }

// Stage returns the running service for other stories.
func (c *Crashes) Stage() Stage {
	return Stage{API: c.api, APIKey: c.apiKey, SigningSecret: c.accounts.SigningSecret, Out: c.stage.Out}
}

// Outlook returns what a newcomer can look at after the story.
func (c *Crashes) Outlook() Outlook {
	return Outlook{Payment: c.result.Paid, Data: c.data(), API: c.api, Admin: c.service.Admin, Simulator: c.there.recorded, Credentials: c.accounts}
}

// Wait returns when ctx ends, or with the error of a service that ended by itself.
func (c *Crashes) Wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-c.service.Ended():
		if ctx.Err() != nil {
			return nil
		}
		return fmt.Errorf("the service ended: %w", c.service.Reason())
	}
}

func (c *Crashes) Close() error {
	var errs []error
	if c.service != nil {
		errs = append(errs, c.service.Kill())
	}
	if c.story != nil && c.receiver != nil {
		errs = append(errs, c.receiver.close())
	}
	return errors.Join(append(errs, c.there.close())...)
}

// program prints a command line of the program.
func (c *Crashes) program(arguments string) { c.out.command(c.stage.Name + " " + arguments) }

func (c *Crashes) data() string { return filepath.Join(c.stage.Dir, "data") }

func (c *Crashes) begin(ctx context.Context) (err error) {
	if c.accounts, err = c.stage.Program.Init(ctx, c.data()); err != nil {
		return err
	}
	c.program("init --data " + c.data())
	c.out.note("account " + string(c.accounts.AccountID) + ", an API key and a signing secret")
	c.apiKey = c.accounts.APIKey
	listen, err := keptAddress(ctx, c.stage.Listen)
	if err != nil {
		return err
	}
	admin, err := keptAddress(ctx, "127.0.0.1:0")
	if err != nil {
		return err
	}
	if err := c.start(ctx, listen, admin); err != nil {
		return err
	}
	if c.receiver, err = newReceiver(ctx, c.accounts.SigningSecret, ""); err != nil {
		return err
	}
	return c.register(ctx)
}

func (c *Crashes) start(ctx context.Context, listen, admin string) error {
	began := time.Now()
	service, err := c.stage.Program.Serve(ctx, "--data", c.data(), "--listen", listen, "--admin-listen", admin,
		"--processor-url", c.there.recorded, "--webhook-allow-cidr", "127.0.0.0/8", "--log-level", c.stage.LogLevel)
	if err != nil {
		return err
	}
	c.service, c.api = service, service.API
	c.program("serve --data " + c.data() + " --listen " + addressOf(service.API) + " --processor-url " + c.there.recorded)
	c.out.note(fmt.Sprintf("process %d is ready after %d ms", service.PID, time.Since(began).Milliseconds()))
	return nil
}

// revive starts the service again if a chapter that broke off left it dead.
func (c *Crashes) revive(ctx context.Context) error {
	select {
	case <-c.service.Ended():
		return c.again(ctx)
	default:
		return nil
	}
}

func (c *Crashes) again(ctx context.Context) error {
	return c.start(ctx, addressOf(c.service.API), addressOf(c.service.Admin))
}

// The ports of keptAddress. Systems give outgoing connections higher ones: none takes the port
// while the service is down.
const (
	firstPort = 15000
	ports     = 15000
)

// keptAddress returns an address for a service that comes back to it. A port other than 0 is kept.
func keptAddress(ctx context.Context, listen string) (string, error) {
	host, port, err := net.SplitHostPort(listen)
	if err != nil || port != "0" {
		return listen, nil // serve checks it
	}
	for range 100 {
		address := net.JoinHostPort(host, strconv.Itoa(firstPort+mathrand.IntN(ports))) //nolint:gosec // any free port will do
		listener, failed := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
		if failed == nil {
			return address, listener.Close()
		}
		err = failed
	}
	return "", fmt.Errorf("no free port: %w", err)
}

func addressOf(url string) string { return strings.TrimPrefix(url, "http://") }
