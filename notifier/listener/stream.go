package listener

import (
	"context"
	"sync"
	"time"
)

// maxUnanswered bounds the requests of one stream that have no answer yet. Further ones wait.
const maxUnanswered = 32

// Stream has the requests for one reader.
type Stream struct {
	hub    *Hub
	lane   string
	next   chan *Exchange
	closed chan struct{}
	once   sync.Once
	slots  chan struct{}

	mu      sync.Mutex
	stop    func()               // ends the requests of other nodes; nil: there are none
	waiting map[string]*Exchange // without an answer yet, by id
}

// Exchange is a request and its answer.
type Exchange struct {
	Request
	begin Begin
	ended chan outcome
}

type outcome struct {
	answer Answer
	err    error
}

// Next waits for the next request. ErrCut means that the stream was closed.
func (s *Stream) Next(ctx context.Context) (*Exchange, error) {
	select {
	case e := <-s.next:
		return e, nil
	case <-s.closed:
		return nil, ErrCut
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Begin is called immediately before the first byte of the request, and end after the write. After
// an error it must not be written.
func (e *Exchange) Begin() (end func(), err error) {
	if end, err = e.begin(); err != nil {
		e.end(outcome{err: err})
	}
	return end, err
}

// end ends the exchange. Only the first call counts.
func (e *Exchange) end(o outcome) {
	select {
	case e.ended <- o:
	default:
	}
}

// Close ends the stream: its requests without an answer fail.
func (s *Stream) Close() {
	s.once.Do(func() {
		s.hub.mu.Lock()
		if s.hub.streams[s.lane] == s {
			delete(s.hub.streams, s.lane)
		}
		s.hub.mu.Unlock()
		s.mu.Lock()
		close(s.closed)
		stop := s.stop
		s.mu.Unlock()
		if stop != nil {
			stop()
		}
	})
}

// serveAway takes the requests of other nodes until the stream is closed.
func (s *Stream) serveAway(peers Peers) error {
	stop, err := peers.AnswerTo(topic+s.lane, s.fromAway)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.stop = stop
	s.mu.Unlock()
	select {
	case <-s.closed: // meanwhile, and Close may not have seen stop
		stop()
	default:
	}
	return nil
}

// Closed is closed when the stream has ended.
func (s *Stream) Closed() <-chan struct{} { return s.closed }

// send hands a request to the reader and waits for the answer. ErrNoReader: late (nil: never) came
// before the reader took the request.
func (s *Stream) send(ctx context.Context, r Request, begin Begin, late <-chan time.Time) (Answer, error) {
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-s.closed:
		return Answer{}, ErrNoReader
	case <-late:
		return Answer{}, ErrNoReader
	case <-ctx.Done():
		return Answer{}, ctx.Err()
	}
	e := &Exchange{Request: r, begin: begin, ended: make(chan outcome, 1)}
	s.mu.Lock()
	s.waiting[e.ID] = e
	s.mu.Unlock()
	defer s.forget(e)
	select {
	case s.next <- e:
	case <-s.closed:
		return Answer{}, ErrNoReader
	case <-late:
		return Answer{}, ErrNoReader
	case <-ctx.Done():
		return Answer{}, ctx.Err()
	}
	select {
	case o := <-e.ended:
		return o.answer, o.err
	case <-s.closed:
		return Answer{}, ErrCut
	case <-ctx.Done():
		return Answer{}, ctx.Err()
	}
}

func (s *Stream) forget(e *Exchange) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.waiting, e.ID)
}

func (s *Stream) answer(id string, a Answer) error {
	s.mu.Lock()
	e := s.waiting[id]
	delete(s.waiting, id)
	s.mu.Unlock()
	if e == nil {
		return ErrUnknown
	}
	e.end(outcome{answer: a})
	return nil
}
