package external

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"payledger/eventstore/jetapi"
)

// Access is the address of an external cluster, and the files to connect to it. An empty file name
// means none.
type Access struct {
	URL   string // of one server or of several, separated by commas
	Creds string // user credentials
	CA    string // certificates of the authorities that sign the servers' certificates
	Cert  string // client certificate
	Key   string // private key of Cert
}

// Connect connects to the cluster.
func (a Access) Connect(opts ...nats.Option) (*nats.Conn, error) {
	nc, err := jetapi.Connect(a.URL, slices.Concat(a.options(), opts)...)
	var wrong *url.Error
	switch {
	case errors.As(err, &wrong): // its text has the URL, and with it a password
		return nil, fmt.Errorf("the address of the NATS cluster is invalid: %w", wrong.Err)
	case err != nil:
		return nil, fmt.Errorf("connect to %s: %w", a.Servers(), err)
	}
	return nc, nil
}

// jetStream connects to the cluster and to its JetStream. The caller closes the connection.
func (a Access) jetStream(opts ...nats.Option) (*nats.Conn, jetstream.JetStream, error) {
	nc, err := a.Connect(opts...)
	if err != nil {
		return nil, nil, err
	}
	js, err := jetstream.New(nc)
	if err != nil {
		nc.Close()
		return nil, nil, fmt.Errorf("NATS: %w", err)
	}
	return nc, js, nil
}

func (a Access) options() (opts []nats.Option) {
	if a.Creds != "" {
		opts = append(opts, nats.UserCredentials(a.Creds))
	}
	if a.CA != "" {
		opts = append(opts, nats.RootCAs(a.CA))
	}
	if a.Cert != "" {
		opts = append(opts, nats.ClientCert(a.Cert, a.Key))
	}
	return opts
}

// Servers returns the addresses without users and passwords.
func (a Access) Servers() string { return strings.Join(a.addresses(), ",") }

func (a Access) addresses() (all []string) {
	for part := range strings.SplitSeq(a.URL, ",") {
		part = strings.TrimSpace(part)
		if i := strings.LastIndex(part, "@"); i >= 0 {
			scheme, _, found := strings.Cut(part, "://")
			if part = part[i+1:]; found {
				part = scheme + "://" + part
			}
		}
		all = append(all, part)
	}
	return all
}

// System returns the access of a system user with credentials of its own.
func (a Access) System(creds string) Access {
	a.URL, a.Creds = a.Servers(), creds
	return a
}
