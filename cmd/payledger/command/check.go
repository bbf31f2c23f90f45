package command

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"payledger/cmd/payledger/options"
	"payledger/cmd/payledger/terminal"
	"payledger/domain/processor"
	"payledger/processorsim/conformance"
)

// checkCommand checks a connector (I1, D14.1).
type checkCommand struct {
	URL                 string        `name:"url" help:"The connector." required:"" placeholder:"URL"`
	Processor           string        `help:"The processor that it serves (default: the first that it declares)." placeholder:"NAME"`
	Destructive         bool          `help:"Also send operations, with the connector's test cards. Refused for real money."`
	Only                []string      `help:"Only the checks with these ids." placeholder:"ID"`
	JSON                bool          `name:"json" help:"Print one JSON object instead of a table."`
	Merchant            string        `help:"processorMerchantId of the operations." placeholder:"ID"`
	ProcessorToken      string        `help:"The ledger's token, sent as Authorization: Bearer." placeholder:"TEXT"`
	ProcessorTokenFile  string        `help:"File that holds the token." type:"path"`
	ProcessorSecret     string        `help:"Signs the connector's notifications." placeholder:"TEXT"`
	ProcessorSecretFile string        `help:"File that holds the secret." type:"path"`
	ProcessorCA         string        `name:"processor-ca" help:"File with the certificates of the authorities that sign the connector's certificate, instead of the system's." type:"path"`
	Listen              string        `help:"Address at which the connector's notifications arrive." default:"127.0.0.1:0"`
	NotifyURL           string        `name:"notify-url" help:"That address as the connector reaches it (default: http and the address)." placeholder:"URL"`
	Patience            time.Duration `help:"How long an answer, or a later fact, may take." default:"30s"`
}

var errBroken = errors.New("the connector breaks promises")

// Run checks, and prints each promise with its result.
func (c *checkCommand) Run(ctx context.Context, std terminal.Streams, args options.Arguments) error {
	if err := args.Refused(); err != nil {
		return err
	}
	configs, err := c.configs()
	if err != nil {
		return err
	}
	config, err := declared(ctx, configs)
	report := conformance.Report{}
	out := &checkTable{to: terminal.Colours(std.Out)}
	if !c.JSON {
		config.Found = out.add
	}
	if err == nil {
		report, err = conformance.Run(ctx, config)
	}
	switch {
	case errors.Is(err, conformance.ErrLive), errors.Is(err, conformance.ErrNoCheck):
		return options.Usage(err)
	case err != nil:
		return err
	case c.JSON:
		err = json.NewEncoder(std.Out).Encode(report)
	default:
		err = out.end(report)
	}
	if n := report.Count(conformance.Broken); err == nil && n > 0 {
		err = fmt.Errorf("%w: %d", errBroken, n)
	}
	return err
}

// configs returns a run for each processor that may be meant.
func (c *checkCommand) configs() (all []conformance.Config, err error) {
	token, err := options.ReadSecret("--processor-token", c.ProcessorToken, c.ProcessorTokenFile)
	secret, failed := options.ReadSecret("--processor-secret", c.ProcessorSecret, c.ProcessorSecretFile)
	if err = errors.Join(err, failed); err != nil {
		return nil, options.Usage(err)
	}
	flags, secrets := options.Processors{ProcessorURL: c.URL, ProcessorCA: c.ProcessorCA}, options.ProcessorSecrets{}
	if token != "" {
		flags.ProcessorToken = []string{token}
	}
	if secret != "" {
		secrets.ProcessorSecret = []string{secret}
	}
	targets, faults := flags.Targets(&secrets)
	if len(faults) > 0 {
		return nil, options.UsageOf(faults)
	}
	transport := &http.Transport{TLSHandshakeTimeout: c.Patience}
	if authorities, _ := flags.Authorities(); authorities != nil { // Targets has returned its faults
		transport.TLSClientConfig = &tls.Config{RootCAs: authorities, MinVersion: tls.VersionTLS12}
	}
	names := processor.Names
	if c.Processor != "" {
		names = []processor.Name{processor.Name(c.Processor)}
	}
	for _, name := range names {
		all = append(all, conformance.Config{
			URL: c.URL, Processor: name, Token: targets[name].Token, Secret: targets[name].Secret, Merchant: c.Merchant, Destructive: c.Destructive,
			Only: c.Only, HTTP: transport, Listen: c.Listen, NotifyURL: strings.TrimSuffix(c.NotifyURL, "/"), Patience: c.Patience,
		})
	}
	return all, nil
}

// declared returns the first run whose processor the connector declares.
func declared(ctx context.Context, configs []conformance.Config) (conformance.Config, error) {
	var err error
	for _, config := range configs {
		if err = conformance.Declares(ctx, config); err == nil {
			return config, nil
		}
		if _, away := errors.AsType[*net.OpError](err); away {
			return config, fmt.Errorf("the connector cannot be reached: %w", err)
		}
	}
	return conformance.Config{}, fmt.Errorf("the connector declares no processor that was looked for: %w", err)
}

// checkTable prints findings for people, each when it is known.
type checkTable struct {
	to     io.Writer
	failed error
}

func (t *checkTable) line(format string, args ...any) {
	if _, err := io.WriteString(t.to, terminal.Harmless(fmt.Sprintf(format, args...))+"\n"); t.failed == nil {
		t.failed = printed(err)
	}
}

func (t *checkTable) add(f conformance.Finding) {
	t.line("%-9s  %-21s  %s", f.Result, f.ID, f.Promise)
	if f.Result == conformance.Holds {
		return
	}
	t.line("%35s%s", "", f.Reason)
	if f.Result != conformance.Broken {
		return
	}
	t.line("%35sFor the merchant: %s", "", f.Meaning)
	for _, e := range f.Exchanges {
		key := ""
		if e.Key != "" {
			key = "  key " + e.Key
		}
		t.line("%35s> %s %s%s", "", e.Method, e.Path, key)
		if e.Request != "" {
			t.line("%35s  %s", "", strings.TrimSpace(e.Request))
		}
		t.line("%35s< %s", "", strings.TrimSpace(fmt.Sprintf("%d %s %s", e.Status, e.Answer, e.Error)))
	}
}

func (t *checkTable) end(r conformance.Report) error {
	t.line("")
	money := "test money"
	if r.Live {
		money = "real money"
	}
	t.line("%s at %s is served by %q: protocol %d, %s.", r.Processor, r.URL, r.Connector, r.Protocol, money)
	t.line("%s: %d hold, %d broken, %d the connector cannot keep, %d not tried.", terminal.Count(len(r.Checks), "promise"),
		r.Count(conformance.Holds), r.Count(conformance.Broken), r.Count(conformance.Cannot), r.Count(conformance.NotTried))
	return t.failed
}
