package eventstream

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/nats-io/nats-server/v2/server"

	"payledger/eventstore/disk"
)

// damage is what the running server has met in the files of the stream.
type damage struct {
	shut  atomic.Bool   // clients are refused
	found chan struct{} // has a value if there is a reason

	mu     sync.Mutex
	reason string
}

func (d *damage) forget() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.reason = ""
	select {
	case <-d.found:
	default:
	}
}

// Suspect ends the connections of all clients, and refuses new ones until Admit is called: a
// message may be damaged, and the server would skip it, or stall at it without an error. The writer
// must Restart the server, compare its State and then Admit clients. Suspect waits for nothing: the
// server calls it while it reads a block, before it skips one.
func (s *Server) Suspect(reason string) {
	s.damage.mu.Lock()
	s.damage.shut.Store(true)
	if s.damage.reason == "" {
		s.damage.reason = reason
	}
	s.damage.mu.Unlock()
	select {
	case s.damage.found <- struct{}{}:
	default:
	}
	s.front.cut()
}

// noteFile is the file in the server's folder with the reason why the writer must write the stream
// again.
const noteFile = "rewrite"

// Note keeps the reason why the writer must write the stream again, also after a kill of the
// process or a power failure; "" forgets it.
func (s *Server) Note(reason string) error {
	path := filepath.Join(s.config.Dir, noteFile)
	if reason != "" {
		return disk.Write(path, []byte(reason))
	}
	err := os.Remove(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	return disk.SyncFolder(s.config.Dir)
}

// Noted returns the reason that Note has kept, or "".
func (s *Server) Noted() string {
	reason, err := os.ReadFile(filepath.Join(s.config.Dir, noteFile))
	if err != nil {
		return ""
	}
	return cmp.Or(string(reason), "the process ended after it had found damage")
}

// Damaged returns a channel that gets a value when damage of the stream is suspected. One goroutine
// may receive from it.
func (s *Server) Damaged() <-chan struct{} { return s.damage.found }

// Damage returns the reason why clients were cut off, or "".
func (s *Server) Damage() string {
	s.damage.mu.Lock()
	defer s.damage.mu.Unlock()
	return s.damage.reason
}

// Admit lets clients connect, unless damage is suspected.
func (s *Server) Admit() {
	s.damage.mu.Lock()
	defer s.damage.mu.Unlock()
	if s.damage.reason == "" {
		s.damage.shut.Store(false)
	}
}

// serverLog reads the messages of the NATS server: whether it could not start, and whether it met
// damage. It drops the others.
type serverLog struct {
	failed  atomic.Bool
	damaged func(reason string)
}

// The beginnings of the messages that report damage, in nats-server 2.15.3: TestDamagedWhileServing
// of eventfeed fails if they change.
const (
	lookupFailed = "Received an error looking up message" // a consumer stalls there, and repeats it with each request
	blockFailed  = "Filestore [" + Name + "] loadBlock error"
	blockCorrupt = "Filestore [" + Name + "] indexCacheBuf corrupt"
)

func (l *serverLog) Warnf(format string, _ ...any) {
	if strings.HasPrefix(format, blockFailed) || strings.HasPrefix(format, blockCorrupt) {
		l.damaged("the server cannot read a block of messages")
	}
}

func (l *serverLog) Errorf(format string, values ...any) {
	if !strings.HasPrefix(format, lookupFailed) {
		return
	}
	for _, v := range values { // a stream that is being removed is no damage
		if err, ok := v.(error); ok && errors.Is(err, server.ErrStoreClosed) {
			return
		}
	}
	l.damaged("the server cannot read a message")
}

func (l *serverLog) Fatalf(string, ...any) { l.failed.Store(true) } // the server's Start returns then, and it is never ready
func (*serverLog) Noticef(string, ...any)  {}
func (*serverLog) Debugf(string, ...any)   {}
func (*serverLog) Tracef(string, ...any)   {}
