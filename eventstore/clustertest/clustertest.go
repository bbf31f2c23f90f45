// Package clustertest runs clusters of real NATS servers in a test's process.
package clustertest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// Users of a cluster, each of an account of its own. Only User's account sees the servers' configuration, or Small's and Bare's.
const (
	User     = "payledger"
	Plain    = "plain"     // sees no server's configuration
	Bare     = "bare"      // has no JetStream
	Small    = "small"     // may have six streams
	Password = "pass:w%rd" // an unusual one: it must survive in URLs, and appear nowhere else
)

// accounts is the accounts' part of the servers' configuration. It is the example of the README.
const accounts = `
accounts {
  SYS { users: [ { user: system, password: %[1]q } ]
        exports: [ { service: "$SYS.REQ.SERVER.PING.VARZ", response_type: stream, accounts: [ LEDGER, BARE, SMALL ] } ] }
  LEDGER { jetstream: enabled, users: [ { user: payledger, password: %[1]q } ]
           imports: [ { service: { account: SYS, subject: "$SYS.REQ.SERVER.PING.VARZ" } } ] }
  PLAIN { jetstream: enabled, users: [ { user: plain, password: %[1]q } ] }
  BARE { users: [ { user: bare, password: %[1]q } ]
         imports: [ { service: { account: SYS, subject: "$SYS.REQ.SERVER.PING.VARZ" } } ] }
  SMALL { jetstream: { max_streams: 6 }, users: [ { user: small, password: %[1]q } ]
          imports: [ { service: { account: SYS, subject: "$SYS.REQ.SERVER.PING.VARZ" } } ] }
}
system_account: SYS
`

// Cluster is a cluster of NATS servers.
type Cluster struct {
	Servers []*server.Server
}

// Start starts a cluster of n servers with JetStream for the test's life. change, if not nil, changes the options of the server with a
// number.
func Start(t testing.TB, n int, change func(i int, o *server.Options)) *Cluster {
	t.Helper()
	c := &Cluster{}
	host, ports := routes(t, n)
	for i := range n {
		o := &server.Options{}
		if err := o.ProcessConfigString(fmt.Sprintf(accounts, Password)); err != nil {
			t.Fatal(err)
		}
		o.ServerName, o.Host, o.Port = fmt.Sprintf("n%d", i+1), host, server.RANDOM_PORT
		o.JetStream, o.StoreDir, o.SyncAlways, o.MaxPayload = true, t.TempDir(), true, 8<<20
		o.NoSigs, o.NoLog = true, true
		if n > 1 {
			o.Cluster = server.ClusterOpts{Name: "test", Host: host, Port: ports[i]}
			for _, port := range ports {
				o.Routes = append(o.Routes, &url.URL{Scheme: "nats-route", Host: fmt.Sprintf("%s:%d", host, port)})
			}
		}
		if change != nil {
			change(i, o)
		}
		c.Servers = append(c.Servers, start(t, o))
	}
	for _, s := range c.Servers {
		if !s.ReadyForConnections(time.Minute) {
			t.Fatalf("server %s is not ready", s.Name())
		}
	}
	return c
}

// firstRoute is the first port for routes. It is below the ports that the system gives to other listeners and connections.
const firstRoute = 6222

// routes returns a host of this machine, and a free port of it for each of n servers: a server of a cluster must know the ports of the others
// before it starts. No other cluster uses the host. On a system with a single loopback address another program can still take a port.
func routes(t testing.TB, n int) (host string, ports []int) {
	t.Helper()
	host = fmt.Sprintf("127.%d.%d.%d", 1+rand.IntN(254), 1+rand.IntN(254), 1+rand.IntN(254)) //nolint:gosec // no secret
	if ports = free(host, n, func(i int) int { return firstRoute + i }); ports != nil {
		return host, ports
	}
	host = "127.0.0.1"
	if ports = free(host, n, func(int) int { return 0 }); ports == nil {
		t.Fatal("no free ports")
	}
	return host, ports
}

// free returns n ports of a host, where port proposes the port of each; nil if one is not free. Port 0 stands for any.
func free(host string, n int, port func(i int) int) (ports []int) {
	for i := range n {
		l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", net.JoinHostPort(host, strconv.Itoa(port(i))))
		if err != nil {
			return nil
		}
		defer l.Close() // together: the ports differ
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports
}

func start(t testing.TB, o *server.Options) *server.Server {
	t.Helper()
	s, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	s.SetLoggerV2(lastWords{t, o.ServerName}, false, false, false)
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	s.Start()
	return s
}

// Formed waits until all servers with JetStream are members of one JetStream cluster that has a leader.
func (c *Cluster) Formed(t testing.TB) *Cluster {
	t.Helper()
	deadline := time.After(time.Minute)
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		err := c.unformed()
		if err == nil {
			return c
		}
		select {
		case <-deadline:
			t.Fatal(err)
		case <-again.C:
		}
	}
}

func (c *Cluster) unformed() error {
	members := 0
	for _, s := range c.Servers {
		if s.JetStreamEnabled() {
			members++
		}
	}
	for _, s := range c.Servers {
		if s.JetStreamIsLeader() {
			if n := len(s.JetStreamClusterPeers()); n != members {
				return fmt.Errorf("%d of %d servers are in the JetStream cluster", n, members)
			}
			return nil
		}
	}
	return fmt.Errorf("the JetStream cluster of %d servers has no leader", members)
}

// URL returns the URLs of all servers for a user.
func (c *Cluster) URL(user string) string {
	var all []string
	for _, s := range c.Servers {
		all = append(all, At(user, s.Addr()))
	}
	return strings.Join(all, ",")
}

// At returns the URL of a server's address for a user.
func At(user string, address net.Addr) string {
	return (&url.URL{Scheme: "nats", User: url.UserPassword(user, Password), Host: address.String()}).String()
}

// lastWords logs why a server cannot start.
type lastWords struct {
	testing.TB
	name string
}

func (l lastWords) Fatalf(format string, args ...any) { l.Logf("server "+l.name+": "+format, args...) }
func (lastWords) Errorf(string, ...any)               {}
func (lastWords) Warnf(string, ...any)                {}
func (lastWords) Noticef(string, ...any)              {}
func (lastWords) Debugf(string, ...any)               {}
func (lastWords) Tracef(string, ...any)               {}
