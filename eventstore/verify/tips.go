package verify

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"os"
	"sync"

	"payledger/domain"
	"payledger/eventstore"
	"payledger/eventstore/archive"
	"payledger/eventstore/format"
	"payledger/eventstore/tiprow"
)

// tipList has the digest of each tip, in the order of the log, as sorted runs in a temporary file
// (doc.go). A look-up for each aggregate took a third of a whole check.
type tipList struct {
	sorting
	digester
	file   *os.File
	size   int64
	shards int
	runs   []sortedRun // older runs first, with falling levels
	stored uint64      // number of tips
}

// sorting bounds the memory of a list.
type sorting struct {
	tips int // of a run, which is sorted in memory
	runs int // that are merged at once
}

// usual takes 4 MB for a run, and writes the records a second time from 8 million tips on.
var usual = sorting{tips: 128 << 10, runs: 64}

// tipRecord is the shard (2 bytes), the number of the event (8 bytes) and the digest of a tip.
type tipRecord [tipPlace + digestSize]byte

const (
	tipPlace   = 10
	digestSize = 16
)

func (r *tipRecord) shard() int { return int(binary.BigEndian.Uint16(r[:])) }

func (r *tipRecord) number() uint64 { return binary.BigEndian.Uint64(r[2:]) }

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

// listTips makes the list in a folder; none if the tip store cannot be read: the look-ups then name
// the fault. The caller closes it.
func listTips(ctx context.Context, a *archive.Archive, in string, by sorting) (l *tipList, err error) {
	l = &tipList{sorting: by, digester: digester{maphash.MakeSeed(), maphash.MakeSeed()}, shards: a.Shards}
	if l.file, err = os.CreateTemp(in, "tips-"); err != nil {
		return nil, fmt.Errorf("verify: %w", err)
	}
	var runs [archive.Halves][]tipRecord
	for half := range runs {
		runs[half] = make([]tipRecord, 0, by.tips)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var mu sync.Mutex
	var own error // of the list's file
	err = a.EachTip(func(half int, key eventstore.Key, value []byte) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		var record tipRecord
		binary.BigEndian.PutUint16(record[:], uint16(domain.Shard(key.ID, a.Shards)))
		binary.BigEndian.PutUint64(record[2:], tiprow.Number(value))
		sum := l.digest(key, value)
		copy(record[tipPlace:], sum[:])
		if runs[half] = append(runs[half], record); len(runs[half]) < by.tips {
			return nil
		}
		full := runs[half]
		runs[half] = full[:0]
		sortRun(full)
		mu.Lock()
		defer mu.Unlock()
		if own == nil {
			own = l.add(ctx, full)
		}
		if own != nil {
			stop()
		}
		return own
	})
	switch {
	case own != nil:
		err = own
	case err == nil:
		sortRun(runs[0])
		sortRun(runs[1])
		if err = errors.Join(l.add(ctx, runs[0]), l.finish(ctx, runs[1])); err == nil {
			return l, nil
		}
	case ctx.Err() == nil: // the tip store's
		err = nil
	}
	return nil, errors.Join(err, l.close())
}

func noRoom(err error) error { return fmt.Errorf("verify: %w; set TMPDIR to a folder with room", err) }

// close removes the file of the list; nil is no list.
func (l *tipList) close() error {
	if l == nil {
		return nil
	}
	return errors.Join(l.file.Close(), os.Remove(l.file.Name()))
}

// tips are the tips of a shard in the order of the log.
type tips struct {
	*digester
	runs tipRuns
}

func (l *tipList) of(shard int) (*tips, error) {
	var parts []part
	for _, run := range l.runs {
		if p := run.shards[shard]; p.size > 0 {
			parts = append(parts, p)
		}
	}
	runs, err := l.open(parts, shardBuffers/max(1, l.shards))
	return &tips{&l.digester, runs}, err
}

// has reports whether the tip store has exactly r as the newest event of its aggregate. The shard's
// events come in their order.
func (t *tips) has(r *format.Recorded) (found bool, err error) {
	for len(t.runs) > 0 && t.runs[0].next.number() <= r.Number {
		first := &t.runs[0].next
		if first.number() == r.Number && !found {
			sum := t.digest(r.Key, tiprow.Append(nil, r))
			found = bytes.Equal(sum[:], first[tipPlace:])
		}
		if err := t.runs.advance(); err != nil {
			return false, err
		}
	}
	return found, nil
}
