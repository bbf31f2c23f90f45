package folder

import (
	"fmt"
	"sync"
	"time"

	"payledger/eventstore/blocks"
)

// Guard looks at blocks of streams without deletes before a running server reads them: damage can
// mislead the server until it has no memory left (blocks.Misleads). A start does not read the
// blocks of closed segments, and the same damage would end the process after each start.
type Guard struct {
	dir, account string
	now          func() time.Time

	mu      sync.Mutex
	streams map[string]*guarded
}

// guarded is a stream that was read.
type guarded struct {
	mu     sync.Mutex
	listed time.Time
	blocks []guardedBlock // oldest first
}

type guardedBlock struct {
	path   string
	first  uint64    // sequence
	looked time.Time // when nothing was wrong
}

// NewGuard returns the guard of an account's streams in a server's folder.
func NewGuard(dir, account string, now func() time.Time) *Guard {
	return &Guard{dir: dir, account: account, now: now, streams: map[string]*guarded{}}
}

// guardFresh is how long a look at a block counts. The server keeps a block in memory for as long,
// and the system keeps the bytes of the file.
const guardFresh = 10 * time.Second

// Check returns why the server must not read the messages from..through of a stream, or "".
func (g *Guard) Check(stream string, from, through uint64) string {
	g.mu.Lock()
	s := g.streams[stream]
	if s == nil {
		s = &guarded{}
		g.streams[stream] = s
	}
	g.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	now := g.now()
	if now.Sub(s.listed) >= guardFresh {
		if reason := s.list(blocks.Folder(g.dir, g.account, stream)); reason != "" {
			return reason
		}
		s.listed = now
	}
	for i := range s.blocks {
		b := &s.blocks[i]
		if b.first > through {
			break
		}
		if i+1 < len(s.blocks) && s.blocks[i+1].first <= from || now.Sub(b.looked) < guardFresh {
			continue
		}
		if reason := misleads(b.path); reason != "" {
			return reason
		}
		b.looked = now
	}
	return ""
}

// list reads which blocks there are. It returns a reason if the first sequences do not ascend.
func (s *guarded) list(folder string) (reason string) {
	files, _ := blocks.Files(folder) // none: the stream was dropped, or the server cannot read it either
	before := s.blocks
	s.blocks = nil
	for _, f := range files {
		first, err := blocks.FirstIn(f.Path)
		if err != nil || first == 0 { // empty
			continue
		}
		if n := len(s.blocks); n > 0 && first <= s.blocks[n-1].first {
			return fmt.Sprintf("%s begins with sequence %d, and the block before with %d", f.Path, first, s.blocks[n-1].first)
		}
		b := guardedBlock{path: f.Path, first: first}
		for _, known := range before {
			if known.path == b.path && known.first == b.first {
				b.looked = known.looked
			}
		}
		s.blocks = append(s.blocks, b)
	}
	return ""
}

// misleads looks at a block twice if it looks damaged: it may be being written.
func misleads(path string) (reason string) {
	for range 2 {
		var err error
		if reason, err = blocks.Misleads(path); err != nil || reason == "" { // an error: dropped, or the server cannot read it either
			return ""
		}
	}
	return reason
}
