package program

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"payledger/domain/processor"
	"payledger/processorsim/connector/book"
)

// maxSecret bounds a file with a secret, in bytes.
const maxSecret = 4 << 10

// secret is a value that stands in a file or in a variable of the environment.
type secret struct {
	to                       *string
	file, flagName, variable string
}

// address is an absolute URL; private means that card numbers go there.
type address struct {
	to       *string
	flagName string
	private  bool
}

// Secret adds a required secret: --flagName FILE, or the variable. usage is a noun with its
// article. The value has no spaces around it; spaces inside stay.
func (p *Program) Secret(to *string, flagName, variable, usage string) {
	s := &secret{to: to, flagName: flagName, variable: variable}
	p.secrets = append(p.secrets, s)
	p.Flags.StringVar(&s.file, flagName, "", fmt.Sprintf("`FILE` with %s; or the variable %s", usage, variable))
}

// API adds a flag for the address of the vendor's API, where card numbers go: https, or a loopback
// address. "" is allowed.
func (p *Program) API(to *string, flagName, value, usage string) {
	p.url(address{to: to, flagName: flagName, private: true}, value, usage)
}

// Page adds a flag for the address of a page. "" is allowed.
func (p *Program) Page(to *string, flagName, value, usage string) {
	p.url(address{to: to, flagName: flagName}, value, usage)
}

func (p *Program) url(a address, value, usage string) {
	p.addresses = append(p.addresses, a)
	p.Flags.StringVar(a.to, a.flagName, value, "`URL` of "+usage)
}

// Parse reads the arguments, and the secrets from files or the environment. No error has a part of
// a secret.
func (p *Program) Parse(args []string, environment func(string) (string, bool)) error {
	if err := p.Flags.Parse(args); err != nil {
		return fmt.Errorf("%w: --help lists the flags", err)
	}
	if p.Flags.NArg() > 0 {
		return errors.New("there are no arguments besides flags: secrets come from files or the environment")
	}
	var failed error
	for _, s := range p.secrets {
		var err error
		*s.to, err = s.read(environment)
		failed = errors.Join(failed, err)
	}
	return errors.Join(failed, p.check())
}

func (s *secret) read(environment func(string) (string, bool)) (string, error) {
	text, set := environment(s.variable)
	if !set {
		text = ""
	}
	if s.file != "" {
		if text != "" {
			return "", fmt.Errorf("--%s and %s are both given: one must go", s.flagName, s.variable)
		}
		var err error
		if text, err = readFile(s.file); err != nil {
			return "", fmt.Errorf("--%s: %w", s.flagName, err)
		}
	}
	if text = strings.TrimSpace(text); text == "" {
		return "", fmt.Errorf("a secret is missing: --%s, or the variable %s", s.flagName, s.variable)
	}
	return text, nil
}

func readFile(name string) (string, error) {
	file, err := os.Open(name)
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(io.LimitReader(file, maxSecret+1))
	if err == nil && len(text) > maxSecret {
		err = fmt.Errorf("the file is larger than %d bytes: it is no secret", maxSecret)
	}
	return string(text), errors.Join(err, file.Close())
}

func (p *Program) check() error {
	if p.data == "" {
		return errors.New("--data DIR is missing: the folder of the book, which must exist")
	}
	if !slices.Contains(processor.Names, processor.Name(p.processor)) {
		return fmt.Errorf("--processor must be one of %v", processor.Names)
	}
	if (p.tlsCert == "") != (p.tlsKey == "") {
		return errors.New("--tls-cert and --tls-key belong together")
	}
	host, _, err := net.SplitHostPort(p.listen)
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	if p.tlsCert == "" && !loopback(host) {
		return errors.New("--listen is no loopback address, and card numbers arrive there: it needs --tls-cert and --tls-key")
	}
	for _, a := range p.addresses {
		if err := a.check(); err != nil {
			return err
		}
	}
	return nil
}

// checkBook refuses an empty folder if the connector moves real money: the book may be elsewhere,
// and a new one would answer UNSEEN for the operations in it.
func (p *Program) checkBook(live bool) error {
	_, err := os.Stat(filepath.Join(p.data, book.FileName))
	switch {
	case err == nil && p.newBook:
		return fmt.Errorf("--new-book: %s has a book: leave the flag out", p.data)
	case errors.Is(err, fs.ErrNotExist) && live && !p.newBook:
		return fmt.Errorf("--data: %s has no book. If this connector has run before, its book is elsewhere, for example on a disk that is not mounted: "+
			"with a new one the ledger would record operations as failed that the vendor carried out. If it has not, start it once with --new-book", p.data)
	case errors.Is(err, fs.ErrNotExist):
		return nil
	}
	return err
}

func (a address) check() error {
	if *a.to == "" {
		return nil
	}
	u, err := url.Parse(*a.to)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil {
		return fmt.Errorf("--%s is not an absolute http or https URL", a.flagName)
	}
	if a.private && u.Scheme == "http" && !loopback(u.Hostname()) {
		return fmt.Errorf("--%s is not https, and card numbers go there", a.flagName)
	}
	return nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
