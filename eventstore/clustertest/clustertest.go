// Package clustertest runs clusters of real NATS servers in a test's process.
package clustertest

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// Users of a cluster, each of an account of its own. Only User's account sees the servers'
// configuration, or Small's and Bare's.
const (
	User     = "payledger"
	Plain    = "plain"     // sees no server's configuration
	Bare     = "bare"      // has no JetStream
	Small    = "small"     // may have six streams
	Password = "pass:w%rd" // an unusual one: it must survive in URLs, and appear nowhere else
)

// accounts is the accounts' part of the servers' configuration. It is the example of RUNBOOK.md.
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
	options []*server.Options
}

// Start starts a cluster of n servers with JetStream for the test's life. change, if not nil,
// changes the options of the server with a number.
func Start(t testing.TB, n int, change func(i int, o *server.Options)) *Cluster {
	t.Helper()
	c := &Cluster{}
	routes := ports(t, n)
	for i := range n {
		o := Options(t, fmt.Sprintf("n%d", i+1), t.TempDir())
		if n > 1 {
			o.Cluster = server.ClusterOpts{Name: "test", Host: "127.0.0.1", Port: routes[i]}
			for _, port := range routes {
				o.Routes = append(o.Routes, &url.URL{Scheme: "nats-route", Host: fmt.Sprintf("127.0.0.1:%d", port)})
			}
		}
		if change != nil {
			change(i, o)
		}
		c.options = append(c.options, o.Clone())
		c.Servers = append(c.Servers, start(t, o))
	}
	for _, s := range c.Servers {
		ready(t, s)
	}
	return c
}

// Options returns the options of a server with JetStream that is in no cluster yet.
func Options(t testing.TB, name, dir string) *server.Options {
	t.Helper()
	o := &server.Options{}
	if err := o.ProcessConfigString(fmt.Sprintf(accounts, Password)); err != nil {
		t.Fatal(err)
	}
	o.ServerName, o.Host, o.Port = name, "127.0.0.1", server.RANDOM_PORT
	o.JetStream, o.StoreDir, o.SyncAlways, o.MaxPayload = true, dir, true, 8<<20
	o.NoSigs, o.NoLog = true, true
	return o
}

// StartServer starts one server for the test's life. It returns when the server takes connections.
func StartServer(t testing.TB, o *server.Options) *server.Server {
	t.Helper()
	s := start(t, o)
	ready(t, s)
	return s
}

func ready(t testing.TB, s *server.Server) {
	t.Helper()
	if !s.ReadyForConnections(time.Minute) {
		t.Fatalf("server %s is not ready", s.Name())
	}
}

// Restart stops a server as the signal SIGUSR2 does, and starts it again with its files. It returns
// when the server takes connections. The server keeps its address only if the options name its
// port.
func (c *Cluster) Restart(t testing.TB, i int) {
	t.Helper()
	c.Servers[i].LameDuckShutdown()
	c.Servers[i].WaitForShutdown()
	c.Servers[i] = StartServer(t, c.options[i].Clone())
}

// Ports for routes are below those that the system gives to other listeners and connections: such a
// one could take a port between its choice and the start of the server.
const firstRoute, routePorts = 10_000, 20_000

// ports returns free ports: a server of a cluster must know the ports of the others before it
// starts.
func ports(t testing.TB, n int) (all []int) {
	t.Helper()
	for tries := 0; len(all) < n; tries++ {
		port := firstRoute + rand.IntN(routePorts) //nolint:gosec // no secret
		l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			if tries > 100 {
				t.Fatal(err)
			}
			continue
		}
		defer l.Close() // together: the ports differ
		all = append(all, port)
	}
	return all
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

// Formed waits until all servers with JetStream are members of one JetStream cluster that has a
// leader.
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
			return unheard(s)
		}
	}
	return fmt.Errorf("the JetStream cluster of %d servers has no leader", members)
}

// unheard names the members that the leader takes for absent: it places no stream on them.
func unheard(leader *server.Server) error {
	info, err := leader.Jsz(nil)
	if err != nil {
		return err
	}
	if info.Meta == nil {
		return fmt.Errorf("the leader %s has no information about the JetStream cluster", leader.Name())
	}
	for _, member := range info.Meta.Replicas {
		if member.Offline || !member.Current {
			return fmt.Errorf("the leader %s has not heard of %s: %+v", leader.Name(), member.Name, *member)
		}
	}
	return nil
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
