package audit

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"time"

	"payledger/domain/exactjson"
	"payledger/eventstore/commands/reconcile"
	"payledger/httpapi/client"
)

func (c *Reconcile) compareThere(ctx context.Context, q reconcile.Scope, report func(reconcile.Difference) error, progress func(reconcile.Progress)) (reconcile.Counts, error) {
	query := url.Values{"processor": {string(q.Processor)}}
	for name, at := range map[string]time.Time{"from": q.From, "to": q.To} {
		if !at.IsZero() {
			query.Set(name, at.Format(time.RFC3339Nano))
		}
	}
	answer, err := c.get(ctx, "/management/reconciliation?"+query.Encode(), nil)
	if err != nil {
		return reconcile.Counts{}, err
	}
	defer answer.Body.Close()
	return readReconciliation(bufio.NewReaderSize(answer.Body, 64<<10), report, progress)
}

// reconciliationLine is one line of the server's answer; an error body is its last line.
type reconciliationLine struct {
	Difference *reconcile.Difference `json:"difference"`
	Progress   *reconcile.Progress   `json:"progress"`
	Summary    *reconcile.Counts     `json:"summary"`
	Error      *client.Error         `json:"error"`
}

var errCutShort = errors.New("the server's answer ends before its end")

// readReconciliation reads lines up to the summary. Only the summary means that the comparison is
// complete.
func readReconciliation(from io.Reader, report func(reconcile.Difference) error, progress func(reconcile.Progress)) (reconcile.Counts, error) {
	decoder := json.NewDecoder(from)
	for {
		var text json.RawMessage
		var line reconciliationLine
		err := decoder.Decode(&text)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return reconcile.Counts{}, errCutShort
		}
		if err == nil {
			err = exactjson.Unmarshal(text, &line)
		}
		switch {
		case err != nil:
			return reconcile.Counts{}, fmt.Errorf("the server's answer cannot be read: %w", err)
		case line.Error != nil:
			return reconcile.Counts{}, line.Error
		case line.Summary != nil:
			return *line.Summary, nil
		case line.Progress != nil:
			progress(*line.Progress)
		case line.Difference != nil:
			if err := report(*line.Difference); err != nil {
				return reconcile.Counts{}, err
			}
		}
	}
}
