package simulator

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/gorilla/mux"

	"payledger/domain/processor"
	"payledger/processorsim/protocol"
	"payledger/processorsim/server"
	"payledger/processorsim/simulator/books"
	"payledger/processorsim/simulator/dialect"
)

func (s *Simulator) postDispute(w http.ResponseWriter, r *http.Request) error {
	order, err := server.Decode[protocol.DisputeOrder](r)
	if err != nil {
		return err
	}
	report, err := s.books.OpenDispute(order)
	return s.reported(w, report, err)
}

func (s *Simulator) reported(w http.ResponseWriter, report books.DisputeReport, err error) error {
	if err == nil {
		s.notifyDispute(report)
	}
	return server.Respond(w, report.Dispute, refused(err))
}

func (s *Simulator) patchDispute(w http.ResponseWriter, r *http.Request) error {
	change, err := server.Decode[protocol.DisputeChange](r)
	if err != nil {
		return err
	}
	report, err := s.books.ChangeDispute(mux.Vars(r)["id"], change)
	return s.reported(w, report, err)
}

// Disputes returns notifications about disputes, delivered or not, oldest first.
func (s *Simulator) Disputes(_ context.Context, f protocol.DisputeFilter) (protocol.DisputeList, error) {
	list := protocol.DisputeList{Notifications: []json.RawMessage{}, Next: f.After}
	var reports []books.DisputeReport
	var err error
	if f.Reference != "" {
		list.Next = ""
		reports, err = s.books.ReportsOf(f.Processor, f.Reference)
	} else {
		reports, list.More, err = s.books.ReportsSince(f.Processor, f.Since, f.After, f.Limit)
	}
	for _, t := range reports {
		list.Notifications, list.Next = append(list.Notifications, disputeBody(t)), t.ID
	}
	return list, err
}

func disputeBody(t books.DisputeReport) json.RawMessage {
	return server.Encode(protocol.Notification{
		ID: t.ID, Processor: t.Dispute.Processor, Type: processor.Dispute, Reference: t.Dispute.Reference, Dispute: dialect.Write(t.Dispute),
	})
}

// awaitDisputes schedules the disputes of settlements since its last call (D13).
func (s *Simulator) awaitDisputes() {
	for _, due := range s.books.NextDisputes() {
		s.timers.After(due.Wait(s.now()), func() { _, _ = s.openDisputes(due.ID) }) // it logs its error
	}
}

func (s *Simulator) openDisputes(ids ...string) (int, error) {
	opened, err := s.books.OpenDue(ids...)
	if err != nil {
		s.log.Error().Err(err).Msg("disputes could not be opened")
		return 0, err
	}
	for _, t := range opened {
		s.notifyDispute(t)
	}
	return len(opened), nil
}
