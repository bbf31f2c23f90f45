package verify

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"

	"payledger/domain"
	"payledger/eventstore"
	"payledger/eventstore/archive"
	"payledger/eventstore/format"
	"payledger/eventstore/tiprow"
	"payledger/eventstore/tipstore"
)

// tipList has the digest of each tip, in the order of the log, in the scratch store (doc.go). A
// look-up for each aggregate took a third of a whole check.
type tipList struct {
	listing
	digester
	scratch *scratch
	shards  int
	stored  uint64 // number of tips
}

// listing bounds the memory of a list.
type listing struct {
	batch int // bytes that each half of the tip store collects for the scratch store
	ahead int // tips that are read ahead, in all shards
}

// usual takes 2 MB of batches and 1 MB of tips. With 4 MiB a batch the list took up to 110 MB
// instead of 64, and a tenth less CPU time.
var usual = listing{batch: 1 << 20, ahead: 32 << 10}

// tip is an aggregate's newest event.
type tip struct {
	number uint64 // of the event in its shard
	digest [digestSize]byte
}

const digestSize = 16

// digester digests tips with two seeds that each check draws: 128 bits that nobody knows before.
// Every tip is digested twice, and SHA-256 took 4 % of a whole check.
type digester [2]maphash.Seed

// digest returns the digest of a tip, given its key and its value in the tip store.
func (d *digester) digest(key format.Key, value []byte) (sum [digestSize]byte) {
	whole := append(append(tiprow.Key(key), 0), value...)
	binary.BigEndian.PutUint64(sum[:], maphash.Bytes(d[0], whole))
	binary.BigEndian.PutUint64(sum[8:], maphash.Bytes(d[1], whole))
	return sum
}

// listTips makes the list; none if the tip store cannot be read: the look-ups then name the fault.
func listTips(ctx context.Context, a *archive.Archive, s *scratch, by listing) (*tipList, error) {
	l := &tipList{listing: by, digester: digester{maphash.MakeSeed(), maphash.MakeSeed()}, scratch: s, shards: a.Shards}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var halves [archive.Halves]tipWriter
	for half := range halves {
		halves[half] = tipWriter{list: l, batch: l.newBatch()}
	}
	err := a.EachTip(func(half int, key eventstore.Key, value []byte) error {
		if ctx.Err() == nil && !halves[half].add(key, value) {
			stop()
		}
		return ctx.Err()
	})
	var own error // of the scratch store
	for half := range halves {
		halves[half].commit()
		own = errors.Join(own, halves[half].err)
		l.stored += halves[half].stored
	}
	if own == nil && err != nil {
		return nil, ctx.Err()
	}
	return l, own
}

func (l *tipList) newBatch() tipstore.Batch { return l.scratch.store.NewBatchOf(l.batch + tipSize) }

// tipWriter writes the tips of one half of the tip store.
type tipWriter struct {
	list   *tipList
	batch  tipstore.Batch
	stored uint64
	err    error
}

// add returns false after an error.
func (w *tipWriter) add(key format.Key, value []byte) bool {
	t := tip{tiprow.Number(value), w.list.digest(key, value)}
	w.err = errors.Join(w.err, w.batch.Set(tipKey(domain.Shard(key.ID, w.list.shards), t), nil))
	if w.stored++; w.batch.Len() >= w.list.batch {
		w.commit()
		w.batch = w.list.newBatch()
	}
	return w.err == nil
}

func (w *tipWriter) commit() {
	if w.err == nil {
		w.err = noRoom(w.batch.Commit())
	}
}

// tips are the tips of a shard in the order of the log.
type tips struct {
	list *tipList
	read []tip
	next int    // in read
	from []byte // key of the first tip that was not read; nil: all were read
	end  []byte // key after the last one
}

func (l *tipList) of(shard int) *tips {
	all := tipsOf(shard)
	return &tips{list: l, read: make([]tip, 0, max(1, l.ahead/l.shards)), from: all, end: tipstore.After(all)}
}

// has reports whether the tip store has exactly r as the newest event of its aggregate. The shard's
// events come in their order.
func (t *tips) has(r *format.Recorded) (found bool, err error) {
	for {
		if t.next == len(t.read) {
			if err := t.readOn(); err != nil || len(t.read) == 0 {
				return found, err
			}
		}
		first := &t.read[t.next]
		if first.number > r.Number {
			return found, nil
		}
		if first.number == r.Number && !found {
			sum := t.list.digest(r.Key, tiprow.Append(nil, r))
			found = bytes.Equal(sum[:], first.digest[:])
		}
		t.next++
	}
}

var errEnough = errors.New("enough tips were read")

// readOn reads the next tips; none at the end. It keeps no view of the store open, which would keep
// old files.
func (t *tips) readOn() error {
	t.read, t.next = t.read[:0], 0
	if t.from == nil {
		return nil
	}
	view := t.list.scratch.store.Snapshot()
	defer view.Close()
	err := view.Range(t.from, t.end, func(key, _ []byte) error {
		if len(t.read) == cap(t.read) {
			t.from = bytes.Clone(key)
			return errEnough
		}
		t.read = append(t.read, parseTip(key))
		return nil
	})
	switch {
	case err == nil:
		t.from = nil
	case !errors.Is(err, errEnough):
		return fmt.Errorf("verify: the temporary folder is damaged: %w", err)
	}
	return nil
}
