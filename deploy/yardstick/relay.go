package main

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

const (
	batchSize    = 256
	senders      = 32
	pollInterval = 10 * time.Millisecond
	sendTimeout  = 10 * time.Second // §6.1
)

// retryDelays follow each failed attempt; after the last one the event has failed (§6.1).
var retryDelays = []time.Duration{10 * time.Second, time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute}

type relay struct {
	store     *store
	secret    []byte
	client    *http.Client
	endpoints atomic.Pointer[[]endpoint]
	woken     chan struct{} // has a value when there is a new endpoint
}

func newRelay(s *store, secret string, endpoints []endpoint) *relay {
	r := &relay{store: s, secret: []byte(secret), woken: make(chan struct{}, 1)}
	r.client = &http.Client{
		Timeout:       sendTimeout,
		Transport:     &http.Transport{MaxIdleConnsPerHost: senders, MaxConnsPerHost: senders, IdleConnTimeout: time.Minute, DisableCompression: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // 3xx is no success
	}
	r.use(endpoints)
	return r
}

func (r *relay) use(endpoints []endpoint) {
	r.endpoints.Store(&endpoints)
	select {
	case r.woken <- struct{}{}:
	default:
	}
}

// run polls until ctx ends: at once after a full batch, else after a pause.
func (r *relay) run(ctx context.Context) {
	for ctx.Err() == nil {
		if len(*r.endpoints.Load()) == 0 {
			select {
			case <-r.woken:
				continue
			case <-ctx.Done():
				return
			}
		}
		sent, err := r.batch(ctx)
		if err != nil && ctx.Err() == nil {
			fmt.Fprintln(os.Stderr, "yardstick: relay:", err)
		}
		if sent == batchSize && err == nil {
			continue
		}
		select {
		case <-time.After(pollInterval):
		case <-ctx.Done():
		}
	}
}

// batch sends one batch, and returns its size. If the process ends before the commit, the rows stay
// in the outbox and are sent again.
func (r *relay) batch(ctx context.Context) (int, error) {
	tx, err := r.store.pool.Begin(ctx)
	if err != nil {
		return 0, err
	}
	defer tx.Rollback(context.WithoutCancel(ctx)) //nolint:errcheck // after the commit it does nothing
	rows, err := claim(ctx, tx, batchSize)
	if err != nil || len(rows) == 0 {
		return 0, err
	}
	return len(rows), settle(ctx, tx, r.send(ctx, rows))
}

func (r *relay) send(ctx context.Context, rows []pending) *outcomes {
	endpoints := *r.endpoints.Load()
	codes := make([][]int32, len(rows)) // by row and endpoint
	var next atomic.Int64
	var working sync.WaitGroup
	for range min(senders, len(rows)) {
		working.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(rows) {
					return
				}
				codes[i] = make([]int32, len(endpoints))
				for j, e := range endpoints {
					if len(e.EventTypes) == 0 || slices.Contains(e.EventTypes, rows[i].eventType) {
						codes[i][j] = r.post(ctx, e, rows[i])
					} else {
						codes[i][j] = notWanted
					}
				}
			}
		})
	}
	working.Wait()
	return collect(rows, endpoints, codes, time.Now())
}

const notWanted = -1 // in the place of a status code: the endpoint does not want the event

// collect makes the outcomes. An event whose attempt failed at any endpoint is sent to all of them
// again.
func collect(rows []pending, endpoints []endpoint, codes [][]int32, now time.Time) *outcomes {
	o := &outcomes{}
	for i, row := range rows {
		failed := false
		for j, code := range codes[i] {
			if code == notWanted {
				continue
			}
			failed = failed || code < 200 || code > 299
			o.events, o.endpoints = append(o.events, row.event), append(o.endpoints, endpoints[j].ID)
			o.attempts, o.codes, o.at = append(o.attempts, int32(row.attempts+1)), append(o.codes, code), append(o.at, now)
		}
		if failed && row.attempts < len(retryDelays) {
			o.retried, o.due = append(o.retried, row.event), append(o.due, now.Add(retryDelays[row.attempts]))
		} else {
			o.done = append(o.done, row.event)
		}
	}
	return o
}

// webhook is the body of a webhook (§6.2) without its payment.
type webhook struct {
	EventType          string             `json:"eventType"`
	Date               string             `json:"date"`
	NotificationConfig notificationConfig `json:"notificationConfig"`
	Version            string             `json:"version"`
	SignedAt           string             `json:"signedAt"`
	EventID            uuid               `json:"eventId"`
	Sequence           int                `json:"sequence"`
}

type notificationConfig struct {
	ID          uuid   `json:"id"`
	Description string `json:"description"`
}

// post sends one webhook, and returns the status code of the answer, 0 without an answer.
func (r *relay) post(ctx context.Context, e endpoint, row pending) int32 {
	body, err := json.Marshal(webhook{
		row.eventType, row.createdAt.UTC().Format(timeFormat), notificationConfig{e.ID, e.Description}, apiVersion,
		strconv.FormatInt(time.Now().Unix(), 10), row.event, 1,
	})
	if err != nil {
		return 0
	}
	body = append(body[:len(body)-1], `,"payment":`...)
	body = append(append(body, row.document...), '}')
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, e.URL, bytes.NewReader(body))
	if err != nil {
		return 0
	}
	sum := hmac.New(sha256.New, r.secret)
	sum.Write(body)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("X-Signature-Primary", base64.StdEncoding.EncodeToString(sum.Sum(nil)))
	response, err := r.client.Do(request)
	if err != nil {
		return 0
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 64<<10)) // the connection is kept
	response.Body.Close()
	return int32(response.StatusCode)
}
