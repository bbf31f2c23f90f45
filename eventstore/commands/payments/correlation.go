package payments

import (
	"context"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/eventstore"
)

// metaOf returns the metadata for a processor's answer. Its correlation id is that of the event at revision, which
// requested the operation. newest is the aggregate's newest known event.
func (s *Payments) metaOf(ctx context.Context, name processor.Name, newest *eventstore.Recorded, revision uint64) (eventstore.Meta, error) {
	r := newest
	for r.Revision > revision && r.PrevSeq > 0 {
		var err error
		if r, err = s.Store.Read(ctx, r.Shard, r.PrevSeq); err != nil {
			return eventstore.Meta{}, domain.Unavailable(err)
		}
	}
	return s.Store.NewMeta("processor:"+string(name), r.CorrelationID)
}
