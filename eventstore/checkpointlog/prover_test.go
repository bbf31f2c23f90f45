package checkpointlog_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/mod/sumdb/note"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/domain/seedtest"
	"payledger/eventstore"
	"payledger/eventstore/checkpointlog"
	"payledger/eventstore/engine"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/proof"
	"payledger/eventstore/prover"
	"payledger/eventstore/secrets"
)

const owner domain.AccountID = "acct1"

// rig is a log with a checkpointer and a prover.
type rig struct {
	t      testing.TB
	store  *engine.Store
	signer note.Signer
	key    string
	file   string
	prover *prover.Prover
	vault  *secrets.Store
	sealed *domain.Sealed // personal data of the next payments
	stop   func()
}

func newRig(t testing.TB) *rig {
	t.Helper()
	store := eventstoretest.Open(t, t.TempDir())
	vault := eventstoretest.Secrets(t, store)
	signer, key, err := vault.CheckpointSigner(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, store: store, vault: vault, signer: signer, key: key, file: filepath.Join(t.TempDir(), "merkle")}
	r.prover = r.open(false)
	fanout := eventstore.NewFanout(store)
	checkpoints, err := checkpointlog.NewWriter(t.Context(), store.Checkpoints(), fanout.Reader, signer)
	if err != nil {
		t.Fatal(err)
	}
	checkpoints.Covered, checkpoints.Every = r.prover.Covered, time.Millisecond
	ctx, cancel := context.WithCancel(context.Background())
	var loops sync.WaitGroup
	for _, run := range []func(context.Context) error{checkpoints.Run, fanout.Run, r.prover.Run} {
		loops.Go(func() {
			if err := run(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	r.stop = sync.OnceFunc(func() {
		cancel()
		loops.Wait()
		r.prover.Close()
	})
	t.Cleanup(r.stop)
	return r
}

func (r *rig) open(readOnly bool) *prover.Prover {
	return prover.New(prover.Config{
		Store: r.store, Signer: r.signer, Key: r.key, File: r.file, ReadOnly: readOnly, Wait: 30 * time.Second, Logger: zerolog.Nop(),
	})
}

// paid appends the n-th payment, with two events.
func (r *rig) paid(n int) domain.PaymentID {
	r.t.Helper()
	start := time.Date(2026, 3, 14, 9, 26, 53, 0, time.UTC)
	id := domain.PaymentID(fmt.Sprintf("01%025d", n))
	amount := domain.Amount(1250)
	for revision, decide := range []func(payment.State) (payment.Event, error){
		func(s payment.State) (payment.Event, error) {
			return payment.DecideCreate(s, payment.Create{
				At: start, ID: id, Account: owner, OrderID: "order-1", Currency: "EUR", Amount: &amount, Personal: r.sealed,
				Route: []payment.Target{{Processor: processor.Adyen, MerchantID: "north-adyen"}},
			})
		},
		func(s payment.State) (payment.Event, error) {
			return payment.DecideTimeOut(s, payment.TimeOut{At: start.Add(90 * time.Second), Request: 1})
		},
	} {
		meta := eventstore.Meta{
			EventID: fmt.Sprintf("%08d-0000-4000-8000-00000000000%d", n, revision), CommandID: "11111111-0000-4000-8000-000000000000",
			CorrelationID: "request", Actor: "api_key:first", At: start,
		}
		if _, err := eventstore.Execute(r.t.Context(), r.store, eventstore.Payments, eventstore.Payments.Key(owner, string(id)), meta, decide); err != nil {
			r.t.Fatal(err)
		}
	}
	return id
}

// proves makes and checks the proof of a payment.
func (r *rig) proves(p *prover.Prover, id domain.PaymentID) ([]byte, proof.Checked) {
	r.t.Helper()
	made, err := p.Payment(r.t.Context(), owner, id, 0)
	if err != nil {
		r.t.Fatal(err)
	}
	var b bytes.Buffer
	if err := made.Write(r.t.Context(), &b); err != nil {
		r.t.Fatal(err)
	}
	file, err := proof.Parse(b.Bytes())
	if err != nil {
		r.t.Fatal(err)
	}
	checked, err := proof.Check(file, r.key)
	if err != nil {
		r.t.Fatalf("%s: %v", id, err)
	}
	if len(checked.Events) != 2 || checked.Payment != string(id) {
		r.t.Errorf("%s: %+v", id, checked)
	}
	return b.Bytes(), checked
}

// TestProverErased checks that a proof is still valid after the personal data of its payment was
// erased, and has the same events as before.
func TestProverErased(t *testing.T) {
	r := newRig(t)
	key, ada := secrets.PersonalKeyName(owner, "customer-1", ""), domain.Personal{CardholderName: "Ada Lovelace"}
	var err error
	if r.sealed, err = r.vault.Seal(t.Context(), key, ada); err != nil {
		t.Fatal(err)
	}
	id := r.paid(1)
	before, held := r.proves(r.prover, id)
	if err := r.vault.Destroy(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	if open, err := r.vault.Open(t.Context(), r.sealed); err != nil || !open.Empty() {
		t.Fatalf("the data is not erased: %v, %v", open, err)
	}
	if bytes.Contains(before, []byte(ada.CardholderName)) {
		t.Error("the proof has personal data")
	}
	if _, after := r.proves(r.prover, id); fmt.Sprint(after.Events) != fmt.Sprint(held.Events) {
		t.Errorf("after the erasure the proof has %v, before %v", after.Events, held.Events)
	}
	file, err := proof.Parse(before)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := proof.Check(file, r.key); err != nil {
		t.Errorf("the earlier proof: %v", err)
	}
}

// TestProverPayment checks that each payment of a log has a valid proof: while checkpoints are
// written, with the file of stored hashes, without it, and after every kind of damage to it.
func TestProverPayment(t *testing.T) {
	r := newRig(t)
	var ids []domain.PaymentID
	var all sync.WaitGroup
	for n := range 150 {
		ids = append(ids, domain.PaymentID(fmt.Sprintf("01%025d", n)))
	}
	for worker := range 10 {
		all.Go(func() {
			for n := worker; n < len(ids); n += 10 {
				r.paid(n)
			}
		})
	}
	all.Wait()
	for _, id := range ids[:20] {
		r.proves(r.prover, id)
	}
	late := r.paid(1000)
	r.proves(r.prover, late)
	r.stop()
	file, err := os.ReadFile(r.file)
	if err != nil || len(file) == 0 {
		t.Fatal(len(file), err)
	}
	ids = append(ids, late)
	for i, damage := range []struct {
		name   string
		change func([]byte) []byte
	}{
		{"whole", func(b []byte) []byte { return b }},
		{"lost", func([]byte) []byte { return nil }},
		{"cut", func(b []byte) []byte { return b[:len(b)/2+7] }},
		{"longer", func(b []byte) []byte { return append(b, b...) }},
		{"zeroed", func(b []byte) []byte { return make([]byte, len(b)) }},
		{"flipped", func(b []byte) []byte { b[40] ^= 1; return b }},
	} {
		for _, readOnly := range []bool{true, false} {
			if seedtest.Sampled() && readOnly != (i%2 == 0) {
				continue
			}
			t.Run(fmt.Sprint(damage.name, " read-only ", readOnly), func(t *testing.T) {
				damaged := damage.change(bytes.Clone(file))
				if err := os.WriteFile(r.file, damaged, 0o600); err != nil {
					t.Fatal(err)
				}
				p := r.open(readOnly)
				var first []byte
				for n := 0; n < len(ids); n += 15 { // so that every stored hash is used
					r.proves(p, ids[n])
				}
				first, _ = r.proves(p, late)
				if again, _ := r.proves(p, late); !bytes.Equal(first, again) {
					t.Error("the same proof has other bytes")
				}
				p.Close()
				after, err := os.ReadFile(r.file)
				switch {
				case err != nil:
					t.Error(err)
				case readOnly && !bytes.Equal(after, damaged):
					t.Error("a read-only prover changed the file")
				case !readOnly && !bytes.Equal(after, file):
					t.Errorf("the file was not repaired: %d bytes of %d", len(after), len(file))
				}
			})
		}
	}
}

// interrupted is a store that calls meanwhile once, while a proof is made.
type interrupted struct {
	*engine.Store
	meanwhile func()
}

func (s *interrupted) Load(ctx context.Context, key eventstore.Key, c eventstore.Consistency) (*eventstore.Recorded, error) {
	if do := s.meanwhile; do != nil {
		s.meanwhile = nil
		do()
	}
	return s.Store.Load(ctx, key, c)
}

// TestProverOvertaken: checkpoints are written while a proof is made, which holds for an earlier
// one. The stored hashes stay.
func TestProverOvertaken(t *testing.T) {
	r := newRig(t)
	id := r.paid(0)
	r.proves(r.prover, id)
	store, size := &interrupted{Store: r.store}, int64(0)
	p := prover.New(prover.Config{Store: store, Signer: r.signer, Key: r.key, File: r.file + "2", Wait: 30 * time.Second, Logger: zerolog.Nop()})
	defer p.Close()
	store.meanwhile = func() {
		for n := range 100 {
			r.paid(1 + n)
		}
		r.proves(p, domain.PaymentID(fmt.Sprintf("01%025d", 100)))
		info, err := os.Stat(r.file + "2")
		if err != nil {
			t.Fatal(err)
		}
		size = info.Size()
	}
	r.proves(p, id)
	if info, err := os.Stat(r.file + "2"); err != nil || size == 0 || info.Size() < size {
		t.Errorf("the file has %d bytes of %d: %v", info.Size(), size, err)
	}
}

// TestProverSince: a proof shows that the log begins with the log of each older checkpoint; a log
// that is longer is refused.
func TestProverSince(t *testing.T) {
	r := newRig(t)
	var id domain.PaymentID
	for n := range 70 {
		if id = r.paid(n); n == 30 {
			r.proves(r.prover, id) // so that a checkpoint comes before the other payments
		}
	}
	_, checked := r.proves(r.prover, id)
	var all []proof.Checkpoint
	next, err := r.prover.Checkpoints(t.Context(), 0, 0, func(c proof.Checkpoint) error { all = append(all, c); return nil })
	if err != nil || next != 0 || len(all) < 2 {
		t.Fatal(next, err, len(all))
	}
	for i, c := range all {
		if c.Number != uint64(i)+1 {
			t.Fatalf("checkpoint %d has the number %d", i+1, c.Number)
		}
		made, err := r.prover.Payment(t.Context(), owner, id, c.Size)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := made.Write(t.Context(), &b); err != nil {
			t.Fatal(err)
		}
		file, err := proof.Parse(b.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		old, err := c.Old()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := proof.CheckSince(file, checked.Tree, r.key, []proof.Old{old}); err != nil {
			t.Errorf("since %d of %d: %v", c.Size, checked.Tree.Size, err)
		}
	}
	var part []proof.Checkpoint
	next, err = r.prover.Checkpoints(t.Context(), 1, 1, func(c proof.Checkpoint) error { part = append(part, c); return nil })
	if err != nil || len(part) != 1 || part[0].Number != 2 || (next != 2) != (len(all) == 2) {
		t.Error(next, err, part)
	}
	id16 := r.store.ID()
	if origin := "payledger/" + hex.EncodeToString(id16[:]); !strings.HasPrefix(all[0].Note, origin+"\n") || !strings.Contains(all[0].Note, "\n— "+origin+" ") || !strings.HasPrefix(r.key, origin+"+") {
		t.Errorf("the ledger's own origin %s is not in %s, or in %s", origin, all[0].Note, r.key)
	}
	if _, err := r.prover.Payment(t.Context(), owner, id, 1<<40); !errors.Is(err, prover.ErrAhead) {
		t.Error(err)
	}
}

// TestProverUnknown: a payment that the account does not have, and one without a checkpoint.
func TestProverUnknown(t *testing.T) {
	r := newRig(t)
	id := r.paid(1)
	var refused *domain.Error
	for _, other := range []struct {
		account domain.AccountID
		id      domain.PaymentID
	}{{owner, "01unknown"}, {"acct2", id}, {owner, "no id at all"}} {
		if _, err := r.prover.Payment(t.Context(), other.account, other.id, 0); !errors.As(err, &refused) || refused.Reason != domain.ReasonPayment {
			t.Errorf("%v: %v", other, err)
		}
	}
	r.stop()
	late := r.paid(2)
	p := r.open(true)
	p.Wait = 0
	if _, err := p.Payment(t.Context(), owner, late, 0); !errors.Is(err, prover.ErrNotCovered) {
		t.Error(err)
	}
}
