package live

import (
	"container/list"
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"payledger/domain"
	"payledger/httpapi/request"
	"payledger/projections/paymentjson"
)

// Request is one request in the stream of requests. It has no header, query or body.
type Request struct {
	Time      paymentjson.Time `json:"time"` // when it came
	Method    string           `json:"method"`
	Path      string           `json:"path"` // values that may be personal or secret are left out
	Status    int              `json:"status"`
	TookMs    float64          `json:"tookMs"`
	ErrorID   string           `json:"errorId,omitempty"`
	RequestID string           `json:"requestId"`
	Caller    string           `json:"caller"`            // api_key, client_token or user
	KeyName   string           `json:"keyName,omitempty"` // of an API key
}

const requestQueue = 256

// RequestLog keeps the newest requests that this node answered, and hands them to the readers of
// streams.
type RequestLog struct {
	readers atomic.Int64

	mu                sync.Mutex
	byAccount         map[domain.AccountID][]*requestReader
	kept              map[domain.AccountID]*list.Element // in byUse
	byUse             list.List                          // of *keptRequests, the account with the newest request first
	bytes, mostBytes  int                                // of all kept requests, and their bound
	succeeded, failed budget
}

type requestReader struct {
	wants   func(*Request) bool
	queue   chan *Request
	dropped atomic.Uint64
}

// NewRequestLog returns a log without readers.
func NewRequestLog() *RequestLog {
	return &RequestLog{byAccount: map[domain.AccountID][]*requestReader{}, kept: map[domain.AccountID]*list.Element{}, mostBytes: bytesKept}
}

// Add keeps a request that came at a time and hands it to the account's readers. It never waits: a
// reader whose queue is full misses the request, and the stream reports the number of missed
// requests. make is called if the request is kept or there is a reader. bodies returns the bodies
// of the request and of its answer; nil: the request is not kept.
func (l *RequestLog) Add(account domain.AccountID, status int, at time.Time, make func() Request, bodies func() (sent any, answer []byte)) {
	if account == "" {
		return
	}
	place := overBudget
	if bodies != nil {
		place = l.place(status, at)
	}
	if place == overBudget && l.readers.Load() == 0 {
		return
	}
	l.mu.Lock()
	readers := l.byAccount[account]
	l.mu.Unlock()
	if place == overBudget && len(readers) == 0 {
		return
	}
	r := make()
	if place != overBudget {
		l.keep(account, r, place == withBodies, bodies)
	}
	for _, reader := range readers {
		if !reader.wants(&r) {
			continue
		}
		select {
		case reader.queue <- &r:
		default:
			reader.dropped.Add(1)
		}
	}
}

func (l *RequestLog) enter(account domain.AccountID, wants func(*Request) bool) (r *requestReader, leave func()) {
	r = &requestReader{wants: wants, queue: make(chan *Request, requestQueue)}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.byAccount[account] = append(slices.Clip(l.byAccount[account]), r)
	l.readers.Add(1)
	return r, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.readers.Add(-1)
		rest := slices.DeleteFunc(slices.Clone(l.byAccount[account]), func(o *requestReader) bool { return o == r })
		if l.byAccount[account] = rest; len(rest) == 0 {
			delete(l.byAccount, account)
		}
	}
}

// StreamRequests serves GET /management/request-log/stream.
func (h *Handlers) StreamRequests(c *request.Call) (any, error) {
	wants := requestFilter(request.Several(c.Query, "status"), c.Query.Get("path"))
	return request.Feed(func(ctx context.Context, send func(request.ServerEvent) error) error {
		reader, leave := h.Log.enter(c.Merchant.ID, wants)
		defer leave()
		number := uint64(0)
		message := func(kind string, data any) error {
			number++
			return send(request.ServerEvent{ID: number, Type: kind, Data: data})
		}
		if err := message("ready", struct{}{}); err != nil {
			return err
		}
		for {
			select {
			case r := <-reader.queue:
				if missed := reader.dropped.Swap(0); missed > 0 {
					if err := message("dropped", map[string]uint64{"dropped": missed}); err != nil {
						return err
					}
				}
				if err := message("request", r); err != nil {
					return err
				}
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}), nil
}

// requestFilter returns the filter for statuses such as 4xx and 503, and for the beginning of a
// path; nothing selects everything.
func requestFilter(statuses []string, path string) func(*Request) bool {
	return func(r *Request) bool {
		status := strconv.Itoa(r.Status)
		fits := len(statuses) == 0 || slices.ContainsFunc(statuses, func(s string) bool {
			return s == status || strings.HasSuffix(s, "xx") && s[0] == status[0]
		})
		return fits && strings.HasPrefix(r.Path, path)
	}
}

// TookMs rounds a time to a tenth of a millisecond.
func TookMs(d time.Duration) float64 {
	return float64(d.Round(100*time.Microsecond).Microseconds()) / 1000
}
