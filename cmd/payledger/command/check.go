package command

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
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
	config, err := c.config()
	if err != nil {
		return options.Usage(err)
	}
	if config.Processor == "" {
		config.Processor, err = conformance.Served(ctx, config, processor.Names)
	}
	report := conformance.Report{}
	out := &checkTable{to: std.Out}
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

func (c *checkCommand) config() (conformance.Config, error) {
	token, err := options.ReadSecret("--processor-token", c.ProcessorToken, c.ProcessorTokenFile)
	secret, failed := options.ReadSecret("--processor-secret", c.ProcessorSecret, c.ProcessorSecretFile)
	transport := &http.Transport{TLSHandshakeTimeout: c.Patience}
	err = errors.Join(err, failed)
	if c.ProcessorCA != "" {
		text, failed := os.ReadFile(c.ProcessorCA)
		authorities := x509.NewCertPool()
		if failed == nil && !authorities.AppendCertsFromPEM(text) {
			failed = errors.New("it has no certificate in PEM")
		}
		if failed != nil {
			err = errors.Join(err, fmt.Errorf("--processor-ca: %w", failed))
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: authorities, MinVersion: tls.VersionTLS12}
	}
	return conformance.Config{
		URL: c.URL, Processor: processor.Name(c.Processor), Token: token, Secret: secret, Merchant: c.Merchant, Destructive: c.Destructive,
		Only: c.Only, HTTP: transport, Listen: c.Listen, NotifyURL: strings.TrimSuffix(c.NotifyURL, "/"), Patience: c.Patience,
	}, err
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
