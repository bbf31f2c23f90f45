package simulator

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/gorilla/mux"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/processorsim/protocol"
	"payledger/processorsim/simulator/books"
	"payledger/processorsim/simulator/dialect"
)

func (s *Simulator) postDispute(w http.ResponseWriter, r *http.Request) error {
	order, err := decode[protocol.DisputeOrder](r)
	if err != nil {
		return err
	}
	report, err := s.books.OpenDispute(order)
	return s.reported(w, report, err)
}

func (s *Simulator) reported(w http.ResponseWriter, report books.DisputeReport, err error) error {
	if err == nil {
		s.notifier.sendDispute(report)
	}
	return respond(w, report.Dispute, err)
}

func (s *Simulator) patchDispute(w http.ResponseWriter, r *http.Request) error {
	change, err := decode[protocol.DisputeChange](r)
	if err != nil {
		return err
	}
	report, err := s.books.ChangeDispute(mux.Vars(r)["id"], change)
	return s.reported(w, report, err)
}

// getDisputes lists dispute notifications, delivered or not, oldest first: all of one payment, else
// a page.
func (s *Simulator) getDisputes(w http.ResponseWriter, r *http.Request) error {
	name, _, err := target(r)
	if err != nil {
		return err
	}
	if reference := r.URL.Query().Get("reference"); reference != "" {
		reports, err := s.books.ReportsOf(name, domain.PaymentID(reference))
		return respond(w, disputeList(reports, "", false), err)
	}
	asked, err := disputesAsked(r)
	if err != nil {
		return err
	}
	reports, more, err := s.books.ReportsSince(name, asked.since, asked.after, asked.limit)
	if errors.Is(err, books.ErrUnknownReport) {
		return invalid("after is no cursor of this list")
	}
	return respond(w, disputeList(reports, asked.after, more), err)
}

func disputeList(reports []books.DisputeReport, next string, more bool) protocol.DisputeList {
	list := protocol.DisputeList{Notifications: []json.RawMessage{}, Next: next, More: more}
	for _, t := range reports {
		list.Notifications, list.Next = append(list.Notifications, disputeBody(t)), t.ID
	}
	return list
}

// reportPage is a page of a list of dispute reports.
type reportPage struct {
	since time.Time
	after string // a report's id
	limit int
}

func disputesAsked(r *http.Request) (p reportPage, err error) {
	q := r.URL.Query()
	if text := q.Get("since"); text != "" {
		if p.since, err = time.Parse(time.RFC3339Nano, text); err != nil {
			return p, invalid("since is not an RFC 3339 time")
		}
	}
	p.after, p.limit = q.Get("after"), protocol.MaxDisputePage
	if text := q.Get("limit"); text != "" {
		if p.limit, err = strconv.Atoi(text); err != nil || p.limit < 1 || p.limit > protocol.MaxDisputePage {
			return p, invalid("limit must be from 1 to " + strconv.Itoa(protocol.MaxDisputePage))
		}
	}
	return p, nil
}

func disputeBody(t books.DisputeReport) json.RawMessage {
	return encode(protocol.Notification{
		ID: t.ID, Processor: t.Dispute.Processor, Type: processor.Dispute, Reference: t.Dispute.Reference, Dispute: dialect.Write(t.Dispute),
	})
}

// awaitDisputes schedules the disputes of settlements since its last call (D13).
func (s *Simulator) awaitDisputes() {
	for _, due := range s.books.NextDisputes() {
		s.schedule.after(due.Wait(s.now()), func() { _, _ = s.openDisputes(due.ID) }) // it logs its error
	}
}

func (s *Simulator) openDisputes(ids ...string) (int, error) {
	opened, err := s.books.OpenDue(ids...)
	if err != nil {
		s.log.Error().Err(err).Msg("disputes could not be opened")
		return 0, err
	}
	for _, t := range opened {
		s.notifier.sendDispute(t)
	}
	return len(opened), nil
}
