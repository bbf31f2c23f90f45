package backup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"

	"payledger/domain/exactjson"
	"payledger/eventstore/archive"
	"payledger/eventstore/fault"
	"payledger/eventstore/folder"
	"payledger/eventstore/remote"
	"payledger/eventstore/secretlog"
	"payledger/eventstore/streams"
)

// Cut is a moment of a running log: the end of every stream, such that nothing before an end refers
// to anything after one.
type Cut struct {
	Ends    map[int]uint64 `json:"ends"`    // by shard, those beside the log included: the last acknowledged group
	Events  uint64         `json:"events"`  // of the log, up to the ends
	Dropped uint32         `json:"dropped"` // the newest segment of deliveries that is gone
	Secrets uint64         `json:"secrets"` // the last acknowledged message of SECRETS
}

// Source is a log that a back-up is made of: the folder of a server that runs or is stopped, opened
// for reading only, or an external cluster.
type Source struct {
	storage
	now func(context.Context) (Cut, error) // of a running server; nil: it is stopped
	// secretsEnd returns the last acknowledged message of SECRETS; nil: the server is stopped.
	secretsEnd func(context.Context) (uint64, error)
	dir        string           // of a stopped server
	files      *archive.Archive // of a stopped server: it keeps servers away
	remote     *remote.Log      // of a cluster
	cut        Cut
	log        string
	shards     int
}

// Running returns the source of a running server's folder. cut returns a new cut at each call.
func Running(dir string, cut func(context.Context) (Cut, error)) *Source {
	end := func(ctx context.Context) (uint64, error) {
		c, err := cut(ctx)
		return c.Secrets, err
	}
	return &Source{storage: files{dir}, now: cut, secretsEnd: end}
}

// Cluster returns the source of the log on an external cluster, whose nodes may run. Close closes
// the log.
func Cluster(log *remote.Log) *Source {
	c := cluster{log}
	end := func(ctx context.Context) (uint64, error) { return secretlog.Fence(ctx, log.Server()) }
	return &Source{storage: c, now: c.cut, secretsEnd: end, remote: log}
}

// Stopped returns the source of a stopped server's folder, and syncs its files. It refuses a folder
// that the server would not start on.
func Stopped(ctx context.Context, dir string) (*Source, error) {
	stopped, err := archive.Open(dir)
	if err != nil {
		return nil, err
	}
	s := &Source{storage: files{dir}, dir: dir, files: stopped}
	if err = stopped.InspectStart(ctx); err == nil {
		err = folder.SyncNewest(dir)
	}
	if err == nil {
		s.cut.Dropped, err = stopped.DroppedDeliveries()
	}
	if err != nil {
		return nil, errors.Join(err, stopped.Close())
	}
	return s, nil
}

// Close releases the folder, or ends the connections.
func (s *Source) Close() error {
	if s.remote != nil {
		s.remote.Close()
	}
	if s.files == nil {
		return nil
	}
	return s.files.Close()
}

func (s *Source) begin(ctx context.Context) error {
	var err error
	if s.now != nil {
		if s.cut, err = s.now(ctx); err != nil {
			return err
		}
	}
	config, _, err := s.config(streams.Name(0, 1))
	if err != nil {
		return err
	}
	var description struct {
		Metadata map[string]string `json:"metadata"`
	}
	if err := exactjson.Unmarshal(config, &description); err != nil {
		return fault.Damage(streams.Name(0, 1), 1, err)
	}
	if err := streams.CheckFormat(description.Metadata); err != nil {
		return err
	}
	s.log = description.Metadata[streams.MetadataLog]
	if s.shards, err = strconv.Atoi(description.Metadata[streams.MetadataShards]); err != nil || s.log == "" {
		return fault.Damage(streams.Name(0, 1), 1, errors.New("its description names neither the log nor its shards"))
	}
	return nil
}

type part struct {
	stream string
	first  uint64
	last   uint64 // the last message to copy; 0: the last one of the file
}

// parts returns the segments of a shard that exist at the cut, in their order.
func (s *Source) parts(shard int) (parts []part, err error) {
	names, err := s.names()
	if err != nil {
		return nil, err
	}
	next := uint32(1)
	if streams.KindOf(shard).Drops() {
		next = s.cut.Dropped + 1
	}
	for _, name := range streams.Segments(shard, names) {
		_, number, _ := streams.Parse(name)
		if streams.KindOf(shard).Drops() && number <= s.cut.Dropped {
			continue
		}
		if number != next {
			return nil, fault.Damage(name, 1, fmt.Errorf("segment %d before it is gone", next))
		}
		next++
		_, first, err := s.config(name)
		if errors.Is(err, os.ErrNotExist) {
			break // it was being created
		}
		if err != nil {
			return nil, err
		}
		p := part{stream: name, first: first, last: s.cut.Ends[shard]}
		if s.now != nil && p.first > p.last+1 && len(parts) > 0 {
			break // it was created after the cut
		}
		if n := len(parts); n > 0 {
			parts[n-1].last = p.first - 1
		}
		parts = append(parts, p)
	}
	return parts, nil
}
