package verify

import (
	"cmp"
	"context"
	"fmt"

	"payledger/eventstore/format"
	"payledger/eventstore/streams"
)

// ends are what the groups of a shard say about the ends of other streams, and about the beginning
// of the deliveries. Of files, archive.Archive.Compare compares them.
type ends struct {
	witness format.Witness
	named   format.Ends
	begin   uint64 // of deliveries: the first group that stands
	floor   uint64 // of deliveries: the last group that was dropped, by a record
}

func (e *ends) see(g *format.Group) {
	if g.Witness.Shard != format.NoShard {
		e.witness = g.Witness
	}
	e.named.Checkpoints = max(e.named.Checkpoints, g.Ends.Checkpoints)
	e.named.Secrets = max(e.named.Secrets, g.Ends.Secrets)
	kind := streams.KindOf(g.Shard)
	for _, r := range g.Frames {
		if f, err := kind.FloorIn(r); err == nil {
			e.floor = max(e.floor, f.Seq)
		}
	}
}

// compareEnds checks that the streams of a served log reach the ends that groups name, and that a
// record says that missing first groups of the deliveries were dropped.
func (r *run) compareEnds(ctx context.Context, chains []*chain) error {
	if !r.Archive.Served() {
		return nil
	}
	byShard, named := map[int]*chain{}, format.Ends{}
	for _, c := range chains {
		byShard[c.shard] = c
		named.Checkpoints = max(named.Checkpoints, c.ends.named.Checkpoints)
		named.Secrets = max(named.Secrets, c.ends.named.Secrets)
	}
	for _, c := range chains {
		if w := c.ends.witness; c.log != nil && byShard[w.Shard] != nil {
			if err := byShard[w.Shard].reaches(ctx, fmt.Sprintf("shard %d", c.shard), w.Link); err != nil {
				return err
			}
		}
		if err := c.dropped(ctx); err != nil {
			return err
		}
	}
	if c := byShard[streams.CheckpointShard]; c != nil {
		if err := c.reaches(ctx, "the log", format.Link{Seq: named.Checkpoints}); err != nil {
			return err
		}
	}
	return r.secretsReach(ctx, named.Secrets)
}

func (r *run) secretsReach(ctx context.Context, seq uint64) error {
	if seq == 0 {
		return nil
	}
	there, err := r.Archive.SecretsReach(ctx, seq)
	if err != nil || there {
		return err
	}
	return r.damaged(streams.Secrets, seq, "it ends before this record, which the log names")
}

// reaches checks that the shard has a group that others name as acknowledged, and that it has the
// hash, if one is named. The group may stand after the archive's end.
func (c *chain) reaches(ctx context.Context, by string, named format.Link) error {
	if named.Seq <= c.head.Seq {
		return nil
	}
	difference := fmt.Sprintf("%s ends here, but %s names its group %d", c.name(), by, named.Seq)
	err := c.Archive.Later(ctx, c.shard, func(g *format.Group) bool {
		switch {
		case g.Seq < named.Seq:
			return true
		case g.Seq == named.Seq && (g.Hash == named.Hash || named.Hash == format.Hash{}):
			difference = ""
		default:
			difference = fmt.Sprintf("%s names another group %d of %s", by, named.Seq, c.name())
		}
		return false
	})
	if err != nil || difference == "" {
		return err
	}
	return c.report(Fault{Stream: cmp.Or(c.stream, streams.Name(c.shard, 1)), Sequence: c.head.Seq + 1, Difference: difference})
}

// name returns what the shard is called in a fault.
func (c *chain) name() string {
	if !streams.KindOf(c.shard).Events {
		return streams.Shard(c.shard)
	}
	return fmt.Sprintf("shard %d", c.shard)
}

// dropped checks the floor of the deliveries. The record may stand after the archive's end, if a
// segment was dropped while it was read.
func (c *chain) dropped(ctx context.Context) error {
	if c.ends.begin <= 1 || c.ends.floor+1 >= c.ends.begin {
		return nil
	}
	err := c.Archive.Later(ctx, c.shard, func(g *format.Group) bool {
		c.ends.see(g)
		return c.ends.floor+1 < c.ends.begin
	})
	if err != nil || c.ends.floor+1 >= c.ends.begin {
		return err
	}
	return c.report(Fault{Stream: streams.Shard(c.shard), Sequence: c.ends.floor + 1, Difference: fmt.Sprintf("the groups before %d are gone, and no record says that they were dropped", c.ends.begin)})
}

// beginAnew begins the chain anew with a group that does not follow the group before it. That is a
// fault, unless groups between them were dropped while they were read.
func (c *chain) beginAnew(g *format.Group, why error) (err error) {
	if !c.Archive.Dropped(c.shard, g.Seq-1) {
		err = c.report(Fault{Stream: c.stream, Sequence: g.Seq, Difference: why.Error()})
	}
	c.head = headBefore(g)
	return err
}

// headBefore returns the end before a group, as far as the group names it.
func headBefore(g *format.Group) format.Head {
	return format.Head{Link: format.Link{Seq: g.Seq - 1, Hash: g.Before}, Events: g.Events, Aggregates: g.Aggregates}
}

// end is the end of the shard that the tip store has applied.
func (c *chain) end() format.Head { return c.Archive.Ends[c.shard] }

func (c *chain) applied(seq uint64) bool { return format.GroupOf(seq) <= c.end().Seq }
