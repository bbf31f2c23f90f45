package commands

import (
	"context"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/eventstore"
)

// metaOf is that of what a processor tells: it has the correlation id of what it is an answer to, the event of the
// aggregate's revision, and not of whatever happened last. newest is the aggregate's last event as far as known.
func (s *Service) metaOf(ctx context.Context, name processor.Name, newest *eventstore.Recorded, revision uint64) (eventstore.Meta, error) {
	r := newest
	for r.Revision > revision && r.PrevSeq > 0 {
		var err error
		if r, err = s.Store.Read(ctx, r.Shard, r.PrevSeq); err != nil {
			return eventstore.Meta{}, domain.Unavailable(err)
		}
	}
	return s.Store.NewMeta("processor:"+string(name), r.CorrelationID)
}
