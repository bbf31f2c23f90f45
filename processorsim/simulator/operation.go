package simulator

import (
	"io"
	"net/http"
	"time"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/processorsim/protocol"
	"payledger/processorsim/simulator/books"
)

// postOperation handles one operation (D14.1) with its faults in their order.
func (s *Simulator) postOperation(w http.ResponseWriter, r *http.Request) error {
	op, err := readOperation(r)
	if err != nil {
		return err
	}
	if _, hit := s.faults.draw(op.Processor, op.Kind, protocol.DropBefore); hit {
		return cut(w)
	}
	admission, err := s.books.Admit(op)
	if err != nil {
		return err
	}
	answer, silent := admission.Answer, false
	if admission.Admitted {
		performed, err := s.perform(r, op)
		if err != nil {
			return err
		}
		answer, silent = performed.Operation.Answer, performed.Silent
	}
	if _, hit := s.faults.draw(op.Processor, op.Kind, protocol.DropAfter); hit {
		return cut(w)
	}
	if silent {
		return s.hold(w, r)
	}
	return respondAnswer(w, answer)
}

func readOperation(r *http.Request) (processor.Operation, error) {
	name, _, err := target(r)
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

func (s *Simulator) perform(r *http.Request, op processor.Operation) (books.Performed, error) {
	if fault, hit := s.faults.draw(op.Processor, op.Kind, protocol.Latency); hit {
		s.delay(r, time.Duration(fault.DelayMs)*time.Millisecond)
	}
	_, technical := s.faults.draw(op.Processor, op.Kind, protocol.TechnicalError)
	performed, err := s.books.Perform(op, technical)
	if err != nil {
		return performed, err
	}
	o := performed.Operation
	if o.Answer.State == processor.Pending {
		s.schedule.after(o.Due.Sub(o.CreatedAt), func() { _, _ = s.finish(o.ID) }) // finish logs its error
	}
	s.awaitDisputes()
	s.log.Debug().Str("processor", string(o.Processor)).Str("operation", string(o.Kind)).
		Str("key", string(o.Key)).Str("state", string(o.Answer.State)).Str("code", o.Answer.Code).Msg("performed")
	return performed, nil
}

// delay waits on the injected clock, until the client disconnects or Close at the latest.
func (s *Simulator) delay(r *http.Request, d time.Duration) {
	over := make(chan struct{})
	cancel := s.schedule.after(d, func() { close(over) })
	defer cancel()
	select {
	case <-over:
	case <-r.Context().Done():
	case <-s.closing:
	}
}

// hold never answers: the request ends when the client disconnects, or at Close.
func (s *Simulator) hold(w http.ResponseWriter, r *http.Request) error {
	select {
	case <-r.Context().Done():
	case <-s.closing:
	}
	return cut(w)
}

func (s *Simulator) getOperation(w http.ResponseWriter, r *http.Request) error {
	name, key, err := target(r)
	if err != nil {
		return err
	}
	lookup, err := s.books.Lookup(name, key)
	return respond(w, lookup, err)
}

func (s *Simulator) postFence(w http.ResponseWriter, r *http.Request) error {
	name, key, err := target(r)
	if err != nil {
		return err
	}
	if n, _ := io.ReadFull(r.Body, make([]byte, 1)); n > 0 {
		return problem(http.StatusBadRequest, protocol.CodeInvalidRequest, "fence has no body")
	}
	lookup, err := s.books.Fence(name, key)
	return respond(w, lookup, err)
}

// getOperations returns all operations of a payment at one processor or, without a reference, all
// between two times as JSON lines.
func (s *Simulator) getOperations(w http.ResponseWriter, r *http.Request) error {
	name, _, err := target(r)
	if err != nil {
		return err
	}
	if !r.URL.Query().Has("reference") {
		filter, err := booksFilter(r)
		if err != nil {
			return err
		}
		filter.Processor = name
		return s.lines(w, filter, func(e protocol.Entry) any { return e })
	}
	reference := r.URL.Query().Get("reference")
	if !domain.ValidID(reference) {
		return invalid("reference is not an id")
	}
	found := protocol.Entries{Operations: []protocol.Entry{}}
	err = s.books.Entries(books.Filter{Processor: name, Reference: domain.PaymentID(reference)},
		func(e protocol.Entry) error { found.Operations = append(found.Operations, e); return nil })
	return respond(w, found, err)
}
