package simulator

import (
	"encoding/json"
	"errors"
	"net/http"

	"payledger/domain/processor"
	"payledger/processorsim/protocol"
	"payledger/processorsim/protocol/plainjson"
	"payledger/processorsim/simulator/books"
)

type httpError struct {
	status int
	body   protocol.Error
}

func (e *httpError) Error() string { return e.body.Code + ": " + e.body.Message }

func problem(status int, code protocol.Code, message string) error {
	return &httpError{status, protocol.Error{Code: code, Message: message}}
}

func (s *Simulator) endpoint(handle func(http.ResponseWriter, *http.Request) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.enter() {
			s.fail(w, problem(http.StatusServiceUnavailable, protocol.CodeUnavailable, "shutting down"))
			return
		}
		defer s.inside.Done()
		if err := handle(w, r); err != nil {
			s.fail(w, err)
		}
	})
}

func (s *Simulator) fail(w http.ResponseWriter, err error) {
	var known *httpError
	var refused *books.Refused
	switch {
	case errors.As(err, &known):
	case errors.As(err, &refused):
		known = &httpError{http.StatusUnprocessableEntity, protocol.Error{Code: refused.Code, Message: refused.Message}}
	case errors.Is(err, books.ErrNoDispute):
		known = &httpError{http.StatusNotFound, protocol.Error{Code: protocol.CodeNotFound, Message: err.Error()}}
	case errors.Is(err, books.ErrInProgress):
		known = &httpError{http.StatusConflict, protocol.Error{Code: protocol.CodeInProgress, Message: err.Error()}}
	case errors.Is(err, books.ErrKeyReused):
		known = &httpError{http.StatusUnprocessableEntity, protocol.Error{Code: protocol.CodeKeyReused, Message: err.Error()}}
	default:
		s.log.Error().Err(err).Msg("request failed")
		known = &httpError{http.StatusServiceUnavailable, protocol.Error{Code: protocol.CodeUnavailable, Message: "the books cannot be written"}}
	}
	write(w, known.status, protocol.ErrorBody{Error: known.body})
}

func respond(w http.ResponseWriter, body any, err error) error {
	if err == nil {
		write(w, http.StatusOK, body)
	}
	return err
}

func write(w http.ResponseWriter, status int, body any) { writeText(w, status, encode(body)) }

func encode(value any) []byte {
	text, err := json.Marshal(value)
	if err != nil { // no value of this package fails to encode
		panic(err)
	}
	return text
}

func respondAnswer(w http.ResponseWriter, answer processor.Answer) error {
	writeText(w, http.StatusOK, plainjson.AppendAnswer(make([]byte, 0, answerSize), answer))
	return nil
}

const answerSize = 1 << 10

func writeText(w http.ResponseWriter, status int, text []byte) {
	w.Header()["Content-Type"] = jsonType
	w.WriteHeader(status)
	_, _ = w.Write(text) //nolint:gosec // JSON is no page; a disconnected client looks up the operation
}

// jsonType is shared by all answers; net/http only reads it.
var jsonType = []string{"application/json"}

// cut ends the connection without an answer (D14.13, the drop modes).
func cut(w http.ResponseWriter) error {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler) // not HTTP/1.1: the server resets the stream
	}
	_ = conn.Close()
	return nil
}
