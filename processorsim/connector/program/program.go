package program

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/rs/zerolog"

	"payledger/domain/processor"
	"payledger/processorsim/connector"
)

// Program is the program of a connector. New makes one; its methods and Flags add what the vendor
// needs; Main runs it. The values of flags and secrets are there when Vendor is called.
type Program struct {
	Flags *flag.FlagSet // of the vendor, each with a usage
	// Vendor returns the vendor, or an error for wrong settings. It calls nobody.
	Vendor func(log zerolog.Logger) (connector.Vendor, error)
	// Started, if set, gets the ready line before it is printed. The connector answers then.
	Started func(Ready)

	listen, data    string
	newBook         bool
	processor       string
	tlsCert, tlsKey string
	token, signing  string
	secrets         []*secret
	addresses       []address
}

// New returns a program with the flags of every connector. as and listen are the defaults of
// --processor and --listen.
func New(name string, as processor.Name, listen string) *Program {
	p := &Program{Flags: flag.NewFlagSet(name, flag.ContinueOnError)}
	p.Flags.SetOutput(io.Discard)
	p.Flags.StringVar(&p.data, "data", "", "folder of the book, which must exist")
	p.Flags.BoolVar(&p.newBook, "new-book", false, "begin a book in the folder, once: a connector with real money does so with this flag only")
	p.Flags.StringVar(&p.listen, "listen", listen, "address for the ledger and the vendor's messages")
	p.Flags.StringVar(&p.processor, "processor", string(as), "name that the ledger has for this processor")
	p.Flags.StringVar(&p.tlsCert, "tls-cert", "", "file of the certificate chain, PEM")
	p.Flags.StringVar(&p.tlsKey, "tls-key", "", "file of the certificate's key, PEM")
	p.Secret(&p.token, "token-file", "PAYLEDGER_PROCESSOR_TOKEN", "the token that the ledger sends")
	p.Secret(&p.signing, "notification-secret-file", "PAYLEDGER_PROCESSOR_SECRET", "the secret that signs notifications to the ledger")
	return p
}

// Main is the whole of a main function. It does not return if the program fails.
func (p *Program) Main() {
	err := p.Parse(os.Args[1:], os.LookupEnv)
	if errors.Is(err, flag.ErrHelp) {
		_, err = io.WriteString(os.Stdout, p.usage())
	} else if err == nil {
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
		context.AfterFunc(ctx, stop) // a second signal ends the process
		err = p.Run(ctx, os.Stdout, zerolog.New(os.Stderr).With().Timestamp().Logger())
		stop()
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %s\n", p.Flags.Name(), strings.ReplaceAll(err.Error(), "\n", "; "))
		os.Exit(1)
	}
}

// usage is the text of --help.
func (p *Program) usage() string {
	text := p.Flags.Name() + " is a connector: a program between payledger and a vendor.\n\n"
	p.Flags.VisitAll(func(f *flag.Flag) {
		kind, about := flag.UnquoteUsage(f)
		if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "0s" {
			about += fmt.Sprintf(" (default %s)", f.DefValue)
		}
		text += fmt.Sprintf("  %-34s  %s\n", "--"+f.Name+" "+kind, about)
	})
	return text
}
