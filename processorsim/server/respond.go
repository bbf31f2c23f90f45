package server

import (
	"encoding/json"
	"errors"
	"net/http"

	"payledger/domain/processor"
	"payledger/processorsim/protocol"
	"payledger/processorsim/protocol/plainjson"
)

type httpError struct {
	status int
	body   protocol.Error
}

func (e *httpError) Error() string { return e.body.Code + ": " + e.body.Message }

// ErrCut is the error of an operation whose answer is lost: the server cuts the connection.
var ErrCut = errors.New("the connection is cut")

// Problem returns an error that is answered with this status, code and message.
func Problem(status int, code protocol.Code, message string) error {
	return &httpError{status, protocol.Error{Code: code, Message: message}}
}

func (s *Server) fail(w http.ResponseWriter, err error) {
	var known *httpError
	switch {
	case errors.As(err, &known):
	case errors.Is(err, ErrCut):
		_ = cut(w)
		return
	case errors.Is(err, protocol.ErrUnknownCursor):
		known = &httpError{http.StatusUnprocessableEntity, protocol.Error{Code: protocol.CodeInvalidRequest, Message: err.Error()}}
	case errors.Is(err, protocol.ErrInProgress):
		known = &httpError{http.StatusConflict, protocol.Error{Code: protocol.CodeInProgress, Message: err.Error()}}
	case errors.Is(err, protocol.ErrKeyReused):
		known = &httpError{http.StatusUnprocessableEntity, protocol.Error{Code: protocol.CodeKeyReused, Message: err.Error()}}
	default:
		s.log.Error().Err(err).Msg("request failed")
		known = &httpError{http.StatusServiceUnavailable, protocol.Error{Code: protocol.CodeUnavailable, Message: "the request was not carried out, or its outcome is not known"}}
	}
	write(w, known.status, protocol.ErrorBody{Error: known.body})
}

// Respond writes a body with status 200, unless there is an error.
func Respond(w http.ResponseWriter, body any, err error) error {
	if err == nil {
		write(w, http.StatusOK, body)
	}
	return err
}

func write(w http.ResponseWriter, status int, body any) { writeText(w, status, Encode(body)) }

// Encode returns a value of the protocol as JSON.
func Encode(value any) []byte {
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
