package adapter

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/processorsim/protocol"
)

// Filter selects lines of the books; zero values select all. From and To bound createdAt, both
// included.
type Filter struct {
	Reference domain.PaymentID
	Processor processor.Name
	From, To  time.Time
}

// Books returns the lines that f selects, in order of creation (D14.16), or ErrUnknown without any.
func (c *Adapter) Books(ctx context.Context, f Filter) ([]protocol.Line, error) {
	q := url.Values{}
	set := func(name, value string) {
		if value != "" {
			q.Set(name, value)
		}
	}
	set("reference", string(f.Reference))
	set("processor", string(f.Processor))
	setRange(q, f.From, f.To)
	var lines []protocol.Line
	err := readList(ctx, c, "/sim/books?"+q.Encode(), "books", func(line protocol.Line) error {
		lines = append(lines, line)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return lines, nil
}

// SetFault makes processors misbehave (D14.13).
func (c *Adapter) SetFault(ctx context.Context, fault protocol.Fault) error {
	_, err := control[struct{}](ctx, c, http.MethodPost, "/sim/faults", fault)
	return err
}

// ClearFaults ends all misbehaviour.
func (c *Adapter) ClearFaults(ctx context.Context) error {
	_, err := control[struct{}](ctx, c, http.MethodDelete, "/sim/faults", nil)
	return err
}

// Act captures, refunds or voids out of band (D14.14), and returns the new line; amount nil means
// the whole amount left.
func (c *Adapter) Act(ctx context.Context, kind processor.Kind, reference domain.PaymentID, amount *domain.Amount) (protocol.Line, error) {
	body := struct {
		Reference domain.PaymentID `json:"reference"`
		Amount    *domain.Amount   `json:"amount,omitempty"`
	}{reference, amount}
	return control[protocol.Line](ctx, c, http.MethodPost, "/sim/"+url.PathEscape(string(kind)), body)
}

// OpenDispute opens a dispute (D14.15).
func (c *Adapter) OpenDispute(ctx context.Context, order protocol.DisputeOrder) (protocol.Dispute, error) {
	return control[protocol.Dispute](ctx, c, http.MethodPost, "/sim/disputes", order)
}

// ChangeDispute changes a dispute's type or status, even to an impossible one.
func (c *Adapter) ChangeDispute(ctx context.Context, id string, change protocol.DisputeChange) (protocol.Dispute, error) {
	return control[protocol.Dispute](ctx, c, http.MethodPatch, "/sim/disputes/"+url.PathEscape(id), change)
}

// Settle finishes all pending operations and returns their number.
func (c *Adapter) Settle(ctx context.Context) (int, error) {
	done, err := control[struct {
		Settled int `json:"settled"`
	}](ctx, c, http.MethodPost, "/sim/settle", nil)
	return done.Settled, err
}

func control[T any](ctx context.Context, c *Adapter, method, path string, body any) (answer T, err error) {
	var reader io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return answer, fmt.Errorf("control API: %w", err)
		}
		reader = bytes.NewReader(text)
	}
	_, err = c.do(ctx, method, path, reader, &answer, protocol.MaxBody)
	return answer, err
}
