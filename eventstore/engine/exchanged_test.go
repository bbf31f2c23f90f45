package engine_test

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/minio/highwayhash"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/eventstore/engine"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/format"
	"payledger/eventstore/secrets"
)

// TestExchangedGroup: no reader gets a group that was exchanged while no server ran, although all
// of its own hashes are right: the group after it names another one. It is in a closed segment,
// which a start does not read. The readers read it alone, as the last one, and in order. In a
// cluster all servers have it.
func TestExchangedGroup(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	for _, segment := range []int64{1, 600} {
		exchangedGroup(t, segment, sole(t, 1))
	}
	exchangedGroup(t, 600, cluster(t, 1))
}

func exchangedGroup(t *testing.T, segment int64, r *rig) {
	t.Helper()
	for _, n := range r.nodes {
		n.store.Close()
	}
	tips, replicated := t.TempDir(), r.replicas() > 1
	segments := func(c *engine.Config) {
		if c.SegmentBytes = segment; replicated {
			c.Tips = tips
		}
	}
	s := r.reopen(t, 0, segments)
	for range 9 {
		mustAdd(t, s, keyIn(s, 0), added{Who: "someone"})
	}
	s.Close()
	for _, n := range r.nodes {
		n.stop()
		exchange(t, n.dir, false)
	}
	for i := range r.nodes {
		r.start(t, i)
	}
	s = r.reopen(t, 0, segments)
	served := errors.New("the exchanged group is served")
	for name, read := range map[string]func() error{
		"in order": func() error {
			return s.Subscribe(testContext(t), 0, 0, func(*eventstore.Recorded) error { return served })
		},
		"alone": func() error {
			return s.Groups(testContext(t), 0, 1, 1, func(*format.Group) error { return served })
		},
		"by its address": func() error {
			_, err := s.Read(testContext(t), 0, format.At(1, 0))
			return cmp.Or(err, served)
		},
	} {
		for range 2 { // the second time from a cache
			if err := read(); !errors.Is(err, eventstore.ErrUnhealthy) || !strings.Contains(err.Error(), "LEDGER_0_1 at sequence 1") {
				t.Errorf("segments of %d bytes, replicated %t, %s: %v", segment, replicated, name, err)
			}
		}
	}
	if shards := s.Damaged(); len(shards) != 1 {
		t.Errorf("segments of %d bytes, replicated %t: the shards %v are damaged", segment, replicated, shards)
	}
}

// TestExchangedAnywhere: a read that begins with an exchanged group is refused, wherever it ends,
// and hands nothing over. All other reads are served.
func TestExchangedAnywhere(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	s := openOne(t)
	key := keyIn(s, 0)
	for range 9 {
		mustAdd(t, s, key, added{Who: "someone"})
	}
	groups := groupsOf(t, s, 1, format.GroupOf(lastOf(t, s)))
	for _, forged := range groups {
		for _, from := range groups {
			for _, through := range groups {
				if from.Seq > through.Seq {
					continue
				}
				s.ForgetGroups()
				s.Forge(forged, func(*format.Group) {})
				next := from.Seq
				err := s.Groups(testContext(t), 0, from.Seq, through.Seq, func(g *format.Group) error {
					if g.Seq != next || g.Hash != groups[g.Seq-1].Hash {
						t.Errorf("group %d is handed over as group %d", g.Seq, next)
					}
					next++
					return nil
				})
				refused := from == forged && errors.Is(err, eventstore.ErrUnhealthy) && next == from.Seq
				if !refused && (from == forged || err != nil || next != through.Seq+1) {
					t.Fatalf("group %d exchanged, %d to %d read, up to %d handed over: %v", forged.Seq, from.Seq, through.Seq, next-1, err)
				}
			}
		}
	}
}

// TestExchangedInReplica: a group that is exchanged in one replica stops nothing: every read gets
// the leader's group.
func TestExchangedInReplica(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	s := cluster(t, 1).store()
	key := keyIn(s, 0)
	for range 4 {
		mustAdd(t, s, key, added{Who: "someone"})
	}
	history, err := s.History(testContext(t), key)
	if err != nil {
		t.Fatal(err)
	}
	s.ForgetGroups()
	groups := groupsOf(t, s, 1, format.GroupOf(lastOf(t, s)))
	if err := s.FlushTips(); err != nil {
		t.Fatal(err)
	}
	check := func(what string, forged *format.Group, read func() error) {
		s.ForgetGroups()
		s.Forge(forged, func(g *format.Group) {
			if len(g.Frames) > 0 {
				r := g.Frames[0].Fresh()
				r.Body = bytes.Replace(r.Body, []byte("someone"), []byte("nobody!"), 1)
				g.Frames = []*eventstore.Recorded{r}
			}
		})
		for range 2 { // the second time from a cache
			if err := read(); err != nil {
				t.Fatalf("group %d exchanged, %s: %v", forged.Seq, what, err)
			}
		}
	}
	for _, forged := range groups {
		for _, from := range groups {
			for through := from.Seq; through <= groups[len(groups)-1].Seq; through++ {
				check(fmt.Sprintf("%d to %d read", from.Seq, through), forged, func() error {
					same(t, "the groups", groupsOf(t, s, from.Seq, through), groups[from.Seq-1:through])
					return nil
				})
			}
		}
		check("a start", forged, func() error {
			end := groups[len(groups)-1].Hash
			applied, last, err := s.StartAgain(testContext(t), 0)
			if err == nil && (applied != end || last != end) {
				err = fmt.Errorf("%s is applied, and %s is the last group; want %s", applied, last, end)
			}
			return err
		})
		for i, r := range history {
			check("an event read by its address", forged, func() error {
				read, err := s.Read(testContext(t), 0, r.Seq)
				same(t, "the event", read, r)
				return err
			})
			check("an event read by its hash", forged, func() error {
				before := eventstore.Hash{}
				if i > 0 {
					before = history[i-1].Hash
				}
				read, err := s.ReadAs(testContext(t), 0, r.Seq, r.Hash, before)
				same(t, "the event", read, r)
				return err
			})
			check("a history from it on", forged, func() error {
				events, err := s.Since(testContext(t), history[len(history)-1], r.Revision)
				same(t, "the history", events, history[i:])
				return err
			})
		}
	}
	if err := s.Healthy(); err != nil {
		t.Error(err)
	}
}

// TestGroupsAreCachedOnce: groups that are read alone take their room in the cache once.
func TestGroupsAreCachedOnce(t *testing.T) {
	t.Parallel()
	s := openOne(t)
	for range 40 {
		mustAdd(t, s, keyIn(s, 0), added{Who: "someone"})
	}
	s.ForgetGroups()
	bytes, addresses := 0, []uint64{}
	for _, g := range groupsOf(t, s, 1, format.GroupOf(lastOf(t, s))) {
		bytes += engine.CachedSize(g)
		for _, r := range g.Frames {
			addresses = append(addresses, r.Seq)
		}
	}
	s.LimitGroups(2*bytes + bytes/4) // all of them are a generation of the cache
	all := map[uint64]*eventstore.Recorded{}
	for again := range 2 {
		for _, address := range addresses {
			r, err := s.Read(testContext(t), 0, address)
			if err != nil {
				t.Fatal(err)
			}
			if again > 0 && r != all[address] {
				t.Errorf("group %d is read again", format.GroupOf(address))
			}
			all[address] = r
		}
	}
}

// TestSecretInReplica: a message of SECRETS that only one replica cannot show is no damage: the
// leader has it.
func TestSecretInReplica(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	r := cluster(t, 1)
	here, there := r.store(), r.other()
	card := secrets.CardRef{Account: "acct", Token: domain.Token(newKey().ID), TokenizedAt: here.Now()}
	if err := eventstoretest.Secrets(t, here).PutCard(ctx, card, processor.Card{Number: "4111111111111111"}, here.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	js, err := jetstream.New(here.Conn())
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(ctx, "SECRETS_1")
	if err != nil {
		t.Fatal(err)
	}
	config := stream.CachedInfo().Config
	config.AllowDirect = false // the server leaves the answers to the replica
	if _, err := js.UpdateStream(ctx, config); err != nil {
		t.Fatal(err)
	}
	replica, err := here.Conn().Subscribe("$JS.API.DIRECT.GET.SECRETS_1", func(m *nats.Msg) {
		answer := nats.NewMsg(m.Reply)
		answer.Header.Set("Nats-Sequence", "1")
		answer.Data = []byte("something else")
		if err := m.RespondMsg(answer); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = replica.Unsubscribe() }()
	if _, err := eventstoretest.Secrets(t, there).Card(ctx, card, here.Now()); err != nil {
		t.Error(err)
	}
	if err := there.Healthy(); err != nil {
		t.Error(err)
	}
}

// groupsOf reads groups in order.
func groupsOf(t *testing.T, s *engine.Store, from, through uint64) (groups []*format.Group) {
	t.Helper()
	if err := s.Groups(testContext(t), 0, from, through, func(g *format.Group) error { groups = append(groups, g); return nil }); err != nil {
		t.Fatal(err)
	}
	return groups
}

// TestForgedEvent: an event whose bytes were changed is not in a history, even if as many groups
// after it were made again as are read: the aggregate's later events have its hash.
func TestForgedEvent(t *testing.T) {
	t.Parallel()
	s := openOne(t)
	key := keyIn(s, 0)
	var groups []*format.Group
	for range 9 {
		tip := mustAdd(t, s, key, added{Who: "someone"}).Recorded
		if err := s.Groups(testContext(t), 0, format.GroupOf(tip.Seq), format.GroupOf(tip.Seq), func(g *format.Group) error { groups = append(groups, g); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	forge := func(g *format.Group) {
		r := g.Frames[0].Fresh()
		r.Body = bytes.Replace(r.Body, []byte("someone"), []byte("nobody!"), 1)
		g.Frames = []*eventstore.Recorded{r}
	}
	tip, err := s.Load(testContext(t), key, eventstore.Latest)
	if err != nil {
		t.Fatal(err)
	}
	for i, g := range groups[:8] {
		for _, alone := range []bool{true, false} {
			s.ForgetGroups()
			hash := s.Forge(g, forge)
			if !alone { // the group after it names it
				s.Forge(groups[i+1], func(g *format.Group) { g.Before = hash })
			}
			if _, err := s.History(testContext(t), key); !errors.Is(err, eventstore.ErrUnhealthy) || !strings.Contains(err.Error(), "hash of its bytes") {
				t.Errorf("revision %d is forged, and the history has it: %v", i+1, err)
			}
			if !alone {
				continue
			}
			if _, err := s.Since(testContext(t), tip, uint64(i+1)); !errors.Is(err, eventstore.ErrUnhealthy) {
				t.Errorf("revision %d is forged, and a history from it on has it: %v", i+1, err)
			}
			if _, err := s.Read(testContext(t), 0, g.Frames[0].Seq); !errors.Is(err, eventstore.ErrUnhealthy) {
				t.Errorf("revision %d is forged, and is read by its address: %v", i+1, err)
			}
		}
	}
}

// openOne opens a store of one shard for the test's life.
func openOne(t *testing.T) *engine.Store {
	t.Helper()
	c := eventstoretest.Config(eventstoretest.Server(t, t.TempDir()))
	c.Shards = 1
	return eventstoretest.OpenOn(t, c)
}

func lastOf(t *testing.T, s *engine.Store) uint64 {
	t.Helper()
	last, err := s.LastSeq(testContext(t), 0)
	if err != nil {
		t.Fatal(err)
	}
	return last
}

// exchange changes the number of aggregates in the first group of shard 0, and computes the group's
// hash and the checksum of the server's record again. With last, the last group is changed, too.
func exchange(t *testing.T, dir string, last bool) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "jetstream", "*", "streams", "LEDGER_0_1", "msgs", "*.blk"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	key := sha256.Sum256([]byte("LEDGER_0_1-" + strings.TrimSuffix(filepath.Base(files[0]), ".blk")))
	for rest := data; len(rest) > 0; {
		length := int(binary.LittleEndian.Uint32(rest) &^ (1 << 31))
		if first := len(rest) == len(data); first || last && length == len(rest) {
			exchangeRecord(t, rest[:length], key[:])
		}
		rest = rest[length:]
	}
	if err := os.WriteFile(files[0], data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func exchangeRecord(t *testing.T, data, key []byte) {
	t.Helper()
	end, subject := len(data)-8, int(binary.LittleEndian.Uint16(data[20:]))
	body := 22 + subject
	from := body // of the message
	if data[3]&0x80 != 0 {
		body += 4
		from = body + int(binary.LittleEndian.Uint32(data[body-4:]))
	}
	group := data[from:end]
	if _, err := format.ParseGroup(group); err != nil {
		t.Fatal(err)
	}
	group[53]++ // the last byte of the number of aggregates
	engine.Rehash(group)
	if _, err := format.ParseGroup(group); err != nil {
		t.Fatal(err)
	}
	sealRecord(t, data, key)
}

// sealRecord sets the checksum of a record of a block file.
func sealRecord(t *testing.T, data, key []byte) {
	t.Helper()
	end, subject := len(data)-8, int(binary.LittleEndian.Uint16(data[20:]))
	body := 22 + subject
	if data[3]&0x80 != 0 {
		body += 4
	}
	sum, err := highwayhash.New64(key)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range [][]byte{data[4:20], data[22 : 22+subject], data[body:end]} {
		_, _ = sum.Write(part)
	}
	copy(data[end:], sum.Sum(nil))
}
