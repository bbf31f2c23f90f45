package verify

import (
	"context"
	"fmt"

	"payledger/eventstore/checkpoint"
	"payledger/eventstore/format"
	"payledger/eventstore/sidelog"
	"payledger/eventstore/streams"
)

// ends are what the groups of a shard say about the ends of other streams, and about the beginning
// of the deliveries. Of files, archive.Archive.Inspect compares them.
type ends struct {
	witness format.Witness
	beside  format.Beside
	begin   uint64 // of deliveries: the first group that stands
	floor   uint64 // of deliveries: the last group that was dropped, by a record
}

func (e *ends) see(g *format.Group) {
	if g.Witness.Shard != format.NoShard {
		e.witness = g.Witness
	}
	e.beside.Checkpoints = max(e.beside.Checkpoints, g.Beside.Checkpoints)
	e.beside.Secrets = max(e.beside.Secrets, g.Beside.Secrets)
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
	if !r.Archive.Served() || r.Only != "" {
		return nil
	}
	byShard, beside := map[int]*chain{}, format.Beside{}
	for _, c := range chains {
		byShard[c.shard] = c
		beside.Checkpoints = max(beside.Checkpoints, c.ends.beside.Checkpoints)
		beside.Secrets = max(beside.Secrets, c.ends.beside.Secrets)
	}
	for _, c := range chains {
		if w := c.ends.witness; c.log != nil && byShard[w.Shard] != nil {
			if err := byShard[w.Shard].reaches(ctx, c, w); err != nil {
				return err
			}
		}
		if err := c.dropped(ctx); err != nil {
			return err
		}
	}
	if err := r.besideReaches(ctx, checkpoint.Stream, beside.Checkpoints); err != nil {
		return err
	}
	return r.besideReaches(ctx, sidelog.SecretStream, beside.Secrets)
}

func (r *run) besideReaches(ctx context.Context, of string, seq uint64) error {
	if seq == 0 || r.spoiledBeside(of) {
		return nil
	}
	there, err := r.Archive.Reaches(ctx, of, seq)
	if err != nil || there {
		return err
	}
	return r.damaged(of, seq, "it ends before this record, which the log names")
}

// reaches checks that the shard has a group that another shard names as acknowledged. The group may
// stand after the archive's end.
func (c *chain) reaches(ctx context.Context, by *chain, w format.Witness) error {
	if w.Seq <= c.head.Seq {
		return nil
	}
	difference := fmt.Sprintf("shard %d ends here, but shard %d names its group %d", c.shard, by.shard, w.Seq)
	err := c.Archive.Later(ctx, c.shard, func(g *format.Group) bool {
		switch {
		case g.Seq < w.Seq:
			return true
		case g.Seq == w.Seq && g.Hash == w.Hash:
			difference = ""
		default:
			difference = fmt.Sprintf("shard %d names another group %d of shard %d", by.shard, w.Seq, c.shard)
		}
		return false
	})
	if err != nil || difference == "" {
		return err
	}
	return c.report(Fault{Stream: c.stream, Sequence: c.head.Seq + 1, Difference: difference})
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
