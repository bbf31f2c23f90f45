package simulator

import (
	"context"
	"slices"
	"time"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/processorsim/protocol"
	"payledger/processorsim/server"
	"payledger/processorsim/simulator/books"
)

var _ server.Books = (*Simulator)(nil)

// Declaration returns that of each processor: the simulated ones can do everything.
func (s *Simulator) Declaration(name processor.Name) (protocol.Declaration, bool) {
	return protocol.Declaration{
		Protocol: protocol.Version, Processor: name, Connector: "payledger simulator", Simulated: true, Cannot: []protocol.Lack{},
		TestCards: testCards,
	}, slices.Contains(processor.Names, name)
}

// Send carries out one operation (D14.1) with its faults in their order.
func (s *Simulator) Send(ctx context.Context, op processor.Operation) (processor.Answer, error) {
	if _, hit := s.faults.draw(op.Processor, op.Kind, protocol.DropBefore); hit {
		return processor.Answer{}, server.ErrCut
	}
	admission, err := s.books.Admit(op)
	if err != nil {
		return processor.Answer{}, err
	}
	answer, silent := admission.Answer, false
	if admission.Admitted {
		performed, err := s.perform(ctx, op)
		if err != nil {
			return processor.Answer{}, err
		}
		answer, silent = performed.Operation.Answer, performed.Silent
		answer.CardToken = performed.Token
	}
	if _, hit := s.faults.draw(op.Processor, op.Kind, protocol.DropAfter); hit {
		return processor.Answer{}, server.ErrCut
	}
	if silent { // never answered: the request ends when the client goes away, or at Close
		<-ctx.Done()
		return processor.Answer{}, server.ErrCut
	}
	return answer, nil
}

func (s *Simulator) perform(ctx context.Context, op processor.Operation) (books.Performed, error) {
	if fault, hit := s.faults.draw(op.Processor, op.Kind, protocol.Latency); hit {
		s.delay(ctx, time.Duration(fault.DelayMs)*time.Millisecond)
	}
	_, technical := s.faults.draw(op.Processor, op.Kind, protocol.TechnicalError)
	performed, err := s.books.Perform(op, technical)
	if err != nil {
		return performed, err
	}
	o := performed.Operation
	if o.Answer.State == processor.Pending {
		s.timers.After(o.Due.Sub(o.CreatedAt), func() { _, _ = s.finish(o.ID) }) // finish logs its error
	}
	s.awaitDisputes()
	s.log.Debug().Str("processor", string(o.Processor)).Str("operation", string(o.Kind)).
		Str("key", string(o.Key)).Str("state", string(o.Answer.State)).Str("code", o.Answer.Code).Msg("performed")
	return performed, nil
}

// delay waits on the injected clock, until the client goes away or Close at the latest.
func (s *Simulator) delay(ctx context.Context, d time.Duration) {
	over := make(chan struct{})
	cancel := s.timers.After(d, func() { close(over) })
	defer cancel()
	select {
	case <-over:
	case <-ctx.Done():
	}
}

// Lookup returns the state of the operation with the key.
func (s *Simulator) Lookup(_ context.Context, name processor.Name, key domain.OperationKey) (processor.Lookup, error) {
	return s.books.Lookup(name, key)
}

// Fence refuses the key from now on. If the key was seen before, Fence is Lookup.
func (s *Simulator) Fence(_ context.Context, name processor.Name, key domain.OperationKey) (processor.Lookup, error) {
	return s.books.Fence(name, key)
}

// Entries calls yield with every operation that f selects, in order of creation.
func (s *Simulator) Entries(_ context.Context, f protocol.Filter, yield func(protocol.Entry) error) error {
	return s.books.Entries(f, yield)
}

// testCards are numbers of D13's table.
var testCards = map[protocol.TestCase]string{
	protocol.CardApproved:       "4242424242424242",
	protocol.CardDeclined:       "4000000000000002",
	protocol.CardRejected:       "4000000000000010",
	protocol.CardAuthentication: "4916994064252017",
	protocol.CardPending:        "4000000000003220",
	protocol.CardCaptureFails:   "4000000000005142",
	protocol.CardCapturePending: "4000000000005175",
	protocol.CardRefundFails:    "4000000000005126",
	protocol.CardVoidFails:      "4000000000005159",
	protocol.CardDisputed:       "4000000000000259",
	protocol.CardNetworkToken:   "4000000000005423",
	protocol.CardForgotten:      "4000000000005340",
}
