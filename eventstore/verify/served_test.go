package verify_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"payledger/domain/seedtest"
	"payledger/eventstore/archive"
	"payledger/eventstore/clustertest"
	"payledger/eventstore/engine"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/external"
	"payledger/eventstore/format"
	"payledger/eventstore/remote"
	"payledger/eventstore/streams"
	"payledger/eventstore/verify"
)

// stored is a stream of a log with its messages; nil for a message that was deleted.
type stored struct {
	config   jetstream.StreamConfig
	first    uint64
	messages []*nats.Msg
}

func (s *stored) clone() *stored {
	c := &stored{config: s.config, first: s.first}
	for _, m := range s.messages {
		if m != nil {
			m = &nats.Msg{Subject: m.Subject, Data: bytes.Clone(m.Data)}
		}
		c.messages = append(c.messages, m)
	}
	return c
}

// makeTemplate makes a whole log: three shards of several segments, checkpoints, deliveries, and
// secrets of which some are destroyed.
func makeTemplate(t testing.TB) (*log, map[string]*stored) {
	t.Helper()
	all := map[string]*stored{}
	l := madeOn(t, 60, 24<<10, func(_ *log, s *engine.Store) {
		ctx := context.Background()
		raw, err := s.OpenSecrets(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 12 {
			if err := raw.Create(ctx, fmt.Sprintf("value-%d", i), []byte("sealed")); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Deliveries().Put(ctx, fmt.Sprintf("account.endpoint.event-%d.kind", i), 0, []byte("plan"), false); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 3 {
			if err := raw.Destroy(ctx, fmt.Sprintf("value-%d", 2*i+1)); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := eventstoretest.Generate(ctx, s, "later", 3, 1); err != nil { // groups that name the ends of the other streams
			t.Fatal(err)
		}
	}, func(nc *nats.Conn) {
		js, err := jetstream.New(nc)
		if err != nil {
			t.Fatal(err)
		}
		names := js.StreamNames(t.Context())
		for name := range names.Name() {
			all[name] = readStream(t, js, name)
		}
		if names.Err() != nil {
			t.Fatal(names.Err())
		}
	})
	return l, all
}

func readStream(t testing.TB, js jetstream.JetStream, name string) *stored {
	t.Helper()
	of, err := js.Stream(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	info, err := of.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s := &stored{config: info.Config, first: max(1, info.Config.FirstSeq)}
	for seq := s.first; seq <= info.State.LastSeq; seq++ {
		m, err := of.GetMsg(t.Context(), seq)
		if err != nil {
			s.messages = append(s.messages, nil)
			continue
		}
		s.messages = append(s.messages, &nats.Msg{Subject: m.Subject, Data: m.Data})
	}
	return s
}

// serve makes the streams on a server that has the streams of before: it makes anew only what
// differs. A message that is nil is deleted.
func serve(t testing.TB, nc *nats.Conn, before, all map[string]*stored) {
	t.Helper()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range before {
		if reflect.DeepEqual(s, all[name]) {
			continue
		}
		if err := js.DeleteStream(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	for name, s := range all {
		if !reflect.DeepEqual(s, before[name]) {
			s.make(t, js, name)
		}
	}
}

func (s *stored) make(t testing.TB, js jetstream.JetStream, name string) {
	t.Helper()
	c := s.config
	c.DenyDelete, c.DenyPurge, c.Replicas, c.FirstSeq = false, false, 1, 0
	if s.first > 1 {
		c.FirstSeq = s.first
	}
	of, err := js.CreateStream(t.Context(), c)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	subject := strings.Replace(c.Subjects[0], ">", "filler", 1)
	for i, m := range s.messages {
		gone := m == nil
		if gone {
			m = &nats.Msg{Subject: subject, Data: []byte("gone")}
		}
		ack, err := js.Publish(t.Context(), m.Subject, m.Data) // without the expectation of a sequence
		if err != nil || ack.Sequence != s.first+uint64(i) {
			t.Fatalf("%s %d: %+v %v", name, i, ack, err)
		}
		if gone {
			if err := of.DeleteMsg(t.Context(), ack.Sequence); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// served returns the faults of a log that a server returns; an error is one, too.
func (l *log) served(t testing.TB, access external.Access, change func(*verify.Config)) ([]verify.Fault, verify.Result) {
	t.Helper()
	one := func(err error) ([]verify.Fault, verify.Result) {
		return []verify.Fault{{Difference: err.Error()}}, verify.Result{}
	}
	on, err := remote.Open(t.Context(), access)
	if err != nil {
		return one(err)
	}
	defer on.Close()
	ends, err := on.Ends(t.Context())
	if err != nil {
		return one(err)
	}
	return l.faults(t, archive.OfServed(archive.At(on, ends)), change)
}

// TestServedDamage: verify reads a log through a server, and reports each damage: messages that
// were removed, changed, exchanged, doubled or forged with right hashes of their own, lost ends and
// lost streams. A whole log has no fault.
func TestServedDamage(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	l, all := makeTemplate(t)
	c := clustertest.Start(t, 1, nil)
	access := external.Access{URL: c.URL(clustertest.User)}
	nc, err := access.Connect()
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	serve(t, nc, nil, all)
	onServer := all
	faults, result := l.served(t, access, nil)
	if len(faults) > 0 || result.Events != 63*eventstoretest.LifeEvents || result.Aggregates != 63*eventstoretest.LifeAggregates || !result.Signed || result.Tips || result.Checkpoints == 0 {
		t.Fatalf("a whole log: %v %+v", faults, result)
	}
	seed, n := seedtest.Seed(t), 3*len(damages)
	if seedtest.Sampled() {
		n = len(damages)
	}
	for i := range n {
		random := rand.New(rand.NewPCG(seed+uint64(i), 1))
		kind := slices.Sorted(maps.Keys(damages))[i%len(damages)]
		copied := map[string]*stored{}
		for name, s := range all {
			copied[name] = s.clone()
		}
		what := damages[kind](random, copied)
		serve(t, nc, onServer, copied)
		onServer = copied
		faults, _ := l.served(t, access, nil)
		stream, _, _ := strings.Cut(what, " ")
		of := stream[:strings.LastIndexByte(stream, '_')]
		named := slices.ContainsFunc(faults, func(f verify.Fault) bool {
			return strings.Contains(f.String(), of) || strings.HasPrefix(of, "LEDGER_") && strings.Contains(f.String(), strings.Replace(of, "LEDGER_", "shard ", 1))
		})
		if !named {
			t.Errorf("seed %d: %s: %s: no fault names it: %v", seed+uint64(i), kind, what, faults)
			continue
		}
		if slices.ContainsFunc(faults, func(f verify.Fault) bool { return f.Stream == "" }) {
			t.Errorf("seed %d: %s: %s: the check did not end: %v", seed+uint64(i), kind, what, faults)
		}
		t.Logf("seed %d: %s: %s: %s", seed+uint64(i), kind, what, faults[0])
	}
}

// chosen returns a random stream of a kind, and a random message of it that another one follows.
func chosen(random *rand.Rand, all map[string]*stored, prefix string) (string, *stored, int) {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if strings.HasPrefix(name, prefix) && len(all[name].messages) > 2 {
			names = append(names, name)
		}
	}
	name := names[random.IntN(len(names))]
	return name, all[name], random.IntN(len(all[name].messages) - 1)
}

// damages change a log, and return the stream and the place.
var damages = map[string]func(random *rand.Rand, all map[string]*stored) string{
	"a group is removed": func(random *rand.Rand, all map[string]*stored) string {
		name, s, i := chosen(random, all, "LEDGER_")
		s.messages[i] = nil
		return fmt.Sprintf("%s %d", name, s.first+uint64(i))
	},
	"a bit of a group is flipped": func(random *rand.Rand, all map[string]*stored) string {
		name, s, i := chosen(random, all, "LEDGER_")
		s.messages[i].Data[random.IntN(len(s.messages[i].Data))] ^= 1 << random.IntN(8)
		return fmt.Sprintf("%s %d", name, s.first+uint64(i))
	},
	"a group is cut": func(random *rand.Rand, all map[string]*stored) string {
		name, s, i := chosen(random, all, "LEDGER_")
		m := s.messages[i]
		m.Data = m.Data[:random.IntN(len(m.Data))]
		return fmt.Sprintf("%s %d", name, s.first+uint64(i))
	},
	"two groups are exchanged": func(random *rand.Rand, all map[string]*stored) string {
		name, s, i := chosen(random, all, "LEDGER_")
		s.messages[i], s.messages[i+1] = s.messages[i+1], s.messages[i]
		return fmt.Sprintf("%s %d", name, s.first+uint64(i))
	},
	"a group stands twice": func(random *rand.Rand, all map[string]*stored) string {
		name, s, i := chosen(random, all, "LEDGER_")
		s.messages[i+1] = s.messages[i]
		return fmt.Sprintf("%s %d", name, s.first+uint64(i))
	},
	"a group is forged, with a right hash": func(random *rand.Rand, all map[string]*stored) string {
		for {
			name, s, i := chosen(random, all, "LEDGER_")
			g, err := format.ParseGroup(s.messages[i].Data)
			if err != nil || len(g.Frames) == 0 {
				continue
			}
			g.Frames[random.IntN(len(g.Frames))].Actor = "forger"
			s.messages[i].Data = g.Encode()
			return fmt.Sprintf("%s %d", name, s.first+uint64(i))
		}
	},
	"all groups are forged from one on": func(random *rand.Rand, all map[string]*stored) string {
		name, _, _ := chosen(random, all, "LEDGER_")
		shard, _, _ := streams.Parse(name)
		return forgeFrom(random, all, shard)
	},
	"the end of a shard is lost": func(random *rand.Rand, all map[string]*stored) string {
		name, _, _ := chosen(random, all, "LEDGER_")
		shard, _, _ := streams.Parse(name)
		return loseEnd(random, all, shard)
	},
	"a segment is lost": func(random *rand.Rand, all map[string]*stored) string {
		for {
			name, _, _ := chosen(random, all, "LEDGER_")
			if name != streams.Name(0, 1) { // without it there is no log
				delete(all, name)
				return name + " is lost"
			}
		}
	},
	"a record of deliveries is changed": func(random *rand.Rand, all map[string]*stored) string {
		name, s, i := chosen(random, all, "DELIVERIES_")
		s.messages[i].Data[random.IntN(len(s.messages[i].Data))] ^= 1
		return fmt.Sprintf("%s %d", name, s.first+uint64(i))
	},
	"the first records of deliveries are lost": func(random *rand.Rand, all map[string]*stored) string {
		s := all["DELIVERIES_1"]
		n := 1 + random.IntN(len(s.messages)-2)
		s.messages, s.first = s.messages[n:], s.first+uint64(n)
		return fmt.Sprintf("DELIVERIES_1 %d", n)
	},
	"a checkpoint is removed": func(random *rand.Rand, all map[string]*stored) string {
		name, s, i := chosen(random, all, "CHECKPOINTS_")
		s.messages[i] = nil
		return fmt.Sprintf("%s %d", name, s.first+uint64(i))
	},
	"a checkpoint is changed": func(random *rand.Rand, all map[string]*stored) string {
		name, s, i := chosen(random, all, "CHECKPOINTS_")
		s.messages[i].Data[random.IntN(len(s.messages[i].Data))] ^= 1
		return fmt.Sprintf("%s %d", name, s.first+uint64(i))
	},
	"the last checkpoint is removed, before groups without one": func(_ *rand.Rand, all map[string]*stored) string {
		of := shardOf(all, streams.CheckpointShard)
		for segment := len(of) - 1; ; segment-- {
			s := of[segment]
			for i := len(s.messages) - 1; i >= 0; i-- {
				g, err := format.ParseGroup(s.messages[i].Data)
				if err != nil {
					panic(err)
				}
				if len(g.Frames) == 0 {
					continue
				}
				if segment == len(of)-1 && i == len(s.messages)-1 {
					empty := *s.messages[i]
					empty.Data = emptyBehind(g, format.Ends{})
					s.messages = append(s.messages, &empty)
				}
				s.messages[i] = nil
				return fmt.Sprintf("%s %d", s.config.Name, g.Seq)
			}
		}
	},
	"the last checkpoint is unreadable, and the log names it": func(_ *rand.Rand, all map[string]*stored) string {
		last := func(shard int) (*stored, int) {
			of := shardOf(all, shard)
			for len(of[len(of)-1].messages) == 0 {
				of = of[:len(of)-1]
			}
			return of[len(of)-1], len(of[len(of)-1].messages) - 1
		}
		s, i := last(streams.CheckpointShard)
		s.messages[i].Data[len(s.messages[i].Data)/2] ^= 1
		for shard := 0; ; shard++ {
			events, end := last(shard)
			g, err := format.ParseGroup(events.messages[end].Data)
			if err != nil {
				panic(err)
			}
			if g.Kind == format.KindClosing {
				continue
			}
			behind := *events.messages[end]
			behind.Data = emptyBehind(g, format.Ends{Checkpoints: s.first + uint64(i)})
			events.messages = append(events.messages, &behind)
			return fmt.Sprintf("%s %d", s.config.Name, s.first+uint64(i))
		}
	},
	"a secret is removed without a destruction": func(random *rand.Rand, all map[string]*stored) string {
		for {
			name, s, i := chosen(random, all, "SECRETS_")
			if s.messages[i] != nil && bytes.Contains(s.messages[i].Data, []byte("sealed")) {
				s.messages[i] = nil
				return fmt.Sprintf("%s %d", name, s.first+uint64(i))
			}
		}
	},
	"all secrets but the first ones are lost": func(random *rand.Rand, all map[string]*stored) string {
		s := all["SECRETS_1"]
		s.messages = s.messages[:1+random.IntN(len(s.messages)/2)]
		return fmt.Sprintf("SECRETS_1 %d", len(s.messages))
	},
}

// emptyBehind returns the bytes of an empty group that follows a group.
func emptyBehind(g *format.Group, ends format.Ends) []byte {
	end := g.After(format.Head{Link: format.Link{Seq: g.Seq - 1, Hash: g.Before}, Events: g.Events, Aggregates: g.Aggregates})
	return (&format.Group{
		Kind: format.KindEmpty, Shard: g.Shard, Log: g.Log, Seq: end.Seq + 1, Before: end.Hash, Events: end.Events, Aggregates: end.Aggregates,
		Witness: format.Witness{Shard: format.NoShard}, Ends: ends,
	}).Encode()
}

// shardOf are the streams of a shard in their order.
func shardOf(all map[string]*stored, shard int) (of []*stored) {
	for _, name := range streams.Segments(shard, slices.Collect(maps.Keys(all))) {
		of = append(of, all[name])
	}
	return of
}

// forgeFrom changes an event, and makes all hashes of groups right from there on.
func forgeFrom(random *rand.Rand, all map[string]*stored, shard int) string {
	segments := shardOf(all, shard)
	from := random.IntN(len(segments))
	forged, before := "", format.Hash{}
	for _, s := range segments[from:] {
		for i, m := range s.messages {
			g, err := format.ParseGroup(m.Data)
			if err != nil {
				panic(err)
			}
			switch {
			case forged != "":
				g.Before = before
			case len(g.Frames) == 0:
				continue
			default:
				g.Frames[0].Actor, forged = "forger", fmt.Sprintf("%s %d", s.config.Name, s.first+uint64(i))
			}
			m.Data = g.Encode()
			if g, err = format.ParseGroup(m.Data); err != nil {
				panic(err)
			}
			before = g.Hash
		}
	}
	if forged == "" {
		return forgeFrom(random, all, shard)
	}
	return forged
}

// loseEnd removes the last groups of a shard, one with an event among them.
func loseEnd(random *rand.Rand, all map[string]*stored, shard int) string {
	segments := shardOf(all, shard)
	s := segments[len(segments)-1]
	for i := len(s.messages) - 1; ; i-- {
		if i < 0 { // the newest segment has no event: it is lost as a whole
			delete(all, s.config.Name)
			return loseEnd(random, all, shard)
		}
		if g, err := format.ParseGroup(s.messages[i].Data); err == nil && len(g.Frames) > 0 {
			n := random.IntN(i + 1)
			s.messages = s.messages[:n]
			return fmt.Sprintf("%s %d", s.config.Name, s.first+uint64(n))
		}
	}
}
