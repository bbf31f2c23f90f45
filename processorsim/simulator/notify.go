package simulator

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"payledger/domain/processor"
	"payledger/processorsim/protocol"
	"payledger/processorsim/simulator/books"
)

const (
	notifyWorkers  = 8
	notifyTimeout  = 10 * time.Second
	notifyRetries  = 6               // after 1, 2, 4, 8, 16 and 32 s
	reorderDefault = 3 * time.Second // the hold of reorder without another notification
)

type delivery struct {
	operation string // the id of the operation or dispute report
	url       string
	body      []byte
	copies    int // number of sends: 2 with duplicate_notification
	attempt   int
}

// notifier sends signed notifications (D14.3) until a 2xx or the end of the retries; faults send
// them twice or late.
type notifier struct {
	secret   []byte
	schedule *schedule
	faults   *faults
	done     func(operation string) // delivered, or given up
	log      zerolog.Logger
	client   *http.Client
	ctx      context.Context // ends requests at close
	cancel   context.CancelFunc
	workers  sync.WaitGroup

	mu     sync.Mutex
	work   *sync.Cond
	queue  []*delivery
	held   []*delivery // reorder: until another was sent
	closed bool
}

func newNotifier(secret []byte, sc *schedule, f *faults, done func(string), log zerolog.Logger) *notifier {
	n := &notifier{secret: secret, schedule: sc, faults: f, done: done, log: log}
	n.work = sync.NewCond(&n.mu)
	n.ctx, n.cancel = context.WithCancel(context.Background())
	n.client = &http.Client{
		Timeout:       notifyTimeout,
		Transport:     &http.Transport{MaxIdleConnsPerHost: notifyWorkers, IdleConnTimeout: 30 * time.Second},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	for range notifyWorkers {
		n.workers.Go(n.run)
	}
	return n
}

// close cancels requests and waits for the workers. Undelivered notifications are sent after the
// next start.
func (n *notifier) close() {
	n.mu.Lock()
	n.closed = true
	n.mu.Unlock()
	n.cancel()
	n.work.Broadcast()
	n.workers.Wait()
	n.client.CloseIdleConnections()
}

func (n *notifier) send(o books.Operation) {
	if o.NotifyURL == "" {
		return
	}
	body := encode(protocol.Notification{
		ID: "nt_" + strings.TrimPrefix(o.ID, "op_"), Processor: o.Processor, Type: o.Kind,
		IdempotencyKey: o.Key, Reference: o.Reference, Answer: &o.Answer,
	})
	n.dispatch(&delivery{operation: o.ID, url: o.NotifyURL, body: body, copies: 1}, o.Processor, o.Kind)
}

// sendDispute sends a dispute report. A fault that names disputes loses or delays it (D14.13).
func (n *notifier) sendDispute(t books.DisputeReport) {
	if t.NotifyURL == "" {
		return
	}
	d := &delivery{operation: t.ID, url: t.NotifyURL, body: disputeBody(t), copies: 1}
	name := t.Dispute.Processor
	if _, lost := n.faults.draw(name, processor.Dispute, protocol.DropBefore); lost {
		n.done(d.operation)
		return
	}
	if fault, late := n.faults.draw(name, processor.Dispute, protocol.Latency); late {
		n.schedule.after(time.Duration(fault.DelayMs)*time.Millisecond, func() { n.dispatch(d, name, processor.Dispute) })
		return
	}
	n.dispatch(d, name, processor.Dispute)
}

func (n *notifier) dispatch(d *delivery, name processor.Name, kind processor.Kind) {
	if _, hit := n.faults.draw(name, kind, protocol.DuplicateNotification); hit {
		d.copies = 2
	}
	if fault, hit := n.faults.draw(name, kind, protocol.Reorder); hit {
		n.hold(d, fault)
		return
	}
	n.enqueue(d)
}

func (n *notifier) hold(d *delivery, fault protocol.Fault) {
	n.mu.Lock()
	n.held = append(n.held, d)
	n.mu.Unlock()
	wait := reorderDefault
	if fault.DelayMs > 0 {
		wait = time.Duration(fault.DelayMs) * time.Millisecond
	}
	n.schedule.after(wait, n.release)
}

func (n *notifier) release() {
	n.mu.Lock()
	held := n.held
	n.held = nil
	n.mu.Unlock()
	n.enqueue(held...)
}

func (n *notifier) enqueue(d ...*delivery) {
	n.mu.Lock()
	n.queue = append(n.queue, d...)
	n.mu.Unlock()
	for range d {
		n.work.Signal()
	}
}

func (n *notifier) run() {
	for {
		n.mu.Lock()
		for len(n.queue) == 0 && !n.closed {
			n.work.Wait()
		}
		if n.closed {
			n.mu.Unlock()
			return
		}
		d := n.queue[0]
		n.queue = n.queue[1:]
		n.mu.Unlock()
		n.deliver(d)
	}
}

func (n *notifier) deliver(d *delivery) {
	err := n.post(d)
	if err != nil && n.ctx.Err() != nil {
		return // closing: the outcome is unknown, and the next start sends it again
	}
	defer n.release()
	if err == nil {
		if d.copies--; d.copies > 0 {
			n.enqueue(d)
			return
		}
		n.done(d.operation)
		return
	}
	if d.attempt == notifyRetries {
		n.done(d.operation)
		n.log.Warn().Err(err).Str("operation", d.operation).Msg("notification given up")
		return
	}
	wait := time.Second << d.attempt
	d.attempt++
	n.schedule.after(wait, func() { n.enqueue(d) })
}

func (n *notifier) post(d *delivery) error {
	r, err := http.NewRequestWithContext(n.ctx, http.MethodPost, d.url, bytes.NewReader(d.body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set(protocol.HeaderSignature, protocol.Sign(n.secret, d.body))
	response, err := n.client.Do(r)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	// Reading a little allows the reuse of the connection.
	if _, err := io.CopyN(io.Discard, response.Body, protocol.MaxBody); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return fmt.Errorf("the receiver answered %d", response.StatusCode)
	}
	return nil
}
