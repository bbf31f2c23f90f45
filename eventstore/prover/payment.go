package prover

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/eventstore"
	"payledger/eventstore/checkpointlog"
	"payledger/eventstore/proof"
)

// ErrNotCovered means that no checkpoint covers an event of the payment yet.
var ErrNotCovered = errors.New("no checkpoint covers this payment yet: the service writes one within a second; try again while it runs")

// ErrAhead means that an old checkpoint covers more events than the log.
var ErrAhead = errors.New("the log has fewer events than the old checkpoint")

const coverPause = 20 * time.Millisecond

// Proof is a proof that is ready to be written.
type Proof struct {
	store  eventstore.Store
	head   proof.Head
	places []place // of the events, oldest first
}

// place is one event of a proof, without its bytes.
type place struct {
	shard    int
	address  uint64
	revision uint64
	position uint64
	hash     eventstore.Hash
	path     tlog.RecordProof
}

// Payment prepares the proof of a payment up to the newest event that a checkpoint covers. A
// payment that is unknown or of another account, and the claim of an idempotency key (D9), are the
// domain's PaymentError.
//
// If since is not 0, the proof also shows that the log begins with the log that had since events.
// ErrAhead means that the log has fewer.
func (p *Prover) Payment(ctx context.Context, account domain.AccountID, id domain.PaymentID, since uint64) (*Proof, error) {
	key := eventstore.Payments.Key(account, string(id))
	tip, err := eventstore.Load(ctx, p.Store, eventstore.Payments, key, eventstore.Latest)
	if err != nil {
		return nil, fmt.Errorf("prover: %w", err)
	}
	if !tip.State.Exists() {
		return nil, payment.NotFound()
	}
	order, err := p.covering(ctx, tip.Recorded)
	if err != nil {
		return nil, err
	}
	newest, err := p.Store.Load(ctx, key, eventstore.Latest) // the checkpoint may cover later events, too
	if err != nil {
		return nil, fmt.Errorf("prover: %w", err)
	}
	places, err := p.walk(ctx, order, newest)
	if err != nil {
		return nil, err
	}
	checkpoint, err := p.Store.Checkpoints().At(ctx, order.Checkpoint())
	if err != nil {
		return nil, fmt.Errorf("prover: checkpoint %d: %w", order.Checkpoint(), err)
	}
	if since > checkpoint.Size {
		return nil, fmt.Errorf("%w: it has %d, and %d were named", ErrAhead, checkpoint.Size, since)
	}
	consistency, err := p.paths(ctx, order, tlog.Hash(checkpoint.Root), places, int64(since))
	if err != nil {
		return nil, err
	}
	last := places[len(places)-1]
	t := proof.Tree{Origin: p.Signer.Name(), Size: checkpoint.Size, Root: tlog.Hash(checkpoint.Root)}
	signed, err := note.Sign(&note.Note{Text: proof.NewestText(t, proof.Subject(string(account), string(id)), last.revision, last.hash)}, p.Signer)
	if err != nil {
		return nil, fmt.Errorf("prover: %w", err)
	}
	return &Proof{store: p.Store, places: places, head: proof.Head{
		Format: proof.Format, Account: string(account), Payment: string(id),
		Checkpoint: checkpoint.Text() + "\n" + checkpoint.Signature, Newest: string(signed), Consistency: consistency,
	}}, nil
}

// covering returns an order that has the event, or the newest order if none has it within Wait.
func (p *Prover) covering(ctx context.Context, tip *eventstore.Recorded) (checkpointlog.Order, error) {
	enough := time.After(p.Wait)
	for {
		order, err := p.Store.Checkpoints().Order(ctx)
		if err != nil {
			return order, fmt.Errorf("prover: %w", err)
		}
		_, covered, err := order.Position(ctx, tip)
		if err != nil || covered || p.Wait == 0 {
			return order, err
		}
		select {
		case <-ctx.Done():
			return order, ctx.Err()
		case <-enough:
			return order, nil
		case <-time.After(coverPause):
		}
	}
}

// walk finds the events from the newest that the order has to the first, and returns them oldest
// first.
func (p *Prover) walk(ctx context.Context, order checkpointlog.Order, newest *eventstore.Recorded) ([]place, error) {
	var places []place
	for r := newest; ; {
		position, covered, err := order.Position(ctx, r)
		if err != nil {
			return nil, fmt.Errorf("prover: %w", err)
		}
		if covered {
			if places == nil {
				places = make([]place, r.Revision)
			}
			places[r.Revision-1] = place{shard: r.Shard, address: r.Seq, revision: r.Revision, position: position, hash: r.Hash}
		}
		if r.PrevSeq == 0 {
			break
		}
		if r, err = p.Store.Previous(ctx, r); err != nil {
			return nil, fmt.Errorf("prover: %w", err)
		}
	}
	if places == nil {
		return nil, ErrNotCovered
	}
	return places, nil
}

// paths finds the path of each place and the consistency proof, and checks them against the root.
func (p *Prover) paths(ctx context.Context, order checkpointlog.Order, root tlog.Hash, places []place, since int64) (*proof.Consistency, error) {
	t := p.hashes
	t.mu.Lock()
	defer t.mu.Unlock()
	consistency, err := p.pathsOnce(ctx, order, root, places, since)
	if !errors.Is(err, errHashes) {
		return consistency, err
	}
	p.Logger.Warn().Err(err).Msg("the hashes for proofs are damaged; they are made again from the log")
	if err := t.reset(); err != nil {
		return nil, err
	}
	if consistency, err = p.pathsOnce(ctx, order, root, places, since); err != nil {
		return nil, fmt.Errorf("%w: the log does not lead to the root of checkpoint %d: %w", eventstore.ErrUnhealthy, order.Checkpoint(), err)
	}
	return consistency, nil
}

func (p *Prover) pathsOnce(ctx context.Context, order checkpointlog.Order, root tlog.Hash, places []place, since int64) (*proof.Consistency, error) {
	if err := p.extendLocked(ctx, order); err != nil {
		return nil, err
	}
	r := &reader{ctx: ctx, p: p, order: order, tiles: map[int64][]tlog.Hash{}}
	for i := range places {
		n, size := int64(places[i].position-1), int64(order.Size())
		path, err := tlog.ProveRecord(size, n, r)
		if err != nil {
			return nil, fmt.Errorf("prover: position %d: %w", places[i].position, err)
		}
		if tlog.CheckRecord(path, size, root, n, leafOf(places[i].hash)) != nil {
			return nil, fmt.Errorf("%w: the path of position %d does not lead to the root", errHashes, places[i].position)
		}
		places[i].path = path
	}
	return consistent(r, int64(order.Size()), root, since)
}

// consistent proves that the tree begins with the tree of the first since leaves.
func consistent(r *reader, size int64, root tlog.Hash, since int64) (*proof.Consistency, error) {
	if since == 0 {
		return nil, nil
	}
	path, err := tlog.ProveTree(size, since, r)
	if err != nil {
		return nil, fmt.Errorf("prover: the first %d events: %w", since, err)
	}
	before, err := tlog.TreeHash(since, r)
	if err != nil {
		return nil, fmt.Errorf("prover: the first %d events: %w", since, err)
	}
	if tlog.CheckTree(path, size, root, since, before) != nil {
		return nil, fmt.Errorf("%w: the first %d events do not lead to the root", errHashes, since)
	}
	return &proof.Consistency{Size: uint64(since), Path: proof.PathOf(path)}, nil
}

// Write writes the proof; one event at a time is in memory.
func (m *Proof) Write(ctx context.Context, to io.Writer) error {
	rest, before := m.places, eventstore.Hash{}
	return proof.Write(to, m.head, func() (proof.Event, error) {
		if len(rest) == 0 {
			return proof.Event{}, io.EOF
		}
		event := rest[0]
		rest = rest[1:]
		r, err := m.store.ReadAs(ctx, event.shard, event.address, event.hash, before)
		if err != nil {
			return proof.Event{}, fmt.Errorf("prover: %w", err)
		}
		before = event.hash
		return proof.Event{Revision: event.revision, Position: event.position, Hash: event.hash.String(), Raw: r.Raw(), Path: proof.PathOf(event.path)}, nil
	})
}
