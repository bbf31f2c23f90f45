package folder

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
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
	turn   chan struct{} // holds a value while somebody uses the rest
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

// judged is the result of a look.
type judged struct {
	Damage
	err error
}

// errLook means that a file must be read.
var errLook = errors.New("folder: a block was not looked at")

// Check returns the damage because of which the server must not read a span. It fails if a file
// cannot be read, or if the look takes too long: a lost disk does not answer. Then one goroutine
// for each stream waits for the disk.
func (g *Guard) Check(ctx context.Context, span Span) (Damage, error) {
	g.mu.Lock()
	s := g.streams[span.Stream]
	if s == nil {
		s = &guarded{folder: blocks.Folder(g.dir, g.account, span.Stream), turn: make(chan struct{}, 1)}
		g.streams[span.Stream] = s
	}
	g.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, g.patience)
	defer cancel()
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return Damage{}, s.late(ctx)
	}
	if damage, err := s.judge(span, g.now(), false); !errors.Is(err, errLook) {
		<-s.turn
		return damage, err
	}
	looked := make(chan judged, 1)
	go func() {
		defer func() { <-s.turn }()
		damage, err := s.judge(span, g.now(), true)
		looked <- judged{damage, err}
	}()
	select {
	case j := <-looked:
		return j.Damage, j.err
	case <-ctx.Done():
		return Damage{}, s.late(ctx)
	}
}

func (s *guarded) late(ctx context.Context) error {
	return fmt.Errorf("eventstore: a look at the files of %s: %w", s.folder, ctx.Err())
}

// judge returns the damage of a span. Without look it reads no file, and returns errLook if it
// would have to.
func (s *guarded) judge(span Span, now time.Time, look bool) (Damage, error) {
	if now.Sub(s.listed) >= guardFresh {
		if !look {
			return Damage{}, errLook
		}
		if err := s.list(); err != nil {
			return Damage{}, err
		}
		s.listed = now
	}
	expected := span.From // the first message of the span that no block has shown yet
	for i := range s.blocks {
		if s.blocks[i].begins > span.Through || i+1 < len(s.blocks) && s.blocks[i+1].begins <= span.From {
			continue
		}
		newest := i+1 == len(s.blocks)
		o, err := s.outline(i, now, look)
		if o == nil {
			return Damage{}, err
		}
		damage, err := s.compare(i, *o, expected, span, now, look)
		if newest || err != nil || damage.Reason != "" { // the newest one may have grown since the look, or be followed by others
			return damage, err
		}
		if o.First <= expected && expected <= o.Last {
			expected = o.Last + 1
		}
	}
	if expected <= span.Through && len(s.blocks) > 0 && s.blocks[len(s.blocks)-1].begins > expected {
		return Damage{expected, fmt.Sprintf("no block of %s has sequence %d in its place", s.folder, expected)}, nil
	}
	return Damage{}, nil
}

// compare returns the damage of a block that was looked at, also by its neighbours. expected is the
// first message of the span that may be in it.
func (s *guarded) compare(i int, o blocks.Outline, expected uint64, span Span, now time.Time, look bool) (Damage, error) {
	b, next, newest := s.blocks[i], o.Last+1, i+1 == len(s.blocks)
	if o.Last == 0 {
		next = expected
	}
	// The first sequence of a block is right if the second one follows it.
	first := o.First
	if o.First == o.Last && i > 0 {
		before, err := s.outline(i-1, now, look)
		switch {
		case err != nil:
			return Damage{}, err
		case before == nil || before.Wrong != "" || before.Torn || before.Last == 0:
		case o.Wrong != "" && o.First != before.Last+1:
			next = before.Last + 1
		case o.Last != 0:
			first = before.Last + 1
		}
	}
	switch {
	case o.Wrong != "":
		return Damage{next, o.Wrong}, nil
	case o.Torn && !newest:
		return Damage{next, fmt.Sprintf("%s ends within a record, and is not the newest block", b.path)}, nil
	case o.Torn && o.Last < span.Stored: // a stored record is cut; a record that is being written may be
		return Damage{next, fmt.Sprintf("%s ends within a record after sequence %d, and %d is stored", b.path, o.Last, span.Stored)}, nil
	case i == 0 && o.Last != 0 && o.First != span.First:
		return Damage{span.First, fmt.Sprintf("%s begins with sequence %d, and its stream with %d", b.path, o.First, span.First)}, nil
	case o.First != first:
		return Damage{first, fmt.Sprintf("%s begins with sequence %d, and the block before ends with %d", b.path, o.First, first-1)}, nil
	case newest && look && o.Last < span.Stored:
		return s.short(i, span)
	case newest || o.Last == 0 || s.blocks[i+1].begins == o.Last+1:
		return Damage{}, nil
	}
	// A length that is too long may end exactly with the file.
	after, err := s.outline(i+1, now, look)
	if err != nil || after == nil || after.First == after.Last || after.First == o.Last+1 {
		return Damage{}, err
	}
	return Damage{next, fmt.Sprintf("%s ends with sequence %d, and the next block begins with %d", b.path, o.Last, after.First)}, nil
}

// short returns the damage of the newest block if it ends before a stored message, and is still the
// newest one: a length that is too long may end exactly with the file.
func (s *guarded) short(i int, span Span) (Damage, error) {
	path := s.blocks[i].path
	if err := s.list(); err != nil || len(s.blocks) == 0 || s.blocks[len(s.blocks)-1].path != path {
		return Damage{}, err
	}
	o, err := blocks.OutlineOf(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && o.Last >= span.Stored:
		return Damage{}, nil
	case err != nil:
		return Damage{}, err
	}
	return Damage{o.Last + 1, fmt.Sprintf("%s ends with sequence %d, and %d is stored", path, o.Last, span.Stored)}, nil
}

// outline returns the outline of a block; nil if there is no such file any more. Without look it
// reads no file, and returns errLook if it would have to. An outline with damage does not count for
// later reads, because the block may be restored, and neither does that of a record that is being
// written.
func (s *guarded) outline(i int, now time.Time, look bool) (*blocks.Outline, error) {
	b := &s.blocks[i]
	newest := i+1 == len(s.blocks)
	if !b.looked.IsZero() && now.Sub(b.looked) < guardFresh && (newest || !b.newest) {
		return &b.outline, nil
	}
	if !look {
		return nil, errLook
	}
	o, err := blocks.OutlineOf(b.path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, blocks.ErrUnsupported) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if b.outline, b.newest, b.looked = o, newest, now; o.Torn || o.Wrong != "" {
		b.looked = time.Time{}
	}
	return &o, nil
}

// list reads which blocks there are, and their first records.
func (s *guarded) list() error {
	before := map[string]guardedBlock{}
	for _, b := range s.blocks {
		before[b.path] = b
	}
	s.blocks = nil
	files, err := blocks.Files(s.folder)
	for _, f := range files {
		first, beginsErr := begins(f.Path)
		if errors.Is(beginsErr, fs.ErrNotExist) {
			continue
		}
		if err = errors.Join(err, beginsErr); err != nil {
			break
		}
		if first == 0 {
			continue
		}
		b := guardedBlock{path: f.Path, begins: first}
		if known := before[f.Path]; known.begins == first {
			b = known
		}
		s.blocks = append(s.blocks, b)
	}
	if errors.Is(err, fs.ErrNotExist) { // the stream was dropped
		err = nil
	}
	if err != nil {
		s.blocks = nil
	}
	return err
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
