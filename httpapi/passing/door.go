package passing

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"payledger/httpapi/intake"
)

const (
	// maxPassed bounds the requests that are under way to other nodes.
	maxPassed = 256
	// maxBody is the size in bytes up to which a body is read: one byte above the limit of the API, which refuses it then.
	maxBody = 1<<20 + 1
	// unbudgeted is the size of a body up to which no memory is reserved, in bytes.
	unbudgeted = 16 << 10
)

// Answer is the answer to a call: a head, and then pieces of the body. Next returns io.EOF after the last piece.
type Answer interface {
	Next(ctx context.Context) ([]byte, error)
	Close()
}

// Door passes requests on to a node with views.
type Door struct {
	// Own answers the calls that need no views.
	Own http.Handler
	// Call sends a request to a node with views. ErrNobody means that no node does anything on account of it.
	Call func(ctx context.Context, request []byte) (Answer, error)
	// Seen returns the address of the newest event of each shard that this node knows to be durable.
	Seen func() []uint64
	// Refuse answers with an error of the API; NewID makes request ids.
	Refuse Refuse
	NewID  func() string
	// Bodies bounds the memory of bodies; nil: it is not bound.
	Bodies *intake.Budget
	Logger zerolog.Logger

	places  chan struct{}
	refused atomic.Uint64
}

// Refused returns the number of requests that the door answered with 503. The answers of other nodes are counted there.
func (d *Door) Refused() uint64 { return d.refused.Load() }

func (d *Door) refuse(w http.ResponseWriter, id, description, recovery string) {
	d.refused.Add(1)
	d.Refuse(w, id, description, recovery)
}

// Refuse answers a request with status 503, Retry-After and a text.
type Refuse func(w http.ResponseWriter, id, description, recovery string)

// ErrNobody means that no node with views took a request.
var ErrNobody = errors.New("no node with views answers")

// The texts of refusals.
const (
	nobody  = "No node that keeps lists answers now. Nothing was recorded."
	repeat  = "Repeat the request after the time of Retry-After. Commands on payments, and reads of one payment, go on meanwhile."
	many    = "Too many requests for lists are under way. Nothing was recorded."
	broken  = "The node that keeps lists did not answer to the end."
	unclear = "The node that carried out the request did not answer to the end: whether it recorded something is unknown."
	look    = "Repeat the request with the same idempotency key. Without a key, read first what the request should change."
)

// NewDoor returns a door.
func NewDoor(d *Door) *Door {
	d.places = make(chan struct{}, maxPassed)
	return d
}

// ServeHTTP answers a request, or passes it on.
func (d *Door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if Local(r) {
		d.Own.ServeHTTP(w, r)
		return
	}
	id, began := d.NewID(), time.Now()
	status := d.pass(w, r, id)
	d.Logger.Debug().Str("requestId", id).Str("method", r.Method).Int("status", status).Dur("took", time.Since(began)).Msg("request passed on")
}

func (d *Door) pass(w http.ResponseWriter, r *http.Request, id string) (status int) {
	body, err := d.read(r)
	defer d.Bodies.Give(passed, body.reserved)
	if err != nil {
		d.refuse(w, id, many, repeat)
		return http.StatusServiceUnavailable
	}
	select { // after the body: a slow client has no place
	case d.places <- struct{}{}:
		defer func() { <-d.places }()
	default:
		d.refuse(w, id, many, repeat)
		return http.StatusServiceUnavailable
	}
	text, err := json.Marshal(envelope{
		Method: r.Method, Target: r.RequestURI, Host: r.Host, Proto: r.Proto, Peer: r.RemoteAddr, TLS: r.TLS != nil, Header: r.Header, ID: id, Seen: d.Seen(),
		Body: body.read, Cut: body.cut,
	})
	if err != nil {
		d.Logger.Error().Err(err).Msg("a request was not passed on")
		d.refuse(w, id, nobody, repeat)
		return http.StatusServiceUnavailable
	}
	answer, err := d.Call(r.Context(), text)
	if err != nil {
		d.Logger.Debug().Err(err).Str("requestId", id).Msg("no node with views took a request") // it is counted
		d.refuse(w, id, nobody, repeat)
		return http.StatusServiceUnavailable
	}
	defer answer.Close()
	return d.answer(w, r, id, answer)
}

// answer copies an answer.
func (d *Door) answer(w http.ResponseWriter, r *http.Request, id string, answer Answer) (status int) {
	var h head
	first, err := answer.Next(r.Context())
	if err == nil {
		err = json.Unmarshal(first, &h)
	}
	if err != nil {
		d.Logger.Warn().Err(err).Str("requestId", id).Msg("the answer of a node with views broke off")
		description, recovery := unclear, look
		if r.Method == http.MethodGet || r.Method == http.MethodHead {
			description, recovery = broken, repeat
		}
		d.refuse(w, id, description, recovery)
		return http.StatusServiceUnavailable
	}
	maps.Copy(w.Header(), h.Header)
	w.WriteHeader(h.Status)
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Time{}) // a long answer is cut without it
	for {
		piece, err := answer.Next(r.Context())
		if errors.Is(err, io.EOF) {
			return h.Status
		}
		if err == nil {
			_, err = w.Write(piece)
		}
		if err == nil && len(piece) < flushBelow { // more may come late
			err = control.Flush()
		}
		if err != nil {
			d.Logger.Info().Err(err).Str("requestId", id).Msg("a request that was passed on was cut")
			panic(http.ErrAbortHandler)
		}
	}
}

// flushBelow is the size of a piece in bytes that the other node did not fill.
const flushBelow = pieceSize

// body is a body as far as it was read.
type body struct {
	read     []byte
	cut      bool  // the client did not send all of it
	reserved int64 // bytes of memory
}

// read returns up to maxBody bytes of a request's body. The other node refuses a body that is longer, or that ended too early.
func (d *Door) read(r *http.Request) (b body, err error) {
	if r.ContentLength == 0 {
		return b, nil
	}
	if size := r.ContentLength; size < 0 || size > unbudgeted {
		if size < 0 || size > maxBody {
			size = maxBody
		}
		if !d.Bodies.Take(passed, size) {
			return b, errNoMemory
		}
		b.reserved = size
	}
	b.read, err = io.ReadAll(io.LimitReader(r.Body, maxBody))
	b.cut = err != nil
	return b, nil
}

// passed is the owner of the memory of passed bodies.
const passed = "passed on"

var errNoMemory = errors.New("passing: no memory for a body")
