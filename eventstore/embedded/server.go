package embedded

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"payledger/eventstore/archive"
	"payledger/eventstore/disk"
	"payledger/eventstore/folder"
	"payledger/eventstore/jetapi"
	"payledger/eventstore/secretlog"
	"payledger/eventstore/streams"

	"github.com/gofrs/flock"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// serverPayload is the size limit of a message, in bytes, many times the size of the largest event
// with its state. eventstore.Open checks the limit of other servers.
const serverPayload = 8 << 20

const maxStore = 1 << 60 // larger than any disk

// Config describes an embedded JetStream server.
type Config struct {
	Dir  string // of the streams; Start creates it, and locks it until Close
	Name string
	// Secret, if set, checks a secret of the folder before the folder is changed.
	Secret secretlog.Check
	// Unsynced lets the server acknowledge writes before they are on the disk. A restore syncs the
	// whole folder at its end.
	Unsynced bool
}

// Server is a JetStream server inside this process: every write is synced before it is
// acknowledged.
type Server struct {
	Dir      string // of the streams
	ns       native // nil before the start
	lock     *flock.Flock
	password string
}

// native is what the package needs of a NATS server. No exported type names a type of nats-server:
// an importer of this package would compile the generic parts of nats-server again.
type native interface {
	Shutdown()
	WaitForShutdown()
	InProcessConn() (net.Conn, error)
}

// Folder returns the folder of the streams.
func (s *Server) Folder() string { return s.Dir }

const serviceUser = "payledger"

// connectTimeout is the time limit of both ends for a connection inside the process. It is long: a
// busy machine must not fail a start.
const connectTimeout = 15 * time.Second

// Start inspects the folder, starts an embedded server on it and waits until the server accepts
// connections. Only the service user may connect, with a password that is generated at each start.
func Start(c Config) (*Server, error) {
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("eventstore: %w", err)
	}
	lock, err := folder.Lock(c.Dir)
	if err != nil {
		return nil, err
	}
	s := &Server{Dir: c.Dir, lock: lock}
	if err := s.start(c); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Server) start(c Config) error {
	if c.Secret != nil {
		if err := secretlog.Stopped(c.Dir).Check(c.Secret); err != nil {
			return err
		}
	}
	opts, err := options(s, c)
	if err != nil {
		return err
	}
	space := &disk.Space{Dir: c.Dir}
	space.MakeRoom()                                   // the ballast leaves room for a start on a full disk
	if err := archive.CheckFormat(c.Dir); err != nil { // before anything changes the folder
		return err
	}
	if err := archive.Inspect(c.Dir); err != nil {
		return err
	}
	ns, err := server.NewServer(opts)
	if err != nil {
		return fmt.Errorf("eventstore: server: %w", err)
	}
	s.ns = ns
	ns.Start()
	if !ns.ReadyForConnections(30 * time.Second) {
		return errors.New("eventstore: the server did not become ready in 30 s")
	}
	return nil
}

// options returns the options of s.
func options(s *Server, c Config) (*server.Options, error) {
	s.password = rand.Text()
	// Only the configuration language can enable JetStream for an account before the server starts.
	opts := &server.Options{}
	if err := opts.ProcessConfigString(fmt.Sprintf(
		`accounts { %s { jetstream: enabled, users: [ { user: %s, password: %q } ] } }`,
		streams.Account, serviceUser, s.password)); err != nil {
		return nil, fmt.Errorf("eventstore: server options: %w", err)
	}
	opts.ServerName = c.Name
	opts.DontListen = true
	opts.JetStream = true
	opts.StoreDir = c.Dir
	opts.JetStreamMaxStore = maxStore // the server's default depends on the free space at the start; package disk watches the space
	opts.SyncAlways = !c.Unsynced     // the server's default syncs every two minutes: a power failure would lose answered payments
	opts.MaxPayload = serverPayload
	opts.MaxPending = 256 << 20
	opts.AuthTimeout = connectTimeout.Seconds()
	opts.NoSigs = true
	opts.NoLog = true
	return opts, nil
}

// Connect returns a connection of the service user. Reconnect buffering is off: a publish that
// cannot be sent fails at once, and the append determines its outcome.
func (s *Server) Connect(opts ...nats.Option) (*nats.Conn, error) {
	own := append(jetapi.Options(), nats.UserInfo(serviceUser, s.password), nats.InProcessServer(s.ns), nats.Timeout(connectTimeout))
	return jetapi.Connect("", append(own, opts...)...)
}

// Close stops the server. Every acknowledged message is on the disk when Close returns.
func (s *Server) Close() error {
	if s.ns != nil {
		s.ns.Shutdown()
		s.ns.WaitForShutdown()
	}
	return s.lock.Unlock()
}
