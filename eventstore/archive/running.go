package archive

import (
	"context"
	"errors"

	"github.com/nats-io/nats.go"

	"payledger/eventstore/format"
	"payledger/eventstore/remote"
	"payledger/eventstore/streams"
	"payledger/eventstore/tiprow"
	"payledger/eventstore/tipstore"
)

// Running is a log that a store of this process uses.
type Running struct {
	Files *Files // of the server in this process; nil: the servers of a cluster return the log
	Tips  *tipstore.Store
	// Known reports the damage that the store knows.
	Known func(Damaged) error
	// Load returns the newest event of an aggregate; fault.ErrNotFound if it has none.
	Load func(context.Context, format.Key) (*format.Recorded, error)

	Dial        func() (*nats.Conn, error) // to the servers
	Checkpoints uint64                     // the group of the newest checkpoint whose events Tips has
}

// Files is the folder of a running server, with what its process knows.
type Files struct {
	Dir string
	// Ends returns the acknowledged ends of all shards at one moment, those beside the log and
	// SECRETS included.
	Ends func() map[int]format.Link
	// Known returns the streams that the process knows, each with a sequence of it.
	Known func() map[string]uint64
	// Floor returns the dropped part of a shard.
	Floor func(shard int) streams.Floor
	// Found, if set, gets each damage of the files.
	Found func(stream string, seq uint64, reason string)
}

// Of returns the log of a store: the files up to their acknowledged ends, or the groups of a
// cluster up to the ends of the tip store. Close the archive before the store.
func Of(ctx context.Context, r Running) (*Archive, error) {
	a := &Archive{running: &r}
	view := r.Tips.Snapshot()
	a.view = &view
	var err error
	if r.Files != nil {
		a.dir = r.Files.Dir
		err = a.openFiles(r.Tips, r.Files)
	} else {
		err = a.serve(ctx, r)
	}
	if err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, nil
}

// serve connects to the servers. It lists the streams after the ends are known, so it finds all
// segments up to them.
func (a *Archive) serve(ctx context.Context, r Running) (err error) {
	if a.Ends, err = tiprow.Ends(*a.view); err != nil {
		return damagedTips(a.dir, err)
	}
	if a.log, err = remote.Over(ctx, r.Dial); err != nil {
		return err
	}
	delete(a.Ends, streams.CheckpointShard) // a later checkpoint may cover later events
	s := Served{Log: a.log, Ends: map[int]uint64{streams.CheckpointShard: r.Checkpoints}}
	for shard, end := range a.Ends {
		s.Ends[shard] = end.Seq
	}
	if s.Secrets, err = a.log.SecretsEnd(ctx); err != nil {
		return err
	}
	a.Shards, a.streams, a.source = a.log.Shards, a.log.Names(), s.source()
	return nil
}
