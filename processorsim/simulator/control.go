package simulator

import (
	"bufio"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/processorsim/protocol"
	"payledger/processorsim/simulator/books"
)

func (s *Simulator) postFault(w http.ResponseWriter, r *http.Request) error {
	fault, err := decode[protocol.Fault](r)
	if err != nil {
		return err
	}
	s.faults.add(fault)
	s.log.Info().Str("mode", string(fault.Mode)).Str("processor", string(fault.Processor)).
		Str("operation", string(fault.Operation)).Msg("fault set")
	return respond(w, fault, nil)
}

func (s *Simulator) getFaults(w http.ResponseWriter, _ *http.Request) error {
	return respond(w, struct {
		Faults []protocol.Fault `json:"faults"`
	}{s.faults.all()}, nil)
}

func (s *Simulator) deleteFaults(w http.ResponseWriter, _ *http.Request) error {
	s.faults.clear()
	return respond(w, struct{}{}, nil)
}

// act returns the handler of an out-of-band operation (D14.14). It sends no notification.
func (s *Simulator) act(kind processor.Kind) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		body, err := decode[struct {
			Reference domain.PaymentID `json:"reference"`
			Amount    *domain.Amount   `json:"amount"`
		}](r)
		if err != nil {
			return err
		}
		switch {
		case !domain.ValidID(string(body.Reference)):
			return invalid("reference is not an id")
		case body.Amount != nil && (*body.Amount < 1 || *body.Amount > domain.MaxAmount):
			return invalid("amount is out of range")
		case body.Amount != nil && kind == processor.Void:
			return invalid("void has no amount: it releases all that is left")
		}
		line, err := s.books.Act(kind, body.Reference, body.Amount)
		s.awaitDisputes()
		return respond(w, line, err)
	}
}

// postSettle finishes all pending operations (D14.15) and opens the disputes that are due later.
func (s *Simulator) postSettle(w http.ResponseWriter, _ *http.Request) error {
	pending := s.books.Pending()
	ids := make([]string, len(pending))
	for i, due := range pending {
		ids[i] = due.ID
	}
	settled, err := s.finish(ids...)
	if err != nil {
		return err
	}
	opened, err := s.openDisputes(s.books.DueDisputes()...)
	return respond(w, struct {
		Settled int `json:"settled"`
	}{settled + opened}, err)
}

// getBooks streams the books as JSON lines, one per operation, in order of creation (D14.16).
func (s *Simulator) getBooks(w http.ResponseWriter, r *http.Request) error {
	filter, err := booksFilter(r)
	if err != nil {
		return err
	}
	return s.lines(w, filter, func(e protocol.Entry) any { return e.Line })
}

func (s *Simulator) lines(w http.ResponseWriter, filter books.Filter, show func(protocol.Entry) any) error {
	w.Header().Set("Content-Type", "application/jsonl")
	lines := bufio.NewWriterSize(w, 64<<10)
	encoder := json.NewEncoder(lines)
	encoder.SetEscapeHTML(false)
	begun := false
	err := s.books.Entries(filter, func(e protocol.Entry) error {
		begun = true
		return encoder.Encode(show(e))
	})
	if err != nil && begun {
		return cut(w) // an incomplete list must not look complete
	}
	return errors.Join(err, lines.Flush())
}

func booksFilter(r *http.Request) (books.Filter, error) {
	q := r.URL.Query()
	filter := books.Filter{Reference: domain.PaymentID(q.Get("reference"))}
	if name := q.Get("processor"); name != "" {
		var err error
		if filter.Processor, err = processorName(name); err != nil {
			return filter, invalid("processor is none of the six")
		}
	}
	for name, at := range map[string]*time.Time{"from": &filter.From, "to": &filter.To} {
		if text := q.Get(name); text != "" {
			parsed, err := time.Parse(time.RFC3339Nano, text)
			if err != nil {
				return filter, invalid(name + " is not an RFC 3339 time")
			}
			*at = parsed
		}
	}
	return filter, nil
}
