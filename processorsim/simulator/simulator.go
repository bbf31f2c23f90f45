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

	"payledger/processorsim/simulator/books"
)

// Config configures a simulator. Dir and Secret are required.
type Config struct {
	Dir    string           // the existing folder of the durable books; one simulator at a time uses it
	Secret []byte           // signs notifications
	Now    func() time.Time // the processors' time; nil means time.Now
	// AfterFunc calls f in its own goroutine after d on the clock of Now; stop prevents the call
	// and reports whether it did. nil means time.AfterFunc.
	AfterFunc func(d time.Duration, f func()) (stop func() bool)
	Random    io.Reader      // for ids and the rates of faults; nil means crypto/rand. Reads are serialized.
	Log       zerolog.Logger // the operator's; the zero value is silent
}

// Simulator is the running server of all six processors. Serve its Handler, and Close it.
type Simulator struct {
	log      zerolog.Logger
	now      func() time.Time
	books    *books.Books
	faults   *faults
	schedule *schedule
	notifier *notifier
	handler  http.Handler
	closing  chan struct{} // closed by Close: held requests are cut

	mu     sync.Mutex
	closed bool
	inside sync.WaitGroup // requests that use the books
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
	if c.AfterFunc == nil {
		c.AfterFunc = func(d time.Duration, f func()) func() bool { return time.AfterFunc(d, f).Stop }
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
	s := &Simulator{
		log: c.Log, now: c.Now, books: b, faults: &faults{random: random}, closing: make(chan struct{}),
		schedule: &schedule{afterFunc: c.AfterFunc, stops: map[uint64]func() bool{}},
	}
	s.notifier = newNotifier(c.Secret, s.schedule, s.faults, s.notified, c.Log)
	s.handler = s.routes()
	s.resume(c.Now())
	return s, nil
}

// Handler serves the protocol and the control API, until Close and after it: then with 503.
func (s *Simulator) Handler() http.Handler { return s.handler }

// Close cuts held requests, waits for the others, stops timers and notifications and closes the
// books. The next start continues pending operations. Call it before http.Server.Shutdown, which
// would wait for the held requests.
func (s *Simulator) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	close(s.closing)
	s.mu.Unlock()
	s.inside.Wait()
	s.schedule.close()
	s.notifier.close()
	return s.books.Close()
}

// enter counts a request in; false after Close. inside.Done must follow.
func (s *Simulator) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.inside.Add(1)
	return true
}

func (s *Simulator) resume(now time.Time) {
	for _, due := range s.books.Pending() {
		s.schedule.after(due.Wait(now), func() { _, _ = s.finish(due.ID) }) // finish logs its error
	}
	for _, o := range s.books.Unnotified() {
		s.notifier.send(o)
	}
	for _, t := range s.books.Unreported() {
		s.notifier.sendDispute(t)
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
		s.notifier.send(o)
	}
	s.awaitDisputes()
	return len(ended), nil
}

func (s *Simulator) notified(id string) {
	if err := s.books.Notified(id); err != nil {
		s.log.Error().Err(err).Str("operation", id).Msg("the end of a notification could not be recorded")
	}
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
