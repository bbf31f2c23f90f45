package verify

import (
	"bufio"
	"bytes"
	"container/heap"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
)

const (
	mergeBuffers = 4 << 20 // of all runs that are merged into one, in bytes
	shardBuffers = 4 << 20 // of all runs, in all shards
	leastBuffer  = 512
)

type sortedRun struct {
	level  int // 0: it was sorted in memory; n: it was merged from runs of level n-1
	whole  part
	shards []part // its parts, by shard
}

type part struct{ from, size int64 }

func sortRun(run []tipRecord) {
	slices.SortFunc(run, func(a, b tipRecord) int { return bytes.Compare(a[:], b[:]) })
}

// add appends a sorted run to the file. Runs are merged as soon as there are enough of one level.
func (l *tipList) add(ctx context.Context, run []tipRecord) error {
	l.stored += uint64(len(run))
	w := l.writer(0)
	for i := range run {
		if err := w.add(&run[i]); err != nil {
			return err
		}
	}
	if err := w.end(); err != nil {
		return err
	}
	for {
		n, level := len(l.runs), l.runs[len(l.runs)-1].level
		if n < l.sorting.runs || l.runs[n-l.sorting.runs].level != level {
			return nil
		}
		if err := l.merge(ctx, l.sorting.runs); err != nil {
			return err
		}
	}
}

// finish adds the last run, and merges the smallest runs until no more are left than are merged at
// once.
func (l *tipList) finish(ctx context.Context, last []tipRecord) error {
	if err := l.add(ctx, last); err != nil {
		return err
	}
	if surplus := len(l.runs) - l.sorting.runs; surplus > 0 {
		return l.merge(ctx, surplus+1)
	}
	return nil
}

// merge replaces the last n runs by one.
func (l *tipList) merge(ctx context.Context, n int) error {
	first := len(l.runs) - n
	var parts []part
	for _, run := range l.runs[first:] {
		parts = append(parts, run.whole)
	}
	level := l.runs[first].level + 1
	l.runs = l.runs[:first]
	runs, err := l.open(parts, mergeBuffers)
	if err != nil {
		return err
	}
	w := l.writer(level)
	for i := 0; len(runs) > 0; i++ {
		if i%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := w.add(&runs[0].next); err != nil {
			return err
		}
		if err := runs.advance(); err != nil {
			return err
		}
	}
	return w.end()
}

// runWriter appends a run to the list's file.
type runWriter struct {
	list *tipList
	to   *bufio.Writer
	run  sortedRun
}

func (l *tipList) writer(level int) *runWriter {
	run := sortedRun{level: level, whole: part{from: l.size}, shards: make([]part, l.shards)}
	return &runWriter{l, bufio.NewWriterSize(l.file, 64<<10), run}
}

// add adds a record. The records come in their order.
func (w *runWriter) add(r *tipRecord) error {
	if _, err := w.to.Write(r[:]); err != nil {
		return noRoom(err)
	}
	shard := &w.run.shards[r.shard()]
	if shard.size == 0 {
		shard.from = w.list.size
	}
	shard.size += int64(len(r))
	w.run.whole.size += int64(len(r))
	w.list.size += int64(len(r))
	return nil
}

func (w *runWriter) end() error {
	if err := w.to.Flush(); err != nil {
		return noRoom(err)
	}
	w.list.runs = append(w.list.runs, w.run)
	return nil
}

// open reads parts of the file together, with buffers of a number of bytes in all.
func (l *tipList) open(parts []part, buffers int) (runs tipRuns, err error) {
	for _, p := range parts {
		run := &tipRun{from: bufio.NewReaderSize(io.NewSectionReader(l.file, p.from, p.size), max(leastBuffer, buffers/len(parts)))}
		switch err := run.advance(); {
		case errors.Is(err, io.EOF):
		case err != nil:
			return nil, err
		default:
			runs = append(runs, run)
		}
	}
	heap.Init(&runs)
	return runs, nil
}

// tipRun reads a run, or a shard's part of it.
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

// advance takes the earliest tip from the heap.
func (t *tipRuns) advance() error {
	switch err := (*t)[0].advance(); {
	case errors.Is(err, io.EOF):
		heap.Pop(t)
	case err != nil:
		return err
	default:
		heap.Fix(t, 0)
	}
	return nil
}

func (t tipRuns) Len() int { return len(t) }
func (t tipRuns) Less(i, j int) bool {
	return bytes.Compare(t[i].next[:tipPlace], t[j].next[:tipPlace]) < 0
}
func (t tipRuns) Swap(i, j int) { t[i], t[j] = t[j], t[i] }

// Push implements heap.Interface.
func (t *tipRuns) Push(x any) { *t = append(*t, x.(*tipRun)) }

// Pop implements heap.Interface.
func (t *tipRuns) Pop() any {
	last := (*t)[len(*t)-1]
	*t = (*t)[:len(*t)-1]
	return last
}
