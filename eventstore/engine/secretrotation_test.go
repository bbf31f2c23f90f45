//go:build system

package engine_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/secrets"
)

// rolling is a cluster whose master key is rotated while nodes write secrets.
type rolling struct {
	*rig
	key    byte // the newest master key
	vaults []*secrets.Store
	names  []domain.SecretID
	steps  []string
}

func masterKey(n byte) secrets.Key { return secrets.Key{0x4b, n} }

// vault opens the secrets at a node.
func (r *rolling) vault(t *testing.T, node int, keys ...secrets.Key) *secrets.Store {
	t.Helper()
	var v *secrets.Store
	eventually(t, 2*time.Minute, "the secrets open", func() (err error) {
		v, err = secrets.Open(testContext(t), r.nodes[node].store, keys[0], rand.Reader, keys[1:]...)
		return err
	})
	return v
}

// both opens every node anew with the next key and the newest one, as rolling restarts do.
func (r *rolling) both(t *testing.T) (next secrets.Key) {
	t.Helper()
	next = masterKey(r.key + 1)
	r.vaults = nil
	for node := range r.nodes {
		r.vaults = append(r.vaults, r.vault(t, node, masterKey(r.key), next))
	}
	return next
}

// roll rotates the key at a node. It repeats the rotation as an operator does, while the cluster
// gives no answer.
func (r *rolling) roll(t *testing.T, node int, next secrets.Key) {
	t.Helper()
	eventually(t, 2*time.Minute, "the rotation ends", func() error {
		_, _, err := r.vaults[node].Rotate(testContext(t), secrets.Rotation{Next: next})
		return err
	})
	r.key++
}

// cutAt rotates the key, and stops for good after a step. It reports whether the step came.
func (r *rolling) cutAt(t *testing.T, node int, next secrets.Key, step string) (cut bool) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _, err := r.vaults[node].Rotate(testContext(t), secrets.Rotation{Next: next, Stepped: func(s string) {
			if s == step {
				cut = true
				runtime.Goexit()
			}
		}})
		t.Errorf("the rotation was not cut after %q: %v", step, err)
	}()
	<-done
	return cut
}

// create creates a secret at a node.
func (r *rolling) create(t *testing.T, node int) {
	t.Helper()
	name := domain.SecretID("webhook.acct." + newKey().ID)
	eventually(t, 2*time.Minute, "a secret is created", func() error {
		err := r.vaults[node].Create(testContext(t), name, []byte(name))
		if errors.Is(err, eventstore.ErrConflict) { // stored although its answer was lost
			return nil
		}
		return err
	})
	r.names = append(r.names, name)
}

// holds checks that a node opens every secret with some keys.
func (r *rolling) holds(t *testing.T, node int, keys ...secrets.Key) {
	t.Helper()
	v := r.vault(t, node, keys...)
	for _, name := range r.names {
		eventually(t, 2*time.Minute, "an answer about a secret", func() error {
			got, err := v.Get(testContext(t), name)
			if errors.Is(err, secrets.ErrSealed) || errors.Is(err, secrets.ErrGone) || err == nil && string(got) != string(name) {
				t.Fatalf("%s: %q %v", name, got, err)
			}
			return err
		})
	}
}

// openBy returns the names of the stored values that a key opens, as the leader of the stream has
// them.
func (r *rolling) openBy(t *testing.T, key secrets.Key) (names []string) {
	t.Helper()
	js, err := jetstream.New(r.store().Conn(), jetstream.WithDefaultTimeout(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(testContext(t), "SECRETS_1")
	if err != nil {
		t.Fatal(err)
	}
	info, err := stream.Info(testContext(t), jetstream.WithDeletedDetails(true))
	if err != nil {
		t.Fatal(err)
	}
	for seq := info.State.FirstSeq; seq <= info.State.LastSeq; seq++ {
		if _, deleted := slices.BinarySearch(info.State.Deleted, seq); deleted {
			continue
		}
		m, err := stream.GetMsg(testContext(t), seq)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		body := m.Data
		kind, size := body[4], binary.BigEndian.Uint16(body[5:])
		name, box := string(body[7:7+size]), body[7+size:]
		varints := map[byte]int{3: 1, 4: 2}[kind]
		for range varints {
			_, n := binary.Uvarint(box)
			box = box[n:]
		}
		if (kind == 0 || varints > 0) && key.Check(name, box) == nil {
			names = append(names, name)
		}
	}
	return names
}

// TestClusterRolling: the master key of a cluster is rotated while nodes write secrets. A rotation
// is cut after each of its steps, also with the loss of the majority: no secret is lost, and the
// next run completes it.
func TestClusterRolling(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	r := &rolling{rig: cluster(t, 1), key: 1}
	r.vaults = []*secrets.Store{r.vault(t, 0, masterKey(1))}
	for range 12 {
		r.create(t, 0)
	}
	_, err := r.vaults[0].EmailHash("acct", "a@example.com")
	if err != nil {
		t.Fatal(err)
	}
	hash, _ := r.vaults[0].EmailHash("acct", "a@example.com")
	t.Run("beside writers", func(t *testing.T) { r.besideWriters(t) })
	if t.Failed() {
		return
	}
	for i, step := range r.steps {
		t.Run("cut after: "+step, func(t *testing.T) { r.cutAfter(t, i, step, i%2 == 1) })
	}
	t.Run("a server away", func(t *testing.T) { r.serverAway(t) })
	t.Run("two at once", func(t *testing.T) { r.twoAtOnce(t) })
	t.Run("late messages", func(t *testing.T) { r.late(t) })
	if now, err := r.vault(t, 1, masterKey(r.key)).EmailHash("acct", "a@example.com"); err != nil || now != hash {
		t.Errorf("the hash of an address became %s: %v", now, err)
	}
	t.Run("two keys at once", func(t *testing.T) { r.twoKeys(t) })
}

// secretWriters create and destroy secrets.
type secretWriters struct {
	*rolling
	stop    chan struct{}
	running sync.WaitGroup
	mu      sync.Mutex
	gone    []domain.SecretID
}

// write creates secrets and cards at a node, and destroys every third secret, until the writers
// stop.
func (w *secretWriters) write(t *testing.T, v *secrets.Store) {
	for i := 0; ; i++ {
		select {
		case <-w.stop:
			return
		default:
		}
		name := domain.SecretID("webhook.acct." + newKey().ID)
		ref := secrets.CardRef{Account: "acct", Token: domain.Token(newKey().ID), TokenizedAt: w.store().Now()}
		err := v.Create(testContext(t), name, []byte(name))
		if errors.Is(err, eventstore.ErrConflict) { // its answer was lost, and the rotation sealed it anew meanwhile
			err = nil
		}
		if err == nil {
			err = v.PutCard(testContext(t), ref, processor.Card{Number: "4111111111111111", CVV: "123"}, ref.TokenizedAt.Add(time.Hour))
		}
		if err == nil {
			_, err = v.Card(testContext(t), ref, ref.TokenizedAt)
		}
		if err == nil && i%3 == 0 {
			err = eventstoretest.Again(testContext(t), func() error { return v.Destroy(testContext(t), name) })
		}
		if err != nil {
			t.Error(err)
			return
		}
		w.mu.Lock()
		if i%3 == 0 {
			w.gone = append(w.gone, name)
		} else {
			w.names = append(w.names, name)
		}
		w.mu.Unlock()
	}
}

// besideWriters rotates the key while every node creates and destroys secrets, and pays with cards.
func (r *rolling) besideWriters(t *testing.T) {
	next := r.both(t)
	w := &secretWriters{rolling: r, stop: make(chan struct{})}
	for _, v := range r.vaults {
		w.running.Go(func() { w.write(t, v) })
	}
	began := time.Now()
	count, completed, err := r.vaults[0].Rotate(testContext(t), secrets.Rotation{Next: next, Stepped: func(step string) {
		if !slices.Contains(r.steps, step) {
			r.steps = append(r.steps, step)
		}
	}})
	took := time.Since(began)
	close(w.stop)
	w.running.Wait()
	if err != nil || completed || count < 12 || len(r.steps) < 5 {
		t.Fatalf("%d values in steps %q, completed before: %v, %v", count, r.steps, completed, err)
	}
	t.Logf("%d values in %s, beside %d other secrets", count, took, len(r.names)+len(w.gone))
	old := masterKey(r.key)
	r.key++
	for node := range r.nodes {
		r.holds(t, node, next)
	}
	v := r.vault(t, 1, next)
	for _, name := range w.gone {
		if _, err := v.Get(testContext(t), name); !errors.Is(err, secrets.ErrGone) {
			t.Errorf("a destroyed secret: %v", err)
		}
	}
	if names := r.openBy(t, old); len(names) > 0 {
		t.Errorf("the old key opens %v", names)
	}
	r.names = r.names[:12] // the rest was read once
	if _, err := secrets.Open(testContext(t), r.nodes[2].store, old, rand.Reader); err == nil || !strings.Contains(err.Error(), "start the service again with the new master key") {
		t.Errorf("with the old key: %v", err)
	}
	if count, completed, err := r.vaults[0].Rotate(testContext(t), secrets.Rotation{Next: next}); err != nil || count != 0 || !completed {
		t.Errorf("again: %d %v %v", count, completed, err)
	}
}

// cutAfter cuts a rotation after a step. Another node completes it.
func (r *rolling) cutAfter(t *testing.T, i int, step string, majorityLost bool) {
	next, old := r.both(t), masterKey(r.key)
	r.create(t, i%3)
	if !r.cutAt(t, 0, next, step) {
		t.Fatal("the step did not come")
	}
	if majorityLost {
		r.leave(0)
		r.leave(1)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		if _, completed, err := r.vaults[1].Rotate(ctx, secrets.Rotation{Next: next}); err == nil && !completed {
			t.Error("without a majority the rotation ends")
		}
		cancel()
		r.join(0)
		r.join(1)
	}
	last := step == r.steps[len(r.steps)-1]
	for node := range r.nodes {
		r.holds(t, node, old, next)
	}
	if _, err := secrets.Open(testContext(t), r.nodes[2].store, next, rand.Reader); (err == nil) != last {
		t.Errorf("with the new key alone: %v", err)
	}
	if _, err := secrets.Open(testContext(t), r.nodes[2].store, next, rand.Reader, masterKey(99)); step == "the generation has begun" && !errors.Is(err, secrets.ErrOtherPrevious) {
		t.Errorf("with the new key and another one: %v", err)
	}
	r.both(t)
	r.create(t, 1)
	r.create(t, 2)
	r.roll(t, 1, next)
	r.holds(t, 2, next)
	if names := r.openBy(t, old); len(names) > 0 {
		t.Errorf("the old key opens %v", names)
	}
}

// serverAway rotates the key while a server is away, whose disk keeps the earlier values. The
// rotation is refused.
func (r *rolling) serverAway(t *testing.T) {
	next := r.both(t)
	r.leave(2)
	if _, _, err := r.vaults[0].Rotate(testContext(t), secrets.Rotation{Next: next}); !errors.Is(err, secrets.ErrUnbegun) {
		t.Errorf("while a server is away: %v", err)
	}
	r.join(2)
	r.heals(t)
	r.holds(t, 2, masterKey(r.key))
}

// twoAtOnce rotates to the same key at two nodes.
func (r *rolling) twoAtOnce(t *testing.T) {
	next, old := r.both(t), masterKey(r.key)
	var both sync.WaitGroup
	for node := range 2 {
		both.Go(func() {
			if _, _, err := r.vaults[node].Rotate(testContext(t), secrets.Rotation{Next: next}); err != nil {
				t.Error(err)
			}
		})
	}
	both.Wait()
	r.key++
	r.holds(t, 2, next)
	if names := r.openBy(t, old); len(names) > 0 {
		t.Errorf("the old key opens %v", names)
	}
}

// late repeats three messages of the last rotation: a value sealed with the old key, a value sealed
// anew, and the message that began the rotation.
func (r *rolling) late(t *testing.T) {
	js, err := jetstream.New(r.store().Conn(), jetstream.WithDefaultTimeout(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(testContext(t), "SECRETS_1")
	if err != nil {
		t.Fatal(err)
	}
	var again []*jetstream.RawStreamMsg
	collect := func() {
		info, err := stream.Info(testContext(t))
		if err != nil {
			t.Fatal(err)
		}
		for seq := uint64(1); seq <= info.State.LastSeq; seq++ {
			if m, err := stream.GetMsg(testContext(t), seq); err == nil && bytes.HasPrefix(m.Data, []byte("PLS1")) && m.Data[4] >= 3 {
				again = append(again, m)
			}
		}
	}
	collect()
	r.roll(t, 0, r.both(t))
	collect() // the messages of the generation in force: only the spent values keep these from counting again
	victim := r.names[0]
	if err := r.vaults[0].Destroy(testContext(t), victim); err != nil {
		t.Fatal(err)
	}
	r.names = r.names[1:]
	for _, m := range again {
		if _, err := js.Publish(testContext(t), m.Subject, m.Data); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.vaults[2].Create(testContext(t), domain.SecretID("webhook.acct."+newKey().ID), nil); err != nil { // reads all of them
		t.Fatal(err)
	}
	r.holds(t, 2, masterKey(r.key))
	r.holds(t, 1, masterKey(r.key))
	if _, err := r.vault(t, 1, masterKey(r.key)).Get(testContext(t), victim); !errors.Is(err, secrets.ErrGone) {
		t.Errorf("a late message brought a destroyed secret back: %v", err)
	}
	fresh := r.reopenEmpty(t)
	for _, name := range r.names {
		if got, err := fresh.Get(testContext(t), name); err != nil || string(got) != string(name) {
			t.Errorf("a node with an empty folder: %s: %q %v", name, got, err)
		}
	}
	if _, err := fresh.Get(testContext(t), victim); !errors.Is(err, secrets.ErrGone) {
		t.Errorf("a node with an empty folder has the destroyed secret: %v", err)
	}
}

// reopenEmpty opens the secrets of another node, which has no index yet.
func (r *rolling) reopenEmpty(t *testing.T) *secrets.Store {
	t.Helper()
	c := r.nodes[2].config()
	c.Tips = t.TempDir()
	s := openWhenReady(t, c)
	v, err := secrets.Open(testContext(t), s, masterKey(r.key), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// twoKeys rotates to two keys at once. One wins; a node with the other one must stop, and writes
// nothing.
func (r *rolling) twoKeys(t *testing.T) {
	one, two, old := masterKey(r.key+1), masterKey(100), masterKey(r.key)
	first, second := r.vault(t, 0, old, one), r.vault(t, 1, old, two)
	errs := make([]error, 2)
	var both sync.WaitGroup
	both.Go(func() { _, _, errs[0] = first.Rotate(testContext(t), secrets.Rotation{Next: one}) })
	both.Go(func() { _, _, errs[1] = second.Rotate(testContext(t), secrets.Rotation{Next: two}) })
	both.Wait()
	if (errs[0] == nil) == (errs[1] == nil) {
		t.Fatalf("two rotations at once: %v, %v", errs[0], errs[1])
	}
	winner, loser, node := one, errs[1], 0
	if errs[1] == nil {
		winner, loser, node = two, errs[0], 1
	}
	if !errors.Is(loser, secrets.ErrOtherRotation) {
		t.Errorf("the slower rotation: %v", loser)
	}
	if err := []*secrets.Store{second, first}[node].Create(testContext(t), "webhook.acct.late", nil); err == nil || !strings.Contains(fmt.Sprint(err), "start the service again") {
		t.Errorf("a node without the new key writes: %v", err)
	}
	r.holds(t, node, winner)
	if _, completed, err := []*secrets.Store{first, second}[node].Rotate(testContext(t), secrets.Rotation{Next: winner}); err != nil || !completed { // it destroys what does not count, as every node's cleaning does
		t.Errorf("again: %v %v", completed, err)
	}
	if _, err := r.vault(t, node, winner).Get(testContext(t), "webhook.acct.late"); !errors.Is(err, secrets.ErrGone) {
		t.Errorf("the late secret: %v", err)
	}
	if names := r.openBy(t, old); len(names) > 0 {
		t.Errorf("the old key opens %v", names)
	}
}
