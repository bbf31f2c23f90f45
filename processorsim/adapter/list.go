package adapter

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"time"

	"payledger/domain"
	"payledger/domain/exactjson"
	"payledger/domain/processor"
	"payledger/processorsim/protocol"
)

// ByReference returns all operations of a payment at a processor, by creation. For unreadable ones
// the error is ErrUnreadable.
func (c *Adapter) ByReference(ctx context.Context, name processor.Name, reference domain.PaymentID) ([]processor.Record, error) {
	path := protocol.OperationsPath(name) + "?reference=" + url.QueryEscape(string(reference))
	var found struct {
		Operations []json.RawMessage `json:"operations"` // of protocol.Entries, one by one
	}
	if _, err := c.do(ctx, http.MethodGet, path, nil, &found, protocol.MaxEntries); err != nil {
		return nil, err
	}
	records, bad := make([]processor.Record, 0, len(found.Operations)), []error(nil)
	for i, text := range found.Operations {
		record, err := readEntry(text, name)
		if err == nil && record.Reference != reference {
			err = errors.New("it is of another payment")
		}
		if err != nil {
			bad = append(bad, fmt.Errorf("operation %d: %w", i+1, err))
			continue
		}
		records = append(records, record)
	}
	if len(bad) > 0 {
		return records, unreadable("look-up of a payment at %s: %d of %d operations; %w", name, len(bad), len(found.Operations), bad[0])
	}
	return records, nil
}

func readEntry(text []byte, name processor.Name) (processor.Record, error) {
	var e protocol.Entry
	if exactjson.Unmarshal(text, &e) != nil {
		return processor.Record{}, errors.New("it cannot be parsed")
	}
	e.Answer = withoutOdd(withoutCards(e.Answer), "")
	return e.Record(), checkEntry(e, name)
}

// Operations calls handle with each operation that a processor created between two times, both
// included, in order of creation. A zero time is no limit. An operation that cannot be read is
// Unreadable if its payment can be read. If some name no payment, the error is ErrUnreadable after
// all others. After another error the list may be incomplete.
func (c *Adapter) Operations(ctx context.Context, name processor.Name, from, to time.Time, handle func(processor.Record) error) error {
	q := url.Values{}
	setRange(q, from, to)
	what := fmt.Sprintf("operations of %s", name)
	var nameless error
	err := readList(ctx, c, protocol.OperationsPath(name)+"?"+q.Encode(), what, func(text json.RawMessage) error {
		text = withoutControls(text)
		record, err := readEntry(text, name)
		if err != nil {
			var named bool
			if record, named = unreadableEntry(text, name); !named {
				nameless = unreadable("%s: an operation that names no payment: %w", what, err)
				return nil
			}
		}
		return handle(record)
	})
	return cmp.Or(err, nameless)
}

// unreadableEntry returns what names an entry that cannot be read otherwise; false if its payment
// cannot be read either.
func unreadableEntry(text []byte, name processor.Name) (processor.Record, bool) {
	var e struct {
		ID         string           `json:"id"`
		MerchantID string           `json:"processorMerchantId"`
		Reference  domain.PaymentID `json:"reference"`
	}
	if exactjson.Unmarshal(text, &e) != nil || e.Reference == "" {
		return processor.Record{}, false
	}
	return processor.Record{ID: e.ID, Processor: name, MerchantID: e.MerchantID, Reference: e.Reference, Unreadable: true}, true
}

func setRange(q url.Values, from, to time.Time) {
	for name, at := range map[string]time.Time{"from": from, "to": to} {
		if !at.IsZero() {
			q.Set(name, at.UTC().Format(time.RFC3339Nano))
		}
	}
}

// readList calls handle with each element of a list of any length. what names the list in errors.
func readList[T any](ctx context.Context, c *Adapter, path, what string, handle func(T) error) error {
	r, err := c.request(ctx, http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	var handled error
	b := &bound{limit: c.listPause}
	err = c.exchange(r, b, func(response *http.Response) error {
		b.renew()
		if response.StatusCode != http.StatusOK {
			text, _ := io.ReadAll(io.LimitReader(response.Body, protocol.MaxBody)) // for the error text only
			return c.refused(c.call(r), response.StatusCode, text)
		}
		err := eachElement(response.Body, what, func(element T) error {
			b.rest()
			defer b.renew()
			handled = handle(element)
			return handled
		})
		if handled != nil {
			return nil // the processor answered
		}
		return err
	})
	return cmp.Or(handled, err)
}

func eachElement[T any](body io.Reader, what string, handle func(T) error) error {
	bounded := &boundedReader{reader: bufio.NewReaderSize(body, 64<<10)}
	decoder := json.NewDecoder(bounded)
	for {
		bounded.left = protocol.MaxEntries
		var text json.RawMessage
		switch err := decoder.Decode(&text); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return unknown("%s: %w", what, err)
		}
		var element T
		if raw, is := any(&element).(*json.RawMessage); is { // handle reads it
			*raw = text
		} else if err := exactjson.Unmarshal(text, &element); err != nil {
			return unknown("%s: %w", what, err)
		}
		if err := handle(element); err != nil {
			return err
		}
	}
}

// boundedReader reads at most so many bytes, then it fails.
type boundedReader struct {
	reader io.Reader
	left   int
}

func (b *boundedReader) Read(into []byte) (int, error) {
	if b.left <= 0 {
		return 0, errors.New("an element of the list is too large")
	}
	n, err := b.reader.Read(into[:min(len(into), b.left)])
	b.left -= n
	return n, err
}

// DisputesOf returns all notifications of a processor about disputes of a payment, oldest first.
// For unreadable ones the error is ErrUnreadable, and the result has the others.
func (c *Adapter) DisputesOf(ctx context.Context, name processor.Name, reference domain.PaymentID) ([]processor.Notification, error) {
	page, err := c.disputes(ctx, name, url.Values{"reference": {string(reference)}}, protocol.MaxEntries)
	if err != nil {
		return nil, err
	}
	notifications, bad := make([]processor.Notification, 0, len(page.Notifications)), error(nil)
	if page.Unreadable > 0 {
		bad = fmt.Errorf("%d notifications name no payment, or no id of their own", page.Unreadable)
	}
	for _, t := range page.Notifications {
		switch {
		case t.Unreadable != "":
			bad = fmt.Errorf("notification %q: %s", t.ID, t.Unreadable)
		case t.Reference != reference:
			bad = fmt.Errorf("notification %q: it is of another payment", t.ID)
		default:
			notifications = append(notifications, t.Notification)
		}
	}
	if bad != nil {
		return notifications, unreadable("disputes of a payment at %s: %w", name, bad)
	}
	return notifications, nil
}

// DisputesReported calls handle with each dispute notification of a processor between two of its
// times, both included, delivered or not. A zero time is no limit. A notification whose dispute
// cannot be read has none, and no time. If some name no payment, or no id of their own, the error
// is ErrUnreadable after all others. After another error the list may be incomplete.
func (c *Adapter) DisputesReported(ctx context.Context, name processor.Name, from, to time.Time, handle func(processor.Notification) error) error {
	nameless := 0
	for cursor, more := "", true; more; {
		page, err := c.NotificationsSince(ctx, name, from, cursor)
		if err != nil {
			return err
		}
		nameless += page.Unreadable
		for _, t := range page.Notifications {
			if t.Dispute != nil && (t.Dispute.At.Before(from) || !to.IsZero() && t.Dispute.At.After(to)) {
				continue
			}
			if err := handle(t.Notification); err != nil {
				return err
			}
		}
		if page.More && (page.Next == cursor || page.Next == "") {
			return unreadable("disputes of %s: a page says that another one follows, and its cursor does not lead there", name)
		}
		cursor, more = page.Next, page.More
	}
	if nameless > 0 {
		return unreadable("disputes of %s: %d notifications name no payment, or no id of their own", name, nameless)
	}
	return nil
}

// states are the states of listed operations (D14.16).
var states = []processor.State{processor.Pending, processor.Succeeded, processor.Failed, processor.Declined}

func checkEntry(e protocol.Entry, name processor.Name) error {
	switch {
	case !plainText(e.ID, maxTransactionID):
		return fmt.Errorf("its id is not 1 to %d visible ASCII characters", maxTransactionID)
	case !optionalID(e.ParentID):
		return fmt.Errorf("the id of its parent is not 1 to %d visible ASCII characters", maxTransactionID)
	case e.Processor != name:
		return fmt.Errorf("it is not of %s", name)
	case !slices.Contains(protocol.Kinds, e.Operation):
		return errors.New("its kind is not known")
	case !slices.Contains(states, e.State):
		return errors.New("its state is not known")
	case e.Currency != "" && !e.Currency.Known():
		return errors.New("its currency is not known")
	case e.Amount < 0 || e.Amount > domain.MaxAmount:
		return errors.New("its amount is out of range")
	default:
		return check(e.Answer)
	}
}
