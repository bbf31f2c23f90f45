package server

import (
	"bufio"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"payledger/domain"
	"payledger/processorsim/protocol"
)

// Lines writes the operations that a filter selects as JSON lines, in order of creation, each as
// show returns it.
func (s *Server) Lines(w http.ResponseWriter, r *http.Request, filter protocol.Filter, show func(protocol.Entry) any) error {
	ctx, end := s.during(r)
	defer end()
	w.Header().Set("Content-Type", "application/jsonl")
	lines := bufio.NewWriterSize(w, 64<<10)
	encoder := json.NewEncoder(lines)
	encoder.SetEscapeHTML(false)
	begun := false
	err := s.books.Entries(ctx, filter, func(e protocol.Entry) error {
		begun = true
		return encoder.Encode(show(e))
	})
	if err != nil && begun {
		return cut(w) // an incomplete list must not look complete
	}
	return errors.Join(err, lines.Flush())
}

// ReadFilter returns the filter of a request's query: reference, processor, from, to.
func ReadFilter(r *http.Request) (protocol.Filter, error) {
	filter, err := readTimes(r)
	filter.Reference = domain.PaymentID(r.URL.Query().Get("reference"))
	return filter, err
}

func readTimes(r *http.Request) (filter protocol.Filter, err error) {
	if filter.From, err = readTime(r, "from"); err == nil {
		filter.To, err = readTime(r, "to")
	}
	return filter, err
}

// readTime returns a time of the query; zero without one.
func readTime(r *http.Request, name string) (time.Time, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return time.Time{}, Invalid(name + " is not an RFC 3339 time")
	}
	return at, nil
}

// getDisputes lists notifications about disputes, oldest first: all of one payment, else a page.
func (s *Server) getDisputes(w http.ResponseWriter, r *http.Request) error {
	name, err := s.named(r)
	if err != nil {
		return err
	}
	q := r.URL.Query()
	filter := protocol.DisputeFilter{
		Processor: name, Reference: domain.PaymentID(q.Get("reference")), After: q.Get("after"), Limit: protocol.MaxDisputePage,
	}
	if filter.Since, err = readTime(r, "since"); err != nil {
		return err
	}
	if text := q.Get("limit"); text != "" {
		if filter.Limit, err = strconv.Atoi(text); err != nil || filter.Limit < 1 || filter.Limit > protocol.MaxDisputePage {
			return Invalid("limit must be from 1 to " + strconv.Itoa(protocol.MaxDisputePage))
		}
	}
	ctx, end := s.during(r)
	defer end()
	list, err := s.books.Disputes(ctx, filter)
	return Respond(w, list, err)
}
