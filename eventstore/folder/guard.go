package folder

import (
	"context"
	"fmt"
	"math"
	"os"
	"sync"
	"time"

	"payledger/eventstore/blocks"
)

// Guard looks at blocks of streams without deletes before a running server reads them: damage can
// mislead the server until it has no memory left, or until it cuts acknowledged messages off
// (blocks.OutlineOf). A start does not read the blocks of closed segments, and the same damage
// would do the same after each start.
type Guard struct {
	dir, account string
	patience     time.Duration
	now          func() time.Time

	mu      sync.Mutex
	streams map[string]*guarded
}

// Span is what a read needs of a stream.
type Span struct {
	Stream        string
	First         uint64 // the stream's first sequence
	From, Through uint64 // the messages that are to be read
	// Stored is a sequence up to which messages were stored before the call.
	Stored uint64
}

// Damage is the place from which a stream must not be read.
type Damage struct {
	Seq    uint64 // of the first message that is wrong or missing
	Reason string // "": there is no damage
}

// guarded is a stream that was read.
type guarded struct {
	folder string
	mu     sync.Mutex
	listed time.Time
	blocks []guardedBlock // in the order of their files
}

type guardedBlock struct {
	path    string
	begins  uint64 // the sequence in its first record, unchecked
	outline blocks.Outline
	looked  time.Time // when outline was read; zero: there is none that counts
	newest  bool      // it was the newest block then, and may have grown
}

// NewGuard returns the guard of an account's streams in a server's folder. A look at the files that
// takes longer than patience fails.
func NewGuard(dir, account string, patience time.Duration, now func() time.Time) *Guard {
	return &Guard{dir: dir, account: account, patience: patience, now: now, streams: map[string]*guarded{}}
}

// guardFresh is how long a look at a block counts. The server keeps a block in memory for about as
// long, and the system keeps the bytes of the file.
const guardFresh = 10 * time.Second

// Check returns the damage because of which the server must not read a span. It fails if the look
// takes too long: a lost disk does not answer.
func (g *Guard) Check(ctx context.Context, span Span) (Damage, error) {
	g.mu.Lock()
	s := g.streams[span.Stream]
	if s == nil {
		s = &guarded{folder: blocks.Folder(g.dir, g.account, span.Stream)}
		g.streams[span.Stream] = s
	}
	g.mu.Unlock()
	if s.mu.TryLock() {
		damage, known := s.judge(span, g.now(), false)
		s.mu.Unlock()
		if known {
			return damage, nil
		}
	}
	ctx, cancel := context.WithTimeout(ctx, g.patience)
	defer cancel()
	judged := make(chan Damage, 1)
	go func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		damage, _ := s.judge(span, g.now(), true)
		judged <- damage
	}()
	select {
	case damage := <-judged:
		return damage, nil
	case <-ctx.Done():
		return Damage{}, fmt.Errorf("eventstore: a look at the files of %s: %w", span.Stream, ctx.Err())
	}
}

// judge returns the damage of a span. Without look it reads no file, and known is false if it would
// have to.
func (s *guarded) judge(span Span, now time.Time, look bool) (_ Damage, known bool) {
	if now.Sub(s.listed) >= guardFresh {
		if !look {
			return Damage{}, false
		}
		if s.list() != nil { // it was dropped, or the server cannot read it either
			return Damage{}, true
		}
		s.listed = now
	}
	expected := span.From // the first message of the span that no block has shown yet
	for i := range s.blocks {
		if s.blocks[i].begins > span.Through || i+1 < len(s.blocks) && s.blocks[i+1].begins <= span.From {
			continue
		}
		o, read := s.outline(i, now, look)
		switch {
		case read && o == nil:
			return Damage{}, true
		case !read:
			return Damage{}, false
		}
		if damage := s.compare(i, *o, expected, span); damage.Reason != "" {
			return damage, true
		}
		if o.First == o.Last && i > 0 { // no second message shows that the sequence of the first is right
			before, read := s.outline(i-1, now, look)
			switch {
			case !read:
				return Damage{}, false
			case before != nil && before.Wrong == "" && !before.Torn && o.Last != 0 && before.Last+1 != o.First:
				return Damage{before.Last + 1, fmt.Sprintf("%s begins with sequence %d, and the block before ends with %d", s.blocks[i].path, o.First, before.Last)}, true
			}
		}
		if i+1 == len(s.blocks) { // it may have grown since the look
			return Damage{}, true
		}
		if o.First <= expected && expected <= o.Last {
			expected = o.Last + 1
		}
	}
	if expected <= span.Through && len(s.blocks) > 0 && s.blocks[len(s.blocks)-1].begins > expected {
		return Damage{expected, fmt.Sprintf("no block of %s has sequence %d in its place", s.folder, expected)}, true
	}
	return Damage{}, true
}

// compare returns the damage of a block that was looked at. expected is the first message of the
// span that may be in it.
func (s *guarded) compare(i int, o blocks.Outline, expected uint64, span Span) Damage {
	b, next := s.blocks[i], o.Last+1
	if o.Last == 0 {
		next = expected
	}
	switch newest := i+1 == len(s.blocks); {
	case o.Wrong != "":
		return Damage{next, o.Wrong}
	case o.Torn && !newest:
		return Damage{next, fmt.Sprintf("%s ends within a record, and is not the newest block", b.path)}
	case o.Torn && o.Last < span.Stored: // not one that is being written
		return Damage{next, fmt.Sprintf("%s ends within a record after sequence %d, and %d is stored", b.path, o.Last, span.Stored)}
	case i == 0 && o.Last != 0 && o.First != span.First:
		return Damage{span.First, fmt.Sprintf("%s begins with sequence %d, and its stream with %d", b.path, o.First, span.First)}
	}
	return Damage{}
}

// outline returns the outline of a block; nil if the file cannot be read. Without look it reads no
// file, and read is false if it would have to. An outline with damage does not count for later
// reads, because the block may be restored, and neither does that of a record that is being
// written.
func (s *guarded) outline(i int, now time.Time, look bool) (_ *blocks.Outline, read bool) {
	b := &s.blocks[i]
	newest := i+1 == len(s.blocks)
	if !b.looked.IsZero() && now.Sub(b.looked) < guardFresh && (newest || !b.newest) {
		return &b.outline, true
	}
	if !look {
		return nil, false
	}
	o, err := blocks.OutlineOf(b.path)
	if err != nil {
		return nil, true
	}
	if b.outline, b.newest, b.looked = o, newest, now; o.Torn || o.Wrong != "" {
		b.looked = time.Time{}
	}
	return &o, true
}

// list reads which blocks there are, and their first records.
func (s *guarded) list() error {
	files, err := blocks.Files(s.folder)
	if err != nil {
		return err
	}
	before := map[string]guardedBlock{}
	for _, b := range s.blocks {
		before[b.path] = b
	}
	s.blocks = nil
	for _, f := range files {
		begins, err := begins(f.Path)
		if err != nil {
			s.blocks = nil
			return err
		}
		if begins == 0 {
			continue
		}
		b := guardedBlock{path: f.Path, begins: begins}
		if known := before[f.Path]; known.begins == begins {
			b = known
		}
		s.blocks = append(s.blocks, b)
	}
	return nil
}

// begins returns the sequence in a block's first record; 0 if it has none yet. No message has the
// sequence 0: begins returns the largest number then, which no block has, either.
func begins(path string) (uint64, error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	first, err := blocks.FirstIn(path) // after the size, which only grows
	if err == nil && first == 0 && info.Size() >= blocks.Least {
		first = math.MaxUint64
	}
	return first, err
}
