package simulator

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"payledger/processorsim/notify"
	"payledger/processorsim/server"
	"payledger/processorsim/simulator/books"
	"payledger/processorsim/timers"
)

// Config configures a simulator. Dir and Secret are required.
type Config struct {
	Dir       string           // the existing folder of the durable books; one simulator at a time uses it
	Secret    []byte           // signs notifications
	Token     string           // of the ledger's calls of the protocol and of the control API; "": none is needed
	Now       func() time.Time // the processors' time; nil means time.Now
	AfterFunc timers.AfterFunc // on the clock of Now; nil means time.AfterFunc
	Random    io.Reader        // for ids and the rates of faults; nil means crypto/rand. Reads are serialized.
	Log       zerolog.Logger   // the operator's; the zero value is silent
}

// Simulator is the running server of all six processors. Serve its Handler, and Close it.
type Simulator struct {
	log    zerolog.Logger
	now    func() time.Time
	books  *books.Books
	faults *faults
	timers *timers.Set
	sender *notify.Sender
	held   held
	server *server.Server

	once   sync.Once
	failed error // of Close
}

// New opens the books and continues pending operations. It fails if they are in use, or damaged
// elsewhere than in a torn last line.
func New(c Config) (*Simulator, error) {
	if c.Dir == "" || len(c.Secret) == 0 {
		return nil, errors.New("simulator: Dir and Secret are required")
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Random == nil {
		c.Random = rand.Reader
	}
	random := &sharedReader{from: c.Random}
	b, cut, err := books.Open(c.Dir, c.Now, random)
	if err != nil {
		return nil, fmt.Errorf("simulator: %w", err)
	}
	if cut > 0 {
		c.Log.Warn().Int("bytes", cut).Msg("cut a torn last line off the books")
	}
	s := &Simulator{log: c.Log, now: c.Now, books: b, faults: &faults{random: random}, timers: timers.New(c.AfterFunc)}
	s.sender = notify.New(notify.Config{Secret: c.Secret, Timers: s.timers, Done: s.notified, Tried: s.sendHeld, Log: c.Log})
	s.server = server.New(server.Config{Books: s, Token: c.Token, Log: c.Log})
	s.controls()
	s.resume(c.Now())
	return s, nil
}

// Handler serves the protocol and the control API, until Close and after it: then with 503.
func (s *Simulator) Handler() http.Handler { return s.server.Handler() }

// Close cuts held requests, waits for the others, stops timers and notifications and closes the
// books. The next start continues pending operations. Call it before http.Server.Shutdown, which
// would wait for the held requests. Calls after the first one return the result of the first.
func (s *Simulator) Close() error {
	s.once.Do(func() {
		s.server.Close()
		s.timers.Close()
		s.sender.Close()
		s.failed = s.books.Close()
	})
	return s.failed
}

func (s *Simulator) resume(now time.Time) {
	for _, due := range s.books.Pending() {
		s.timers.After(due.Wait(now), func() { _, _ = s.finish(due.ID) }) // finish logs its error
	}
	for _, o := range s.books.Unnotified() {
		s.notify(o)
	}
	for _, t := range s.books.Unreported() {
		s.notifyDispute(t)
	}
	s.awaitDisputes()
}

func (s *Simulator) finish(ids ...string) (int, error) {
	ended, err := s.books.Finish(ids...)
	if err != nil {
		s.log.Error().Err(err).Msg("pending operations could not be finished")
		return 0, err
	}
	for _, o := range ended {
		s.notify(o)
	}
	s.awaitDisputes()
	return len(ended), nil
}

type sharedReader struct {
	mu   sync.Mutex
	from io.Reader
}

func (r *sharedReader) Read(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return io.ReadFull(r.from, p)
}
