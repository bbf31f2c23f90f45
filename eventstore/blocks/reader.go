package blocks

import (
	"errors"
	"fmt"

	"payledger/eventstore/stored"
)

type reader struct {
	w      *window
	digest *digest
	o      *Options
	offset int64
	first  uint64 // sequence of the stream's first message; 0 while unknown
	last   uint64 // the highest sequence so far; 0 if none
	next   uint64 // the sequence that must come next; 0 while unknown, unused with Options.Deletes
	record stored.Message
	note   func(*stored.Message) // for the accounts of the stream; may be nil
	budget int64                 // bytes that searches may still hash
	result Result
}

func newReader(w *window, stream string, block int, o *Options) *reader {
	return &reader{w: w, digest: newDigest(stream, block), o: o, budget: searchBudget, result: Result{Block: block}}
}

// flaw is why there is no good record at a place.
type flaw struct {
	reason  string
	length  int  // of the bad record; 0 if it is unknown
	certain bool // the checksum matches: the record was written like this, or its lengths are damaged
}

// run reads to the end of the block, or through Options.Through.
func (r *reader) run() error {
	defer func() { r.result.Size = r.w.size }()
	if r.offset > r.w.size {
		r.fault(Fault{Reason: "the file is shorter than before"})
	}
	for r.offset < r.w.size {
		if r.o.Through != 0 && r.last >= r.o.Through {
			r.result.Kind = max(r.result.Kind, Stopped)
			return nil
		}
		done, err := r.step()
		if err != nil {
			return fmt.Errorf("offset %d: %w", r.offset, err)
		}
		if done {
			return nil
		}
	}
	return nil
}

// step reads the record at r.offset. done reports that no valid record follows.
func (r *reader) step() (done bool, err error) {
	length, bad, err := r.decode(r.offset)
	switch {
	case err != nil:
		return false, err
	case bad == nil:
		return false, r.accept(length)
	case bad.certain:
		r.fault(Fault{Reason: bad.reason})
		r.offset += int64(bad.length)
		return false, nil
	}
	next, found, err := r.search(bad)
	switch {
	case errors.Is(err, errGaveUp):
		r.fault(Fault{Reason: bad.reason + ", and the search for a valid record after it took too long"})
		return true, nil
	case err != nil:
		return false, err
	case found:
		r.fault(Fault{Reason: bad.reason + fmt.Sprintf("; the next valid record is at offset %d", next)})
		r.offset = next
		return false, nil
	}
	kind := max(r.result.Kind, Torn)
	r.fault(Fault{Reason: bad.reason + ", and nothing valid follows"})
	r.result.Kind = kind
	return true, nil
}

// decode decodes the record at an offset into r.record and returns its length.
func (r *reader) decode(offset int64) (length int, bad *flaw, err error) {
	b, err := r.w.get(offset, headLen)
	if err != nil {
		return 0, nil, err
	}
	if len(b) < headLen {
		return 0, &flaw{reason: "the record is incomplete"}, nil
	}
	h := readHead(b)
	if h.suspicious != "" {
		return 0, &flaw{reason: h.suspicious}, nil
	}
	if offset+int64(h.length) <= r.w.size {
		b, err = r.w.get(offset, h.length)
	}
	switch {
	case err != nil:
		return 0, nil, err
	case len(b) < h.length:
		return 0, &flaw{reason: "the record is incomplete"}, nil
	case !r.digest.matches(b, h):
		return 0, &flaw{reason: "the checksum does not match", length: h.length}, nil
	}
	reason := fields(b, h, &r.record)
	if reason == "" && r.record.Stands() && r.o.Subject != "" && r.record.Subject != r.o.Subject {
		reason = "the subject is not one of the stream's"
	}
	if reason != "" {
		return 0, &flaw{reason: reason, length: h.length, certain: true}, nil
	}
	return h.length, nil, nil
}

func (r *reader) accept(length int) error {
	rec := &r.record
	before := rec.Tombstone && rec.Seq < r.first // at the head of a stream with first_seq
	if r.o.Handle != nil && len(r.result.Faults) == 0 && !before {
		if err := r.o.Handle(*rec); errors.Is(err, stored.ErrRefused) {
			r.fault(Fault{Reason: err.Error()})
		} else if err != nil {
			return err
		}
	}
	r.order(rec)
	if rec.Stands() {
		r.result.Messages++
		if r.result.First == 0 {
			r.result.First = rec.Seq
		}
	}
	if r.note != nil {
		r.note(rec)
	}
	r.offset += int64(length)
	if len(r.result.Faults) == 0 {
		r.result.End = r.offset
	}
	return nil
}

func (r *reader) order(rec *stored.Message) {
	strict, seq := !r.o.Deletes, rec.Seq
	switch {
	case rec.Tombstone && strict && r.next != 0 && seq >= r.next:
		// The server restores the last sequence with a tombstone after it lost the newest messages.
		r.fault(Fault{Reason: "a tombstone stands for lost messages", From: r.next, To: seq})
	case rec.Tombstone && strict && r.last != 0 && seq >= r.first:
		r.fault(Fault{Reason: "a message was deleted", From: seq, To: seq})
	case rec.Tombstone: // at the head of a stream with first_seq, or where deletes are allowed
	case rec.Erased && strict:
		r.fault(Fault{Reason: "a message was erased or skipped", From: seq, To: seq})
	case seq == 0: // an old erased message
	case seq <= r.last:
		r.fault(Fault{Reason: fmt.Sprintf("sequence %d is out of order", seq)})
	case strict && r.next != 0 && seq < r.next:
		r.fault(Fault{Reason: fmt.Sprintf("sequence %d is before the first of the stream", seq)})
	case strict && r.next != 0 && seq > r.next:
		r.fault(Fault{Reason: "messages are missing", From: r.next, To: seq - 1})
	}
	if !rec.Tombstone {
		r.result.Last = max(r.result.Last, seq)
	}
	r.last = max(r.last, seq)
	r.next = max(r.next, seq+1)
}

func (r *reader) fault(f Fault) {
	f.Block, f.Offset, f.After = r.result.Block, r.offset, r.last
	r.result.Kind = Damaged
	if len(r.result.Faults) < maxFaults {
		r.result.Faults = append(r.result.Faults, f)
	}
}

// Bounds of a search for a valid record.
const (
	searchBytes  = 2 * maxRecord // how far it looks
	searchBudget = 256 << 20     // how many bytes all searches in a block may hash
	searchSkip   = 1 << 32       // how far a sequence may be above the last one
)

var errGaveUp = errors.New("the search took too long")

// search looks for a valid record after the bad one at r.offset and returns its offset.
func (r *reader) search(bad *flaw) (next int64, found bool, err error) {
	if bad.length > 0 { // most often the bad record's length is right
		r.w.held = r.offset
		defer func() { r.w.held = -1 }()
		next = r.offset + int64(bad.length)
		if found, err = r.candidate(next); found || err != nil {
			return next, found, err
		}
		r.w.held = -1
	}
	for next = r.offset + 1; next+emptyLen <= r.w.size; next++ {
		if next > r.offset+searchBytes {
			return 0, false, errGaveUp
		}
		if found, err = r.candidate(next); found || err != nil {
			return next, found, err
		}
	}
	return 0, false, nil
}

// candidate reports whether a valid record stands at an offset.
func (r *reader) candidate(offset int64) (bool, error) {
	b, err := r.w.get(offset, headLen)
	if err != nil || len(b) < headLen {
		return false, err
	}
	h := readHead(b)
	near := h.tombstone || r.last == 0 || h.seq > r.last && h.seq-r.last < searchSkip
	if h.suspicious != "" || !near || offset+int64(h.length) > r.w.size {
		return false, nil
	}
	if r.budget -= int64(h.length); r.budget < 0 {
		return false, errGaveUp
	}
	_, bad, err := r.decode(offset)
	return bad == nil && err == nil, err
}
