package passing

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"payledger/httpapi/intake"
)

const (
	// maxPassed bounds the requests that are under way to other nodes, and maxOfAddress those of
	// one client address.
	maxPassed, maxOfAddress = 256, maxPassed / 4
	// maxBody is the size in bytes up to which a body is read: one byte above the limit of the API,
	// which refuses it then.
	maxBody = 1<<20 + 1
	// unbudgeted is the size of a body up to which no memory is reserved, in bytes.
	unbudgeted = 16 << 10
)

// Answer is the answer to a call: a head, and then pieces of the body. Next returns io.EOF after
// the last piece.
type Answer interface {
	Next(ctx context.Context) ([]byte, error)
	Close()
}

// Door passes requests on to a node with views.
type Door struct {
	// Own answers the calls that need no views.
	Own http.Handler
	// Call sends a request to a node with views. ErrNobody means that no node does anything on
	// account of it.
	Call func(ctx context.Context, request []byte) (Answer, error)
	// Seen returns the address of the newest event of each shard that this node knows to be
	// durable.
	Seen func() []uint64
	// Refuse answers with an error of the API; NewID makes request ids.
	Refuse Refuse
	NewID  func() string
	// Bodies bounds the memory of bodies; nil: it is not bound.
	Bodies *intake.Budget
	// Clients finds the client address of a request; nil: the address of the connection counts.
	Clients *intake.Clients
	Tally   *intake.Tally
	Logger  zerolog.Logger

	places        *intake.Shares[netip.Addr] // of client addresses: the credential is not known here
	refused, gone atomic.Uint64
}

// Refused returns the number of requests that the door answered with 503, and Gone the number of
// those whose caller went away before another node took them. The answers of other nodes are
// counted there.
func (d *Door) Refused() uint64 { return d.refused.Load() }

// Gone is described at Refused.
func (d *Door) Gone() uint64 { return d.gone.Load() }

// Refuse answers a request with status 503, Retry-After and a text.
type Refuse func(w http.ResponseWriter, r *http.Request, why Refusal)

// Refusal is the reason of a 503.
type Refusal struct {
	ID                    string // of the request
	Description, Recovery string
	Unknown               bool // whether the request recorded something
}

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
	d.places = intake.NewShares[netip.Addr](maxPassed, maxOfAddress)
	if d.Clients == nil {
		d.Clients = intake.NewClients(nil, 0)
	}
	return d
}

// ServeHTTP answers a request, or passes it on.
func (d *Door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if Local(r) {
		d.Own.ServeHTTP(w, r)
		return
	}
	id, began := d.NewID(), time.Now()
	var done outcome
	defer func() {
		line := d.Logger.Info()
		switch {
		case done.limit: // counted: a line for each would add to the load
			line = d.Logger.Debug()
		case done.err != nil && done.status == http.StatusServiceUnavailable:
			line = d.Logger.Error()
		}
		line.Str("requestId", id).Str("method", r.Method).Int("status", done.status).Dur("took", time.Since(began)).AnErr("error", done.err).Msg("request passed on")
	}()
	d.pass(w, r, id, &done)
}

// StatusGone is the counted and logged status of a request whose caller went away before the
// answer. It is never sent.
const StatusGone = 499

// outcome is the end of a request: the log line of the request shows it.
type outcome struct {
	status int
	limit  bool  // the door is full
	err    error // the reason why the answer is not whole, or not that of another node
}

// refuse answers with 503. The text reaches a client that is still there after its request has
// ended.
func (d *Door) refuse(w http.ResponseWriter, r *http.Request, why Refusal, done *outcome, err error) {
	done.status, done.err = http.StatusServiceUnavailable, err
	if r.Context().Err() != nil {
		done.status = StatusGone
	} else {
		d.refused.Add(1)
	}
	d.Refuse(w, r, why)
}

func (d *Door) full(w http.ResponseWriter, r *http.Request, id string, done *outcome, limit intake.Limit) {
	done.limit = true
	d.Tally.Add(limit)
	d.refuse(w, r, Refusal{ID: id, Description: many, Recovery: repeat}, done, nil)
}

func (d *Door) pass(w http.ResponseWriter, r *http.Request, id string, done *outcome) {
	who, _ := d.Clients.Of(r)
	b, err := d.read(r, who)
	give := sync.OnceFunc(func() { d.Bodies.Give(who.String(), b.reserved) })
	defer give()
	if err != nil {
		d.full(w, r, id, done, intake.Memory)
		return
	}
	if !d.places.Take(who, 1) { // after the body: a slow client has no place
		d.full(w, r, id, done, intake.Requests)
		return
	}
	defer d.places.Give(who, 1)
	text, err := envelope{
		Method: r.Method, Target: r.RequestURI, Host: r.Host, Proto: r.Proto, Peer: r.RemoteAddr, TLS: r.TLS != nil, Header: r.Header, ID: id, Seen: d.Seen(),
		Cut: b.cut,
	}.encode(b.read)
	b.read = nil
	var answer Answer
	if err == nil {
		answer, err = d.Call(r.Context(), text)
	}
	if err != nil {
		if r.Context().Err() != nil {
			d.gone.Add(1)
		}
		d.refuse(w, r, Refusal{ID: id, Description: nobody, Recovery: repeat}, done, err)
		return
	}
	give() // the other node has the body
	defer answer.Close()
	d.answer(w, r, id, answer, done)
}

// answer copies an answer.
func (d *Door) answer(w http.ResponseWriter, r *http.Request, id string, answer Answer, done *outcome) {
	var h head
	piece, err := answer.Next(r.Context())
	if err == nil {
		h, piece, err = decodeHead(piece)
	}
	if err != nil {
		why := Refusal{ID: id, Description: unclear, Recovery: look, Unknown: true}
		if r.Method == http.MethodGet || r.Method == http.MethodHead {
			why = Refusal{ID: id, Description: broken, Recovery: repeat}
		}
		d.refuse(w, r, why, done, err)
		return
	}
	done.status = h.Status
	maps.Copy(w.Header(), h.Header)
	w.WriteHeader(h.Status)
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Time{}) // a long answer is cut without it
	whole := h.Header.Get("Content-Length") != ""
	for ; !errors.Is(err, io.EOF); piece, err = answer.Next(r.Context()) {
		if err == nil && len(piece) > 0 {
			_, err = w.Write(piece)
		}
		if err == nil && len(piece) < pieceSize && !whole { // more may come late
			err = control.Flush()
		}
		if err != nil {
			done.err = err
			panic(http.ErrAbortHandler)
		}
	}
}

// body is a body as far as it was read.
type body struct {
	read     []byte
	cut      bool  // the client did not send all of it
	reserved int64 // bytes of memory, until the other node has the body
}

// read returns up to maxBody bytes of a request's body. Its memory counts for the client's address,
// as that of other requests whose account is not known. The other node refuses a body that is
// longer, or that ended too early.
func (d *Door) read(r *http.Request, who netip.Addr) (b body, err error) {
	if r.ContentLength == 0 {
		return b, nil
	}
	if size := r.ContentLength; size < 0 || size > unbudgeted {
		if size < 0 || size > maxBody {
			size = maxBody
		}
		if !d.Bodies.Take(who.String(), bodyCopies*size) {
			return b, errNoMemory
		}
		b.reserved = bodyCopies * size
	}
	b.read, err = io.ReadAll(io.LimitReader(r.Body, maxBody))
	b.cut = err != nil
	return b, nil
}

// bodyCopies is the number of copies of a body: as it was read, and with what goes before it.
const bodyCopies = 3

var errNoMemory = errors.New("passing: no memory for a body")
