package nodes

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"payledger/domain"
)

// work is the part of a Registry about work that one node owns at a time.
type work struct {
	term         uint64                   // of this node; 0: none yet
	until        time.Duration            // end of the tenure
	lastBeatSent time.Duration            // when the newest acknowledged beat was sent
	recordsAsOf  time.Duration            // all records that were stored before this time were read
	lost         uint64                   // other nodes whose work was left, since the start
	unknown      map[string]time.Duration // nodes without a record, and recordsAsOf when they were first looked for
}

// next returns the term of a beat that is sent at a time: a new one, if the tenure is over.
func (w *work) next(sent time.Duration) uint64 {
	if w.term > 0 && sent < w.until {
		return w.term
	}
	return w.term + 1
}

// beat notes an acknowledged beat. An acknowledgement after the end of the tenure does not renew
// it: the beat may have been stored after another node took the work over. The next beat has a new
// term.
func (w *work) beat(term uint64, sent, now, tenure time.Duration) {
	w.lastBeatSent = sent
	if term > w.term || now < w.until {
		w.term, w.until = term, sent+tenure
	}
}

func (w *work) lose(p *peer) {
	if p != nil && !p.lost {
		p.lost = true
		w.lost++
	}
}

// Lost returns how often another node has ended, or its tenure was over, since the start. When it
// grows, there may be work to take over.
func (r *Registry) Lost() uint64 {
	if r == nil {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.work.lost
}

// commandMark is the length of the part of a node's id that its command ids begin with.
const commandMark = 8

// Mark returns the id of a command of this node: it begins as the node's id, so that other nodes
// know who ran the command.
func (r *Registry) Mark(command string) string {
	if r == nil || len(command) < commandMark || len(r.Self.Node) < commandMark {
		return command
	}
	return r.Self.Node[:commandMark] + command[commandMark:]
}

// Left reports whether this node may continue the work of a command: the node that ran the command
// is gone, or is this node.
func (r *Registry) Left(command string) bool {
	if r == nil || len(command) < commandMark {
		return true
	}
	mark := command[:commandMark]
	if strings.HasPrefix(r.Self.Node, mark) {
		return true
	}
	r.mu.Lock()
	for id := range r.peers {
		if strings.HasPrefix(id, mark) {
			mark = id
		}
	}
	for _, record := range r.ended {
		if strings.HasPrefix(record.Node, mark) {
			mark = record.Node
		}
	}
	r.mu.Unlock()
	return r.Gone(mark)
}

// Plans reports whether this node acts at once on an event of a command: the node that ran the
// command is this one, or is gone; or it acts on no events itself, and this node stands in for it.
// Each node without views has one stand-in among the nodes with views that serve. Nodes that
// disagree about it lose a compare-and-swap, or some hundreds of milliseconds (package turns).
func (r *Registry) Plans(command string) bool {
	if r == nil || r.Left(command) {
		return true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	writer, planners := "", []string{r.Self.Node}
	for id, p := range r.peers {
		switch {
		case !p.Role.KeepsViews():
			if strings.HasPrefix(id, command[:commandMark]) {
				writer = id
			}
		case p.State == Serving:
			planners = append(planners, id)
		}
	}
	if writer == "" {
		return false
	}
	slices.Sort(planners)
	return planners[domain.Shard(writer, len(planners))] == r.Self.Node
}

// Holder returns the name under which this node owns work now. It returns ErrCutOff, with the last
// name, while this node must do no work that another node may take over: its tenure is over, or it
// has not joined. The name changes with each tenure.
func (r *Registry) Holder() (string, error) {
	if r == nil {
		return "", nil
	}
	now := r.Clock()
	r.mu.Lock()
	defer r.mu.Unlock()
	name := r.Self.Node + "." + strconv.FormatUint(max(r.work.term, 1), 10)
	if !r.open || now >= r.work.until {
		return name, ErrCutOff
	}
	return name, nil
}

// Gone reports whether the tenure of a holder is over, so that this node may take its work over
// with a compare-and-swap.
func (r *Registry) Gone(holder string) bool {
	if r == nil {
		return true
	}
	node, term := holder, uint64(math.MaxUint64)
	if dot := strings.LastIndexByte(holder, '.'); dot > 0 {
		if n, err := strconv.ParseUint(holder[dot+1:], 10, 64); err == nil {
			node, term = holder[:dot], n
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if node == r.Self.Node {
		return term < r.work.term
	}
	if p := r.peers[node]; p != nil {
		delete(r.work.unknown, node)
		return term < p.Term || r.work.recordsAsOf-p.since >= r.Absence
	}
	if slices.ContainsFunc(r.ended, func(record Record) bool { return record.Node == node }) {
		return true
	}
	return r.work.goneUnknown(node, r.work.recordsAsOf, r.Absence)
}

const maxUnknown = 1024

// goneUnknown reports whether a node has had no record for a while. A node that has just joined is
// unknown here until the next read.
func (w *work) goneUnknown(node string, recordsAsOf, absence time.Duration) bool {
	since, known := w.unknown[node]
	if !known {
		if w.unknown == nil || len(w.unknown) >= maxUnknown {
			w.unknown = map[string]time.Duration{}
		}
		since = recordsAsOf
		w.unknown[node] = since
	}
	return recordsAsOf-since >= absence
}
