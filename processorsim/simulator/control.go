package simulator

import (
	"errors"
	"net/http"
	"slices"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/processorsim/protocol"
	"payledger/processorsim/server"
	"payledger/processorsim/simulator/books"
)

// controls adds the control API (D14.13–16).
func (s *Simulator) controls() {
	handle := s.server.Handle
	handle(http.MethodPost, "/sim/faults", s.postFault)
	handle(http.MethodGet, "/sim/faults", s.getFaults)
	handle(http.MethodDelete, "/sim/faults", s.deleteFaults)
	handle(http.MethodPost, "/sim/capture", s.act(processor.Capture))
	handle(http.MethodPost, "/sim/refund", s.act(processor.Refund))
	handle(http.MethodPost, "/sim/void", s.act(processor.Void))
	handle(http.MethodPost, "/sim/settle", s.postSettle)
	handle(http.MethodPost, "/sim/disputes", s.postDispute)
	handle(http.MethodPatch, "/sim/disputes/{id}", s.patchDispute)
	handle(http.MethodGet, "/sim/books", s.getBooks)
}

func (s *Simulator) postFault(w http.ResponseWriter, r *http.Request) error {
	fault, err := server.Decode[protocol.Fault](r)
	if err != nil {
		return err
	}
	s.faults.add(fault)
	s.log.Info().Str("mode", string(fault.Mode)).Str("processor", string(fault.Processor)).
		Str("operation", string(fault.Operation)).Msg("fault set")
	return server.Respond(w, fault, nil)
}

func (s *Simulator) getFaults(w http.ResponseWriter, _ *http.Request) error {
	return server.Respond(w, struct {
		Faults []protocol.Fault `json:"faults"`
	}{s.faults.all()}, nil)
}

func (s *Simulator) deleteFaults(w http.ResponseWriter, _ *http.Request) error {
	s.faults.clear()
	return server.Respond(w, struct{}{}, nil)
}

// act returns the handler of an out-of-band operation (D14.14). It sends no notification.
func (s *Simulator) act(kind processor.Kind) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		body, err := server.Decode[struct {
			Reference domain.PaymentID `json:"reference"`
			Amount    *domain.Amount   `json:"amount"`
		}](r)
		if err != nil {
			return err
		}
		switch {
		case !domain.ValidID(string(body.Reference)):
			return server.Invalid("reference is not an id")
		case body.Amount != nil && (*body.Amount < 1 || *body.Amount > domain.MaxAmount):
			return server.Invalid("amount is out of range")
		case body.Amount != nil && kind == processor.Void:
			return server.Invalid("void has no amount: it releases all that is left")
		}
		line, err := s.books.Act(kind, body.Reference, body.Amount)
		s.awaitDisputes()
		return server.Respond(w, line, refused(err))
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
	return server.Respond(w, struct {
		Settled int `json:"settled"`
	}{settled + opened}, err)
}

// getBooks writes the books as JSON lines, one per operation, in order of creation (D14.16).
func (s *Simulator) getBooks(w http.ResponseWriter, r *http.Request) error {
	filter, err := server.ReadFilter(r)
	if err != nil {
		return err
	}
	if filter.Processor = processor.Name(r.URL.Query().Get("processor")); filter.Processor != "" && !slices.Contains(processor.Names, filter.Processor) {
		return server.Invalid("there is no such processor")
	}
	return s.server.Lines(w, r, filter, func(e protocol.Entry) any { return e.Line })
}

// refused returns the answer to an act that the rules of the books refuse.
func refused(err error) error {
	if refusal, is := errors.AsType[*books.Refused](err); is {
		return server.Problem(http.StatusUnprocessableEntity, refusal.Code, refusal.Message)
	}
	if errors.Is(err, books.ErrNoDispute) {
		return server.Problem(http.StatusNotFound, protocol.CodeNotFound, err.Error())
	}
	return err
}
