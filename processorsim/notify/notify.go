package notify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"payledger/processorsim/protocol"
	"payledger/processorsim/timers"
)

const (
	workers = 8
	timeout = 10 * time.Second
	retries = 6 // after 1, 2, 4, 8, 16 and 32 s
)

// Notification is a body to send to a URL.
type Notification struct {
	ID     string // names it for Config.Done
	URL    string
	Body   []byte
	Copies int  // the number of times it is sent, at least once: a processor may err
	Once   bool // it is given up after one attempt

	attempt int
}

// Config configures a Sender. Secret, Timers and Done are required.
type Config struct {
	Secret []byte          // signs the bodies
	Timers *timers.Set     // for the retries
	Done   func(id string) // the notification was delivered, or given up
	Lost   func(id string) // the notification was given up; nil: Done is called
	Tried  func()          // called after each attempt; nil: nobody listens
	Log    zerolog.Logger
}

// Sender sends signed notifications until a 2xx or the end of the retries.
type Sender struct {
	Config
	client *http.Client
	ctx    context.Context // ends requests at Close
	cancel context.CancelFunc
	group  sync.WaitGroup

	mu     sync.Mutex
	work   *sync.Cond
	queue  []*Notification
	closed bool
}

// New starts a sender. Close it.
func New(c Config) *Sender {
	s := &Sender{Config: c}
	if s.Tried == nil {
		s.Tried = func() {}
	}
	if s.Lost == nil {
		s.Lost = s.Done
	}
	s.work = sync.NewCond(&s.mu)
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.client = &http.Client{
		Timeout:       timeout,
		Transport:     &http.Transport{MaxIdleConnsPerHost: workers, IdleConnTimeout: 30 * time.Second},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	for range workers {
		s.group.Go(s.run)
	}
	return s
}

// Close cancels requests and waits for the workers. Undelivered notifications are not Done: send
// them again after the next start.
func (s *Sender) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.cancel()
	s.work.Broadcast()
	s.group.Wait()
	s.client.CloseIdleConnections()
}

// Send sends notifications, each as soon as a worker is free.
func (s *Sender) Send(n ...*Notification) {
	s.mu.Lock()
	s.queue = append(s.queue, n...)
	s.mu.Unlock()
	for range n {
		s.work.Signal()
	}
}

func (s *Sender) run() {
	for {
		s.mu.Lock()
		for len(s.queue) == 0 && !s.closed {
			s.work.Wait()
		}
		if s.closed {
			s.mu.Unlock()
			return
		}
		n := s.queue[0]
		s.queue = s.queue[1:]
		s.mu.Unlock()
		s.try(n)
	}
}

func (s *Sender) try(n *Notification) {
	err := s.post(n)
	if err != nil && s.ctx.Err() != nil {
		return // closing: the outcome is unknown, and the next start sends it again
	}
	defer s.Tried()
	if err == nil {
		if n.Copies--; n.Copies > 0 {
			s.Send(n)
			return
		}
		s.Done(n.ID)
		return
	}
	if n.Once || n.attempt == retries {
		s.Lost(n.ID)
		s.Log.Warn().Err(err).Str("notification", n.ID).Msg("notification given up")
		return
	}
	wait := time.Second << n.attempt
	n.attempt++
	s.Timers.After(wait, func() { s.Send(n) })
}

func (s *Sender) post(n *Notification) error {
	r, err := http.NewRequestWithContext(s.ctx, http.MethodPost, n.URL, bytes.NewReader(n.Body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set(protocol.HeaderSignature, protocol.Sign(s.Secret, n.Body))
	response, err := s.client.Do(r)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	// Reading a little allows the reuse of the connection.
	if _, err := io.CopyN(io.Discard, response.Body, protocol.MaxBody); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return fmt.Errorf("the receiver answered %d", response.StatusCode)
	}
	return nil
}
