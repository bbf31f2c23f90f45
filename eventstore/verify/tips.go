package verify

import (
	"bufio"
	"bytes"
	"container/heap"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"payledger/domain"
	"payledger/eventstore"
	"payledger/eventstore/archive"
	"payledger/eventstore/format"
	"payledger/eventstore/tiprow"
)

// tipList has the digest of each tip, in the order of the log. The tip store has the order of the keys, and a look-up for each
// aggregate took a third of a whole check. So one pass over the tip store writes a record for each tip into a temporary file, in
// sorted runs. Each shard merges its parts of the runs while it reads the log.
type tipList struct {
	file   *os.File
	size   int64
	parts  map[int][]io.Reader // by shard: its part of each run
	stored uint64              // number of tips
}

// tipRecord is the shard (2 bytes), the number of the event (8 bytes) and the digest of a tip.
type tipRecord [tipPlace + sha256.Size]byte

const (
	tipPlace  = 10
	runTips   = 64 << 10 // tips of a run, which is sorted in memory
	runBuffer = 4 << 10  // for each run of a shard, in bytes
)

func (r *tipRecord) shard() int { return int(binary.BigEndian.Uint16(r[:])) }

func (r *tipRecord) number() uint64 { return binary.BigEndian.Uint64(r[2:]) }

// digest returns the digest of a tip, given its key and its value in the tip store.
func digest(key format.Key, value []byte) [sha256.Size]byte {
	return sha256.Sum256(append(append(tiprow.Key(key), 0), value...))
}

// listTips makes the list in a folder, in runs of a number of tips. The caller closes it. If the tip store cannot be read, there is no
// list: the look-ups then name the fault.
func listTips(ctx context.Context, a *archive.Archive, in string, tipsOfRun int) (l *tipList, err error) {
	l = &tipList{parts: map[int][]io.Reader{}}
	if l.file, err = os.CreateTemp(in, "tips-"); err != nil {
		return nil, fmt.Errorf("verify: %w", err)
	}
	run := make([]tipRecord, 0, tipsOfRun)
	var own error // of the list's file
	err = a.EachTip(func(key eventstore.Key, value []byte) error {
		if l.stored++; l.stored%256 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		var record tipRecord
		binary.BigEndian.PutUint16(record[:], uint16(domain.Shard(key.ID, a.Shards)))
		binary.BigEndian.PutUint64(record[2:], tiprow.Number(value))
		sum := digest(key, value)
		copy(record[tipPlace:], sum[:])
		if run = append(run, record); len(run) < tipsOfRun {
			return nil
		}
		full := run
		run = run[:0]
		own = l.write(full)
		return own
	})
	switch {
	case err == nil:
		if err = l.write(run); err == nil {
			return l, nil
		}
	case own == nil && ctx.Err() == nil: // the tip store's
		err = nil
	}
	return nil, errors.Join(err, l.close())
}

// write appends a run to the file.
func (l *tipList) write(run []tipRecord) error {
	slices.SortFunc(run, func(a, b tipRecord) int { return bytes.Compare(a[:], b[:]) })
	to := bufio.NewWriter(l.file)
	for len(run) > 0 {
		shard, end := run[0].shard(), 0
		for ; end < len(run) && run[end].shard() == shard; end++ {
			if _, err := to.Write(run[end][:]); err != nil {
				return noRoom(err)
			}
		}
		size := int64(end * len(tipRecord{}))
		l.parts[shard] = append(l.parts[shard], io.NewSectionReader(l.file, l.size, size))
		l.size += size
		run = run[end:]
	}
	if err := to.Flush(); err != nil {
		return noRoom(err)
	}
	return nil
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
type tips struct{ runs tipRuns }

// of returns the tips of a shard.
func (l *tipList) of(shard int) (*tips, error) {
	t := &tips{}
	for _, part := range l.parts[shard] {
		run := &tipRun{from: bufio.NewReaderSize(part, runBuffer)}
		if err := run.advance(); err != nil {
			return nil, err
		}
		t.runs = append(t.runs, run)
	}
	heap.Init(&t.runs)
	return t, nil
}

// has reports whether the tip store has exactly r as the newest event of its aggregate. Call it with the events of the shard in
// their order.
func (t *tips) has(r *format.Recorded) (found bool, err error) {
	for len(t.runs) > 0 && t.runs[0].next.number() <= r.Number {
		first := t.runs[0]
		if first.next.number() == r.Number && !found {
			sum := digest(r.Key, tiprow.Encode(r))
			found = bytes.Equal(sum[:], first.next[tipPlace:])
		}
		switch err := first.advance(); {
		case errors.Is(err, io.EOF):
			heap.Pop(&t.runs)
		case err != nil:
			return false, err
		default:
			heap.Fix(&t.runs, 0)
		}
	}
	return found, nil
}

// tipRun is a shard's part of a run.
type tipRun struct {
	from *bufio.Reader
	next tipRecord
}

// advance reads the next record; io.EOF at the end.
func (r *tipRun) advance() error {
	_, err := io.ReadFull(r.from, r.next[:])
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("verify: the temporary folder is damaged: %w", err)
	}
	return err
}

// tipRuns is a heap: the run with the earliest next tip is the first.
type tipRuns []*tipRun

func (t tipRuns) Len() int           { return len(t) }
func (t tipRuns) Less(i, j int) bool { return t[i].next.number() < t[j].next.number() }
func (t tipRuns) Swap(i, j int)      { t[i], t[j] = t[j], t[i] }

// Push implements heap.Interface.
func (t *tipRuns) Push(x any) { *t = append(*t, x.(*tipRun)) }

// Pop implements heap.Interface.
func (t *tipRuns) Pop() any {
	last := (*t)[len(*t)-1]
	*t = (*t)[:len(*t)-1]
	return last
}
