package server

import (
	"io"
	"net/http"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/processorsim/protocol"
)

func (s *Server) postOperation(w http.ResponseWriter, r *http.Request) error {
	op, err := s.readOperation(r)
	if err != nil {
		return err
	}
	ctx, end := s.during(r)
	defer end()
	answer, err := s.books.Send(ctx, op)
	if err != nil {
		return err
	}
	return respondAnswer(w, answer)
}

func (s *Server) readOperation(r *http.Request) (processor.Operation, error) {
	name, err := s.named(r)
	if err != nil {
		return processor.Operation{}, err
	}
	key, err := checkKey(r.Header.Get(protocol.HeaderIdempotencyKey))
	if err != nil {
		return processor.Operation{}, err
	}
	body, err := readBody(r)
	if err != nil {
		return processor.Operation{}, err
	}
	return decodeOperation(body, name, key)
}

func (s *Server) getOperation(w http.ResponseWriter, r *http.Request) error {
	name, key, err := s.keyed(r)
	if err != nil {
		return err
	}
	ctx, end := s.during(r)
	defer end()
	lookup, err := s.books.Lookup(ctx, name, key)
	return Respond(w, lookup, err)
}

func (s *Server) postFence(w http.ResponseWriter, r *http.Request) error {
	name, key, err := s.keyed(r)
	if err != nil {
		return err
	}
	if n, _ := io.ReadFull(r.Body, make([]byte, 1)); n > 0 {
		return Problem(http.StatusBadRequest, protocol.CodeInvalidRequest, "fence has no body")
	}
	ctx, end := s.during(r)
	defer end()
	lookup, err := s.books.Fence(ctx, name, key)
	return Respond(w, lookup, err)
}

// getOperations returns all operations of a payment at one processor or, without a reference, all
// between two times as JSON lines.
func (s *Server) getOperations(w http.ResponseWriter, r *http.Request) error {
	name, err := s.named(r)
	if err != nil {
		return err
	}
	if !r.URL.Query().Has("reference") {
		filter, err := readTimes(r)
		if err != nil {
			return err
		}
		filter.Processor = name
		return s.Lines(w, r, filter, func(e protocol.Entry) any { return e.Listed() })
	}
	reference := r.URL.Query().Get("reference")
	if !domain.ValidID(reference) {
		return Invalid("reference is not an id")
	}
	ctx, end := s.during(r)
	defer end()
	found := protocol.Entries{Operations: []protocol.Entry{}}
	err = s.books.Entries(ctx, protocol.Filter{Processor: name, Reference: domain.PaymentID(reference)},
		func(e protocol.Entry) error { found.Operations = append(found.Operations, e.Listed()); return nil })
	return Respond(w, found, err)
}
