package external

import (
	"maps"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
)

func TestServersHidesUsers(t *testing.T) {
	for url, want := range map[string]string{
		"nats://a:4222":                            "nats://a:4222",
		"nats://me:pw@a:4222, tls://token@b":       "nats://a:4222,tls://b",
		"me:p@w@a:4222":                            "a:4222",
		"nats://me:p%w@a:4222,nats://me:pw@b:4222": "nats://a:4222,nats://b:4222",
	} {
		if got := (Access{URL: url}).Servers(); got != want {
			t.Errorf("%s: %s, want %s", url, got, want)
		}
	}
	_, err := Access{URL: "nats://me:s%zecret@a:4222"}.Connect()
	if err == nil || strings.Contains(err.Error(), "ecret") {
		t.Errorf("an invalid URL: %v", err)
	}
}

// sound returns a server without a fault.
func sound(name string) Server {
	s := Server{Name: name, Version: "2.15.2", MaxPayload: MinPayload, Cluster: Named{"test"}}
	s.JetStream.Config = &Config{SyncAlways: true, MaxStorage: 2 << 30}
	return s
}

func TestCheck(t *testing.T) {
	all := func(change func(*Server)) []Server {
		servers := []Server{sound("a"), sound("b"), sound("c")}
		change(&servers[2])
		return servers
	}
	for _, c := range []struct {
		servers []Server
		fault   string // "": none
	}{
		{all(func(*Server) {}), ""},
		{all(func(s *Server) { s.Version = "2.15.10" }), ""},
		{all(func(s *Server) { s.Version = "2.15.1" }), "NATS server c has version 2.15.1: 2.15.2 or newer is needed"},
		{all(func(s *Server) { s.Version = "2.9.25" }), "NATS server c has version 2.9.25"},
		{all(func(s *Server) { s.MaxPayload-- }), "NATS server c takes messages of 4194303 bytes"},
		{all(func(s *Server) { s.JetStream.Config.SyncAlways = false }), "NATS server c does not sync every write"},
		{all(func(s *Server) { s.JetStream.Stats.Storage = 1<<30 + 1 }), "NATS server c has 1073741823 bytes of storage left"},
		{all(func(s *Server) { s.JetStream.Config = nil }), "3 replicas need as many servers with JetStream, and the cluster has 2 (a, b)"},
	} {
		err := Check(c.servers, 3, Placement{})
		if (err == nil) != (c.fault == "") || err != nil && !strings.HasPrefix(err.Error(), c.fault) {
			t.Errorf("%v, want %q", err, c.fault)
		}
	}
}

// TestSilence: the answers of all members of the JetStream cluster are needed, and no more.
func TestSilence(t *testing.T) {
	member := func(name, leader string, size int, others ...string) Server {
		s := sound(name)
		s.JetStream.Meta = &Meta{Leader: leader, Size: size}
		for _, other := range others {
			s.JetStream.Meta.Replicas = append(s.JetStream.Meta.Replicas, Named{other})
		}
		return s
	}
	plain := sound("plain")
	plain.JetStream.Config = nil
	alone := sound("alone")
	alone.Cluster.Name = ""
	a, b := member("a", "a", 3, "b", "c"), member("b", "a", 3, "a", "c")
	for _, c := range []struct {
		answers []Server
		fault   string
	}{
		{nil, "no NATS server with JetStream answered"},
		{[]Server{plain}, "no NATS server with JetStream answered"},
		{[]Server{alone}, ""},
		{[]Server{a}, "no answer from the NATS servers [b c]"},
		{[]Server{plain, a, b}, "no answer from the NATS servers [c]"},
		{[]Server{a, b, member("c", "a", 3, "a", "b")}, ""},
		{[]Server{a, b, member("c", "a", 4, "a", "b")}, "3 NATS servers of 4 answered"},
		{[]Server{member("a", "", 3), member("b", "", 3), member("c", "", 3)}, "the JetStream cluster has no leader"},
		{[]Server{sound("a")}, "the JetStream cluster has no leader"},
	} {
		err := silence(c.answers)
		if (err == nil) != (c.fault == "") || err != nil && !strings.HasPrefix(err.Error(), c.fault) {
			t.Errorf("%d answers: %v, want %q", len(c.answers), err, c.fault)
		}
	}
}

func TestMoves(t *testing.T) {
	stream := func(name, leader string, others ...string) *jetstream.StreamInfo {
		info := &jetstream.StreamInfo{Config: jetstream.StreamConfig{Name: name}, Cluster: &jetstream.ClusterInfo{Leader: leader}}
		for _, other := range others {
			info.Cluster.Replicas = append(info.Cluster.Replicas, &jetstream.PeerInfo{Name: other})
		}
		return info
	}
	for _, c := range []struct {
		streams []*jetstream.StreamInfo
		most    int // streams that one server leads afterwards
		moved   int
	}{
		{[]*jetstream.StreamInfo{stream("1", "a", "b", "c"), stream("2", "b", "a", "c"), stream("3", "a", "b", "c"), stream("4", "c", "a", "b")}, 2, 0},
		{[]*jetstream.StreamInfo{stream("1", "a", "b", "c"), stream("2", "a", "b", "c"), stream("3", "a", "b", "c"), stream("4", "a", "b", "c"), stream("5", "a", "b", "c"), stream("6", "b", "a", "c")}, 2, 3},
	} {
		to, leads := moves(c.streams), map[string]int{}
		for _, info := range c.streams {
			leader, moved := to[info.Config.Name]
			if !moved {
				leader = info.Cluster.Leader
			}
			leads[leader]++
		}
		most := 0
		for n := range maps.Values(leads) {
			most = max(most, n)
		}
		if most != c.most || len(to) != c.moved {
			t.Errorf("leaders %v after %d moves", leads, len(to))
		}
	}
}
