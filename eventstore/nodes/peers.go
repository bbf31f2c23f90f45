package nodes

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-io/nats.go"

	"payledger/eventstore/jetapi"
)

// maxNodes is how many records are read at once.
const maxNodes = 1024

// read returns the records that one server has, by node.
func (r *Registry) read(ctx context.Context) (map[string]Record, error) {
	all := map[string]Record{}
	for from, whole := uint64(1), false; !whole; {
		begin, unreadable := from, error(nil)
		var err error
		whole, err = r.API.Page(ctx, r.Reader, Stream, root+"*", from, maxNodes, func(seq uint64, m *nats.Msg) (bool, error) {
			from = seq + 1
			record, err := decode(seq, m.Data)
			if err != nil { // not ours: the other records count
				unreadable = errors.Join(unreadable, err)
				return true, nil
			}
			record.stored, _ = time.Parse(time.RFC3339Nano, m.Header.Get(jetstream.TimeStampHeaer)) // without one it is unknown
			all[record.Node] = record
			return true, nil
		})
		if err != nil {
			return nil, err
		}
		if unreadable != nil {
			r.Logger.Warn().Err(unreadable).Msg("a record of a node is unreadable")
		}
		if from == begin {
			break
		}
	}
	return all, nil
}

// complete returns nil if this node knows all nodes with a record at this time. A read alone can
// miss a node that beats during the read.
func (r *Registry) complete(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, r.ReadTime) // the answer can be lost in an election: the caller asks again
	defer cancel()
	info, err := r.stream.Info(ctx, jetstream.WithSubjectFilter(root+"*"))
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if info.State.LastSeq < r.seq {
		return errOld
	}
	known := map[string]bool{r.Self.Node: true}
	for id := range r.peers {
		known[id] = true
	}
	for _, record := range r.ended {
		known[record.Node] = true
	}
	for subject := range info.State.Subjects {
		if !known[strings.TrimPrefix(subject, root)] {
			return errUnread
		}
	}
	return nil
}

// refresh reads all records. It returns errOld if a server answered that does not have the newest
// record of this node.
func (r *Registry) refresh(ctx context.Context) error {
	all, err := r.read(ctx)
	now := r.Clock() // after the read: a record was sent before
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if all[r.Self.Node].seq < r.seq {
		return errOld
	}
	r.compare(all[r.Self.Node])
	delete(all, r.Self.Node)
	r.ended = r.ended[:0]
	for id, p := range r.peers { // its end was deleted, or a new beat replaced its record during the read
		_, found := all[id]
		p.missing = !found
	}
	for id, record := range all {
		switch before := r.peers[id]; {
		case record.State == Ended:
			r.ended = append(r.ended, record)
			r.work.lose(before)
			delete(r.peers, id)
		case before == nil || before.seq < record.seq:
			r.peers[id] = &peer{Record: record, since: now}
		}
	}
	slices.SortFunc(r.ended, func(a, b Record) int { return int(a.seq) - int(b.seq) })
	return nil
}

// endSilent ends the nodes that wrote no record for Silence, and deletes the oldest ends.
func (r *Registry) endSilent(ctx context.Context) error {
	now := r.Clock()
	var silent []peer
	var surplus []uint64
	r.mu.Lock()
	for _, p := range r.peers {
		if now-p.since >= r.Silence {
			silent = append(silent, peer{Record: p.clone(), missing: p.missing})
		}
	}
	for i := range len(r.ended) - keptEnds {
		surplus = append(surplus, r.ended[i].seq)
	}
	r.mu.Unlock()
	for _, p := range silent {
		seen := p.seq
		if p.missing {
			p.seq = 0
		}
		p.State, p.EndedBy = Ended, r.Self.Node
		_, err := r.write(ctx, p.Record, p.seq)
		switch {
		case errors.Is(err, errReplaced): // it lives, or another node was faster
			continue
		case err != nil:
			return err
		}
		r.Logger.Warn().Str("node", p.Node).Str("address", p.Address).Dur("silence", r.Silence).Msg("a node is silent, and counts as ended")
		r.mu.Lock()
		if now := r.peers[p.Node]; now != nil && now.seq == seen {
			delete(r.peers, p.Node)
		}
		r.mu.Unlock()
	}
	for _, seq := range surplus {
		err := r.API.Change(ctx, "MSG.DELETE", Stream, map[string]any{"seq": seq, "no_erase": true})
		var answered *jetapi.Error
		if err != nil && !errors.As(err, &answered) { // another node may have deleted it
			return err
		}
	}
	return nil
}
