package folder

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"payledger/eventstore/blocks"
	"payledger/eventstore/streams"
)

// Guard looks at blocks before a running server reads them: damage can mislead the server until it
// has no memory left, or until it cuts acknowledged messages off (blocks.OutlineOf). A start does
// not read the blocks of closed segments, and the same damage would do the same after each start.
type Guard struct {
	dir      string
	patience time.Duration
	now      func() time.Time

	mu      sync.Mutex
	streams map[string]*guarded
}

// Span is what a request needs of a stream.
type Span struct {
	Stream        string
	First         uint64 // the stream's first sequence
	From, Through uint64 // the messages that are to be read
	// Stored is a sequence up to which messages were stored before the call; 0: it is not known.
	Stored uint64
	// On means that the server leaves out messages that are bad, and goes on after Through, perhaps
	// in the next block.
	On bool
	// Appends means that the server also appends to the newest block, for a message or for the mark
	// of a deleted one.
	Appends bool
}

// Damage is the place from which a stream must not be read.
type Damage struct {
	Seq    uint64 // of the first message that is wrong or missing
	Reason string // "": there is no damage
}

// guarded is a stream that was read.
type guarded struct {
	folder  string
	deletes bool          // messages of the stream may be deleted
	held    chan struct{} // holds a value while somebody uses the rest
	listed  time.Time
	blocks  []guardedBlock // in the order of their files
	late    judged         // damage that was found after nobody waited for the look any more
}

type guardedBlock struct {
	path    string
	begins  uint64 // the sequence in its first record, unchecked; 0: it cannot be read
	outline blocks.Outline
	looked  time.Time // when outline was read; zero: there is none that counts
	newest  bool      // it was the newest block then, and may have grown
}

// NewGuard returns the guard of the log's streams in a server's folder. A look at the files that
// takes longer than patience fails.
func NewGuard(dir string, patience time.Duration, now func() time.Time) *Guard {
	return &Guard{dir: dir, patience: patience, now: now, streams: map[string]*guarded{}}
}

// Fresh is how long a look at a block counts. The server keeps a block in memory for about as long,
// and the system keeps the bytes of the file.
const Fresh = 10 * time.Second

// errLook means that a file must be read.
var errLook = errors.New("folder: a block was not looked at")

// Check returns the damage because of which the server must not read a span. It fails if the look
// takes too long: a lost disk does not answer. Then one goroutine for each stream waits for the
// disk. If that look finds damage, the next Check of the block returns it: a disk may take longer
// than patience to report a bad sector.
func (g *Guard) Check(ctx context.Context, span Span) (Damage, error) {
	s := g.stream(span.Stream)
	ctx, cancel := context.WithTimeout(ctx, g.patience)
	defer cancel()
	select {
	case s.held <- struct{}{}:
	case <-ctx.Done():
		return Damage{}, s.overdue(ctx)
	}
	if s.late.of(span) {
		damage := s.late.Damage
		s.late = judged{}
		<-s.held
		return damage, nil
	}
	if known := s.judge(view{span, g.now(), false}); known.err == nil && known.Reason == "" {
		<-s.held
		return Damage{}, nil
	}
	looked := make(chan judged)
	go func() {
		defer func() { <-s.held }()
		found := s.certain(func() judged { return s.judge(view{span, g.now(), true}) })
		select {
		case looked <- found:
		case <-ctx.Done():
			if found.Reason != "" {
				s.late = found
			}
		}
	}()
	select {
	case found := <-looked:
		return found.Damage, found.err
	case <-ctx.Done():
		return Damage{}, s.overdue(ctx)
	}
}

// stream returns a stream. For a new one it drops those whose looks do not count any more.
func (g *Guard) stream(name string) *guarded {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := g.streams[name]
	if s == nil {
		for other, s := range g.streams {
			if s.idle(g.now()) {
				delete(g.streams, other)
			}
		}
		s = &guarded{folder: of(g.dir, name), deletes: streams.KindIn(name).Destroys, held: make(chan struct{}, 1)}
		g.streams[name] = s
	}
	return s
}

// idle reports whether nobody looks at the stream, and no result of a look counts any more.
func (s *guarded) idle(now time.Time) bool {
	select {
	case s.held <- struct{}{}:
		defer func() { <-s.held }()
		return s.late.Reason == "" && now.Sub(s.listed) >= Fresh
	default:
		return false
	}
}

func (s *guarded) overdue(ctx context.Context) error {
	return fmt.Errorf("eventstore: a look at the files of %s: %w", s.folder, ctx.Err())
}

// view is what a span is judged by.
type view struct {
	span Span
	now  time.Time
	look bool // files may be read; else errLook
}

// judge returns the damage of a span, as far as one look shows it.
func (s *guarded) judge(v view) judged {
	if v.now.Sub(s.listed) >= Fresh {
		if !v.look {
			return judged{err: errLook}
		}
		if err := s.list(); unreadable(err) {
			return judged{Damage: Damage{v.span.From, err.Error()}, before: math.MaxUint64, lost: true}
		} else if err != nil {
			return judged{err: err}
		}
		s.listed = v.now
	}
	if s.deletes {
		return s.judgeDeletes(v)
	}
	expected, on := v.span.From, v.span.On // the first message of the span that no block has shown yet
	for i, b := range s.blocks {
		behind := b.begins > v.span.Through || expected > v.span.Through
		if s.after(i) <= v.span.From || behind && !on {
			continue
		}
		on = on && !behind
		o, err := s.outline(i, v)
		switch {
		case unreadable(err) && behind: // a read may end before it, and the server cuts no file that it cannot read
			continue
		case unreadable(err):
			if o.Last > 0 {
				expected = o.Last + 1
			}
			found := s.in(i, Damage{expected, err.Error()})
			found.lost = true
			return found
		case err != nil || o == nil:
			return judged{err: err}
		}
		damage, err := s.compare(i, *o, expected, v)
		switch {
		case err != nil:
			return judged{err: err}
		case damage.Reason != "":
			return s.in(i, damage)
		}
		if o.First <= expected && expected <= o.Last {
			expected = o.Last + 1
		}
	}
	if last := len(s.blocks) - 1; expected <= v.span.Through && last >= 0 && s.blocks[last].begins > expected {
		return s.in(last, Damage{expected, fmt.Sprintf("no block of %s has sequence %d in its place", s.folder, expected)})
	}
	return judged{} // the newest block may have grown since the look, or be followed by others
}

// unreadable reports whether an error is the disk's: it has lost a part of a file.
func unreadable(err error) bool { return errors.Is(err, syscall.EIO) }

// after returns the sequence with which the next block begins whose beginning can be read; the
// largest number without one.
func (s *guarded) after(i int) uint64 {
	for _, b := range s.blocks[i+1:] {
		if b.begins != 0 {
			return b.begins
		}
	}
	return math.MaxUint64
}

// compare returns the damage of a block that was looked at, also by its neighbours. expected is the
// first message of the span that may be in it.
func (s *guarded) compare(i int, o blocks.Outline, expected uint64, v view) (Damage, error) {
	b, newest, first := s.blocks[i], i+1 == len(s.blocks), o.First
	if i == 0 || o.First == o.Last { // else the second sequence shows that the first one is right
		var err error
		if first, err = s.begin(i, v); err != nil {
			return Damage{}, err
		}
	}
	last, next, misplaced := o.Last, o.Last+1, o.Last != 0 && first != 0 && o.First != first
	switch {
	case misplaced:
		next = first
	case o.Last == 0 && first != 0: // it holds no message yet
		last, next = first-1, first
	case o.Last == 0:
		last, next = math.MaxUint64, expected
	}
	switch {
	case o.Wrong != "":
		return Damage{next, o.Wrong}, nil
	case o.Torn && !newest:
		return Damage{next, fmt.Sprintf("%s ends within a record, and is not the newest block", b.path)}, nil
	case misplaced && i == 0:
		return Damage{next, fmt.Sprintf("%s begins with sequence %d, and its stream with %d", b.path, o.First, first)}, nil
	case misplaced:
		return Damage{next, fmt.Sprintf("%s begins with sequence %d, and the block before ends with %d", b.path, o.First, first-1)}, nil
	case !newest:
		return s.follows(i, o, v)
	case !v.look || last >= v.span.Stored: // without a look it may have grown
		return Damage{}, nil
	case o.Torn: // a stored record is cut; a record that is being written may be
		return Damage{next, fmt.Sprintf("%s ends within a record after sequence %d, and %d is stored", b.path, last, v.span.Stored)}, nil
	}
	// A length that is too long may end exactly with the file.
	return Damage{next, fmt.Sprintf("%s ends with sequence %d, and %d is stored", b.path, last, v.span.Stored)}, nil
}

// begin returns the sequence with which a block must begin, by the blocks before it; 0 if they do
// not show it. The sequence of a block's only message may be wrong.
func (s *guarded) begin(i int, v view) (uint64, error) {
	if i == 0 {
		return v.span.First, nil
	}
	o, err := s.outline(i-1, v)
	switch {
	case unreadable(err):
		return 0, nil
	case err != nil || o == nil || o.Wrong != "" || o.Torn:
		return 0, err
	case o.First < o.Last:
		return o.Last + 1, nil
	}
	first, err := s.begin(i-1, v)
	if first != 0 && o.Last != 0 {
		first++
	}
	return first, err
}

// follows returns the damage of a block that is not the newest one if the next block does not
// follow it: a length that is too long may end exactly with the file.
func (s *guarded) follows(i int, o blocks.Outline, v view) (Damage, error) {
	b, next := s.blocks[i], s.blocks[i+1]
	if o.Last == 0 || next.begins == o.Last+1 {
		return Damage{}, nil
	}
	after, err := s.outline(i+1, v)
	if unreadable(err) {
		return Damage{}, nil
	}
	if err != nil || after == nil {
		return Damage{}, err
	}
	begins := after.First
	if after.Last == 0 && after.Torn { // its only record is being written
		begins = next.begins
	}
	if begins == 0 || begins == o.Last+1 || after.Wrong != "" { // that is found in the next block
		return Damage{}, nil
	}
	return Damage{o.Last + 1, fmt.Sprintf("%s ends with sequence %d, and the next block begins with %d", b.path, o.Last, begins)}, nil
}

// outline returns the outline of a block; nil if there is no such file any more. An outline with
// damage does not count for later reads, because the block may be restored, and neither does that
// of a record that is being written.
func (s *guarded) outline(i int, v view) (*blocks.Outline, error) {
	b := &s.blocks[i]
	newest := i+1 == len(s.blocks)
	if !b.looked.IsZero() && v.now.Sub(b.looked) < Fresh && (newest || !b.newest) {
		return &b.outline, nil
	}
	if !v.look {
		return nil, errLook
	}
	o, err := s.look(b.path, newest, v.span.Stored)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, blocks.ErrUnsupported) {
		return nil, nil
	}
	if err != nil {
		return &o, err
	}
	if b.outline, b.newest, b.looked = o, newest, v.now; o.Torn || o.Wrong != "" {
		b.looked = time.Time{}
	}
	return &o, nil
}

// look reads a block. In the newest block of a stream with deletes it reads the messages that were
// stored before the call.
func (s *guarded) look(path string, newest bool, stored uint64) (blocks.Outline, error) {
	name := filepath.Base(s.folder)
	switch {
	case !s.deletes:
		return blocks.OutlineOf(path, name)
	case !newest:
		stored = 0
	}
	return blocks.CheckedOutlineOf(path, name, stored)
}

// begins returns the sequence in the first record of a block, unchecked; 0 if there is none. In a
// stream with deletes marks of deleted messages may come before the first message.
func (s *guarded) begins(path string) (uint64, error) {
	if s.deletes {
		return blocks.FirstMessageIn(path)
	}
	return blocks.FirstIn(path)
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
		first, beginsErr := s.begins(f.Path)
		if errors.Is(beginsErr, fs.ErrNotExist) || beginsErr == nil && first == 0 && !s.deletes {
			continue
		}
		if beginsErr != nil && !unreadable(beginsErr) {
			err = beginsErr
			break
		}
		b := guardedBlock{path: f.Path, begins: first}
		if old, there := before[f.Path]; there && old.begins == first {
			b = old
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
