package verify_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"payledger/domain/seedtest"
	"payledger/eventstore/clustertest"
	"payledger/eventstore/engine"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/external"
	"payledger/eventstore/format"
	"payledger/eventstore/jetapi"
	"payledger/eventstore/streams"
	"payledger/eventstore/verify"
)

// clusterRig is a node on three servers, and an administrator's connection.
type clusterRig struct {
	log
	access external.Access
	store  *engine.Store
	nc     *nats.Conn
	js     jetstream.JetStream
}

func newClusterRig(t *testing.T) *clusterRig {
	t.Helper()
	c := clustertest.Start(t, 3, nil).Formed(t)
	r := &clusterRig{access: external.Access{URL: c.URL(clustertest.User)}}
	var err error
	r.store, err = engine.Open(t.Context(), engine.Config{
		External: r.access, Shards: 3, Replicas: 3, SegmentBytes: 32 << 10, Now: time.Now, Random: rand.Reader, ReadTimeout: time.Minute,
	})
	if err == nil {
		t.Cleanup(func() {
			if err := r.store.Close(); err != nil {
				t.Error(err)
			}
		})
		r.nc, err = r.access.Connect()
	}
	if err == nil {
		t.Cleanup(r.nc.Close)
		r.js, err = jetstream.New(r.nc, jetstream.WithDefaultTimeout(time.Minute))
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// atNode returns the faults that verify finds at the node.
func (r *clusterRig) atNode(t testing.TB) ([]verify.Fault, verify.Result) {
	t.Helper()
	a, err := r.store.Archive(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}()
	return r.faults(t, a, nil)
}

// ends are the last sequences of all streams.
func (r *clusterRig) ends(t testing.TB) map[string]uint64 {
	t.Helper()
	all := map[string]uint64{}
	list := r.js.ListStreams(t.Context())
	for info := range list.Info() {
		all[info.Config.Name] = info.State.LastSeq
	}
	if list.Err() != nil {
		t.Fatal(list.Err())
	}
	return all
}

const payments = 24

// TestCluster: verify of a cluster, through its servers and at a node, finds no fault in a whole
// log and appends nothing; also while payments are made, segments begin, secrets are destroyed and
// streams get other leaders. It finds a group of a stranger, a secret that was removed without a
// destruction, and a checkpoint of a stranger.
func TestCluster(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	t.Parallel()
	r := newClusterRig(t)
	secrets, err := r.store.OpenSecrets(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r.checkpoints(t, r.store, func() {
		if _, err := eventstoretest.Generate(t.Context(), r.store, "account", payments, 8); err != nil {
			t.Fatal(err)
		}
		for len(streams.Segments(0, keys(r.ends(t)))) < 2 {
			if _, err := eventstoretest.Generate(t.Context(), r.store, "more", 4, 4); err != nil {
				t.Fatal(err)
			}
		}
	})
	before := r.ends(t)
	whole := func(name string, faults []verify.Fault, result verify.Result, events uint64) {
		t.Helper()
		if len(faults) > 0 || result.Events < events || result.Checkpoints == 0 || result.Size < events || !result.Signed {
			t.Errorf("%s: %v %+v", name, faults, result)
		}
	}
	faults, result := r.served(t, r.access, nil)
	whole("through the servers", faults, result, payments*eventstoretest.LifeEvents)
	if after := r.ends(t); !equalEnds(before, after) {
		t.Errorf("the streams ended at %v, and end at %v", before, after)
	}
	faults, result = r.atNode(t)
	whole("at the node", faults, result, payments*eventstoretest.LifeEvents)
	if !result.Tips {
		t.Error("the node's tip store was not checked")
	}
	r.whileBusy(t, secrets, whole)
	if seedtest.Sampled() { // TestServedDamage finds such damage at one server, where no leader may be without its cluster
		return
	}

	for i := range 3 {
		if err := secrets.Create(t.Context(), fmt.Sprintf("lost-%d", i), []byte("sealed")); err != nil {
			t.Fatal(err)
		}
	}
	of, err := r.js.Stream(t.Context(), "SECRETS_1")
	if err != nil {
		t.Fatal(err)
	}
	if err := of.DeleteMsg(t.Context(), secrets.End()-1); err != nil {
		t.Fatal(err)
	}
	forged := r.forge(t, 1)
	covers, _ := r.newest(t, streams.CheckpointShard)
	open := covers[len(covers)-1]
	_, number, _ := streams.Parse(open)
	if _, err := r.js.Publish(t.Context(), streams.Subject(streams.CheckpointShard, number), []byte("no checkpoint")); err != nil {
		t.Fatal(err)
	}
	faults, _ = r.served(t, r.access, nil)
	for _, want := range []string{forged, open + " at sequence ", "SECRETS at sequence " + strconv.FormatUint(secrets.End()-1, 10)} {
		if !slices.ContainsFunc(faults, func(f verify.Fault) bool { return strings.HasPrefix(f.String(), want) }) {
			t.Errorf("no fault %q: %v", want, faults)
		}
	}
	t.Log(faults)
}

func equalEnds(a, b map[string]uint64) bool {
	for name := range a {
		if !strings.HasPrefix(name, "KV_") && a[name] != b[name] {
			return false
		}
	}
	return len(a) == len(b)
}

func keys(ends map[string]uint64) (all []string) {
	for name := range ends {
		all = append(all, name)
	}
	return all
}

// whileBusy verifies while the log grows, its leaders change, and secrets are destroyed.
func (r *clusterRig) whileBusy(t *testing.T, secrets secretsOf, whole func(string, []verify.Fault, verify.Result, uint64)) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	loop := func(do func(i int) error) {
		running.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				if err := do(i); err != nil && !leaderless(err) && ctx.Err() == nil { // the next turn tries again
					t.Error(err)
					return
				}
			}
		})
	}
	covering := make(chan struct{})
	running.Go(func() {
		r.checkpoints(t, r.store, func() { close(covering); <-ctx.Done() })
	})
	<-covering
	loop(func(i int) error {
		_, err := eventstoretest.Generate(ctx, r.store, "busy", 1, 1)
		if errors.Is(err, context.Canceled) {
			err = nil
		}
		return err
	})
	loop(func(i int) error {
		name := fmt.Sprintf("busy-%d", i)
		if err := secrets.Create(ctx, name, []byte("sealed")); err != nil {
			return err
		}
		return secrets.Destroy(ctx, name)
	})
	for i := range 2 {
		for stream := range r.ends(t) {
			if len(stream)%2 == i {
				_, _ = r.nc.Request("$JS.API.STREAM.LEADER.STEPDOWN."+stream, nil, time.Second) // a stream without a leader refuses it
			}
		}
		faults, result := r.served(t, r.access, nil)
		whole(fmt.Sprintf("busy, through the servers, %d", i), faults, result, payments*eventstoretest.LifeEvents)
		faults, result = r.atNode(t)
		whole(fmt.Sprintf("busy, at the node, %d", i), faults, result, payments*eventstoretest.LifeEvents)
		t.Logf("%d events", result.Events)
	}
	stop()
	running.Wait()
}

// leaderless reports whether an error says that a stream, or the cluster, has no leader: nobody
// answers in time, or a server answers so.
func leaderless(err error) bool {
	refused, is := errors.AsType[*jetapi.Error](err)
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrNoResponders) || is && refused.ErrCode == 10008
}

type secretsOf interface {
	Create(ctx context.Context, name string, value []byte) error
	Destroy(ctx context.Context, names ...string) error
}

// newest returns the segments of a shard and the last message. The newest segment may have begun
// without a message: a payment is made then. A server that has not read up to the leader's end is
// read again.
func (r *clusterRig) newest(t testing.TB, shard int) (segments []string, last *jetstream.RawStreamMsg) {
	t.Helper()
	for {
		segments = streams.Segments(shard, keys(r.ends(t)))
		of, err := r.js.Stream(t.Context(), segments[len(segments)-1])
		if err != nil {
			t.Fatal(err)
		}
		state := of.CachedInfo().State
		if state.Msgs == 0 {
			if _, err := eventstoretest.Generate(t.Context(), r.store, "later", 1, 1); err != nil {
				t.Fatal(err)
			}
			continue
		}
		last, err = of.GetLastMsgForSubject(t.Context(), ">")
		switch {
		case err == nil && last.Sequence == state.LastSeq:
			return segments, last
		case err != nil && !errors.Is(err, jetstream.ErrMsgNotFound):
			t.Fatal(err)
		}
	}
}

// forge appends a copy of a shard's newest group with an event, as the next group, and returns the
// beginning of the fault. It follows the last group, but its events are old.
func (r *clusterRig) forge(t testing.TB, shard int) string {
	t.Helper()
	segments, last := r.newest(t, shard)
	name := segments[len(segments)-1]
	newest, err := format.ParseGroup(last.Data)
	if err != nil {
		t.Fatal(err)
	}
	end := newest.After(format.Head{Link: format.Link{Seq: newest.Seq - 1}, Events: newest.Events, Aggregates: newest.Aggregates})
	old := newest
	for seq := newest.Seq; len(old.Frames) == 0; seq-- {
		for _, segment := range segments {
			in, err := r.js.Stream(t.Context(), segment)
			if err != nil {
				t.Fatal(err)
			}
			if m, err := in.GetMsg(t.Context(), seq); err == nil {
				if old, err = format.ParseGroup(m.Data); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	g := *old
	g.Seq, g.Before, g.Events, g.Aggregates = newest.Seq+1, newest.Hash, end.Events, end.Aggregates
	m := &nats.Msg{Subject: last.Subject, Data: g.Encode(), Header: nats.Header{nats.ExpectedLastSeqHdr: {strconv.FormatUint(newest.Seq, 10)}}}
	if _, err := r.js.PublishMsg(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s at sequence %d: ", name, g.Seq)
}
