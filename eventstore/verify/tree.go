package verify

import (
	"context"
	"fmt"
	"reflect"

	"golang.org/x/mod/sumdb/note"

	"payledger/eventstore/checkpoint"
	"payledger/eventstore/format"
)

type numbered struct {
	stream string
	checkpoint.Checkpoint
}

// forest compares the checkpoints with the events.
type forest struct {
	*run
	shards []chan leaves
	ahead  []leaves // of each shard: the group that was received last and is not covered yet
	events []uint64 // of each shard, that are covered
	tree   *checkpoint.Tree
	wrong  bool // the events of a checkpoint are others: so are those of all later ones
	other  int  // reported faults of checkpoints whose events are right

	last   checkpoint.Checkpoint
	number uint64
}

// check compares each checkpoint with the events up to it, and then reads the events that no
// checkpoint covers.
func (f *forest) check(ctx context.Context, checkpoints <-chan numbered) error {
	f.tree = checkpoint.Checkpoint{}.Tree()
	f.ahead, f.events = make([]leaves, len(f.shards)), make([]uint64, len(f.shards))
	for c := range checkpoints {
		if err := f.covers(ctx, c); err != nil {
			return err
		}
		f.last, f.number = c.Checkpoint, f.number+1
	}
	for _, rest := range f.shards {
		for more := true; more; { // events that no checkpoint covers yet
			select {
			case _, more = <-rest:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
	}
	return context.Cause(ctx)
}

// covers adds the events up to a checkpoint, and compares the result.
func (f *forest) covers(ctx context.Context, c numbered) error {
	difference := ""
	if err := c.CheckShards(len(f.shards)); err != nil {
		return f.fault(c, fmt.Sprintf("it covers %d shards; the log has %d", len(c.LastSeq), len(f.shards)))
	}
	size := uint64(0)
	for shard, through := range c.LastSeq {
		reached, err := f.grow(ctx, shard, through)
		switch {
		case err != nil:
			return err
		case !reached:
			difference = fmt.Sprintf("it covers shard %d up to group %d, which is not there", shard, through)
		case f.events[shard] != c.Events[shard]:
			difference = fmt.Sprintf("it counts %d events of shard %d; there are %d", c.Events[shard], shard, f.events[shard])
		}
		size += f.events[shard]
	}
	root, err := f.tree.Root()
	switch {
	case err != nil:
		return err
	case difference != "":
	case size != c.Size:
		difference = fmt.Sprintf("its size is %d; the events are %d", c.Size, size)
	case string(root[:]) != string(c.Root):
		difference = "the events that it covers have another root"
	case len(c.Edge) > 0 && !reflect.DeepEqual(c.Edge, f.tree.Edge()):
		return f.otherFault(c, "its edge is not that of the events")
	default:
		if why := f.unsigned(c); why != "" {
			return f.otherFault(c, why)
		}
		return nil
	}
	return f.fault(c, difference)
}

// fault reports that the events of a checkpoint are others.
func (f *forest) fault(c numbered, difference string) error {
	if f.wrong {
		return nil
	}
	f.wrong = true
	return f.report(Fault{Stream: c.stream, Sequence: format.GroupOf(c.Place), Difference: difference})
}

// mostOther bounds the faults of checkpoints that are reported: with the key of another ledger, all
// have one.
const mostOther = 100

// otherFault reports a fault of a checkpoint whose events are right.
func (f *forest) otherFault(c numbered, difference string) error {
	if f.other++; f.wrong || f.other > mostOther {
		return nil
	}
	return f.report(Fault{Stream: c.stream, Sequence: format.GroupOf(c.Place), Difference: difference})
}

// grow adds the events of a shard up to a group. It returns false if the shard ends before.
func (f *forest) grow(ctx context.Context, shard int, through uint64) (bool, error) {
	for f.ahead[shard].seq <= through {
		for _, hash := range f.ahead[shard].hashes {
			if err := f.tree.Add(hash); err != nil {
				return false, err
			}
		}
		f.events[shard] += uint64(len(f.ahead[shard].hashes))
		if f.ahead[shard].hashes = nil; f.ahead[shard].seq == through {
			return true, nil
		}
		select {
		case next, more := <-f.shards[shard]:
			if !more {
				return false, context.Cause(ctx)
			}
			f.ahead[shard] = next
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
	}
	return false, nil
}

// unsigned returns the reason why the signature is not valid, or "".
func (f *forest) unsigned(c numbered) string {
	if f.Verifier == nil {
		return ""
	}
	if _, err := note.Open([]byte(c.Text()+"\n"+c.Signature), note.VerifierList(f.Verifier)); err != nil {
		return "it is not signed by this ledger: " + err.Error()
	}
	return ""
}
