package eventstore

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"payledger/eventstore/disk"
	"payledger/eventstore/folder"
	"payledger/eventstore/jetapi"
	"payledger/eventstore/secretlog"
	"payledger/eventstore/streams"

	"github.com/gofrs/flock"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// ErrInUse means that another process has the data folder open.
var ErrInUse = errors.New("eventstore: the data folder is in use by another process")

// serverPayload is the largest message. The largest state with its event fits many times over. Open checks the limit of other
// servers.
const serverPayload = 8 << 20

// maxStore is larger than any disk.
const maxStore = 1 << 60

// ServerConfig describes an embedded JetStream server.
type ServerConfig struct {
	Dir    string // of the streams; StartServer creates it, and locks it until Close
	Name   string // unique in a cluster
	Listen string // "host:port" to open it to other connections; "" allows connections of this process only
	// Cluster, if set, makes the server a member of one.
	Cluster *ClusterConfig
	// Secret, if set, checks a secret of the folder before anything there is changed.
	Secret secretlog.Check
}

// ClusterConfig is a server's place in a cluster.
type ClusterConfig struct {
	Name   string
	Listen string   // "host:port" for the other servers' routes
	Routes []string // "host:port" of the others
	// Advertise is the "host:port" at which the other servers reach this one, if it is not Listen.
	Advertise string
}

// Server is a JetStream server inside this process: every write is synced before it is acknowledged.
type Server struct {
	ns       *server.Server
	dir      string
	lock     *flock.Flock
	password string
}

const serviceUser = "payledger"

// connectTimeout is the time limit of both ends for a connection inside the process. It is long: a busy machine must not fail a
// start.
const connectTimeout = 15 * time.Second

// StartServer inspects the folder, starts an embedded server on it and waits until it accepts connections. Only its service user
// may connect, with a password that lives as long as the process.
func StartServer(c ServerConfig) (*Server, error) {
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("eventstore: %w", err)
	}
	lock := flock.New(filepath.Join(c.Dir, "LOCK"))
	if held, err := lock.TryLock(); err != nil {
		return nil, fmt.Errorf("eventstore: lock %s: %w", c.Dir, err)
	} else if !held {
		return nil, fmt.Errorf("%w: %s", ErrInUse, c.Dir)
	}
	if c.Secret != nil {
		if err := secretlog.CheckStopped(c.Dir, c.Secret); err != nil {
			return nil, errors.Join(err, lock.Unlock())
		}
	}
	space := &disk.Space{Dir: c.Dir}
	space.MakeRoom() // the ballast leaves room for a start on a full disk
	err := refuseOldFormat(c.Dir)
	if err == nil && c.Cluster == nil { // replicas repair each other
		err = inspect(c.Dir)
	}
	if err == nil {
		err = folder.Repair(streamsFolder(c.Dir))
	}
	if err != nil {
		return nil, errors.Join(err, lock.Unlock())
	}
	password, err := randomPassword()
	if err != nil {
		return nil, errors.Join(err, lock.Unlock())
	}
	s := &Server{dir: c.Dir, lock: lock, password: password}
	opts, err := s.options(c)
	if err != nil {
		return nil, errors.Join(err, lock.Unlock())
	}
	if s.ns, err = server.NewServer(opts); err != nil {
		return nil, errors.Join(fmt.Errorf("eventstore: server: %w", err), lock.Unlock())
	}
	s.ns.Start()
	if !s.ns.ReadyForConnections(30 * time.Second) {
		return nil, errors.Join(errors.New("eventstore: the server did not become ready in 30 s"), s.Close())
	}
	return s, nil
}

// refuseOldFormat refuses a folder that holds a log of an older version, before the server changes anything in it.
func refuseOldFormat(dir string) error {
	entries, err := os.ReadDir(streamsFolder(dir))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("eventstore: %w", err)
	}
	for _, entry := range entries {
		if streams.Old(entry.Name()) {
			return oldFormat("folder " + dir + " holds stream " + entry.Name())
		}
	}
	return nil
}

// streamsFolder returns the server's folder of streams.
func streamsFolder(dir string) string {
	return filepath.Join(dir, "jetstream", streams.Account, "streams")
}

func randomPassword() (string, error) {
	var b [24]byte
	if _, err := rand.Read(b[:]); err != nil {
		return "", fmt.Errorf("eventstore: %w", err)
	}
	return hex.EncodeToString(b[:]), nil
}

func (s *Server) options(c ServerConfig) (*server.Options, error) {
	// Only the configuration language can enable JetStream for an account before the server starts.
	opts := &server.Options{}
	if err := opts.ProcessConfigString(fmt.Sprintf(
		`accounts { %s { jetstream: enabled, users: [ { user: %s, password: %q } ] } }`,
		streams.Account, serviceUser, s.password)); err != nil {
		return nil, fmt.Errorf("eventstore: server options: %w", err)
	}
	opts.ServerName = c.Name
	opts.DontListen = c.Listen == ""
	opts.JetStream = true
	opts.StoreDir = c.Dir
	opts.JetStreamMaxStore = maxStore // the server's default depends on the free space at the start; package disk watches the space
	opts.SyncAlways = true            // the server's default syncs every two minutes: a power failure would lose answered payments
	opts.MaxPayload = serverPayload
	opts.MaxPending = 256 << 20
	opts.AuthTimeout = connectTimeout.Seconds()
	opts.NoSigs = true
	opts.NoLog = true
	if c.Listen != "" {
		if err := splitListen(c.Listen, &opts.Host, &opts.Port); err != nil {
			return nil, err
		}
	}
	if c.Cluster != nil {
		opts.Cluster.Name = c.Cluster.Name
		if err := splitListen(c.Cluster.Listen, &opts.Cluster.Host, &opts.Cluster.Port); err != nil {
			return nil, err
		}
		opts.Cluster.Advertise = c.Cluster.Advertise
		opts.Cluster.NoAdvertise = true // clients do not learn the addresses of the other servers
		for _, r := range c.Cluster.Routes {
			opts.Routes = append(opts.Routes, &url.URL{Scheme: "nats-route", Host: r})
		}
	}
	return opts, nil
}

// splitListen reads "host:port"; port 0 takes a free one.
func splitListen(listen string, host *string, port *int) error {
	h, p, err := net.SplitHostPort(listen)
	if err != nil {
		return fmt.Errorf("eventstore: listen address: %w", err)
	}
	n, err := strconv.Atoi(p)
	if err != nil {
		return fmt.Errorf("eventstore: listen address %q: %w", listen, err)
	}
	if n == 0 {
		n = server.RANDOM_PORT
	}
	*host, *port = h, n
	return nil
}

// Connect returns a connection of the service user. Reconnect buffering is off: a publish that cannot be sent now fails now,
// and append decides about the outcome.
func (s *Server) Connect(opts ...nats.Option) (*nats.Conn, error) {
	own := append(jetapi.Options(), nats.UserInfo(serviceUser, s.password), nats.InProcessServer(s.ns), nats.Timeout(connectTimeout))
	return nats.Connect("", append(own, opts...)...)
}

// ClientURL is the address for other connections; "" when the server does not listen.
func (s *Server) ClientURL() string {
	return s.ns.ClientURL()
}

// Close stops the server in order: every acknowledged message is on the disk when Close returns.
func (s *Server) Close() error {
	if s.ns != nil {
		s.ns.Shutdown()
		s.ns.WaitForShutdown()
	}
	return s.lock.Unlock()
}
