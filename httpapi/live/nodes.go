package live

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"payledger/domain"
	"payledger/httpapi/request"
)

// Limits of one node's answer about its requests, in bytes.
const (
	answerMost   = 1 << 20        // a NATS message has room for 4 MiB
	answerBodies = answerMost / 2 // behind it requests have no bodies
	// answerFrame is more than the answer has beside its requests.
	answerFrame = 64
)

// Nodes has the kept requests of all nodes.
type Nodes struct {
	Own *RequestLog
	// Others sends a question to each other node that serves, and returns the answers
	// (RequestLog.Answer), and the number of nodes that did not answer. nil: there is no other
	// node.
	Others func(ctx context.Context, question []byte) (answers [][]byte, silent int)
}

// question selects requests of an account. Nodes send it to each other.
type question struct {
	Account  domain.AccountID
	Statuses []string
	Path     string
	KeyName  string
	Limit    int
}

// part has the newest requests of one node that a question selects, the newest first.
type part struct {
	Requests []*Exchange
	Cut      bool // older ones are left out, because the answer was large
}

// requestList is the answer of GET /management/request-log.
type requestList struct {
	request.List[*Exchange]
	Nodes  int `json:"nodes"`       // whose requests are in the list
	Silent int `json:"silentNodes"` // which did not answer: their requests are missing
}

// ListRequests serves GET /management/request-log: the newest requests that the nodes answered.
func (h *Handlers) ListRequests(c *request.Call) (any, error) {
	return h.Requests.list(c.Ctx, question{
		c.Merchant.ID, request.Several(c.Query, "status"), c.Query.Get("path"), c.Query.Get("keyName"), request.Limit(c.Query),
	})
}

// list returns the newest requests of all nodes, the newest first, by the clocks of the nodes.
func (n *Nodes) list(ctx context.Context, q question) (out requestList, err error) {
	parts := []part{{Requests: n.Own.selected(q)}}
	if n.Others != nil {
		asked, err := json.Marshal(q)
		if err != nil {
			return out, err
		}
		answers, silent := n.Others(ctx, asked)
		out.Silent = silent
		for _, answer := range answers {
			var of part
			if json.Unmarshal(answer, &of) != nil || slices.Contains(of.Requests, nil) { // of another build
				out.Silent++
				continue
			}
			parts = append(parts, of)
		}
	}
	out.Nodes, out.Data = len(parts), newestOf(parts, q.Limit)
	return out, nil
}

// newestOf merges the requests of all nodes. The list ends where a node's answer was cut: behind it
// requests of this node would be missing between those of the others.
func newestOf(parts []part, limit int) []*Exchange {
	all, whole := []*Exchange{}, time.Time{}
	for _, of := range parts {
		all = append(all, of.Requests...)
		if n := len(of.Requests); of.Cut && n > 0 && of.Requests[n-1].Time.After(whole) {
			whole = of.Requests[n-1].Time.Time
		}
	}
	slices.SortStableFunc(all, func(a, b *Exchange) int { return b.Time.Compare(a.Time.Time) })
	all = slices.DeleteFunc(all, func(e *Exchange) bool { return e.Time.Before(whole) })
	return all[:min(limit, len(all))]
}

// selected returns the kept requests that a question selects, the newest first.
func (l *RequestLog) selected(q question) []*Exchange {
	wants := requestFilter(q.Statuses, q.Path)
	return l.newest(q.Account, func(e *Exchange) bool {
		return wants(&e.Request) && (q.KeyName == "" || strings.EqualFold(e.KeyName, q.KeyName))
	}, min(q.Limit, requestsKept))
}

// Answer answers another node's question about the requests that this node keeps; nil if the
// question cannot be read. An answer that grows large leaves out bodies, and then the oldest
// requests.
func (l *RequestLog) Answer(asked []byte) []byte {
	var q question
	if json.Unmarshal(asked, &q) != nil {
		return nil
	}
	out, size := part{}, answerFrame
	for _, e := range l.selected(q) {
		text, err := json.Marshal(e)
		if err == nil && size+len(text) > answerBodies && e.Body+e.Answer != "" {
			e = &Exchange{Request: e.Request}
			text, err = json.Marshal(e)
		}
		if err != nil {
			return nil
		}
		if size += len(text) + 1; size > answerMost {
			out.Cut = true
			break
		}
		out.Requests = append(out.Requests, e)
	}
	answer, err := json.Marshal(out)
	if err != nil {
		return nil
	}
	return answer
}
