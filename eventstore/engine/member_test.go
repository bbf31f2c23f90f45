package engine_test

import (
	"errors"
	"net/url"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"payledger/eventstore/clustertest"
	"payledger/eventstore/streams"
)

// member is the configuration of a server in a cluster, with the routes to the others.
func member(t testing.TB, dir, name string, routes []string) *server.Options {
	t.Helper()
	o := clustertest.Options(t, name, dir)
	o.Cluster = server.ClusterOpts{Name: "test", Host: o.Host, Port: server.RANDOM_PORT, Advertise: nowhere, NoAdvertise: true}
	for _, r := range routes {
		o.Routes = append(o.Routes, &url.URL{Scheme: "nats-route", Host: r})
	}
	return o
}

// at is the address of a server, perhaps through a proxy.
func at(address string) string {
	return (&url.URL{Scheme: "nats", User: url.UserPassword(clustertest.User, clustertest.Password), Host: address}).String()
}

// leads reports whether the server leads the stream.
func leads(s *server.Server, stream string) bool {
	return s.JetStreamIsStreamLeader(streams.Account, stream)
}

// hasLeader returns an error if the server does not know its cluster's leader.
func hasLeader(s *server.Server) error {
	info, err := s.Jsz(nil)
	if err == nil && (info.Meta == nil || info.Meta.Leader == "") {
		err = errors.New("no leader")
	}
	return err
}
