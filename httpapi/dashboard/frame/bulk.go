package frame

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"payledger/domain"
)

// Bulk is the outcome of many operations that one form requests. Each has its own idempotency key,
// from the key of the form and the operation's id: a repeat of the form does nothing twice.
type Bulk struct {
	Done     int           // operations that took effect now
	Repeated []string      // ids of operations that an earlier sending of the form had requested
	Failed   []BulkFailure // refused operations
	Left     []string      // ids of operations that were not tried, or whose outcome is unknown
	Unknown  int           // of Left, those whose outcome is unknown
}

// BulkFailure is an operation that was refused.
type BulkFailure struct{ ID, Text string }

// Total returns the number of the operations.
func (b Bulk) Total() int { return b.Done + len(b.Repeated) + len(b.Failed) + len(b.Left) }

// BulkTime is the time after which the answer to a form begins no further operation, and its page
// looks at no further one. A browser shows an answer in the meantime, and the user sends the rest.
const BulkTime = 10 * time.Second

// BulkMost is the greatest number of operations of a form.
const BulkMost = 100

// Bulk carries out the operations with ids, in order. key is the form's. do gets each id and its
// idempotency key; its error is that of Visit.Send.
func (v *Visit) Bulk(key string, ids []string, do func(id, key string) error) (out Bulk) {
	until := v.Now().Add(BulkTime)
	for i, id := range ids {
		if i > 0 && v.Now().After(until) || v.Ctx.Err() != nil {
			out.Left = append(out.Left, ids[i:]...)
			break
		}
		err := do(id, key+"-"+id)
		failure, refused := errors.AsType[*Failure](err)
		switch {
		case err == nil:
			out.Done++
		case IDOf(err) == string(domain.ReasonIdempotencyKeyExists):
			out.Repeated = append(out.Repeated, id)
		case !refused || failure.Status == http.StatusAccepted || failure.Status == http.StatusTooManyRequests || failure.Status >= http.StatusInternalServerError:
			out.Left = append(out.Left, id)
			out.Unknown++
		default:
			out.Failed = append(out.Failed, BulkFailure{id, failure.Text})
		}
	}
	return out
}

// SoundBulk reports whether ids are those of a form that this dashboard made: not more than
// BulkMost, each once, and no path; and key is the form's.
func SoundBulk(key string, ids []string) bool {
	unique := slices.Compact(slices.Sorted(slices.Values(ids)))
	return key != "" && len(ids) <= BulkMost && len(unique) == len(ids) && !slices.ContainsFunc(ids, func(id string) bool { return id == "" || strings.Contains(id, "/") })
}
