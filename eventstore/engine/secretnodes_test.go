package engine_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"payledger/domain/seedtest"
	"payledger/eventstore"
	"payledger/eventstore/engine"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/secretlog"
)

func secretOf(name string) []byte { return []byte("the value of " + name + strings.Repeat(".", 60)) }

func create(t testing.TB, b *secretlog.Stream, names ...string) {
	t.Helper()
	for _, name := range names {
		if err := b.Create(testContext(t), name, secretOf(name)); err != nil {
			t.Fatal(err)
		}
	}
}

// readSecret returns a value. A server of a busy cluster may not answer in time; readSecret then
// repeats the request. Only an answer counts.
func readSecret(t testing.TB, b *secretlog.Stream, name string) (value []byte, err error) {
	t.Helper()
	eventually(t, 2*time.Minute, "an answer about "+name, func() error {
		value, err = b.Get(testContext(t), name)
		if errors.Is(err, context.DeadlineExceeded) {
			return err
		}
		return nil
	})
	return value, err
}

// holds checks that a value is there, or was destroyed.
func holds(t testing.TB, b *secretlog.Stream, name string, there bool) {
	t.Helper()
	value, err := readSecret(t, b, name)
	if there && (err != nil || !bytes.Equal(value, secretOf(name))) {
		t.Errorf("%s: %q %v", name, value, err)
	}
	if !there && !errors.Is(err, eventstore.ErrNotFound) {
		t.Errorf("%s was destroyed: %q %v", name, value, err)
	}
}

// testSecretNodes checks that nodes read each other's values and destructions from the stream: of
// several nodes that create a name one succeeds, and no node opens a value that another one has
// destroyed.
func testSecretNodes(t testing.TB, r *rig) {
	var nodes []*secretlog.Stream
	for _, s := range []*engine.Store{r.store(), r.other()} {
		b, err := s.OpenSecrets(testContext(t))
		if err != nil {
			t.Fatal(err)
		}
		nodes = append(nodes, b)
	}
	here, there := nodes[0], nodes[1]
	rounds := 20
	if seedtest.Sampled() {
		rounds = 5
	}
	for i := range rounds {
		name := "race.acct." + newKey().ID + fmt.Sprint(i)
		var made atomic.Int32
		var value atomic.Value
		var all sync.WaitGroup
		for n := range 6 {
			all.Go(func() {
				mine := fmt.Sprintf("%s %d", name, n)
				err := nodes[n%2].Create(testContext(t), name, []byte(mine))
				switch {
				case err == nil:
					made.Add(1)
					value.Store(mine)
				case !errors.Is(err, eventstore.ErrConflict):
					t.Error(err)
				}
			})
		}
		all.Wait()
		if made.Load() != 1 {
			t.Fatalf("%d created %s", made.Load(), name)
		}
		for _, b := range nodes {
			if got, err := readSecret(t, b, name); err != nil || string(got) != value.Load() {
				t.Fatalf("%q instead of %q: %v", got, value.Load(), err)
			}
		}
	}
	name := "again.acct." + newKey().ID
	for range 3 {
		create(t, here, name)
		holds(t, there, name, true)
		if err := there.Create(testContext(t), name, nil); !errors.Is(err, eventstore.ErrConflict) {
			t.Error("it stands:", err)
		}
		if err := eventstoretest.Again(testContext(t), func() error { return there.Destroy(testContext(t), name) }); err != nil {
			t.Fatal(err)
		}
		holds(t, here, name, false)
	}
	if names, err := here.Names(testContext(t), "again"); err != nil || slices.Contains(names, name) {
		t.Error(names, err)
	}
	testUnfinished(t, r, here, there)
}

// testUnfinished has one node record a destruction and stop there: the other ends it.
func testUnfinished(t testing.TB, r *rig, here, there *secretlog.Stream) {
	t.Helper()
	name := "left.acct." + newKey().ID
	create(t, here, name)
	seq := valueAt(t, r.store(), name)
	if seq == 0 {
		t.Fatal("the stream has no value of the name")
	}
	body := append([]byte("PLS1\x01"), binary.BigEndian.AppendUint16(nil, uint16(len(name)))...)
	body = binary.AppendUvarint(append(append(body, name...), 0, 0, 1), seq)
	if _, err := r.store().Conn().Request("secrets.1.destroyed", body, 30*time.Second); err != nil {
		t.Fatal(err)
	}
	if err := eventstoretest.Again(testContext(t), func() error { return there.Destroy(testContext(t), name) }); err != nil {
		t.Fatal(err)
	}
	for _, b := range []*secretlog.Stream{here, there} {
		holds(t, b, name, false)
	}
	if seq := valueAt(t, r.store(), name); seq > 0 {
		t.Errorf("the value still stands at %d", seq)
	}
}

// valueAt returns the sequence of a name's value in the first segment, as the stream's leader has
// it; 0 if there is none. Another replica may lack the newest messages.
func valueAt(t testing.TB, s *engine.Store, name string) uint64 {
	t.Helper()
	ask := func(call string, question map[string]any, into any) {
		t.Helper()
		body, err := json.Marshal(question)
		if err != nil {
			t.Fatal(err)
		}
		m, err := s.Conn().Request("$JS.API.STREAM."+call+".SECRETS_1", body, 30*time.Second)
		if err == nil {
			err = json.Unmarshal(m.Data, into)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	var info struct{ State jetstream.StreamState }
	ask("INFO", nil, &info)
	head := append([]byte("PLS1\x00"), binary.BigEndian.AppendUint16(nil, uint16(len(name)))...)
	for seq := info.State.LastSeq; seq > 0; seq-- {
		var got struct{ Message struct{ Data []byte } }
		ask("MSG.GET", map[string]any{"seq": seq}, &got)
		if bytes.HasPrefix(got.Message.Data, append(head, name...)) {
			return seq
		}
	}
	return 0
}

// TestSecretAnswerLost: an answer is lost, and the value is there once: of the two messages that a
// sole writer then has, one is destroyed.
func TestSecretAnswerLost(t *testing.T) {
	t.Parallel()
	eachWriter(t, func(t *testing.T, f far, s *engine.Store) {
		b, err := s.OpenSecrets(testContext(t))
		if err != nil {
			t.Fatal(err)
		}
		var lost atomic.Int32
		f.proxy.Answers(func(piece []byte) bool {
			return !bytes.Contains(piece, []byte(`"stream":"SECRETS_`)) || lost.Add(1) > 1
		})
		create(t, b, "customer-key.acct.lost")
		holds(t, b, "customer-key.acct.lost", true)
		if lost.Load() == 0 {
			t.Fatal("no answer was lost")
		}
		if err := eventstoretest.Again(testContext(t), func() error { return b.Destroy(testContext(t), "customer-key.acct.lost") }); err != nil {
			t.Fatal(err)
		}
		holds(t, b, "customer-key.acct.lost", false)
		js, err := jetstream.New(s.Conn(), jetstream.WithDefaultTimeout(time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		stream, err := js.Stream(testContext(t), "SECRETS_1")
		if err != nil {
			t.Fatal(err)
		}
		info, err := stream.Info(testContext(t), jetstream.WithSubjectFilter("secrets.1.value"))
		if err != nil || len(info.State.Subjects) != 0 {
			t.Error("values stand there:", info.State.Subjects, err)
		}
	})
}
