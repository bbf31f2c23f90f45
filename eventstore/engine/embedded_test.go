package engine_test

import (
	"errors"
	"net/url"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"payledger/eventstore/embedded"
	"payledger/eventstore/streams"
)

// listening is the configuration of a server that other connections reach.
func listening(dir string) embedded.Config {
	return embedded.Config{Dir: dir, Name: "test", Options: listen}
}

func listen(native any) {
	o := native.(*server.Options)
	o.Host, o.Port, o.DontListen = "127.0.0.1", server.RANDOM_PORT, false
}

// member is the configuration of a server in a cluster, with the routes to the others.
func member(dir, name string, routes []string) embedded.Config {
	return embedded.Config{Dir: dir, Name: name, Options: func(native any) {
		listen(native)
		o := native.(*server.Options)
		o.Cluster = server.ClusterOpts{Name: "test", Host: o.Host, Port: server.RANDOM_PORT, Advertise: nowhere, NoAdvertise: true}
		for _, r := range routes {
			o.Routes = append(o.Routes, &url.URL{Scheme: "nats-route", Host: r})
		}
	}}
}

func startServer(t testing.TB, c embedded.Config) *embedded.Server {
	t.Helper()
	s, err := embedded.Start(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// listens returns a server's address.
func listens(s *embedded.Server) serverListens {
	ns := native(s)
	_, password := s.Native()
	l := serverListens{Clients: ns.Addr().String(), Password: password}
	if at := ns.ClusterAddr(); at != nil {
		l.Cluster = at.String()
	}
	return l
}

// serverListens matches a server's report of its address.
type serverListens struct{ Clients, Cluster, Password string }

// url is the address of a server, perhaps through a proxy.
func (l serverListens) url(at string) string { return "nats://payledger:" + l.Password + "@" + at }

// native returns the NATS server of s.
func native(s *embedded.Server) *server.Server {
	ns, _ := s.Native()
	return ns.(*server.Server)
}

// leads reports whether the server leads the stream.
func leads(s *embedded.Server, stream string) bool {
	ns := native(s)
	return ns.JetStreamIsStreamLeader(streams.Account, stream)
}

// leadsAll reports whether the server leads the cluster's group of all servers.
func leadsAll(s *embedded.Server) bool {
	ns := native(s)
	return ns.JetStreamIsLeader()
}

// hasLeader returns an error if the server does not know its cluster's leader.
func hasLeader(s *embedded.Server) error {
	ns := native(s)
	info, err := ns.Jsz(nil)
	if err == nil && (info.Meta == nil || info.Meta.Leader == "") {
		err = errors.New("no leader")
	}
	return err
}
