package connector

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/processorsim/connector/book"
	"payledger/processorsim/notify"
	"payledger/processorsim/protocol"
	"payledger/processorsim/server"
	"payledger/processorsim/timers"
)

// EventsPath is where the vendor sends its messages.
const EventsPath = "/vendor/events"

// defaultPatience is Config.Patience if that is zero.
const defaultPatience = 60 * time.Second

// Config configures a connector. Name, Vendor, Dir and Secret are required.
type Config struct {
	Name   processor.Name // the processor that it is for the ledger
	Vendor Vendor
	Dir    string // the existing folder of the book; one connector at a time uses it
	Secret []byte // signs notifications to the ledger
	Token  string // of the ledger's calls; "": none is needed

	Patience  time.Duration    // how long one call of the vendor may take; 0: 60 s
	Now       func() time.Time // nil means time.Now
	AfterFunc timers.AfterFunc // on the clock of Now; nil means time.AfterFunc
	Log       zerolog.Logger   // the operator's; the zero value is silent
}

// Connector is a running connector. Serve its Handler, and Close it.
type Connector struct {
	Config
	book   *book.Book
	timers *timers.Set
	sender *notify.Sender
	outbox outbox
	server *server.Server

	ctx    context.Context // of calls of the vendor; ended when Close waits no longer
	cancel context.CancelFunc
	calls  sync.WaitGroup // of attempts that go on without their caller

	mu   sync.Mutex
	held map[domain.OperationKey]*claim
	seen map[domain.OperationKey]time.Time // when the vendor was last asked about an open operation

	// crash ends an attempt between two lines in tests: as if the process had ended there.
	crash func(step string) error
}

var _ server.Books = (*Connector)(nil)

// New opens the book and sends the notifications that are left.
func New(ctx context.Context, c Config) (*Connector, error) {
	if c.Name == "" || c.Vendor == nil || c.Dir == "" || len(c.Secret) == 0 {
		return nil, errors.New("connector: Name, Vendor, Dir and Secret are required")
	}
	if c.Patience == 0 {
		c.Patience = defaultPatience
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	b, err := book.Open(ctx, c.Dir)
	if err != nil {
		return nil, fmt.Errorf("connector: %w", err)
	}
	left, err := b.Undelivered(ctx)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("connector: %w", err), b.Close())
	}
	k := &Connector{
		Config: c, book: b, timers: timers.New(c.AfterFunc), held: map[domain.OperationKey]*claim{},
		seen: map[domain.OperationKey]time.Time{}, crash: func(string) error { return nil },
	}
	k.ctx, k.cancel = context.WithCancel(context.WithoutCancel(ctx))
	k.sender = notify.New(notify.Config{Secret: c.Secret, Timers: k.timers, Done: k.delivered, Lost: k.undelivered, Log: c.Log})
	k.server = server.New(server.Config{Books: k, Token: c.Token, Log: c.Log})
	k.outbox.kept = left
	k.round()
	return k, nil
}

// Handler serves the protocol, and the vendor's messages at EventsPath.
func (k *Connector) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", k.server.Handler())
	mux.HandleFunc("POST "+EventsPath, k.postEvents)
	return mux
}

// Close ends requests, waits for calls of the vendor until ctx ends, and closes the book. A
// look-up after the next start resolves results that are unknown then.
func (k *Connector) Close(ctx context.Context) error {
	k.server.Close()
	stop := context.AfterFunc(ctx, k.cancel)
	k.calls.Wait()
	stop()
	k.cancel()
	k.timers.Close()
	k.sender.Close()
	return k.book.Close()
}

// Declaration returns the vendor's.
func (k *Connector) Declaration(name processor.Name) (protocol.Declaration, bool) {
	d := k.Vendor.Declaration()
	d.Protocol, d.Processor = protocol.Version, k.Name
	if d.Cannot == nil {
		d.Cannot = []protocol.Lack{}
	}
	return d, name == k.Name
}

func (k *Connector) now() time.Time { return k.Now().UTC().Truncate(time.Microsecond) }
