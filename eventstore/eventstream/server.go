package eventstream

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"payledger/eventstore/folder"
	"payledger/eventstore/jetapi"
)

// Config describes a server.
type Config struct {
	Dir    string                      // of the stream; Start creates it. The caller holds its lock
	Listen string                      // "host:port"; port 0 means a free port
	TLS    *tls.Config                 // nil: none
	Derive func(purpose string) []byte // returns the secret of a purpose, always the same 32 bytes
	Memory int64                       // of all buffers for clients, in bytes
	Lost   func(account string)        // the gate of an account lost its connection, and opens another one; nil: not reported
	Cut    func(fault string)          // a start has cut off damaged messages, which are to be written again; nil: not reported
}

// Server is a NATS server inside this process for analysts.
type Server struct {
	config   Config
	keys     keys
	operator nkeys.KeyPair
	system   identity
	events   identity // the account of the stream
	limits   limits

	front   *front
	address string // that the front listens on

	mu       sync.Mutex
	ns       native // nil while it does not run
	failed   error  // why the server does not run
	resolver resolver
	gates    map[string]func() // by the merchant's account: closes its gate
	damage   damage
	opened   sync.WaitGroup // gates

	merchants map[string]merchant // by the merchant's account
}

// native is what the package needs of a NATS server. No exported type names a type of nats-server:
// an importer of this package would compile the generic parts of nats-server again.
type native interface {
	InProcessConn() (net.Conn, error)
	JetStreamEnabled() bool
	setClaims(account string, claims *jwt.AccountClaims) error
	stop()
}

type resolver interface {
	Store(account, token string) error
	Fetch(account string) (token string, err error)
}

type natsServer struct{ ns *server.Server }

func (n natsServer) InProcessConn() (net.Conn, error) { return n.ns.InProcessConn() }

func (n natsServer) JetStreamEnabled() bool { return n.ns.JetStreamEnabled() }

func (n natsServer) setClaims(public string, claims *jwt.AccountClaims) error {
	account, err := n.ns.LookupAccount(public)
	if err != nil {
		return fmt.Errorf("eventstream: account %s: %w", claims.Name, err)
	}
	n.ns.UpdateAccountClaims(account, claims)
	return nil
}

func (n natsServer) stop() {
	n.ns.Shutdown()
	n.ns.WaitForShutdown()
}

// startTimeout is the time in which a server is ready after its start, and in which a connection
// inside the process opens.
const startTimeout = 30 * time.Second

// Start starts a server. It fails if the address cannot be used. If only the NATS server does not
// start, Connect returns ErrFailed until a Restart succeeds. All messages are checked first, which
// takes time for a long stream.
func Start(c Config) (*Server, error) {
	s := &Server{config: c, keys: keys{c.Derive}, limits: limitsFor(c.Memory), merchants: map[string]merchant{}, gates: map[string]func(){},
		resolver: &server.MemAccResolver{}, damage: damage{found: make(chan struct{}, 1)}}
	var err error
	if s.operator, err = s.keys.pair(nkeys.PrefixByteOperator, "operator"); err != nil {
		return nil, err
	}
	if s.system, err = s.keys.account(systemAccount); err != nil {
		return nil, err
	}
	if s.events, err = s.keys.account(analyticsAccount); err != nil {
		return nil, err
	}
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", c.Listen)
	if err != nil {
		return nil, fmt.Errorf("eventstream: listen address %q: %w", c.Listen, err)
	}
	s.address = listener.Addr().String()
	if host, _, err := net.SplitHostPort(c.Listen); err == nil {
		_, port, _ := net.SplitHostPort(s.address)
		s.address = net.JoinHostPort(host, port)
	}
	s.front = &front{listener: listener, backend: s.backend, secure: c.TLS != nil, limit: s.limits, pace: pace{every: refusedPerSecond, hasty: hasty}}
	s.openOrEmpty()
	s.front.run()
	return s, nil
}

func (s *Server) backend() (net.Conn, error) {
	s.mu.Lock()
	ns := s.ns
	s.mu.Unlock()
	if ns == nil || s.damage.shut.Load() {
		return nil, ErrFailed
	}
	return ns.InProcessConn()
}

// openOrEmpty starts the NATS server. If the folder is so damaged that the server cannot store
// streams there, openOrEmpty empties the folder: its content is derived from the log.
func (s *Server) openOrEmpty() {
	s.failed = s.open()
	if errors.Is(s.failed, errFolder) {
		if s.failed = os.RemoveAll(s.streams()); s.failed == nil {
			s.failed = s.open()
		}
	}
}

var errFolder = errors.New("eventstream: the server cannot use its folder")

// open starts the NATS server, without damaged messages in uncompressed blocks, and without the
// index of the messages (doc.go). The caller holds mu, or is the only user.
func (s *Server) open() error {
	if err := os.MkdirAll(s.config.Dir, 0o700); err != nil {
		return fmt.Errorf("eventstream: %w", err)
	}
	if err := folder.CutDamaged(s.folder(), Name, s.config.Cut); err != nil {
		return fmt.Errorf("eventstream: %w", err)
	}
	public, err := s.operator.PublicKey()
	if err != nil {
		return err
	}
	operator := jwt.NewOperatorClaims(public)
	operator.SystemAccount = s.system.public
	resolver := &server.MemAccResolver{}
	s.resolver = resolver
	opts := &server.Options{
		ServerName: "payledger-analytics", DontListen: true, NoSigs: true, NoLog: true,
		JetStream: true, StoreDir: s.config.Dir, JetStreamMaxStore: 1 << 60, JetStreamMaxMemory: 1, // the ledger watches the disk
		TrustedOperators: []*jwt.OperatorClaims{operator}, AccountResolver: resolver, SystemAccount: s.system.public,
		TLSConfig: s.config.TLS, TLS: s.config.TLS != nil,
	}
	apply(opts)
	if err := s.storeAccounts(); err != nil {
		return err
	}
	ns, err := server.NewServer(opts)
	if err != nil {
		return fmt.Errorf("eventstream: server: %w", err)
	}
	s.ns = natsServer{ns}
	start := &serverLog{damaged: s.Suspect}
	ns.SetLoggerV2(start, false, false, false)
	ns.Start()
	// The server could not open its streams: otherwise it is ready at once.
	if start.failed.Load() || !ns.JetStreamEnabled() || !ns.ReadyForConnections(startTimeout) {
		s.stop()
		return fmt.Errorf("%w %s", errFolder, s.config.Dir)
	}
	for account := range s.merchants {
		if err := s.openGate(account); err != nil {
			s.stop()
			return err
		}
	}
	return nil
}

func (s *Server) storeAccounts() error {
	system := jwt.NewAccountClaims(s.system.public)
	system.Name = systemAccount
	events := jwt.NewAccountClaims(s.events.public)
	events.Name = analyticsAccount
	events.Limits.JetStreamLimits = jwt.JetStreamLimits{DiskStorage: jwt.NoLimit, Streams: 1, Consumer: int64(s.limits.consumers)}
	events.Exports.Add(&jwt.Export{Name: inboxSubject, Subject: inboxSubject + ".*.>", Type: jwt.Stream})
	events.Exports.Add(&jwt.Export{Name: nobodySubject, Subject: nobodySubject, Type: jwt.Service})
	all := []*jwt.AccountClaims{system, events}
	for account, m := range s.merchants {
		claims, err := m.claims(s.keys, account, s.limits)
		if err != nil {
			return err
		}
		connectAccounts(events, claims, account)
		all = append(all, claims)
	}
	for _, claims := range all {
		token, err := claims.Encode(s.operator)
		if err == nil {
			err = s.resolver.Store(claims.Subject, token)
		}
		if err != nil {
			return fmt.Errorf("eventstream: account %s: %w", claims.Name, err)
		}
	}
	return nil
}

// Restart stops the NATS server and starts it again, which reads all messages. Clients are refused
// until Admit is called.
func (s *Server) Restart() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.damage.shut.Store(true)
	s.stop()
	s.openOrEmpty()
	s.damage.forget() // State has what the start found
	return s.failed
}

func (s *Server) stop() {
	for _, end := range s.gates {
		end()
	}
	clear(s.gates)
	s.opened.Wait()
	if s.ns != nil {
		s.ns.stop()
		s.ns = nil
	}
}

// Close stops the server.
func (s *Server) Close() {
	s.front.close()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stop()
}

// URL returns the address for clients.
func (s *Server) URL() string {
	scheme := "nats"
	if s.config.TLS != nil {
		scheme = "tls"
	}
	return scheme + "://" + s.address
}

func (s *Server) streams() string { return filepath.Join(s.config.Dir, "jetstream") }

func (s *Server) folder() string { return filepath.Join(s.streams(), s.events.public, "streams", Name) }

// connect returns a connection of the service in the account of the stream, inside the process. The
// connection does not reconnect.
func (s *Server) connect(ns native, options ...nats.Option) (*nats.Conn, error) {
	if ns == nil || !ns.JetStreamEnabled() {
		return nil, fmt.Errorf("%w: the server has stopped JetStream", ErrFailed)
	}
	token, seed, err := s.events.service()
	if err != nil {
		return nil, err
	}
	options = append(options, nats.InProcessServer(ns), nats.UserJWTAndSeed(token, string(seed)), nats.NoReconnect(), nats.Name("payledger"),
		nats.Timeout(startTimeout), nats.NoCallbacksAfterClientClose(),
		// The gate drops requests, and without a handler the library writes to stderr.
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	conn, err := jetapi.Connect("", options...)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFailed, err)
	}
	return conn, nil
}
