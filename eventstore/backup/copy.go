package backup

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"payledger/eventstore/fault"
	"payledger/eventstore/format"
	"payledger/eventstore/stored"
	"payledger/eventstore/streams"
)

// ErrOther means that the log does not continue the back-up: it is another log, or it lost the end
// of the back-up.
var ErrOther = errors.New("the log does not continue this back-up")

// tail is the end of the copied part of a shard, and checks the messages that follow it.
type tail struct {
	shard  int
	log    string
	head   format.Head
	hash   string // of the last message
	last   uint64 // its sequence; 0: nothing was copied
	joined bool   // the source has the last message of the back-up
}

// accept checks a message. fresh means that it follows the copied part, and extends it.
func (t *tail) accept(seq uint64, body []byte) (fresh bool, err error) {
	if seq < t.last {
		return false, nil
	}
	g, err := format.ParseGroupAt(t.shard, seq, body)
	switch {
	case err != nil:
		return false, err
	case hex.EncodeToString(g.Log[:]) != t.log:
		return false, fmt.Errorf("%w: it is a group of another log", ErrOther)
	case seq == t.last:
		return false, t.join(hex.EncodeToString(g.Hash[:]))
	case streams.KindOf(t.shard).Drops() && seq > t.last+1: // the segments before were dropped
		t.head = format.Head{Link: format.Link{Seq: seq - 1, Hash: g.Before}, Events: g.Events, Aggregates: g.Aggregates}
	}
	if err := g.Follows(t.head); err != nil {
		return false, err
	}
	t.joined = true // it names the hash of the last one, which may have been dropped
	t.head = g.After(t.head)
	t.last, t.hash = seq, hex.EncodeToString(g.Hash[:])
	return true, nil
}

// join compares the newest message of the back-up with the source's.
func (t *tail) join(hash string) error {
	t.joined = true
	if hash != t.hash {
		return fmt.Errorf("%w: the message at sequence %d is another one", ErrOther, t.last)
	}
	return nil
}

func (r *run) tail(shard int) *tail {
	t := &tail{shard: shard, log: r.Source.log, joined: true}
	before := r.chain.Newest()
	if before == nil {
		return t
	}
	e := before.end(shard)
	hash, _ := hex.DecodeString(e.Hash)
	t.last, t.hash, t.joined = e.Sequence, e.Hash, e.Sequence == 0
	t.head = format.Head{Link: format.Link{Seq: e.Sequence}, Events: e.Events, Aggregates: e.Aggregates}
	copy(t.head.Hash[:], hash)
	return t
}

// copyShard copies the new messages of a shard.
func (r *run) copyShard(ctx context.Context, shard int) error {
	t := r.tail(shard)
	parts, err := r.Source.parts(shard)
	if err != nil {
		return err
	}
	for _, p := range parts {
		if err := r.adopt(t, p.stream); err != nil {
			return err
		}
		if err := r.copyPart(ctx, t, p); err != nil {
			return err
		}
		r.manifest.Streams = append(r.manifest.Streams, p.stream)
	}
	if !t.joined {
		stream := "the stream"
		if len(parts) > 0 {
			stream = parts[len(parts)-1].stream
		}
		return fmt.Errorf("%w: %s ends before sequence %d, up to which it was backed up; make the back-up of a restored or damaged log in another folder", ErrOther, stream, t.last)
	}
	r.manifest.Ends = append(r.manifest.Ends, End{Shard: shard, Sequence: t.last, Hash: t.hash, Events: t.head.Events, Aggregates: t.head.Aggregates})
	switch {
	case streams.KindOf(shard).Events:
		r.manifest.Events += t.head.Events
	case streams.KindOf(shard).Covers:
		r.manifest.Checkpoint = t.head.Events
	}
	return nil
}

// copyPart copies the new messages of one stream into one file. The first file of a stream always
// exists: it has the stream's configuration.
func (r *run) copyPart(ctx context.Context, t *tail, p part) (err error) {
	begun := len(r.chain.Files(p.stream)) > 0 || slices.ContainsFunc(r.manifest.Files, func(f File) bool { return f.Stream == p.stream })
	var w *writer
	defer func() {
		if err != nil && w != nil {
			err = errors.Join(err, w.abandon())
		}
	}()
	open := func() error {
		if w != nil {
			return nil
		}
		first := max(p.first, t.last+1)
		config, _, err := r.Source.config(p.stream)
		if err == nil {
			w, err = newWriter(filepath.Join(r.Out, fmt.Sprintf("%06d-%s-%d%s", r.manifest.Number, p.stream, first, messagesEnding)), Header{
				Number: r.manifest.Number, Log: r.Source.log, Stream: p.stream, First: first,
				Configs: map[string]json.RawMessage{p.stream: config},
			})
		}
		return err
	}
	if !begun {
		if err := open(); err != nil {
			return err
		}
	}
	empty := r.Source.now != nil && p.last < p.first
	if !empty && (p.last == 0 || p.last >= t.last) {
		if err := r.readPart(ctx, t, p, open, func(m stored.Message) error { return w.add(m) }); err != nil {
			return err
		}
	}
	if w == nil {
		return nil
	}
	file, err := w.finish()
	w = nil
	if err != nil {
		return err
	}
	file.Stream = p.stream
	r.added(file)
	return r.step("file " + file.Name)
}

func (r *run) readPart(ctx context.Context, t *tail, p part, open func() error, add func(stored.Message) error) error {
	return r.Source.read(ctx, p, max(p.first, t.last), func(m stored.Message) error {
		events := t.head.Events
		fresh, err := t.accept(m.Seq, m.Body)
		if errors.Is(err, ErrOther) {
			return fmt.Errorf("%s at sequence %d: %w", p.stream, m.Seq, err)
		}
		if err != nil {
			return fault.Damage(p.stream, m.Seq, err)
		}
		if !fresh {
			return nil
		}
		if err := open(); err != nil {
			return err
		}
		if streams.KindOf(t.shard).Events {
			r.progressed(t.head.Events - events)
		}
		return add(m)
	})
}

// adopt takes over the complete files of a stream that an interrupted run left. Files that do not
// fit are removed.
func (r *run) adopt(t *tail, stream string) error {
	for {
		name, first := "", uint64(0)
		for left, h := range r.left {
			if h.Stream == stream && (name == "" || h.First < first) {
				name, first = left, h.First
			}
		}
		if name == "" {
			return nil
		}
		delete(r.left, name)
		trial := *t
		file, err := Read(filepath.Join(r.Out, name), nil, func(m stored.Message) error {
			fresh, err := trial.accept(m.Seq, m.Body)
			if err == nil && !fresh {
				err = ErrOther
			}
			return err
		})
		if err != nil || file.Messages == 0 && len(r.chain.Files(stream)) > 0 {
			if err := removeFile(filepath.Join(r.Out, name)); err != nil {
				return err
			}
			continue
		}
		trial.joined = file.Messages == 0 && t.joined
		*t = trial
		file.Stream = stream
		r.manifest.Files = append(r.manifest.Files, file)
		r.result.Adopted++
	}
}
